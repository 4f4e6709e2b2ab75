"""Pure: Worker, a seat one can talk to, and the files that declare workers and roles."""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import msgspec

from amiral.base.errors import Invalid
from amiral.base.fields import Field, check_object, shown, value_at
from amiral.base.located_json import Located, scan_json
from amiral.base.plain import plain
from amiral.permissions.rules import seat_of
from amiral.permissions.tools import ALL_TOOLS

_MOST_TURNS = 1000
_MOST_DRAFTS = 1000
_LONGEST_LABEL = 60
_LONGEST_ICON = 16
_LONGEST_FOLDER = 255


@dataclass(frozen=True)
class Worker:
    """The 13 fields of a registry row (S0.3) and the two optional ones.

    `tools` is "all" or the only tools the worker has; `max_turns` 0 = no cap; `driver` "" = the
    first CLI found; `permissions` is the JSON text of an object like those under "workers" in
    permissions.json, "" = nothing configured.
    """

    id: str
    label: str
    icon: str
    type: str
    model: str
    max_turns: int
    tools: tuple[str, ...] | str
    system_prompt_skill: str
    prompt_style: str
    output_format: str
    focus_dirs: tuple[str, ...]
    log_category: str
    builtin: bool = False
    driver: str = ""
    permissions: str = ""


@dataclass(frozen=True)
class Registry:
    """Workers of one file; none when it has `errors` (`file:line: message`, all of them)."""

    workers: tuple[Worker, ...]
    errors: tuple[str, ...] = ()


@dataclass(frozen=True)
class Roles:
    """The defaults of project_roles.json (S0.35)."""

    active_role: str = "developer"
    spec_auto_approve: bool = False
    max_draft_specs: int = 20


@dataclass(frozen=True)
class RolesRead:
    """Roles of one file. With `errors` (`file:line: message`) they are the product's defaults."""

    roles: Roles
    errors: tuple[str, ...] = ()


def parse_registry(text: str, file_name: str) -> Registry:
    """Read a workers_registry.json; total: every mistake of any text is told, at once."""
    try:
        located = scan_json(text, file_name)
    except Invalid as error:
        return Registry((), (error.message,))
    errors = (*located.errors, *_check_registry(located))
    if errors:
        return Registry((), errors)
    rows = value_at(located, ("workers",))
    return Registry(tuple(map(_worker_of, msgspec.convert(rows, list[dict[str, object]]))))


def parse_roles(text: str, file_name: str) -> RolesRead:
    """Read a project_roles.json; total: every mistake of any text is told, at once."""
    try:
        located = scan_json(text, file_name)
    except Invalid as error:
        return RolesRead(Roles(), (error.message,))
    errors = [*located.errors, *check_object(located, (), "the file", _ROLES_FILE, ("version",))]
    if not errors and value_at(located, ("defaults",)) is not None:
        errors = list(check_object(located, ("defaults",), "defaults", _ROLES, ()))
    if errors:
        return RolesRead(Roles(), tuple(errors))
    return RolesRead(msgspec.convert(located.value, _RolesFile).roles())


def combine(shipped: Iterable[Worker], own: Iterable[Worker]) -> tuple[Worker, ...]:
    """Put a project's workers over the shipped ones: the same id takes the row, others follow."""
    workers = {seat_of(worker.id): worker for worker in shipped}
    workers.update({seat_of(worker.id): worker for worker in own})
    return tuple(workers.values())


def _worker_of(row: Mapping[str, object]) -> Worker:
    permissions = row.get("permissions")
    text = "" if permissions is None else json.dumps(permissions, ensure_ascii=False)
    return msgspec.convert({**row, "permissions": text}, Worker)


def _check_registry(located: Located) -> list[str]:
    errors = list(check_object(located, (), "the file", _REGISTRY, tuple(_REGISTRY)))
    rows = value_at(located, ("workers",))
    seats: dict[str, str] = {}
    for number in range(len(rows) if isinstance(rows, list) else 0):
        seat = value_at(located, ("workers", number, "id"))
        named = isinstance(seat, str) and seat
        subject = f"worker {shown(seat)}" if named else f"worker number {number + 1}"
        errors += check_object(located, ("workers", number), subject, _WORKER, _NEEDED)
        if named and seat_of(str(seat)) in seats:
            message = f"{subject}: this id is taken by {seats[seat_of(str(seat))]}"
            errors.append(located.complaint(message, "workers", number, "id"))
        seats.setdefault(seat_of(str(seat)), subject)
    return errors


