"""Behaviour of permissions.json: read whole or told whole, written back, cut down to its denies."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amiral.base.errors import Invalid
from amiral.permissions.policy import (
    deny_only,
    narrowed,
    parse_own,
    parse_policy,
    with_rule,
    write_policy,
)
from amiral.permissions.rules import (
    Capability,
    Policy,
    Posture,
    Rule,
    WorkerPolicy,
    decide_file,
    resolve,
)

FILE = "permissions.json"
ALLOW, ASK, DENY = Posture
EXAMPLE = """{"version": 1, "default": "ask",
 "rules": [{"capability": "read",  "match": "**",          "posture": "allow"},
           {"capability": "write", "match": "src/**",      "posture": "allow"},
           {"capability": "write", "match": "**/.env",     "posture": "deny"},
           {"capability": "execute-bash", "match": "git push*", "posture": "deny"}],
 "workers": {"consultant": {"default": "deny", "rules": []}}}
"""


def rule(posture, match="a", capability=Capability.WRITE, source="permissions.json:1"):
    return Rule(capability, match, posture, source)


def errors_of(text, parse=parse_policy, name=FILE):
    with pytest.raises(Invalid) as raised:
        parse(text, name)
    return raised.value.message.split("\n")


def test_the_example_of_the_reference_is_read():
    policy, diagnostics = parse_policy(EXAMPLE, FILE)
    assert policy == Policy(
        ASK,
        (
            rule(ALLOW, "**", Capability.READ, "permissions.json:2"),
            rule(ALLOW, "src/**", source="permissions.json:3"),
            rule(DENY, "**/.env", source="permissions.json:4"),
            rule(DENY, "git push*", Capability.EXECUTE, "permissions.json:5"),
        ),
        {"consultant": WorkerPolicy(DENY, ())},
    )
    assert diagnostics == ()


def test_a_file_without_a_default_asks():
    assert parse_policy('{"version": 1}', FILE) == (Policy(ASK), ())


def test_a_worker_without_a_default_has_that_of_the_project():
    text = '{"version": 1, "default": "deny", "workers": {"ui": {}}}'
    assert parse_policy(text, FILE)[0] == Policy(DENY, (), {"ui": WorkerPolicy(None, ())})


def test_every_mistake_is_told_at_once_with_its_line():
    text = """{"version": 2, "defualt": "ask",
 "rules": [{"capability": "execute", "match": 7, "posture": "maybe"},
           {"match": "a", "posture": "deny", "why": "x"},
           "deny all"],
 "workers": {"ui": {"rule": []}, "UI": {"default": null}, "x": 1,
             "y": {"rules": [{}]}}}"""
    capabilities = '"read" or "write" or "delete" or "execute-bash"'
    postures = '"allow" or "ask" or "deny"'
    assert errors_of(text) == [
        f"permissions.json:{line}"
        for line in (
            "1: the file: version must be 1 (got 2)",
            '1: the file: unknown field "defualt" (did you mean default?)',
            f'2: rule number 1: capability must be {capabilities} (got "execute")',
            "2: rule number 1: match must be a text of at most 1000 characters (got 7)",
            f'2: rule number 1: posture must be {postures} (got "maybe")',
            '3: rule number 2 lacks "capability"',
            '3: rule number 2: unknown field "why"',
            '4: rule number 3 must be an object (got "deny all")',
            '5: worker "ui": unknown field "rule" (did you mean rules?)',
            f'5: worker "UI": default must be {postures} (got null)',
            '5: worker "UI": this id is taken by "ui"',
            '5: worker "x" must be an object (got 1)',
            '6: rule number 1 lacks "capability", "match", "posture"',
        )
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "permissions.json:1: not JSON: the document ends too early (column 1)"),
        ("[]", "permissions.json:1: the file must be an object (got [])"),
        ("{}", 'permissions.json:1: the file lacks "version"'),
        ('{"version": true}', "permissions.json:1: the file: version must be 1 (got true)"),
        (
            '{"version": 1, "version": 1}',
            'permissions.json:1: key "version" stands twice (first at line 1)',
        ),
        (
            '{"version": 1, "rules": {}}',
            "permissions.json:1: the file: rules must be a list of at most 2000 rules (got {})",
        ),
        (
            '{"version": 1, "workers": []}',
            "permissions.json:1: the file: workers must be an object (got [])",
        ),
    ],
)
def test_a_file_that_is_none_is_refused_in_one_sentence(text, message):
    assert errors_of(text) == [message]


def test_a_pattern_that_cannot_be_read_is_a_diagnostic_and_stays_as_it_is_written_f7():
    rules = [{"capability": "write", "match": "a**", "posture": "deny"}]
    text = json.dumps({"version": 1, "rules": rules, "workers": {"ui": {"rules": rules}}})
    policy, diagnostics = parse_policy(text, FILE)
    assert policy.rules == policy.workers["ui"].rules == (rule(DENY, "a**"),)
    assert len(diagnostics) == 2
    assert diagnostics[0].endswith("it counts as **")


def test_the_permissions_of_a_registry_row_are_read_as_those_of_a_worker():
    text = '{"default": "deny", "rules": [{"capability":"read","match":"a","posture":"ask"}]}'
    name = "permissions of ui"
    rules = (rule(ASK, "a", Capability.READ, name),)
    assert parse_own(text, name) == WorkerPolicy(DENY, rules)
    assert parse_own("{}", name) == WorkerPolicy(None, ())
    assert errors_of('{"version": 1, "rules": [1]}', parse_own, name) == [
        'permissions of ui:1: permissions: unknown field "version"',
        "permissions of ui:1: rule number 1 must be an object (got 1)",
    ]


def test_of_a_policy_that_is_not_trusted_only_the_denies_hold():
    worker = WorkerPolicy(ALLOW, (rule(ALLOW), rule(DENY, "b")))
    policy = Policy(ASK, (rule(ASK), rule(DENY), rule(ALLOW)), {"ui": worker})
    ui = WorkerPolicy(None, (rule(DENY, "b"),))
    assert deny_only(policy) == Policy(ALLOW, (rule(DENY),), {"ui": ui})
    assert deny_only(Policy(DENY, (), {"ui": WorkerPolicy(DENY, ())})) == Policy(
        DENY, (), {"ui": WorkerPolicy(DENY, ())}
    )
    assert narrowed(None, policy) == deny_only(policy)


def test_the_denies_of_a_policy_that_is_not_trusted_come_on_top_of_the_one_in_force():
    trusted = Policy(ALLOW, (rule(ALLOW),), {"UI": WorkerPolicy(ASK, (rule(ASK),))})
    workers = {"ui": WorkerPolicy(DENY, (rule(DENY, "b"),)), "qa": WorkerPolicy(None, ())}
    assert narrowed(trusted, Policy(ASK, (rule(DENY),), workers)) == Policy(
        ALLOW,
        (rule(ALLOW), rule(DENY)),
        {"UI": WorkerPolicy(DENY, (rule(ASK), rule(DENY, "b"))), "qa": WorkerPolicy(None, ())},
    )
    assert narrowed(trusted, Policy(DENY)) == Policy(
        DENY, (rule(ALLOW),), {"UI": WorkerPolicy(None, (rule(ASK),))}
    )


POSTURES = st.sampled_from(Posture)
RULES = st.lists(
    st.builds(
        rule, POSTURES, st.sampled_from(["a", "**", "b/**", "é*"]), st.sampled_from(Capability)
    ),
    max_size=3,
).map(tuple)
WORKERS = st.dictionaries(
    st.sampled_from(["ui", "qa"]), st.builds(WorkerPolicy, st.none() | POSTURES, RULES)
)
POLICIES = st.builds(Policy, POSTURES, RULES, WORKERS)


def bare(policy):
    """Leave out where the rules stand."""
    return json.loads(write_policy(policy))


@given(POLICIES)
def test_what_is_written_is_read_as_the_same(policy):
    again, _ = parse_policy(write_policy(policy), FILE)
    assert bare(again) == bare(policy)
    assert (again.default, list(again.workers)) == (policy.default, list(policy.workers))


@given(st.text())
def test_no_mere_text_is_a_policy(text):
    assert errors_of(text)[0].startswith("permissions.json:")


@given(POLICIES, POLICIES, st.sampled_from(["ui", "qa", "developer"]), st.sampled_from("ab"))
def test_what_nobody_trusts_never_makes_anything_milder(trusted, untrusted, worker, name):
    before = resolve(trusted, worker, "all").permissions
    after = resolve(narrowed(trusted, untrusted), worker, "all").permissions
    for capability in (Capability.READ, Capability.WRITE, Capability.DELETE):
        for path in ((name,), (name, "c"), None):
            old = decide_file(before, capability, path).posture
            assert decide_file(after, capability, path).posture.severity >= old.severity


def test_a_rule_is_set_for_all_or_for_one_worker_in_whatever_case():
    first = Rule(Capability.WRITE, "a/**", Posture.DENY, "x")
    policy = with_rule(Policy(Posture.ALLOW), first)
    assert with_rule(policy, replace(first, posture=Posture.ASK)).rules == (
        replace(first, posture=Posture.ASK),
    )
    own = Policy(Posture.ALLOW, (), {"UI-Designer": WorkerPolicy(Posture.ASK, ())})
    changed = with_rule(own, first, "ui_designer")
    assert changed.workers == {"UI-Designer": WorkerPolicy(Posture.ASK, (first,))}
    assert with_rule(own, first, "dev").workers["dev"] == WorkerPolicy(None, (first,))
