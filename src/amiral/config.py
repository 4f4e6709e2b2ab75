"""Settings of the whole host: amiral.toml, the environment over it, a project's file narrowing."""

import contextlib
import json
import re
import stat
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from os import getuid
from pathlib import Path

import msgspec

from amiral.base.errors import Denied, Invalid
from amiral.base.fields import Field, shown
from amiral.base.located_toml import line_of, lines_of_keys, parse_toml
from amiral.base.nearest import did_you_mean
from amiral.base.setting_keys import NAMED, NARROWING, PLAIN, SECRET
from amiral.base.settings import ProjectSettings, Settings

FILE = "amiral.toml"
DEFAULT = "default"

_PREFIX = "AMIRAL_"
_LEAST_TO_MOST_STRICT = ("snapshot", "auto", "strict")
_SHARED_FOLDERS = (Path("/tmp"), Path("/var/tmp"), Path("/dev/shm"))  # noqa: S108 refused below
_OTHERS = 0o077
_DEPTHS = {**dict.fromkeys(PLAIN, 2), **dict.fromkeys(NAMED, 3)}
"""How many names lead to a value; of a section that is not known only its own name is looked at."""


@dataclass(frozen=True)
class Narrowed:
    """Settings of one project, and what in its own file was left out, as `file:line: reason`."""

    settings: Settings
    notices: tuple[str, ...]


@dataclass(frozen=True)
class _Entry:
    """One value found, and where: `amiral.toml:5` or the variable's name."""

    path: tuple[str, ...]
    value: object
    where: str


def find_home(environ: Mapping[str, str]) -> Path:
    """Give the home, `$AMIRAL_HOME` or `~/.amiral`, existing or not.

    Raises Denied for one in a folder shared by everybody: what was promised to last (a stop, an
    accepted message) would be gone after a restart. A private folder of ours between is allowed.
    """
    home = Path(environ.get("AMIRAL_HOME") or "~/.amiral").expanduser().resolve()
    for shared in _SHARED_FOLDERS:
        inside = [folder for folder in (home, *home.parents) if shared in folder.parents]
        if (inside or home == shared) and not any(map(_is_private, inside)):
            raise Denied(
                f"the home {home} lies in {shared}, which is emptied at a restart",
                "set AMIRAL_HOME to a folder that stays, such as ~/.amiral",
            )
    return home


def load_settings(home: Path, environ: Mapping[str, str]) -> Settings:
    """Read `amiral.toml` of the home, which may be missing, and the environment over it."""
    try:
        text = (home / FILE).read_text("utf-8", "replace")
    except FileNotFoundError:
        text = ""
    return read_settings(text, FILE, environ)


def read_settings(text: str, file_name: str, environ: Mapping[str, str]) -> Settings:
    """Read settings; raises Invalid with every mistake, each `file:line: message`, at once."""
    found = parse_toml(text, file_name)
    lines = lines_of_keys(text)
    entries = list(_entries_of(found, file_name, lines, _DEPTHS))
    entries += _entries_of_environment(environ, found)
    errors = [error for entry in entries if (error := _mistake(entry))]
    if errors:
        raise Invalid("\n".join(errors), f"repair {file_name}; `amiral config` shows what is set")
    sources = {".".join(entry.path): entry.where for entry in entries}
    return msgspec.convert({**_merged(entries), "sources": sources}, Settings)


def narrow(settings: Settings, project: str, text: str, file_name: str) -> Narrowed:
    """Apply a project's own amiral.toml: it may only take power away (spec: trust).

    Raises Invalid when what it may set cannot be read: a limit that is not understood is not
    dropped. All else is left out with a notice.
    """
    lines = lines_of_keys(text) if text else {}
    caps = dict(settings.projects.get(project, ProjectSettings()).budget)
    narrowed, notices = replace(settings, budget=caps), []
    depths = {**_DEPTHS, **dict.fromkeys(NARROWING, 2)}
    for entry in _entries_of(parse_toml(text, file_name), file_name, lines, depths):
        known = NARROWING.get(entry.path[0], {})
        field = known.get(entry.path[-1])
        if field is None and (entry.path[0] not in NARROWING or _field_of(entry.path)):
            name = ".".join(entry.path)
            notices.append(f"{entry.where}: {name} can be set in the home only; left out")
        elif field is None or not field.is_good(entry.value):
            message = _wrong(entry, field) if field else _unknown(entry, known)
            raise Invalid(message, f"repair {file_name} of project {project}")
        elif (wish := _narrowed(narrowed, entry)) is None:
            notices.append(f"{entry.where}: {'.'.join(entry.path)} would widen; left out")
        else:
            source = {".".join(entry.path): entry.where}
            narrowed = replace(wish, sources={**narrowed.sources, **source})
    return Narrowed(narrowed, tuple(notices))