def _is_text(longest: int) -> Callable[[object], bool]:
    def is_good(value: object) -> bool:
        return (
            isinstance(value, str)
            and 1 <= len(value) <= longest
            and plain(value) == value == " ".join(value.split())
        )

    return is_good


def _matches(pattern: str) -> Callable[[object], bool]:
    compiled = re.compile(pattern)
    return lambda value: isinstance(value, str) and compiled.fullmatch(value) is not None


def _is_number(least: int, most: int) -> Callable[[object], bool]:
    return lambda value: type(value) is int and least <= value <= most


def _one_of(*words: str) -> Field:
    wanted = " or ".join(f'"{word}"' for word in words)
    return Field(lambda value: value in words, wanted)


def _is_list(value: object) -> bool:
    return isinstance(value, list)


def _is_inner_folder(value: object) -> bool:
    return (
        _is_text(_LONGEST_FOLDER)(value)
        and isinstance(value, str)
        and not value.startswith(("/", "~", "-"))
        and ".." not in value.split("/")
    )


_ID = r"[a-z0-9][a-z0-9_-]{0,39}"
_NAME = "lowercase letters, digits, - and _, 40 at most, a letter or digit first"
_TOOL = r"[A-Za-z_][A-Za-z0-9_*-]{0,99}(\([^(),\x00-\x1f]{1,200}\))?"
_MODEL = r"[A-Za-z0-9][A-Za-z0-9._:/@\[\]-]{0,99}"
_SKILL = r"([A-Za-z0-9][A-Za-z0-9_.-]{0,99}\.md)?"

_VERSION = Field(lambda value: value == 1 and type(value) is int, "1")
_REGISTRY = {"version": _VERSION, "workers": Field(_is_list, "a list")}
_WORKER = {
    "id": Field(_matches(_ID), _NAME),
    "label": Field(_is_text(_LONGEST_LABEL), "one line of 1 to 60 visible characters"),
    "icon": Field(_is_text(_LONGEST_ICON), "a sign of 1 to 16 visible characters"),
    "type": _one_of("chat", "terminal"),
    "model": Field(_matches(_MODEL), "a model's name"),
    "max_turns": Field(_is_number(0, _MOST_TURNS), "a whole number from 0 (no cap) to 1000"),
    "tools": Field(
        lambda value: value == ALL_TOOLS or isinstance(value, list),
        'a list or "all"',
        Field(_matches(_TOOL), "a tool's name"),
    ),
    "system_prompt_skill": Field(_matches(_SKILL), "the name of a .md file, without folders"),
    "prompt_style": _one_of("history", "gsd"),
    "output_format": _one_of("text", "json", "stream-json"),
    "focus_dirs": Field(_is_list, "a list", Field(_is_inner_folder, "a folder in the project")),
    "log_category": Field(_matches(_ID), _NAME),
    "builtin": Field(lambda value: isinstance(value, bool), "true or false"),
    "driver": Field(_matches(rf"({_ID})?"), _NAME),
    "permissions": Field(lambda value: value is None or isinstance(value, dict), "an object"),
}
_NEEDED = tuple(name for name in _WORKER if name not in {"builtin", "driver", "permissions"})
_ROLES_FILE = {
    "version": _VERSION,
    "defaults": Field(lambda value: isinstance(value, dict), "an object"),
}
_ROLES = {
    "activeRole": Field(_matches(_ID), "a worker's id"),
    "specAutoApprove": Field(lambda value: isinstance(value, bool), "true or false"),
    "maxDraftSpecs": Field(_is_number(1, _MOST_DRAFTS), "a whole number from 1 to 1000"),
}


class _RoleDefaults(msgspec.Struct, rename="camel"):
    active_role: str = Roles.active_role
    spec_auto_approve: bool = Roles.spec_auto_approve
    max_draft_specs: int = Roles.max_draft_specs


class _RolesFile(msgspec.Struct):
    defaults: _RoleDefaults = msgspec.field(default_factory=_RoleDefaults)

    def roles(self) -> Roles:
        found = self.defaults
        return Roles(found.active_role, found.spec_auto_approve, found.max_draft_specs)
