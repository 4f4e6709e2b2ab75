"""Behaviour of help and of what is printed."""

import json

import pytest

from amiral.base.errors import Conflict, NotFound
from amiral.commands.help import Help, chat_help, explain, overview
from amiral.commands.output import print_error, print_reply
from amiral.commands.registry import Caller, Commands, Parsed, Reply, Role
from amiral.commands.table import TABLE

OWNER = Caller("me", Role.OWNER, "telegram")
VIEWER = Caller("guest", Role.VIEWER, "telegram")


def test_the_overview_lists_what_this_version_has_by_group():
    text = overview(TABLE, "9.9")
    assert text.startswith("amiral 9.9")
    for row in TABLE:
        assert (f"\n  {row.name} " in text) == (not row.later)
    assert "\nSafety\n" in text


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("say", "amiral say TEXT…"),
        ("spec approve", "amiral approve [ID]"),
        ("/approve", "in chat: /approve"),
        ("new_project", "in chat: /new_project"),
        ("fly", ""),
        ("recall", "not available in this version"),
        ("c", "/c TEXT"),
        ("w", "/w:NAME TEXT"),
    ],
)
def test_a_command_is_explained_by_any_of_its_names(name, line):
    if not line:
        with pytest.raises(NotFound, match="no command `fly`"):
            explain(TABLE, name)
        return
    assert line in explain(TABLE, name)


def test_a_word_that_begins_several_commands_explains_them_all():
    text = explain(TABLE, "permissions")
    assert [line for line in text.split("\n") if line.startswith("amiral permissions set ")]
    assert text.count("\namiral permissions ") == 5
    assert "amiral approve [ID]" in explain(TABLE, "spec"), "by another name it is one of them"
    assert explain(TABLE, "workers").startswith("amiral workers\n"), "that is a command itself"


def test_help_in_chat_shows_what_the_caller_may_send():
    assert "/emergency_stop" in chat_help(TABLE, OWNER)
    assert "/release" in chat_help(TABLE, OWNER)
    assert "/release" not in chat_help(TABLE, VIEWER)
    assert "/c TEXT" in chat_help(TABLE, VIEWER)


async def test_help_is_a_command_like_any_other():
    commands = Commands(TABLE, Help(TABLE))
    assert "/status" in (await commands.dispatch(VIEWER, Parsed("help"))).text
    one = await commands.dispatch(VIEWER, Parsed("help", {"command": "status"}))
    assert one.text.startswith("amiral status")


def test_a_reply_is_printed_as_text_or_as_one_json_document():
    reply = Reply("✓ done", {"a": (1, "é")}, exit_code=4)
    assert print_reply(reply, as_json=False).out == "✓ done\n"
    assert print_reply(reply, as_json=True).out == '{"a":[1,"é"]}\n'
    assert print_reply(reply, as_json=True).exit_code == 4
    assert print_reply(Reply(), as_json=False).out == ""
    assert json.loads(print_reply(Reply("x"), as_json=True).out) == {"text": "x"}


def test_text_of_others_cannot_move_the_terminal_r54():
    text = "a\x1b[2J\x1b]52;c;ZXZpbA==\x07b\u202ec\x9b1m\x00d"
    assert print_reply(Reply(text), as_json=False).out == "ab<U+202E>cd\n"
    assert print_error(Conflict(text, text), as_json=False).err == (
        "✗ ab<U+202E>cd\n  ab<U+202E>cd\n"
    )


def test_json_is_escaped_and_keeps_its_values_r54():
    value = {"text": "a\u202eb\x9bc\x7fd é\n\x1b"}
    document = print_reply(Reply(data=value), as_json=True).out
    assert json.loads(document) == value
    assert not {"\u202e", "\x9b", "\x7f", "\x1b"} & set(document)
    assert "é" in document


def test_an_error_goes_to_stderr_and_as_json_to_stdout():
    error = Conflict("stop 7f is on", "amiral release 7f")
    printed = print_error(error, as_json=False)
    assert (printed.out, printed.exit_code) == ("", 6)
    assert printed.err == "✗ stop 7f is on\n  amiral release 7f\n"
    assert print_error(Conflict("no"), as_json=False).err == "✗ no\n"
    document = json.loads(print_error(error, as_json=True).out)
    assert document == {
        "error": {"kind": "conflict", "message": "stop 7f is on", "next": "amiral release 7f"}
    }
