"""A small project to talk about, for a person who has none at hand."""

import asyncio
import contextlib
import shutil
from pathlib import Path

from amiral.base.errors import NotFound
from amiral.processes.spawn import Spawner, base_environment
from amiral.store.brake import Brake
from amiral.store.files import ensure_private_folder

_SHIPPED = Path(__file__).parent.parent / "framework" / "sample"
_TIMEOUT_S = 20.0
_COMMITTER = ("-c", "user.name=amiral", "-c", "user.email=sample@amiral.invalid")


def sample_project(home: Path) -> Path:
    """Give the folder of the sample, made beside the home the first time, with a first commit."""
    folder = home.with_name(f"{home.name}-sample") / "shop"
    if not folder.exists():
        ensure_private_folder(folder.parent)
        # Without git the sample is a plain folder, and still good to talk about.
        with contextlib.suppress(NotFound):
            make_sample(home, folder)
    return folder


def make_sample(home: Path, folder: Path) -> None:
    """Copy the sample and make its first commit; NotFound, the files in place, without git."""
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(_SHIPPED, folder, ignore=ignored, dirs_exist_ok=True)
    asyncio.run(_commit(home, folder))


async def _commit(home: Path, folder: Path) -> None:
    spawner = Spawner(Brake(home / "brake"), "")
    for words in (
        ("init", "--quiet"),
        ("add", "--all"),
        (*_COMMITTER, "commit", "--quiet", "--message", "A small shop"),
    ):
        await spawner.run(
            ("git", *words),
            kind="own",
            env=base_environment(),
            cwd=str(folder),
            timeout_s=_TIMEOUT_S,
        )