def _narrowed(settings: Settings, entry: _Entry) -> Settings | None:
    """Give the settings with one wish of a project, None when it would widen them."""
    match entry.path, entry.value:
        case ("budget", name), int() | float() as amount:
            if amount > settings.budget.get(name, amount):
                return None
            return replace(settings, budget={**settings.budget, name: amount})
        case ("ui", "language"), str() as language:
            return replace(settings, ui=replace(settings.ui, language=language))
        case ("ui", _), str() as zone:
            return replace(settings, ui=replace(settings.ui, zone=zone))
        case ("sandbox", "mode"), str() as mode:
            order = _LEAST_TO_MOST_STRICT.index
            if order(mode) < order(settings.sandbox.mode):
                return None
            return replace(settings, sandbox=replace(settings.sandbox, mode=mode))
        case _:
            network = msgspec.convert(entry.value, tuple[str, ...] | str)
            if not _is_narrower(network, settings.sandbox.network):
                return None
            return replace(settings, sandbox=replace(settings.sandbox, network=network))


def _is_narrower(wish: tuple[str, ...] | str, owner: tuple[str, ...] | str) -> bool:
    if owner == "open" or wish == "none":
        return True
    return wish == owner or (isinstance(wish, tuple) and set(wish) <= set(owner))


def _entries_of(
    found: Mapping[str, object],
    file_name: str,
    lines: Mapping[tuple[str, ...], int],
    depths: Mapping[str, int],
    path: tuple[str, ...] = (),
) -> Iterator[_Entry]:
    """Walk a document down to its values, and to what should be a table and is none."""
    for key, value in found.items():
        inner = (*path, key)
        if isinstance(value, dict) and len(inner) < depths.get(inner[0], 1):
            yield from _entries_of(value, file_name, lines, depths, inner)
        else:
            yield _Entry(inner, value, f"{file_name}:{line_of(lines, *inner)}")


def _entries_of_environment(
    environ: Mapping[str, str], found: Mapping[str, object]
) -> Iterator[_Entry]:
    for variable in sorted(environ):
        section, _, rest = variable.removeprefix(_PREFIX).lower().partition("_")
        if not variable.startswith(_PREFIX) or section not in {*PLAIN, *NAMED}:
            continue
        path: tuple[str, ...] = (section, rest)
        for key in NAMED.get(section, {}):
            if rest.endswith(f"_{key}"):
                path = (section, _name_of(rest.removesuffix(f"_{key}"), found.get(section)), key)
        field = _field_of(path)
        value = _value_of(environ[variable], field) if field else environ[variable]
        yield _Entry(path, value, variable)


def _name_of(folded: str, table: object) -> str:
    """Variables know no dashes: `AMIRAL_PROJECTS_MY_SHOP_TEST` may mean the project my-shop."""
    names = table if isinstance(table, dict) else {}
    like = [name for name in names if re.sub("[^a-z0-9]+", "_", name.lower()) == folded]
    return str(like[0]) if like else folded


def _value_of(raw: str, field: Field) -> object:
    """Read a variable as its key wants it: text, else a TOML or JSON value, else a list of one."""
    wishes: list[object] = [raw]
    for read in (lambda text: tomllib.loads(f"v = {text}")["v"], json.loads):
        with contextlib.suppress(ValueError, RecursionError):
            wishes.append(read(raw))
    wishes += [[wish] for wish in reversed(wishes)]
    return next((wish for wish in wishes if not _mismatch(wish, field)), raw)


def _mistake(entry: _Entry) -> str:
    field = _field_of(entry.path)
    if field is not None:
        return _wrong(entry, field) if _mismatch(entry.value, field) else ""
    section = entry.path[0]
    known = {**PLAIN, **NAMED}.get(section)
    if known is None:
        hint = did_you_mean(section, (*PLAIN, *NAMED))
        return f"{entry.where}: unknown section [{section}]{hint}"
    return _unknown(entry, known)


def _unknown(entry: _Entry, known: Mapping[str, Field]) -> str:
    """Say what is wrong with a path that leads to no key of its section."""
    name = ".".join(entry.path)
    if len(entry.path) < _DEPTHS.get(entry.path[0], 2):
        return f"{entry.where}: [{name}] must be a table of {', '.join(known)}"
    return f"{entry.where}: unknown key {name}{did_you_mean(entry.path[-1], known)}"


def _mismatch(value: object, field: Field) -> bool:
    if not field.is_good(value):
        return True
    item = field.item
    return item is not None and isinstance(value, list) and not all(map(item.is_good, value))


def _wrong(entry: _Entry, field: Field) -> str:
    name = ".".join(entry.path)
    wanted = f"{field.wanted}, each {field.item.wanted}" if field.item else field.wanted
    is_secret = entry.path[-1] in SECRET
    got = "what stands there is not shown" if is_secret else f"got {shown(entry.value)}"
    return f"{entry.where}: {name} must be {wanted} ({got})"


def _field_of(path: tuple[str, ...]) -> Field | None:
    keys = {**PLAIN, **NAMED}.get(path[0], {})
    return keys.get(path[-1]) if len(path) == _DEPTHS.get(path[0]) else None


def _merged(entries: list[_Entry]) -> dict[str, object]:
    merged: dict[str, object] = {}
    for entry in entries:
        table: dict[str, object] = merged
        for name in entry.path[:-1]:
            inner = table.setdefault(name, {})
            table = inner if isinstance(inner, dict) else table
        table[entry.path[-1]] = entry.value
    return merged


def _is_private(folder: Path) -> bool:
    try:
        status = folder.lstat()
    except OSError:
        return False
    ours = stat.S_ISDIR(status.st_mode) and status.st_uid == getuid()
    return ours and not stat.S_IMODE(status.st_mode) & _OTHERS
