"""Pure: a worker's permissions in the words of Claude Code; docs/reference/claude.md has the facts.

Nothing that is allowed is told: Claude Code asks for what it is not told, and the question is
judged by the permissions themselves. Its own matching of an allow is wider than theirs.
"""

import json
import re
from collections.abc import Iterator, Mapping

from amiral.agents.driver import Seat
from amiral.permissions.globs import ANY_DEPTH
from amiral.permissions.outcomes import is_about_everything, outcomes, unmatched
from amiral.permissions.projection import Enforcement, Projection
from amiral.permissions.rules import Capability, Permissions, Posture, Rule, rules_for
from amiral.permissions.tools import SHELL_TOOL

SEARCH = "Grep"
MOST_BYTES = 120_000
"""One argument may have 128 KiB; more rules than that are not told one by one."""

_TOOLS: Mapping[Capability, str] = {Capability.READ: "Read", Capability.WRITE: "Edit"}
_ALWAYS, _NEVER = frozenset({Posture.ALLOW}), frozenset({Posture.DENY})
_OWN_SANDBOX = {
    "enabled": True,
    "autoAllowBashIfSandboxed": False,
    "allowUnsandboxedCommands": False,
}
# What its rules read in another way, or a file system may write in another way.
_ODD_IN_PATH = re.compile(r"[^\w ./*@%+,:;=~$&^'\"<>|-]| (?=/|$)", re.ASCII)
_ODD_IN_COMMAND = re.compile(r"[?()\\;&|<>]|:(?=\*$)")
_INEXACT = "Claude Code cannot be told this exactly, so it asks"
_NO_SANDBOX = (
    "Claude Code keeps commands in its own sandbox only where bubblewrap and socat are installed; "
    "elsewhere it runs them as they are"
)
_NO_DELETE = "Claude Code has no tool that deletes, but a command may: it asks for each one"
_NO_SEARCH = "Claude Code cannot be made to ask for what a search finds, so it has no Grep"
_TOO_MANY = "there are too many rules for Claude Code: it asks for whatever it does"


def project(seat: Seat) -> Projection:
    """Give the settings as an argument: the agent could change a file in its home."""
    permissions = seat.permissions
    if permissions is None:
        return Projection()
    is_fenced = seat.enforcement is not Enforcement.NONE
    asked, denied = _asked(seat, permissions), _denied(seat, permissions)
    told = _settings(permissions, asked, denied, is_fenced=is_fenced)
    notes = [*_inexact(permissions), *([] if is_fenced else _unheld(permissions))]
    notes += [_NO_SEARCH] if SEARCH in denied else []
    if len(told.encode()) > MOST_BYTES:
        every = [
            SHELL_TOOL,
            *(f"{tool}({_place(seat.cwd, ANY_DEPTH)})" for tool in _TOOLS.values()),
        ]
        told = _settings(permissions, every, [SEARCH], is_fenced=is_fenced)
        notes = [_TOO_MANY]
    env = {"IS_SANDBOX": "1"} if seat.enforcement is Enforcement.ENFORCED else {}
    return Projection((), (f"--settings={told}",), env, tuple(notes))


def _settings(
    permissions: Permissions, asked: list[str], denied: list[str], *, is_fenced: bool
) -> str:
    settings: dict[str, object] = {"permissions": {"ask": asked, "deny": denied}}
    if is_fenced:
        settings["sandbox"] = {"enabled": False}
    elif outcomes(permissions, Capability.EXECUTE) != _NEVER:
        settings["sandbox"] = _OWN_SANDBOX
    return json.dumps(settings)


def _asked(seat: Seat, permissions: Permissions) -> list[str]:
    """What no rule matches is asked for, also where it is denied: a deny would beat each allow."""
    found: list[str] = []
    for capability, tool in _TOOLS.items():
        found += (f"{tool}({_place(seat.cwd, r.match)})" for r in _asking(permissions, capability))
        if unmatched(permissions, capability) not in (None, Posture.ALLOW):
            found.append(f"{tool}({_place(seat.cwd, ANY_DEPTH)})")
    found += [SHELL_TOOL] if _asks_for_commands(seat, permissions) else []
    return list(dict.fromkeys(found))


def _asking(permissions: Permissions, capability: Capability) -> Iterator[Rule]:
    for rule in rules_for(permissions, capability):
        is_inexact = bool(_ODD_IN_PATH.search(rule.match))
        if rule.posture is Posture.ASK or (rule.posture is Posture.DENY and is_inexact):
            yield rule


def _asks_for_commands(seat: Seat, permissions: Permissions) -> bool:
    """It runs `ls` and `cat` without a question, unless it has to ask for all commands."""
    found = outcomes(permissions, Capability.EXECUTE)
    if seat.enforcement is Enforcement.NONE and found != _NEVER:
        return found != _ALWAYS or outcomes(permissions, Capability.DELETE) != _ALWAYS
    return found not in (_ALWAYS, _NEVER)


def _denied(seat: Seat, permissions: Permissions) -> list[str]:
    """A search leaves out what is denied, but finds what must be asked for."""
    found = [
        f"{tool}({_place(seat.cwd, rule.match)})"
        for capability, tool in _TOOLS.items()
        for rule in rules_for(permissions, capability)
        if rule.posture is Posture.DENY and not _ODD_IN_PATH.search(rule.match)
    ]
    if not all(map(is_about_everything, _asking(permissions, Capability.READ))):
        found.append(SEARCH)
    if outcomes(permissions, Capability.EXECUTE) == _NEVER:
        found.append(SHELL_TOOL)
    else:
        found += _denied_commands(permissions)
    return list(dict.fromkeys(found))


def _denied_commands(permissions: Permissions) -> Iterator[str]:
    for rule in rules_for(permissions, Capability.EXECUTE):
        if rule.posture is Posture.DENY and not _ODD_IN_COMMAND.search(rule.match):
            yield f"{SHELL_TOOL}({' '.join(rule.match.split())})"


def _place(root: str, match: str) -> str:
    """Write a glob below the root: absolute, with two slashes, in whatever case.

    What a rule names there has all below it with it; ending in `/**` it would leave the name out.
    """
    glob = match.strip("/")
    inner = glob.removesuffix(f"/{ANY_DEPTH}") if glob != ANY_DEPTH else glob
    return f"/{_blurred(re.sub('[*]', '?', root.rstrip('/')))}/{_blurred(inner)}"


def _blurred(text: str) -> str:
    return _ODD_IN_PATH.sub("*", text)


def _inexact(permissions: Permissions) -> Iterator[str]:
    for rule in permissions.rules:
        is_command = rule.capability is Capability.EXECUTE
        odd = _ODD_IN_COMMAND if is_command else _ODD_IN_PATH
        is_told = rule.posture is Posture.DENY and rule.capability is not Capability.DELETE
        if is_told and odd.search(rule.match):
            yield f"{rule}: {_INEXACT}"


def _unheld(permissions: Permissions) -> Iterator[str]:
    commands = outcomes(permissions, Capability.EXECUTE)
    if commands != _NEVER:
        yield _NO_SANDBOX
    if commands == _ALWAYS and outcomes(permissions, Capability.DELETE) != _ALWAYS:
        yield _NO_DELETE
