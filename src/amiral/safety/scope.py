"""What a stop is about: everything, one project, or one worker of it. Standard library only."""

import json
import os

from amiral.base.errors import NotFound
from amiral.store.latch import ALL

_LONGEST_SHOWN = 80


class Place:
    """The home folder, and the first part of the tag its processes carry."""

    __slots__ = ("home", "tag")

    def __init__(self, home: str, tag: str) -> None:
        self.home = home
        self.tag = tag

    @property
    def brake(self) -> str:
        """Name the folder of the brake."""
        return os.path.join(self.home, "brake")


class Scope:
    """`project` is an id, `worker` one too; both "" for everything. `shown` is for people."""

    __slots__ = ("project", "shown", "worker")

    def __init__(self, project: str, worker: str, shown: str) -> None:
        self.project = project
        self.worker = worker
        self.shown = shown

    @property
    def key(self) -> str:
        """Write it as the brake keeps it."""
        if not self.project:
            return ALL
        return f"{self.project}/{self.worker}" if self.worker else self.project


def scope_named(place: Place, text: str) -> Scope:
    """Find out what is meant by `all` (or nothing), `shop` or `shop/developer`.

    A project may be called by its name or id. NotFound names what there is: nothing is stopped in
    place of something else.
    """
    wanted, _, worker = text.strip().partition("/")
    if not wanted.strip() or text.strip().casefold() == ALL:
        return Scope("", "", ALL)
    names = project_names(place)
    meant = wanted.strip().casefold()
    found = [key for key, name in names.items() if meant in (key, name.casefold())]
    if not found:
        raise NotFound(f"no project {_plain(wanted)!r}{_hint(place, names, meant)}", _usage(names))
    return Scope(found[0], worker.strip(), _shown(names, found[0], worker.strip()))


def scope_at(place: Place, key: str) -> Scope:
    """Give the scope that the brake keeps under this key."""
    project, _, worker = ("" if key == ALL else key).partition("/")
    return Scope(project, worker, _shown(project_names(place), project, worker))


def project_names(place: Place) -> dict[str, str]:
    """Give the name of every project of this home by its id, also of those in no registry (S04)."""
    names = {key: key for key in names_in(os.path.join(place.home, "projects"))}
    try:
        with open(os.path.join(place.home, "config", "bot_registry.json"), "rb") as file:
            names |= {row["id"]: row["name"] for row in json.load(file)["children"]}
    except (OSError, ValueError, LookupError, TypeError):
        # A registry that cannot be read names nobody, and hides nobody.
        pass
    return names


def known_workers(place: Place, project: str) -> list[str]:
    """Name the workers of a project that ever had a seat."""
    return names_in(os.path.join(place.home, "projects", project, "workers"))


def names_in(folder: str) -> list[str]:
    """List a folder, which need not be there."""
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def _hint(place: Place, names: dict[str, str], meant: str) -> str:
    """Whoever named a worker alone is told its whole name."""
    whole = [f"{name}/{meant}" for key, name in names.items() if meant in known_workers(place, key)]
    return f"; is {whole[0]} meant?" if whole else ""


def _usage(names: dict[str, str]) -> str:
    known = ", ".join(sorted(names.values())[:5])
    return f"`all`, or one of: {known}" if known else "`all`: there is no project yet"


def _shown(names: dict[str, str], project: str, worker: str) -> str:
    if not project:
        return ALL
    name = names.get(project, project)
    return _plain(f"{name}/{worker}" if worker else name)


def _plain(text: str) -> str:
    return "".join(char for char in text if char.isprintable())[:_LONGEST_SHOWN]
