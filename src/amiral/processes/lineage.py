"""Whether a process runs below a shim. Standard library only, and little of it: a stop asks too."""

from amiral.processes import cgroup as cgroups
from amiral.processes import tree
from amiral.processes.proc import HAS_PROC


def is_below_shim(pid: int, home: str) -> bool:
    """Tell whether a process runs below a shim of this home, or cannot be looked at."""
    if not HAS_PROC:
        return False
    line = [pid, *tree.parents(pid)]
    if tree.identify(pid) is None or any(tree.is_under(tree.tag_of(one), home) for one in line):
        return True
    enclosing = cgroups.cgroup_name(home)
    return any(
        part == enclosing or part.startswith(enclosing + ".")
        for part in cgroups.cgroup_of(pid).split("/")
    )
