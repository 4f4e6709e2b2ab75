"""Pure: permissions.json: read with every mistake at once, written back, cut down to its denies."""

import json
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from amiral.base.errors import Invalid
from amiral.base.fields import Field, check_object, shown, value_at
from amiral.base.located_json import Located, Path, scan_json
from amiral.permissions.rules import (
    Capability,
    Policy,
    Posture,
    Rule,
    WorkerPolicy,
    seat_of,
    sound,
    worse,
)

_MOST_RULES = 2000
_LONGEST_MATCH = 1000


def parse_policy(text: str, name: str) -> tuple[Policy, tuple[str, ...]]:
    """Read a permissions.json of that name; a file without `default` asks.

    Gives the policy as it is written, and a diagnostic for each pattern that cannot be read (what
    `resolve` makes of it). Raises Invalid with all mistakes, a `file:line: message` each.
    """
    located = scan_json(text, name)
    errors = [*located.errors, *check_object(located, (), "the file", _FILE, ("version",))]
    errors += _check_rules(located, ())
    errors += _check_workers(located)
    _refuse(errors, name)
    workers = value_at(located, ("workers",))
    names = workers if isinstance(workers, dict) else ()
    policy = Policy(
        _posture_at(located, ("default",)) or Posture.ASK,
        _rules_at(located, ("rules",)),
        MappingProxyType(
            {str(worker): _worker_at(located, ("workers", worker)) for worker in names}
        ),
    )
    every = (*policy.rules, *(rule for found in policy.workers.values() for rule in found.rules))
    return policy, sound(every)[1]


def parse_own(text: str, name: str) -> WorkerPolicy:
    """Read what a worker's row of the registry has under `permissions`.

    `name` says whose it is, `permissions of ui`: the rules get it for their source. Raises Invalid
    with all mistakes.
    """
    located = scan_json(text, name)
    errors = [*located.errors, *check_object(located, (), "permissions", _WORKER, ())]
    _refuse([*errors, *_check_rules(located, ())], name)
    own = _worker_at(located, ())
    return WorkerPolicy(own.default, tuple(replace(rule, source=name) for rule in own.rules))


def deny_only(policy: Policy) -> Policy:
    """Give what holds at once of a policy that nobody trusts yet: it takes and gives nothing."""
    return Policy(
        _denied(policy.default) or Posture.ALLOW,
        _denies(policy.rules),
        {
            worker: WorkerPolicy(_denied(found.default), _denies(found.rules))
            for worker, found in policy.workers.items()
        },
    )


def narrowed(policy: Policy | None, untrusted: Policy) -> Policy:
    """Put the denies of an untrusted policy on top of the one in force; nothing becomes milder."""
    less = deny_only(untrusted)
    if policy is None:
        return less
    workers = dict(policy.workers)
    for worker, found in less.workers.items():
        same = next((name for name in workers if seat_of(name) == seat_of(worker)), worker)
        own = workers.get(same, WorkerPolicy(None, ()))
        workers[same] = WorkerPolicy(found.default or own.default, (*own.rules, *found.rules))
    if less.default is Posture.DENY:
        workers = {name: _without_default(found) for name, found in workers.items()}
    return Policy(worse(policy.default, less.default), (*policy.rules, *less.rules), workers)


def with_rule(policy: Policy, rule: Rule, worker: str = "") -> Policy:
    """Set a rule for everybody or one worker, in the place of one on the same match."""
    if not worker:
        return replace(policy, rules=_placed(policy.rules, rule))
    workers = dict(policy.workers)
    name = next((known for known in workers if seat_of(known) == seat_of(worker)), worker)
    own = workers.get(name, WorkerPolicy(None, ()))
    workers[name] = replace(own, rules=_placed(own.rules, rule))
    return replace(policy, workers=workers)


def _placed(rules: tuple[Rule, ...], rule: Rule) -> tuple[Rule, ...]:
    others = (r for r in rules if (r.capability, r.match) != (rule.capability, rule.match))
    return (*others, rule)


