"""Pure: what a worker may do to which path: deny over ask over allow, else the default (S3.6)."""

import posixpath
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache

from amiral.base.plain import one_line
from amiral.permissions.globs import BadGlob, Glob, covers, matches, parse_glob
from amiral.permissions.protected import lies_protected
from amiral.permissions.tools import ALL_TOOLS, SHELL_TOOL, WRITING_TOOLS

EVERY_PATH = "**"
EVERY_COMMAND = "*"

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


class Posture(StrEnum):
    """What is answered, from the mildest to the most severe."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"

    @property
    def severity(self) -> int:
        """0 for allow, 1 for ask, 2 for deny."""
        return tuple(Posture).index(self)


class Capability(StrEnum):
    """What is done."""

    READ = "read"
    WRITE = "write"
    DELETE = "delete"
    EXECUTE = "execute-bash"


@dataclass(frozen=True)
class Rule:
    """One line of a policy; `source` says whose: `permissions.json:5`, `tools of consultant`.

    `match` is a glob of the project's paths, for execute-bash a pattern of commands.
    """

    capability: Capability
    match: str
    posture: Posture
    source: str

    def __str__(self) -> str:
        """Show the rule with its place: `permissions.json:5: deny write **/.env`."""
        return f"{self.source}: {self.posture} {self.capability} {one_line(self.match)}"


@dataclass(frozen=True)
class WorkerPolicy:
    """What a policy says about one worker; `default` None = the project's."""

    default: Posture | None
    rules: tuple[Rule, ...]


@dataclass(frozen=True)
class Policy:
    """A whole permissions.json."""

    default: Posture
    rules: tuple[Rule, ...] = ()
    workers: Mapping[str, WorkerPolicy] = field(default_factory=dict)


@dataclass(frozen=True)
class Permissions:
    """What holds for ONE worker. Nothing configured is None, never an empty one (S3.11)."""

    default: Posture
    rules: tuple[Rule, ...]


@dataclass(frozen=True)
class Decision:
    """`rule` None = no rule made it; `advisory` = the kernel does not hold it."""

    posture: Posture
    rule: Rule | None
    reason: str
    advisory: bool


@dataclass(frozen=True)
class Resolved:
    """`is_configured` False = no policy: only the floor of the worker's tools, or nothing."""

    permissions: Permissions | None
    is_configured: bool
    diagnostics: tuple[str, ...]


def resolve(
    policy: Policy | None,
    worker: str,
    tools: tuple[str, ...] | str,
    own: WorkerPolicy | None = None,
) -> Resolved:
    """Put together what holds for `worker`: the project's rules, its own, and its tools' floor.

    `own` is the `permissions` object of its registry row. A worker's default replaces the
    project's; what cannot be read narrows, never widens, and is told in `diagnostics`.
    """
    floor = _floor_of(worker, tools)
    if policy is None and own is None:
        only_floor = Permissions(Posture.ALLOW, floor) if floor else None
        return Resolved(only_floor, is_configured=False, diagnostics=())
    project = policy or Policy(Posture.ASK)
    parts = [*_policies_of(project, worker), *([own] if own else [])]
    written = (*project.rules, *(rule for part in parts for rule in part.rules))
    rules, diagnostics = sound(written)
    default = next((part.default for part in reversed(parts) if part.default), project.default)
    permissions = Permissions(default, (*rules, *_deletes_lost(written, rules, default), *floor))
    return Resolved(permissions, is_configured=True, diagnostics=diagnostics)


def _deletes_lost(
    written: Iterable[Rule], kept: Iterable[Rule], default: Posture
) -> tuple[Rule, ...]:
    """Where all that gave deleting is dropped, deleting must not begin to follow write."""
    if any(map(_gives_deleting, kept)):
        return ()
    lost = filter(_gives_deleting, written)
    return tuple(Rule(Capability.DELETE, EVERY_PATH, default, rule.source) for rule in lost)[:1]


def _gives_deleting(rule: Rule) -> bool:
    return rule.capability is Capability.DELETE and rule.posture is not Posture.DENY


def _policies_of(policy: Policy, worker: str) -> list[WorkerPolicy]:
    return [found for name, found in policy.workers.items() if seat_of(name) == seat_of(worker)]


def seat_of(worker: str) -> str:
    """Ids that differ in case or in dashes only are one seat: chat cannot tell them apart."""
    return worker.lower().replace("_", "-")


def _floor_of(worker: str, tools: tuple[str, ...] | str) -> tuple[Rule, ...]:
    """What lacks the tool is denied, whatever the policy says."""
    if tools == ALL_TOOLS:
        return ()
    names = {tool.partition("(")[0] for tool in tools}
    lacking = [] if SHELL_TOOL in names else [(Capability.EXECUTE, EVERY_COMMAND)]
    if not names & {SHELL_TOOL, *WRITING_TOOLS}:
        lacking += [(Capability.WRITE, EVERY_PATH), (Capability.DELETE, EVERY_PATH)]
    source = f"tools of {worker}"
    return tuple(Rule(capability, every, Posture.DENY, source) for capability, every in lacking)


