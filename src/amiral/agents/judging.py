"""Pure: how a permission question of a worker is judged: by its tools, then by its permissions."""

import posixpath
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from amiral.agents.driver import Asked
from amiral.agents.fields import Fields, read_fields
from amiral.agents.worker import Worker
from amiral.base.errors import AmiralError
from amiral.permissions.protected import IN_PLACE, NAMED_IN_WORKTREE
from amiral.permissions.rules import (
    Capability,
    Decision,
    Permissions,
    Posture,
    decide_file,
    path_of,
    rules_for,
)
from amiral.permissions.shell import decide_command
from amiral.permissions.tools import (
    ALL_TOOLS,
    READING_TOOLS,
    SEARCHING_TOOLS,
    SHELL_TOOL,
    WRITING_TOOLS,
)

_PLACES = ("file_path", "notebook_path", "path")


@dataclass(frozen=True)
class Judgement:
    """`reason` names the rule that asks or denies; of what is allowed there is none to tell."""

    posture: Posture
    reason: str


Judge = Callable[[Worker, Asked, str], Judgement]
"""Judges a question of a worker that works in this folder."""


def by_tools(worker: Worker, asked: Asked, cwd: str) -> Judgement:
    """Judge by the worker's tools alone: all that can be done where no permissions are set."""
    return judge(None, worker, asked, cwd)


def judging(
    permissions_of: Callable[[Worker], Permissions | None], is_worktree: Callable[[str], bool]
) -> Judge:
    """Make a judge of what finds the permissions of a worker, None when none are set.

    Where they cannot be told, for what is wrong with them, everything is denied. `is_worktree`
    tells of a folder that some names at its top hold nothing there.
    """

    def judge_now(worker: Worker, asked: Asked, cwd: str) -> Judgement:
        try:
            permissions = permissions_of(worker)
        except AmiralError as error:
            return Judgement(Posture.DENY, error.message)
        inert = NAMED_IN_WORKTREE if is_worktree(cwd) else IN_PLACE
        return judge(permissions, worker, asked, cwd, inert)

    return judge_now


def judge(
    permissions: Permissions | None,
    worker: Worker,
    asked: Asked,
    cwd: str,
    inert: frozenset[str] = IN_PLACE,
) -> Judgement:
    """Judge one question; paths are relative to the worker's folder `cwd`.

    A tool the worker does not have is always denied. A rule such as `Bash(git *)` among the tools
    is not judged here, so it allows nothing. To change what is protected by its name is denied
    whatever the rules say, but for the `inert` names at the top of `cwd`.
    """
    if worker.tools != ALL_TOOLS and asked.tool not in worker.tools:
        return Judgement(Posture.DENY, f"worker {worker.id} may not use {asked.tool}")
    if permissions is None:
        return Judgement(Posture.ALLOW, "")
    ground = _Ground(permissions, cwd, inert)
    decision = _decide(ground, asked.tool, _arguments(asked))
    told = "" if decision.posture is Posture.ALLOW else decision.reason
    return Judgement(decision.posture, told)


@dataclass(frozen=True)
class _Ground:
    """What a question is judged on."""

    permissions: Permissions
    cwd: str
    inert: frozenset[str]


def _decide(ground: _Ground, tool: str, given: Fields) -> Decision:
    permissions = ground.permissions
    if tool in WRITING_TOOLS:
        return _decide_change(ground, given)
    if tool in READING_TOOLS:
        return _decide_paths(ground, Capability.READ, list(_places(given)))
    if tool in SEARCHING_TOOLS:
        return _decide_paths(ground, Capability.READ, [_searched(tool, given)])
    if tool == SHELL_TOOL and given.text("command"):
        return decide_command(permissions, given.text("command"), ground.cwd)
    if tool == SHELL_TOOL:
        return _strictest(permissions, Capability.EXECUTE)
    reason = f"no rule is about {tool}; the default is {permissions.default}"
    return Decision(permissions.default, None, reason, advisory=False)


def _decide_change(ground: _Ground, given: Fields) -> Decision:
    """Each of the `changes` of a patch has a `path`, and `deleted` when that is gone afterwards.

    One that does not say what it is about may do both.
    """
    changes = given.items("changes")
    gone = [one.text("path") for one in changes if "deleted" in one.values]
    written = [one.text("path") for one in changes if "deleted" not in one.values]
    written += _places(given)
    parts = ((Capability.WRITE, written), (Capability.DELETE, gone))
    is_silent = not written and not gone
    found = [_decide_paths(ground, *part) for part in parts if part[1] or is_silent]
    return max(found, key=lambda decision: decision.posture.severity)


def _decide_paths(ground: _Ground, capability: Capability, typed: list[str]) -> Decision:
    permissions, cwd = ground.permissions, ground.cwd
    if not typed:
        return _strictest(permissions, capability)
    paths = (path_of(cwd, path) for path in typed)
    found = [decide_file(permissions, capability, path, ground.inert) for path in paths]
    return max(found, key=lambda decision: decision.posture.severity)


def _strictest(permissions: Permissions, capability: Capability) -> Decision:
    """Judge what does not say what it is about: it may be about anything."""
    rules = rules_for(permissions, capability)
    rule = max(rules, key=lambda rule: rule.posture.severity, default=None)
    if rule is None or rule.posture.severity <= permissions.default.severity:
        reason = f"it does not say what it is about; the default is {permissions.default}"
        return Decision(permissions.default, None, reason, advisory=False)
    return Decision(rule.posture, rule, f"it does not say what it is about; {rule}", advisory=False)


def _places(given: Fields) -> Iterator[str]:
    """Name every path a file tool is about."""
    yield from given.texts("paths")
    yield from (given.text(name) for name in _PLACES if given.text(name))


def _searched(tool: str, given: Fields) -> str:
    """Name what is searched: a folder; or the paths a pattern may lead to, as it is written."""
    inner = given.text("pattern") if tool == "Glob" else ""
    return posixpath.join(given.text("path"), inner) or "."


def _arguments(asked: Asked) -> Fields:
    return read_fields(asked.arguments.encode("utf-8", "replace")) or Fields({})
