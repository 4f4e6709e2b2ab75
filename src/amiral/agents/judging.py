"""Pure: how a permission question of a worker is judged: by its tools, then by its permissions."""

import posixpath
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from amiral.agents.driver import Asked
from amiral.agents.fields import Fields, read_fields
from amiral.agents.worker import Worker
from amiral.base.errors import AmiralError
from amiral.permissions.rules import (
    ALL_TOOLS,
    SHELL_TOOL,
    WRITING_TOOLS,
    Capability,
    Decision,
    Permissions,
    Posture,
    decide_file,
    path_of,
    rules_for,
)
from amiral.permissions.shell import decide_command

_READING = frozenset({"Read", "NotebookRead"})
_SEARCHING = frozenset({"Glob", "Grep", "LS"})
FILE_TOOLS = WRITING_TOOLS | _READING | _SEARCHING
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


def judging(permissions_of: Callable[[Worker], Permissions | None]) -> Judge:
    """Make a judge of what finds the permissions of a worker, None when none are set.

    Where they cannot be told, for what is wrong with them, everything is denied.
    """

    def judge_now(worker: Worker, asked: Asked, cwd: str) -> Judgement:
        try:
            permissions = permissions_of(worker)
        except AmiralError as error:
            return Judgement(Posture.DENY, error.message)
        return judge(permissions, worker, asked, cwd)

    return judge_now


def judge(permissions: Permissions | None, worker: Worker, asked: Asked, cwd: str) -> Judgement:
    """Judge one question; paths are relative to the worker's folder `cwd`.

    A tool the worker does not have is always denied. A rule such as `Bash(git *)` among the tools
    is not judged here, so it allows nothing.
    """
    if worker.tools != ALL_TOOLS and asked.tool not in worker.tools:
        return Judgement(Posture.DENY, f"worker {worker.id} may not use {asked.tool}")
    if permissions is None:
        return Judgement(Posture.ALLOW, "")
    decision = _decide(permissions, asked.tool, _arguments(asked), cwd)
    told = "" if decision.posture is Posture.ALLOW else decision.reason
    return Judgement(decision.posture, told)


def _decide(permissions: Permissions, tool: str, given: Fields, cwd: str) -> Decision:
    if tool in WRITING_TOOLS:
        return _decide_change(permissions, given, cwd)
    if tool in _READING:
        return _decide_paths(permissions, Capability.READ, list(_places(given)), cwd)
    if tool in _SEARCHING:
        return _decide_paths(permissions, Capability.READ, [_searched(tool, given)], cwd)
    if tool == SHELL_TOOL and given.text("command"):
        return decide_command(permissions, given.text("command"), cwd)
    if tool == SHELL_TOOL:
        return _strictest(permissions, Capability.EXECUTE)
    reason = f"no rule is about {tool}; the default is {permissions.default}"
    return Decision(permissions.default, None, reason, advisory=False)


def _decide_change(permissions: Permissions, given: Fields, cwd: str) -> Decision:
    """Each of the `changes` of a patch has a `path`, and `deleted` when that is gone afterwards.

    One that does not say what it is about may do both.
    """
    changes = given.items("changes")
    gone = [one.text("path") for one in changes if "deleted" in one.values]
    written = [one.text("path") for one in changes if "deleted" not in one.values]
    written += _places(given)
    parts = ((Capability.WRITE, written), (Capability.DELETE, gone))
    is_silent = not written and not gone
    found = [_decide_paths(permissions, *part, cwd) for part in parts if part[1] or is_silent]
    return max(found, key=lambda decision: decision.posture.severity)


def _decide_paths(
    permissions: Permissions, capability: Capability, typed: list[str], cwd: str
) -> Decision:
    if not typed:
        return _strictest(permissions, capability)
    found = [decide_file(permissions, capability, path_of(cwd, path)) for path in typed]
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