def sound(rules: Iterable[Rule]) -> tuple[tuple[Rule, ...], tuple[str, ...]]:
    """Make rules that can be read of those that cannot, and say so: deny and ask meet everything,
    an allow is dropped.
    """
    kept: list[Rule] = []
    diagnostics: list[str] = []
    for rule in rules:
        flaw = _flaw_of(rule)
        if not flaw:
            kept.append(rule)
        elif rule.posture is Posture.ALLOW:
            diagnostics.append(f"{rule}: {flaw}; the rule is dropped")
        else:
            every = EVERY_COMMAND if rule.capability is Capability.EXECUTE else EVERY_PATH
            kept.append(Rule(rule.capability, every, rule.posture, rule.source))
            diagnostics.append(f"{rule}: {flaw}; it counts as {every}")
    return tuple(kept), tuple(diagnostics)


def _flaw_of(rule: Rule) -> str:
    if rule.capability is Capability.EXECUTE:
        is_pattern = rule.match.strip() and not _CONTROL.search(rule.match)
        return "" if is_pattern else "no pattern of a command"
    glob = _glob_of(rule.match)
    return "" if isinstance(glob, Glob) else glob


@lru_cache(maxsize=4096)
def _glob_of(text: str) -> Glob | str:
    try:
        return parse_glob(text)
    except BadGlob as error:
        return str(error)


def may_ask(permissions: Permissions) -> bool:
    """Tell whether anything about files is to be asked."""
    rules = (rule for rule in permissions.rules if rule.capability is not Capability.EXECUTE)
    return Posture.ASK in (permissions.default, *(rule.posture for rule in rules))


def rules_for(permissions: Permissions, capability: Capability) -> tuple[Rule, ...]:
    """Give the rules that judge `capability`.

    Only delete has those of another when it has none: those of write. When all it has are denies
    it keeps what narrows in write's, so that one deny more never gives way to less.
    """
    own = tuple(rule for rule in permissions.rules if rule.capability is capability)
    if capability is not Capability.DELETE or any(map(_gives_deleting, own)):
        return own
    write = rules_for(permissions, Capability.WRITE)
    return write if not own else own + tuple(r for r in write if r.posture is not Posture.ALLOW)


def decide_file(
    permissions: Permissions | None,
    capability: Capability,
    path: tuple[str, ...] | None,
    inert: frozenset[str] | None = None,
) -> Decision:
    """Judge read, write or delete of `path` (segments below the project's root, None = outside).

    Outside no rule allows anything: it gets the default, or worse where a rule meets everything.
    With `inert` the names count that are protected from change (`protected`), these at the top not.
    """
    if permissions is None:
        return Decision(Posture.ALLOW, None, "nothing is configured", advisory=False)
    is_change = capability in (Capability.WRITE, Capability.DELETE)
    if is_change and path and inert is not None and _is_kept(path, inert):
        reason = "protected by its name, whatever the policy: what it holds runs later"
        return Decision(Posture.DENY, None, reason, advisory=False)
    rules = rules_for(permissions, capability)
    if path is None:
        return _outside(permissions.default, rules)
    rule = severest(rule for rule in rules if _meets(rule, path))
    if rule is None:
        reason = f"no rule matches; the default is {permissions.default}"
        return Decision(permissions.default, None, reason, advisory=False)
    return Decision(rule.posture, rule, str(rule), advisory=False)


def _is_kept(path: tuple[str, ...], inert: frozenset[str]) -> bool:
    return path[0] not in inert and lies_protected(path)


def _outside(default: Posture, rules: Iterable[Rule]) -> Decision:
    rule = severest(r for r in rules if r.posture is not Posture.ALLOW and _meets_everything(r))
    if rule is not None and rule.posture.severity >= default.severity:
        return Decision(rule.posture, rule, str(rule), advisory=False)
    reason = f"outside the project, where rules do not reach; the default is {default}"
    return Decision(default, None, reason, advisory=False)


def worse(one: Posture, other: Posture) -> Posture:
    """Give the more severe of two postures."""
    return max(one, other, key=lambda posture: posture.severity)


def severest(rules: Iterable[Rule]) -> Rule | None:
    """Give the first of the most severe rules, None of none."""
    return max(rules, key=lambda rule: rule.posture.severity, default=None)


def _meets(rule: Rule, path: tuple[str, ...]) -> bool:
    glob = _glob_of(rule.match)
    if isinstance(glob, str):
        return rule.posture is not Posture.ALLOW
    return matches(glob, path) if rule.posture is Posture.ALLOW else covers(glob, path)


def _meets_everything(rule: Rule) -> bool:
    glob = _glob_of(rule.match)
    return isinstance(glob, str) or glob.segments == (EVERY_PATH,)


def path_of(root: str, typed: str) -> tuple[str, ...] | None:
    """Give the segments of `typed` below `root`, `..` resolved; None when it lies outside.

    Without a known root ("") only a relative path can lie inside.
    """
    whole = posixpath.normpath(posixpath.join(root, typed))
    base, found = _segments(posixpath.normpath(root)), _segments(whole)
    if posixpath.isabs(whole) != posixpath.isabs(root) or found[: len(base)] != base:
        return None
    inner = found[len(base) :]
    return None if inner[:1] == ("..",) else inner


def _segments(path: str) -> tuple[str, ...]:
    return tuple(part for part in path.split("/") if part not in ("", "."))
