"""Pure: what a policy says about a line of shell. Advisory: the wall is the sandbox (S3.22, R47).

A deny or ask is looked for in every command of the line, in what wrappers such as `timeout` or
`sh -c` run, and in what could only be meant. An allow needs every command to be allowed as it is
typed, and nothing in the line that only running it would tell.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import chain

from amiral.base.plain import one_line
from amiral.permissions.command_pattern import (
    could_name,
    is_allowed,
    is_meant,
    matches_text,
    may_be_meant,
)
from amiral.permissions.redirects import judge_redirections
from amiral.permissions.rules import (
    Capability,
    Decision,
    Permissions,
    Posture,
    Rule,
    rules_for,
    severest,
    worse,
)
from amiral.permissions.runs import layers, may_run, quotes
from amiral.permissions.shell_line import UNKNOWN, Line, Words, read_line

_OPERATOR = re.compile(r"[;&|<>]")


def decide_command(permissions: Permissions | None, line: str, root: str = "") -> Decision:
    """Judge a line of shell, or any other text, by the strictest thing that is found in it.

    `root` is the project's, for redirections to absolute paths. The reason names the command and
    the rule.
    """
    if permissions is None:
        return Decision(Posture.ALLOW, None, "nothing is configured", advisory=True)
    read = read_line(line)
    rules = rules_for(permissions, Capability.EXECUTE)
    narrowing = [rule for rule in rules if rule.posture is not Posture.ALLOW]
    return _strictest(
        chain(
            _of_whole_line(narrowing, line),
            _of_candidates(narrowing, read),
            [] if read.is_readable else _of_unreadable(narrowing, line, permissions.default),
            judge_redirections(permissions, read, root),
            _of_commands(rules, read, permissions.default),
        )
    )


def _strictest(decisions: Iterable[Decision]) -> Decision:
    """Give the first of the strictest; once there is a deny no more is looked for."""
    found: list[Decision] = []
    for decision in decisions:
        found.append(decision)
        if decision.posture is Posture.DENY:
            return decision
    return max(found, key=lambda decision: decision.posture.severity)


def _of_whole_line(narrowing: list[Rule], line: str) -> Iterator[Decision]:
    """Rules that name more than one command, such as `curl * | sh*`, are about the line."""
    for rule in narrowing:
        if _OPERATOR.search(rule.match) and matches_text(rule.match, " ".join(line.split())):
            yield _by(rule, (line,))


def _of_candidates(narrowing: list[Rule], line: Line) -> Iterator[Decision]:
    """Judge all that the line may run, then what it only quotes."""
    for words in may_run(line) if narrowing else ():
        for rule in narrowing:
            if is_meant(rule.match, words):
                yield _by(rule, words)
            elif may_be_meant(rule.match, words):
                yield _ask(rule, words, "could be meant by")
    for words in quotes(line) if narrowing else ():
        for rule in narrowing:
            if is_meant(rule.match, words):
                yield _ask(rule, words, "is quoted, and meant by")


def _of_unreadable(narrowing: list[Rule], line: str, default: Posture) -> Iterator[Decision]:
    reason = "the line cannot be read as shell"
    for rule in narrowing:
        if could_name(rule.match, line):
            yield Decision(rule.posture, rule, f"{reason}; it names what {rule}", advisory=True)
    yield Decision(worse(default, Posture.ASK), None, reason, advisory=True)


def _of_commands(rules: Iterable[Rule], line: Line, default: Posture) -> Iterator[Decision]:
    """Judge each command as it is typed; what is opaque is never better than the default or ask."""
    found = [layer for words in line.commands for layer in layers(words)]
    decisions = [_of_command(rules, words, default) for words, _ in found]
    yield from decisions
    if not decisions:
        yield Decision(default, None, f"no command; the default is {default}", advisory=True)
    opaque = [*line.opaque, *(wrapped.opaque for _, wrapped in found if wrapped.opaque)]
    is_allowed = all(decision.posture is Posture.ALLOW for decision in decisions)
    if opaque and is_allowed and default is not Posture.ALLOW:
        reason = f"only running the line would tell what it does: {opaque[0]}"
        yield Decision(worse(default, Posture.ASK), None, reason, advisory=True)


def _of_command(rules: Iterable[Rule], words: Words, default: Posture) -> Decision:
    rule = severest(rule for rule in rules if _is_about(rule, words))
    if rule is not None:
        return _by(rule, words)
    reason = f"no rule matches {_shown(words)}; the default is {default}"
    return Decision(default, None, reason, advisory=True)


def _is_about(rule: Rule, words: Words) -> bool:
    is_allow = rule.posture is Posture.ALLOW
    return is_allowed(rule.match, words) if is_allow else is_meant(rule.match, words)


def _by(rule: Rule, words: Words) -> Decision:
    return Decision(rule.posture, rule, f"{_shown(words)}: {rule}", advisory=True)


def _ask(rule: Rule, words: Words, why: str) -> Decision:
    return Decision(Posture.ASK, rule, f"{_shown(words)} {why} {rule}", advisory=True)


def _shown(words: Words) -> str:
    return f"`{one_line(' '.join(words).replace(UNKNOWN, '…'))}`"
