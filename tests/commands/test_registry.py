"""Behaviour of the command registry: one door, rights judged there."""

import pytest

from amiral.base.errors import Broken, Denied
from amiral.commands.parameter import may, option, switch, text
from amiral.commands.registry import (
    AGENTS,
    OWNERS,
    VIEWERS,
    Caller,
    Command,
    Commands,
    Group,
    Parsed,
    Reply,
    Role,
    Runs,
    Table,
    Unavailable,
    command,
)

TABLE = Table(
    (
        Group(
            "Tiny",
            (
                Command("look", "look", roles=VIEWERS, chat=("look", "see")),
                Command("approve", "approve", (text("SPEC"), option("--note", "TEXT"))),
                Command("reply", "reply", (may(text("TEXT")), switch("-a")), roles=AGENTS),
                Command("fly", "fly", later=True, aliases=("soar",)),
            ),
        ),
    )
)


class Topic:
    """Handlers, and things that are none."""

    size = 3

    @property
    def costly(self):
        """A property that must not be read while handlers are looked for."""
        raise RuntimeError

    @command("look")
    async def look(self, caller):
        return Reply(f"{caller.id} looks")

    @command("approve")
    async def approve(self, caller, spec, note="none"):
        return Reply(f"{spec} {note}", {"spec": spec}, exit_code=7)


def caller(role):
    return Caller("someone", role, "console")


async def test_a_handler_gets_its_arguments_by_name():
    commands = Commands(TABLE, Topic())
    reply = await commands.dispatch(caller(Role.OWNER), Parsed("approve", {"spec": "a1"}))
    assert reply == Reply("a1 none", {"spec": "a1"}, 7)
    reply = await commands.dispatch(
        caller(Role.OWNER), Parsed("approve", {"spec": "a", "note": "b"})
    )
    assert reply.text == "a b"


@pytest.mark.parametrize("role", [Role.AGENT, Role.MEMBER, Role.VIEWER])
async def test_only_the_owner_calls_an_owners_command(role):
    with pytest.raises(Denied, match=f"is for: owner; you are {role}"):
        await Commands(TABLE, Topic()).dispatch(caller(role), Parsed("approve", {"spec": "a"}))


async def test_an_agent_may_not_even_learn_whether_an_owners_command_is_there():
    with pytest.raises(Denied):
        await Commands(TABLE).dispatch(caller(Role.AGENT), Parsed("fly"))


async def test_a_command_without_a_handler_is_not_available():
    for name in ("fly", "look"):
        with pytest.raises(Unavailable) as refused:
            await Commands(TABLE).dispatch(caller(Role.OWNER), Parsed(name))
        assert (refused.value.kind, refused.value.exit_code) == ("unavailable", 1)


async def test_a_command_of_the_terminal_alone_says_so_anywhere_else():
    row = Command("deploy", "x", roles=OWNERS, runs=Runs.LOCAL)
    with pytest.raises(Unavailable, match="runs in a terminal"):
        await Commands(Table((Group("g", (row,)),))).dispatch(caller(Role.OWNER), Parsed("deploy"))


def _topic(name, handler):
    return type("Odd", (), {"handle": command(name)(handler)})()


async def _nothing(self, caller): ...
async def _spec(self, caller, spec): ...
async def _spec_and_note(self, caller, spec, note): ...
async def _more(self, caller, spec, more, note=""): ...
async def _no_default(self, caller, text, a=False): ...


@pytest.mark.parametrize(
    ("name", "handler", "message"),
    [
        ("nowhere", _nothing, "which the command table lacks"),
        ("fly", _nothing, "marked as coming later"),
        ("approve", _nothing, "takes no spec, note"),
        ("approve", _spec, "takes no note"),
        ("approve", _spec_and_note, "note may be left out and has no default"),
        ("approve", _more, "declares no parameter more"),
        ("reply", _no_default, "text may be left out and has no default"),
    ],
)
def test_a_handler_that_does_not_fit_the_table_is_found_at_the_start(name, handler, message):
    with pytest.raises(Broken, match=message):
        Commands(TABLE, _topic(name, handler))


def test_two_handlers_of_one_command_are_found_at_the_start():
    with pytest.raises(Broken, match="two handlers"):
        Commands(TABLE, Topic(), Topic())


def test_a_table_is_looked_up_by_name_alias_and_spelling_in_chat():
    assert TABLE.by_name()["soar"].name == "fly"
    assert TABLE.by_chat_name() == {"look": "look", "see": "look"}
    assert [row.name for row in TABLE] == ["look", "approve", "reply", "fly"]
    assert OWNERS <= VIEWERS


@pytest.mark.parametrize(
    ("surface", "is_chatting"), [("console", False), ("telegram", True), ("web", True)]
)
def test_commands_are_written_as_in_chat_everywhere_but_in_a_terminal(surface, is_chatting):
    assert Caller("owner", Role.OWNER, surface).is_chatting is is_chatting
