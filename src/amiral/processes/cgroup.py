# ruff: noqa: PTH102, PTH106, PTH110
"""One cgroup v2 a session, made below our own where the system lets us. Standard library only.

A cgroup holds what a walk of the process tree can lose: a process that left its session, dropped
its environment and whose parents are dead is still in it. On a host of both versions (v1 and v2)
the v2 tree has no controllers, but `cgroup.procs` and `cgroup.kill` work all the same.
"""

import os

from amiral.processes.proc import read_whole

PREFIX = "amiral-"
_PROCESSES = "cgroup.procs"


def own_cgroup_folder() -> str | None:
    """Find the folder of this process's own cgroup v2, None when there is none mounted."""
    inside = cgroup_of(os.getpid())
    for root, mount in _mounts():
        if inside:
            shown = inside[len(root) :] if root != "/" and inside.startswith(root) else inside
            return f"{mount}/{shown.strip('/')}".rstrip("/")
    return None


def cgroup_name(tag: str) -> str:
    """Name the cgroup of a tag: `amiral-<home>.<project>.<session>`; no part holds a dot."""
    return PREFIX + tag.replace(":", ".")


def make_cgroup(tag: str) -> str | None:
    """Make an empty cgroup for `tag`, return its folder; None where the system does not let us."""
    own = own_cgroup_folder()
    if own is None:
        return None
    folder = f"{own}/{cgroup_name(tag)}"
    try:
        os.mkdir(folder, 0o700)
    except OSError:
        return None
    return folder


def cgroups_under(*tags: str) -> list[str]:
    """Find every cgroup of these tags or below them, wherever on the machine it was made."""
    wanted = tuple(f"{cgroup_name(tag)}." for tag in tags)
    folders = (folder for _, mount in _mounts() for folder, _, _ in os.walk(mount))
    return [folder for folder in folders if f"{folder}.".rpartition("/")[2].startswith(wanted)]


def join_cgroup(folder: str, pid: int) -> bool:
    """Move one process in; its later children are born there."""
    return _write(f"{folder}/{_PROCESSES}", str(pid))


def cgroup_members(folder: str | None) -> set[int]:
    """List the pids in this cgroup and in those below it; empty for a folder that is not ours."""
    if not _is_ours(folder):
        return set()
    return {pid for part in _parts(folder) for pid in _pids(f"{part}/{_PROCESSES}")}


def kill_cgroup(folder: str | None) -> bool:
    """Kill all of it at once, escapees included (Linux 5.14 and later)."""
    return _is_ours(folder) and _write(f"{folder}/cgroup.kill", "1")


def freeze_cgroup(folder: str | None) -> bool:
    """Have the kernel run none of it, children born later included (Linux 5.2 and later)."""
    return _is_ours(folder) and _write(f"{folder}/cgroup.freeze", "1")


def thaw_cgroup(folder: str | None) -> bool:
    """Let what a freeze holds go on."""
    return _is_ours(folder) and _write(f"{folder}/cgroup.freeze", "0")


def is_frozen(folder: str | None) -> bool:
    """Tell whether the kernel runs none of it."""
    return _is_ours(folder) and "frozen 1" in _lines(f"{folder}/cgroup.events")


def is_populated(folder: str | None) -> bool:
    """Tell whether a process is in this cgroup or in one below it."""
    return _is_ours(folder) and "populated 0" not in _lines(f"{folder}/cgroup.events")


def can_kill(folder: str) -> bool:
    """Tell whether the kernel kills this cgroup as a whole (Linux 5.14 and later)."""
    return os.path.exists(f"{folder}/cgroup.kill")


def remove_cgroup(folder: str | None) -> None:
    """Remove an emptied cgroup with those below it; one that still holds processes stays."""
    if not _is_ours(folder):
        return
    for part in reversed(_parts(folder)):
        try:
            os.rmdir(part)
        except OSError:
            return


def cgroup_of(pid: int) -> str:
    """Tell the v2 cgroup path of a process, "" when unknown."""
    lines = _lines(f"/proc/{pid}/cgroup")
    return next((line[3:] for line in lines if line.startswith("0::")), "")


def _is_ours(folder: str | None) -> bool:
    return bool(folder) and (folder or "").rpartition("/")[2].startswith(PREFIX)


def _parts(folder: str | None) -> list[str]:
    return [place for place, _, _ in os.walk(folder or "")]


def _pids(path: str) -> list[int]:
    return [int(line) for line in _lines(path) if line]


def _mounts() -> list[tuple[str, str]]:
    """List the cgroup2 mounts: which part of the hierarchy, and where."""
    lines = (line.partition(" - ") for line in _lines("/proc/self/mountinfo"))
    mounts = (before.split(" ")[3:5] for before, _, after in lines if after.startswith("cgroup2 "))
    return [(root, mount) for root, mount in mounts]


def _lines(path: str) -> list[str]:
    try:
        return read_whole(path).decode(errors="surrogateescape").split("\n")
    except OSError:
        return []


def _write(path: str, text: str) -> bool:
    try:
        file = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        os.write(file, text.encode())
    except OSError:
        return False
    finally:
        os.close(file)
    return True
