"""Pure: a worker's permissions in the words of Codex; docs/reference/codex.md has the facts.

Codex cannot tell one path or command from another. So it asks for each patch and each command, and
the question is judged by the permissions themselves; what it cannot ask for it does not have.
"""

import posixpath
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from amiral.agents.driver import Seat
from amiral.agents.drivers.codex.reading import READERS
from amiral.base.toml_text import toml_text
from amiral.permissions.outcomes import outcomes
from amiral.permissions.projection import Enforcement, ProjectedFile, Projection
from amiral.permissions.rules import Capability, Permissions, Posture, Rule
from amiral.permissions.tools import (
    ALL_TOOLS,
    READING_TOOLS,
    SEARCHING_TOOLS,
    SHELL_TOOL,
    WRITING_TOOLS,
)

RUNNING = frozenset({SHELL_TOOL})
READING = READING_TOOLS | SEARCHING_TOOLS
CONFIG_FILE = "config.toml"
TOOLS_SOURCE = "tools of "
OWNED = (".gitconfig", "AGENTS.md", "AGENTS.override.md", "hooks.json", "rules")
NO_RENEWAL = {"CODEX_REFRESH_TOKEN_URL_OVERRIDE": "http://127.0.0.1:0/"}
"""No port: behind a fence Codex could not keep the login that a renewal gives it."""

THEIRS = frozenset({"notice", "personality"})
"""What Codex notes for itself and may keep. Any other key may start a program or open a door, in
this version or a later one; an agent can write them all."""

_ALWAYS, _NEVER = frozenset({Posture.ALLOW}), frozenset({Posture.DENY})
_NO_SHELL = "Codex reads by commands, of which none may be run: it reads nothing"
_NO_CHANGES = "Codex cannot tell one path from another: its commands change no file"
_NO_IMAGES = "Codex does not ask before it looks at an image: it cannot"


@dataclass(frozen=True)
class Stance:
    """What Codex may do by itself.

    `marks` say how its questions are read: "held" when no command may leave its sandbox, whoever
    allows it; "reads" when a command that only reads is asked for as reading, "searches" when one
    is that reads whole folders too.
    """

    sandbox: str
    approval: str
    has_shell: bool
    sees_images: bool
    marks: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Outcomes:
    """What reading, changing files and running commands can come to."""

    default: Posture
    read: frozenset[Posture]
    change: frozenset[Posture]
    run: frozenset[Posture]


def stance(seat: Seat) -> Stance:
    """Choose what Codex may do by itself; without permissions as its worker's tools say."""
    if seat.permissions is None:
        return _by_tools(seat)
    is_fenced = seat.enforcement is not Enforcement.NONE
    return (_behind_a_fence if is_fenced else _alone)(seat, seat.permissions)


def project(seat: Seat) -> Projection:
    """Give the keys of config.toml.

    How it asks is told when its thread is opened: `untrusted` is refused in a config.toml.
    """
    if seat.permissions is None:
        return Projection()
    chosen = stance(seat)
    told: Mapping[str, object] = {
        "sandbox_mode": chosen.sandbox,
        "features": {"shell_tool": chosen.has_shell, "view_image": chosen.sees_images},
    }
    file = ProjectedFile(CONFIG_FILE, toml_text(told), is_merged=True)
    env = {} if seat.enforcement is Enforcement.NONE else NO_RENEWAL
    return Projection((file,), (), env, tuple(_notes(seat, chosen)))


def merged(found: str, text: str) -> str:
    """Lay our keys over those found, of which only what is Codex's own stays."""
    ours = tomllib.loads(text)
    try:
        there = tomllib.loads(found)
    except (ValueError, RecursionError):
        there = {}
    kept = {key: value for key, value in there.items() if key in THEIRS}
    return toml_text({**kept, **ours})


def _by_tools(seat: Seat) -> Stance:
    """Who may run commands may write in the folder; who may only edit is asked at each change."""
    may_run, may_read = has(seat, RUNNING), has(seat, RUNNING | READING)
    approval = "on-request" if may_run or has(seat, WRITING_TOOLS) else "never"
    return Stance("workspace-write" if may_run else "read-only", approval, may_read, may_read)


def _behind_a_fence(seat: Seat, permissions: Permissions) -> Stance:
    """Its own sandbox cannot work in ours, and what the kernel refuses needs no second wall."""
    found, may_read = _outcomes(permissions), has(seat, RUNNING | READING)
    marks = _marks(seat, permissions, held_by_kernel=_NEVER)
    has_shell = may_read and (found.run != _NEVER or bool(marks))
    sees_images = may_read and Posture.ASK not in {found.default, *found.read}
    return Stance("danger-full-access", "untrusted", has_shell, sees_images, marks)


def _alone(seat: Seat, permissions: Permissions) -> Stance:
    """Its own sandbox is all there is, and a command that is allowed when asked for leaves it."""
    found, may_run = _outcomes(permissions), has(seat, RUNNING)
    may_read = has(seat, RUNNING | READING)
    reads_all = found.default is Posture.ALLOW and found.read == _ALWAYS
    changes_all = found.change == _ALWAYS
    sandbox = "workspace-write" if may_run and changes_all else "read-only"
    if reads_all and found.run == (_ALWAYS if may_run else _NEVER):
        may_change = found.change != _NEVER and (may_run or has(seat, WRITING_TOOLS))
        approval = "on-request" if may_run or may_change else "never"
        is_held = not may_run or not changes_all
        return Stance(sandbox, approval, may_read, may_read, ("held",) if is_held else ())
    marks = _marks(seat, permissions, held_by_kernel=frozenset())
    has_shell = may_read and (found.run != _NEVER or bool(marks))
    return Stance(sandbox, "untrusted", has_shell, may_read and reads_all, marks)


def _outcomes(permissions: Permissions) -> _Outcomes:
    write, delete = (outcomes(permissions, c) for c in (Capability.WRITE, Capability.DELETE))
    read, run = (outcomes(permissions, c) for c in (Capability.READ, Capability.EXECUTE))
    return _Outcomes(permissions.default, read, write | delete, run)


def _marks(
    seat: Seat, permissions: Permissions, *, held_by_kernel: frozenset[Posture]
) -> tuple[str, ...]:
    """Reading by commands is judged as reading, save where a rule is about such a command."""
    read = outcomes(permissions, Capability.READ)
    may_read = (seat.tools == ALL_TOOLS or "Read" in seat.tools) and read != _NEVER
    if not may_read or any(map(_is_about_reading, permissions.rules)):
        return ()
    return ("reads", "searches") if read <= _ALWAYS | held_by_kernel else ("reads",)


def _is_about_reading(rule: Rule) -> bool:
    """What a worker lacks of tools says nothing about reading."""
    if rule.capability is not Capability.EXECUTE or rule.posture is Posture.ALLOW:
        return False
    program = posixpath.basename((rule.match.split() or ["*"])[0]).lower()
    is_about = any(fnmatchcase(reader, program) for reader in READERS)
    return is_about and not rule.source.startswith(TOOLS_SOURCE)


def _notes(seat: Seat, chosen: Stance) -> Iterator[str]:
    may_read = has(seat, RUNNING | READING)
    if may_read and not chosen.has_shell:
        yield _NO_SHELL
    elif chosen.sandbox == "read-only":
        yield _NO_CHANGES
    if may_read and not chosen.sees_images:
        yield _NO_IMAGES


def has(seat: Seat, tools: frozenset[str]) -> bool:
    """Tell whether the worker has one of these tools."""
    return seat.tools == ALL_TOOLS or not tools.isdisjoint(seat.tools)
