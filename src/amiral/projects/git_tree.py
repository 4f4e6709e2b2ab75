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
_RECORD = ("objects", "refs/heads/amiral", "logs/refs/heads/amiral")
"""What git writes of a repository when it works in a linked worktree, on a branch of ours."""


@dataclass(frozen=True)
class GitTree:
    """A worktree and where git keeps what belongs to it, all named in full.

    What an agent may rewrite is never asked for a way: neither the `.git` file of its worktree nor
    git's own `commondir` (case G1).
    """

    git_dir: Path
    common_dir: Path
    work_tree: Path


def read_by_git(tree: GitTree) -> tuple[Path, ...]:
    """Give what git reads for a worktree; of a fenced worker it writes nothing of it.

    Objects, branches and git's record of a worktree are what amiral commits from, and what the user
    has: who may write there can change both behind a diff (case G2). amiral commits the work.
    """
    return (tree.common_dir, tree.git_dir)


def tree_fence(tree: GitTree, env: Mapping[str, str], private: Collection[Path]) -> Fence | None:
    """Give the fence; None on a system that has none, where git's own care has to do.

    The folder of `GIT_INDEX_FILE` in `env` can be written too; `private` is what nobody reads.
    """
    abi = fence.abi()
    if abi < LEAST_ABI:
        return None
    for name in _RECORD:
        # What is missing git would make in a folder that is not granted.
        (tree.common_dir / name).mkdir(parents=True, exist_ok=True)
    written = [tree.work_tree, tree.git_dir, *(tree.common_dir / name for name in _RECORD)]
    if index := env.get("GIT_INDEX_FILE"):
        written.append(Path(index).parent)
    grants = [("/", LIST), (str(tree.common_dir), READ)]
    grants += [(path, READ) for path in reads_around(private)]
    grants += [(str(path.resolve()), _WORK) for path in written]
    ports = () if abi >= _PORTS_ABI else None
    return Fence((*grants, *fence.system_grants()), _WORK | EXECUTE, ports)
