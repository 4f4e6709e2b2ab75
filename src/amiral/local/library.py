"""The skills one can choose from: those amiral ships, then those in the home's library."""

from collections.abc import Iterator
from pathlib import Path

from amiral.base.errors import AmiralError, Invalid
from amiral.projects.onboarding import OPEN
from amiral.projects.project_files import read_inside
from amiral.projects.setup_plan import Shipped
from amiral.projects.skills import Skill, read_skill

_SHIPPED = Path(__file__).parent.parent / "framework"
_LARGEST = 64 * 1024
_MOST = 500
_RIGHTS = ("guarded", "asking")


def shipped_setup(home: Path) -> tuple[Shipped, tuple[str, ...]]:
    """Give what a project can be made of, and what of the library cannot be used."""
    skills: list[Skill] = []
    told: list[str] = []
    for folder in (_SHIPPED / "skills", home / "library" / "skills"):
        for name in _names(folder):
            try:
                skills.append(_read(folder, name))
            except AmiralError as error:
                told += [f"a skill is left out: {line}" for line in error.message.split("\n")]
    # Of two with one name the later one is meant: the owner's own.
    known = {skill.name: skill for skill in skills}
    rights = {one: (_SHIPPED / "rights" / f"{one}.json").read_text("utf-8") for one in _RIGHTS}
    registry = (_SHIPPED / "workers" / "workers_registry.json").read_text("utf-8")
    return Shipped(registry, {**rights, OPEN: ""}, tuple(known.values())), tuple(told)


def _names(folder: Path) -> Iterator[str]:
    try:
        found = sorted(path.name for path in folder.iterdir() if path.suffix == ".md")
    except OSError:
        return
    yield from found[:_MOST]


def _read(folder: Path, name: str) -> Skill:
    data = read_inside(folder, name)
    if data is None or len(data) > _LARGEST:
        raise Invalid(f"{name}: it is no plain file of at most {_LARGEST // 1024} KiB")
    return read_skill(data.decode("utf-8", "replace"), name)
