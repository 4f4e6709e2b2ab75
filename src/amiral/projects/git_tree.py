"""An agent's tree as git is told of it, and the fence git works behind there.

Whoever may write there may name programs for git to run: filters, diff drivers (case G1). Nothing
of the tree can be executed, nothing is written but the work and git's record of it, what is private
cannot be read, and there is no network.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from amiral.processes import fence
from amiral.processes.fence import DELETE, EXECUTE, LEAST_ABI, LIST, READ, WRITE, Fence
from amiral.processes.reads import reads_around

_WORK = READ | LIST | WRITE | DELETE
_PORTS_ABI = 4
_RECORD = ("objects", "refs", "logs")
"""What git writes of a repository when it works in a linked worktree."""


@dataclass(frozen=True)
class Tree:
    """A worktree and where git keeps what belongs to it, all named in full.

    What an agent may rewrite is never asked for a way: neither the `.git` file of its worktree nor
    git's own `commondir` (case G1).
    """

    git_dir: Path
    common_dir: Path
    work_tree: Path


def written_by_git(tree: Tree) -> tuple[Path, ...]:
    """Make and give the least that git needs to commit in a worktree, on branches of ours only.

    Neither the repository's settings and hooks nor the user's branches are among it (case G2).
    """
    ours = [tree.common_dir / name / "heads" / "amiral" for name in ("refs", "logs/refs")]
    for folder in ours:
        folder.mkdir(parents=True, exist_ok=True)
    return (tree.git_dir, tree.common_dir / "objects", *ours)


def tree_fence(tree: Tree, env: Mapping[str, str], private: Collection[Path]) -> Fence | None:
    """Give the fence; None on a system that has none, where git's own care has to do.

    The folder of `GIT_INDEX_FILE` in `env` can be written too; `private` is what nobody reads.
    """
    abi = fence.abi()
    if abi < LEAST_ABI:
        return None
    # What a bare repository lacks, git makes in a place that only we may write.
    (tree.common_dir / "logs").mkdir(exist_ok=True)
    written = [tree.work_tree, tree.git_dir, *(tree.common_dir / name for name in _RECORD)]
    if index := env.get("GIT_INDEX_FILE"):
        written.append(Path(index).parent)
    grants = [("/", LIST), (str(tree.common_dir), READ)]
    grants += [(path, READ) for path in reads_around(private)]
    grants += [(str(path.resolve()), _WORK) for path in written]
    ports = () if abi >= _PORTS_ABI else None
    return Fence((*grants, *fence.system_grants()), _WORK | EXECUTE, ports)
