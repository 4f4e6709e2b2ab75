"""Behaviour of the registry of workers and of the roles file (S0.2, S0.3, S0.35)."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amiral.agents.worker import Roles, Worker, combine, parse_registry, parse_roles

FILE = "workers_registry.json"
CONSULTANT = {  # the row of seed 0, as it stands there
    "id": "consultant",
    "label": "Consultant",
    "icon": "\ud83d\udcac",
    "type": "chat",
    "model": "claude-sonnet-4-5",
    "max_turns": 5,
    "tools": ["Read", "Glob", "Grep", "WebSearch", "WebFetch"],
    "system_prompt_skill": "consultant_system.md",
    "prompt_style": "history",
    "output_format": "text",
    "focus_dirs": [],
    "log_category": "consultant",
    "builtin": True,
}


def registry(*rows, **top):
    return json.dumps({"version": 1, "workers": list(rows), **top}, indent=2)


def row(**changes):
    return {**CONSULTANT, "id": "ui", **changes}


def errors_of(**changes):
    return parse_registry(registry(row(**changes)), FILE).errors


def test_the_row_of_the_seed_loads_without_the_optional_fields_s0_3():
    (worker,) = parse_registry(registry(CONSULTANT), FILE).workers
    assert worker == Worker(
        id="consultant",
        label="Consultant",
        icon="💬",
        type="chat",
        model="claude-sonnet-4-5",
        max_turns=5,
        tools=("Read", "Glob", "Grep", "WebSearch", "WebFetch"),
        system_prompt_skill="consultant_system.md",
        prompt_style="history",
        output_format="text",
        focus_dirs=(),
        log_category="consultant",
        builtin=True,
    )
    assert (worker.driver, worker.permissions) == ("", "")


def test_the_optional_fields_are_kept():
    rules = {"default": "deny", "rules": []}
    text = registry(row(driver="codex", permissions=rules, tools="all", builtin=False))
    (worker,) = parse_registry(text, FILE).workers
    assert (worker.driver, worker.tools, worker.builtin) == ("codex", "all", False)
    assert json.loads(worker.permissions) == rules
    (worker,) = parse_registry(registry(row(permissions=None)), FILE).workers
    assert worker.permissions == ""


def test_a_mistake_is_told_as_a_person_wants_to_read_it_journey_9():
    text = registry(row(tools="read"))
    line = next(n for n, line in enumerate(text.split("\n"), 1) if '"tools"' in line)
    assert parse_registry(text, FILE).errors == (
        f'workers_registry.json:{line}: worker "ui": tools must be a list or "all" (got "read")',
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"type": "tty"}, 'worker "ui": type must be "chat" or "terminal" (got "tty")'),
        ({"max_turns": "5"}, "max_turns must be a whole number from 0 (no cap) to 1000"),
        ({"max_turns": -1}, "max_turns must be"),
        ({"max_turns": True}, "max_turns must be"),
        ({"max_turns": 2.5}, "max_turns must be"),
        ({"model": ""}, "model must be"),
        ({"model": "-m"}, "model must be a model's name"),
        ({"model": "a b"}, "model must be"),
        ({"tools": None}, "tools must be"),
        ({"tools": ["Read", 3]}, "tools[1] must be a tool's name (got 3)"),
        ({"tools": ["Read,Bash"]}, "tools[0] must be a tool's name"),
        ({"tools": ["--all"]}, "tools[0] must be"),
        ({"tools": ["Bash(rm,x)"]}, "tools[0] must be"),
        ({"system_prompt_skill": "../x.md"}, "system_prompt_skill must be"),
        ({"system_prompt_skill": "x.txt"}, "system_prompt_skill must be"),
        ({"prompt_style": "chat"}, 'prompt_style must be "history" or "gsd"'),
        ({"output_format": "html"}, "output_format must be"),
        ({"focus_dirs": "src"}, "focus_dirs must be a list"),
        ({"focus_dirs": ["../x"]}, "focus_dirs[0] must be a folder in the project"),
        ({"focus_dirs": ["/etc"]}, "focus_dirs[0] must be"),
        ({"focus_dirs": [""]}, "focus_dirs[0] must be"),
        ({"log_category": "../logs"}, "log_category must be"),
        ({"label": ""}, "label must be"),
        ({"label": "a\nb"}, "label must be"),
        ({"label": "a\u202eb"}, "label must be"),
        ({"label": "a\u2028b"}, "label must be"),
        ({"label": "x" * 61}, "label must be"),
        ({"icon": "x" * 17}, "icon must be"),
        ({"builtin": 1}, "builtin must be true or false (got 1)"),
        ({"driver": "Claude Code"}, "driver must be"),
        ({"permissions": []}, "permissions must be an object (got [])"),
        ({"tool": []}, 'worker "ui": unknown field "tool" (did you mean tools?)'),
        ({"colour\u202e": 1}, 'unknown field "colour<U+202E>"'),
    ],
)
def test_every_field_is_checked_and_a_wrong_value_is_shown(changes, message):
    (error,) = errors_of(**changes)
    assert message in error
    assert error.startswith("workers_registry.json:")


@pytest.mark.parametrize(
    "changes",
    [
        {"tools": []},
        {"tools": ["Bash(git log:*)", "mcp__amiral__ask", "mcp__server__*"]},
        {"model": "opus[1m]"},
        {"max_turns": 0},
        {"system_prompt_skill": ""},
        {"focus_dirs": ["src/web", "..hidden"]},
        {"label": "UI/UX Designer", "icon": "👩‍🎨"},
        {"type": "terminal", "prompt_style": "gsd"},
    ],
)
def test_what_is_allowed_is_allowed(changes):
    assert errors_of(**changes) == ()


@pytest.mark.parametrize(
    "worker_id",
    ["", "../x", "a b", "A", "-rf", "é", "a" * 41, "a\n", "a:b", "a/b", ".", "$(touch P)", 5, None],
)
def test_a_hostile_id_is_refused_r57(worker_id):
    errors = errors_of(id=worker_id)
    assert any("id must be lowercase letters" in error for error in errors)
    assert parse_registry(registry(row(id=worker_id)), FILE).workers == ()


@pytest.mark.parametrize("twin", ["ui", "u_i"])
def test_two_workers_that_chat_cannot_tell_apart_are_refused(twin):
    first = "ui" if twin == "ui" else "u-i"
    errors = parse_registry(registry(row(id=first), row(id=twin)), FILE).errors
    assert [error.split(": ", 1)[1] for error in errors] == [
        f'worker "{twin}": this id is taken by worker "{first}"'
    ]


def test_every_mistake_of_a_file_is_told_at_once():
    bad = '{"version": 2,\n "wokers": [],\n "workers": [{"id": "a", "id": "b"},\n 5,\n {}]}'
    errors = parse_registry(bad, "f").errors
    assert [error.split(" lacks ")[0] for error in errors] == [
        'f:3: key "id" stands twice (first at line 3)',
        "f:1: the file: version must be 1 (got 2)",
        'f:2: the file: unknown field "wokers" (did you mean workers?)',
        'f:3: worker "b"',
        "f:4: worker number 2 must be an object (got 5)",
        "f:5: worker number 3",
    ]
    assert '"label", "icon", "type"' in errors[3]


@pytest.mark.parametrize("text", ["", "[]", "null", "5", '{"version": 1}', '{"workers": []}'])
def test_what_is_no_registry_is_refused_with_a_line(text):
    read = parse_registry(text, FILE)
    assert read.workers == ()
    assert all(error.startswith("workers_registry.json:1: ") for error in read.errors)
    assert read.errors


ROWS = st.dictionaries(
    st.sampled_from([*CONSULTANT, "driver", "permissions"]) | st.text(),
    st.none() | st.booleans() | st.integers() | st.text() | st.lists(st.text()) | st.just("all"),
)


@given(st.text() | st.lists(ROWS).map(lambda rows: json.dumps({"version": 1, "workers": rows})))
def test_any_text_is_read_or_refused_p12(text):
    read = parse_registry(text, "f")
    assert bool(read.errors) != bool(read.workers) or text.count("{") == 1
    assert all(error.startswith("f:") for error in read.errors)


def test_a_row_of_the_project_takes_the_place_of_a_shipped_one():
    shipped = parse_registry(registry(row(id="a"), row(id="ui-designer"), row(id="c")), FILE)
    own = parse_registry(registry(row(id="new"), row(id="ui_designer", label="Ours")), FILE)
    workers = combine(shipped.workers, own.workers)
    assert [worker.id for worker in workers] == ["a", "ui_designer", "c", "new"]
    assert workers[1].label == "Ours"


def test_the_shipped_workers_are_those_of_the_seeds_s0_4_to_s0_6():
    folder = Path(__file__).parents[2] / "src" / "amiral" / "framework" / "workers"
    read = parse_registry((folder / FILE).read_text(), FILE)
    assert read.errors == ()
    workers = {worker.id: worker for worker in read.workers}
    assert list(workers) == ["consultant", "developer", "ui-designer"]
    assert workers["consultant"] == parse_registry(registry(CONSULTANT), FILE).workers[0]
    assert (workers["developer"].type, workers["developer"].tools) == ("terminal", "all")
    assert workers["developer"].prompt_style == "gsd"
    assert workers["ui-designer"].type == "chat"
    powers = {"Write", "Edit", "Bash", "NotebookEdit", "Task"}
    assert not powers & {*workers["consultant"].tools, *workers["ui-designer"].tools}
    for worker in read.workers:
        assert (folder / worker.system_prompt_skill).read_text().startswith("You are the ")


def test_roles_are_read_with_their_defaults_s0_35():
    seed = '{"version": 1, "defaults": {"activeRole": "consultant", "specAutoApprove": false}}'
    assert parse_roles(seed, "r").roles == Roles("consultant", spec_auto_approve=False)
    assert parse_roles('{"version": 1}', "r").roles == Roles("developer", False, 20)
    full = '{"version": 1, "defaults": {"maxDraftSpecs": 5, "specAutoApprove": true}}'
    assert parse_roles(full, "r").roles == Roles("developer", True, 5)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "r:1: not JSON"),
        ("[]", "r:1: the file must be an object (got [])"),
        ("{}", 'r:1: the file lacks "version"'),
        ('{"version": 1, "defaults": 5}', "defaults must be an object (got 5)"),
        ('{"version": 1, "defaults": null}', "defaults must be an object (got null)"),
        ('{"version": 1, "default": {}}', 'unknown field "default" (did you mean defaults?)'),
        ('{"version": 1,\n"defaults": {"activeRol": "x"}}', "(did you mean activeRole?)"),
        ('{"version": 1,\n"defaults": {"maxDraftSpecs": 0}}', "r:2: defaults: maxDraftSpecs must"),
        ('{"version": 1,\n"defaults": {"specAutoApprove": 1}}', "must be true or false (got 1)"),
        ('{"version": 1, "version": 1}', "stands twice"),
    ],
)
def test_a_mistake_in_the_roles_is_told_and_the_defaults_hold(text, message):
    read = parse_roles(text, "r")
    assert message in read.errors[0]
    assert read.roles == Roles()


@given(st.text())
def test_any_text_gives_roles_or_errors_p12(text):
    read = parse_roles(text, "r")
    assert read.roles == Roles() or not read.errors