def write_policy(policy: Policy) -> str:
    """Write a permissions.json that is read as the same policy, its lines aside."""
    document: dict[str, object] = {"version": 1, "default": policy.default.value}
    document["rules"] = [_plain(rule) for rule in policy.rules]
    document["workers"] = {worker: _plain_worker(w) for worker, w in policy.workers.items()}
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"


def _denied(posture: Posture | None) -> Posture | None:
    return posture if posture is Posture.DENY else None


def _denies(rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
    return tuple(rule for rule in rules if rule.posture is Posture.DENY)


def _without_default(policy: WorkerPolicy) -> WorkerPolicy:
    return WorkerPolicy(_denied(policy.default), policy.rules)


def _plain(rule: Rule) -> Mapping[str, str]:
    return {"capability": rule.capability, "match": rule.match, "posture": rule.posture}


def _plain_worker(policy: WorkerPolicy) -> Mapping[str, object]:
    default = {"default": policy.default.value} if policy.default else {}
    return {**default, "rules": [_plain(rule) for rule in policy.rules]}


def _refuse(errors: list[str], name: str) -> None:
    if errors:
        raise Invalid("\n".join(errors), f"repair {name}")


def _check_rules(located: Located, path: Path) -> list[str]:
    rules = value_at(located, (*path, "rules"))
    errors: list[str] = []
    for number in range(len(rules) if isinstance(rules, list) else 0):
        at = (*path, "rules", number)
        errors += check_object(located, at, f"rule number {number + 1}", _RULE, tuple(_RULE))
    return errors


def _check_workers(located: Located) -> list[str]:
    workers = value_at(located, ("workers",))
    errors: list[str] = []
    seats: dict[str, str] = {}
    for worker in workers if isinstance(workers, dict) else ():
        path = ("workers", worker)
        errors += check_object(located, path, f"worker {shown(worker)}", _WORKER, ())
        errors += _check_rules(located, path)
        first = seats.setdefault(seat_of(worker), worker)
        if first != worker:
            message = f"worker {shown(worker)}: this id is taken by {shown(first)}"
            errors.append(located.complaint(message, *path))
    return errors


def _worker_at(located: Located, path: Path) -> WorkerPolicy:
    return WorkerPolicy(
        _posture_at(located, (*path, "default")), _rules_at(located, (*path, "rules"))
    )


def _posture_at(located: Located, path: Path) -> Posture | None:
    found = value_at(located, path)
    return None if found is None else Posture(str(found))


def _rules_at(located: Located, path: Path) -> tuple[Rule, ...]:
    rules = value_at(located, path)
    return tuple(
        _rule_at(located, (*path, number))
        for number in range(len(rules) if isinstance(rules, list) else 0)
    )


def _rule_at(located: Located, path: Path) -> Rule:
    capability, match, posture = (
        str(value_at(located, (*path, name))) for name in ("capability", "match", "posture")
    )
    source = f"{located.file_name}:{located.line_of(*path)}"
    return Rule(Capability(capability), match, Posture(posture), source)


def _one_of(words: type[Posture] | type[Capability]) -> Field:
    known = tuple(word.value for word in words)
    return Field(lambda value: value in known, " or ".join(f'"{word}"' for word in known))


def _is_rules(value: object) -> bool:
    return isinstance(value, list) and len(value) <= _MOST_RULES


def _is_match(value: object) -> bool:
    return isinstance(value, str) and len(value) <= _LONGEST_MATCH


_WORKER = {
    "default": _one_of(Posture),
    "rules": Field(_is_rules, f"a list of at most {_MOST_RULES} rules"),
}
_FILE = {
    "version": Field(lambda value: value == 1 and type(value) is int, "1"),
    **_WORKER,
    "workers": Field(lambda value: isinstance(value, dict), "an object"),
}
_RULE = {
    "capability": _one_of(Capability),
    "match": Field(_is_match, f"a text of at most {_LONGEST_MATCH} characters"),
    "posture": _one_of(Posture),
}
