"""Behaviour of the terminal's argument list (spec: the command line)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amiral.base.errors import Invalid
from amiral.commands.arguments import parse_argv, usage, wants_json
from amiral.commands.parameter import Kind, choice, many, may, option, switch, text, words
from amiral.commands.registry import Command, Group, Table
from amiral.commands.table import TABLE

TINY = Table(
    (
        Group(
            "Tiny",
            (
                Command("go", "go", (may(many("PATH")), option("--port", "N", Kind.NUMBER))),
                Command("say", "say", (words("TEXT"), option("--wait", "S", Kind.SECONDS))),
                Command("run start", "start", (text("NAME"), switch("-a"), switch("--dry"))),
                Command("run stop", "stop", (option("--tag", "T", many=True),)),
                Command("gate", "gate", (text("ID"), choice("ANSWER", "yes", "no"))),
                Command("list", "list", aliases=("all", "list everything")),
                Command("list short", "short"),
                Command("as", "as", (option("--as", "USER"),)),
            ),
        ),
    )
)


@pytest.mark.parametrize(
    ("argv", "command", "arguments"),
    [
        ("go", "go", {}),
        ("go a b", "go", {"path": ("a", "b")}),
        ("go --port 80 a", "go", {"path": ("a",), "port": 80}),
        ("go --port=-1", "go", {"port": -1}),
        ("say hello there", "say", {"text": "hello there"}),
        ("say hello --wait 0", "say", {"text": "hello", "wait": 0.0}),
        ("say --wait=1.5 hello", "say", {"text": "hello", "wait": 1.5}),
        ("say -- --wait 3 -x", "say", {"text": "--wait 3 -x"}),
        ("say -", "say", {"text": "-"}),
        ("run start web -a", "run start", {"name": "web", "a": True}),
        ("run start -a -a web", "run start", {"name": "web", "a": True}),
        ("run start --dry web", "run start", {"name": "web", "dry": True}),
        ("run stop --tag x --tag y", "run stop", {"tag": ("x", "y")}),
        ("gate g1 yes", "gate", {"id": "g1", "answer": "yes"}),
        ("list", "list", {}),
        ("all", "list", {}),
        ("list everything", "list", {}),
        ("list short", "list short", {}),
        ("as --as me", "as", {"as_": "me"}),
    ],
)
def test_a_command_line_is_read_by_the_tables_declarations(argv, command, arguments):
    parsed = parse_argv(argv.split(), TINY)
    assert (parsed.command, dict(parsed.arguments)) == (command, arguments)
    assert (parsed.project, parsed.as_json, parsed.wants_help) == ("", False, False)


@pytest.mark.parametrize(
    "argv",
    ["--json -p shop gate g yes", "gate -p shop g --json yes", "gate g yes --project=shop --json"],
)
def test_what_is_known_everywhere_may_stand_anywhere(argv):
    parsed = parse_argv(argv.split(), TINY)
    assert (parsed.command, parsed.project, parsed.as_json) == ("gate", "shop", True)
    assert dict(parsed.arguments) == {"id": "g", "answer": "yes"}


@pytest.mark.parametrize("argv", ["gate --help", "gate -h g", "--help gate", "-p x gate -h --json"])
def test_help_asks_for_no_argument(argv):
    parsed = parse_argv(argv.split(), TINY)
    assert (parsed.command, parsed.wants_help) == ("gate", True)


@pytest.mark.parametrize("argv", ["run --help", "-h run", "run -h -p x", "--json run --help"])
def test_help_on_a_word_that_begins_several_commands_is_about_them_all(argv):
    parsed = parse_argv(argv.split(), TINY)
    assert (parsed.command, parsed.wants_help) == ("run", True)
    assert parsed.as_json is ("--json" in argv)


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ("", "no command given"),
        ("--json", "no command given"),
        ("-- go", "no command given"),
        ("--wait 3 say hi", "no command given"),
        ("-p", "no command given"),
        ("sya hi", "no command `sya` (did you mean say?)"),
        ("zzz", "no command `zzz`"),
        ("run", "`run` needs one of: start, stop"),
        ("run -- --help", "`run` needs one of: start, stop"),
        ("zzz --help", "no command `zzz`"),
        ("run strat x", "`run` needs one of: start, stop (did you mean start?)"),
        ("list shrt", "`list` takes no further 'shrt' (did you mean list short?)"),
        ("gate g yes more", "`gate` takes no further 'more'"),
        ("gate g", "`gate` needs yes|no"),
        ("gate", "`gate` needs ID"),
        ("gate g maybe", "ANSWER must be yes or no (got 'maybe')"),
        ("say", "`say` needs TEXT…"),
        ("say hi --wiat 3", "`say` has no option --wiat (did you mean --wait?)"),
        ("say hi --wait", "--wait needs a value: S"),
        ("say hi --wait soon", "--wait must be seconds, 0 or more (got 'soon')"),
        ("say hi --wait -1", "--wait must be seconds, 0 or more (got '-1')"),
        ("say hi --wait nan", "--wait must be seconds, 0 or more (got 'nan')"),
        ("say hi --wait inf", "--wait must be seconds, 0 or more (got 'inf')"),
        ("say hi --wait 1 --wait 2", "--wait is given twice"),
        ("go --port x", "--port must be a whole number (got 'x')"),
        ("go --port 1_0", "--port must be a whole number (got '1_0')"),
        ("run start x -a=1", "-a takes no value"),
    ],
)
def test_a_mistake_is_named_with_the_nearest_known(argv, message):
    with pytest.raises(Invalid) as refused:
        parse_argv(argv.split(), TINY)
    assert refused.value.message == message
    assert refused.value.exit_code == 2


def test_a_missing_argument_is_answered_with_the_usage():
    with pytest.raises(Invalid) as refused:
        parse_argv(["gate"], TINY)
    assert refused.value.next_step == "amiral gate ID yes|no"


def test_json_is_wanted_before_the_end_of_options_only():
    assert wants_json(["say", "--json", "--", "x"])
    assert not wants_json(["say", "--", "--json"])
    assert not wants_json([])


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("say", "amiral say TEXT… [--as USER] [--wait SECONDS] [--reply-to ID]"),
        ("gate", "amiral gate ID approve|reject [--note TEXT]"),
        ("help", "amiral help [COMMAND…]"),
        ("prompt", "amiral prompt PIPELINE STEP [--profile NAME]…"),
        (
            "approve-request",
            "amiral approve-request ID [allow|deny] [--reason TEXT] [--digest SHA256]",
        ),
    ],
)
def test_usage_is_written_from_the_table(name, line):
    assert usage(TABLE.by_name()[name]) == line


TOKENS = st.sampled_from(
    ["say", "spec", "show", "--json", "-p", "--", "-", "--wait", "--wait=3", "-x", "gate", "limits"]
)


@given(st.lists(TOKENS | st.text(st.characters()), max_size=8))
def test_any_command_line_is_read_or_refused(argv):
    try:
        parsed = parse_argv(argv, TABLE)
    except Invalid:
        return
    row = TABLE.by_name()[parsed.command]
    assert set(parsed.arguments) <= {parameter.name for parameter in row.parameters}
