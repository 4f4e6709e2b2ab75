"""A small project to talk about, for a person who has none at hand."""

import asyncio
import contextlib
import shutil
from pathlib import Path

from amiral.base.errors import AmiralError
from amiral.processes.spawn import Spawner
from amiral.projects.git import Git, identity
from amiral.store.brake import Brake
from amiral.store.files import ensure_private_folder

_SHIPPED = Path(__file__).parent.parent / "framework" / "sample"


def sample_project(home: Path) -> Path:
    """Give the folder of the sample, made beside the home the first time, with a first commit."""
    folder = home.with_name(f"{home.name}-sample") / "shop"
    if not folder.exists():
        ensure_private_folder(folder.parent)
        fresh = folder.with_name("shop.new")
        shutil.rmtree(fresh, ignore_errors=True)
        # Without git the sample is a plain folder, and still good to talk about.
        with contextlib.suppress(AmiralError):
            make_sample(home, fresh)
        fresh.rename(folder)
    return folder


def make_sample(home: Path, folder: Path) -> None:
    """Copy the sample and make its first commit; NotFound, the files in place, without git."""
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(_SHIPPED, folder, ignore=ignored, dirs_exist_ok=True)
    asyncio.run(_commit(home, folder))


async def _commit(home: Path, folder: Path) -> None:
    git = Git(Spawner(Brake(home / "brake"), ""))
    await git.ask(folder, "-c", "init.defaultBranch=main", "init", "--quiet")
    await git.ask(folder, "add", "--all")
    words = ("commit", "--quiet", "--message", "A small shop")
    await git.ask(folder, *words, env=identity("amiral"))
