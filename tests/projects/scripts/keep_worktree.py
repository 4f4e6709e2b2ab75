"""Make, repair or discard the worktree `developer`: ROOT FOLDER ensure|repair|discard."""

import asyncio
import sys
from pathlib import Path

from amiral.processes.spawn import Spawner
from amiral.projects.git import Git
from amiral.projects.worktrees import Worktrees
from amiral.store.brake import Brake


async def main(root: Path, folder: Path, what: str) -> None:
    worktrees = Worktrees(Git(Spawner(Brake(folder.parent / "brake"), "h:p")), root, folder)
    if what == "repair":
        assert await worktrees.repair() == []
        return
    if what == "ensure":
        await worktrees.ensure("developer")
        return
    worktree = await worktrees.find("developer")
    assert worktree is not None
    await worktrees.discard(worktree)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]))
