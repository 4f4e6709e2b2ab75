"""Behaviour of the chat router (S0.37, S01, S07, reliability table 7.2)."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from amiral.base.errors import Invalid
from amiral.commands.grammar import Route, as_data, describe, parse_chat, route
from amiral.commands.table import TABLE

WORKERS = ("consultant", "developer", "ui-designer", "data_keeper")
SPELLINGS = TABLE.by_chat_name()
NBSP, EN, EM, ZWSP = "\u00a0", "–", "—", "\u200b"
WIDE_SLASH = "\uff0f"


def routed(text, *, workers=WORKERS, active="developer", bot="amiral_bot"):
    return route(text, workers, SPELLINGS, active, bot)


@pytest.mark.parametrize(
    ("text", "worker", "args"),
    [
        ("How are you", "developer", "How are you"),
        ("  How\nare you \n", "developer", "How\nare you"),
        ("/c hi", "consultant", "hi"),
        ("/d hi", "developer", "hi"),
        ("/C   hi  there ", "consultant", "hi  there"),
        ("/c\nhi\nthere", "consultant", "hi\nthere"),
        (f"/c{NBSP}hi", "consultant", "hi"),
        (f"{NBSP}{ZWSP} /c hi", "consultant", "hi"),
        ("/c@amiral_bot hi", "consultant", "hi"),
        ("/c@AMIRAL_bot hi", "consultant", "hi"),
        (f"{WIDE_SLASH}\uff43 hi", "consultant", "hi"),
        ("/w:ui-designer hi", "ui-designer", "hi"),
        ("/w:UI-Designer hi", "ui-designer", "hi"),
        ("/w:ui-designer@amiral_bot hi", "ui-designer", "hi"),
        (f"/w:ui{EN}designer hi", "ui-designer", "hi"),
        ("/w:data-keeper hi", "data_keeper", "hi"),
        ("/w ui-designer hi", "ui-designer", "hi"),
        ("/w: ui-designer hi", "ui-designer", "hi"),
        ("/W:consultant\nhi", "consultant", "hi"),
        ("/w:consultant /approve x", "consultant", "/approve x"),
        ("text with /approve x inside", "developer", "text with /approve x inside"),
        ("stop it", "developer", "stop it"),
        ("TASK: do this", "developer", "TASK: do this"),
    ],
)
def test_a_message_goes_to_the_worker_it_names_s0_37(text, worker, args):
    found = routed(text)
    assert (found.kind, found.worker, found.args) == (Route.MESSAGE, worker, args)
    assert not found.error


@pytest.mark.parametrize(
    ("text", "args"),
    [
        ("/emergency-stop", ""),
        ("/emergency_stop", ""),
        ("/EMERGENCY-STOP@amiral_bot", ""),
        (f"/emergency{EM}stop", ""),
        (f"/Emergency{EN}Stop", ""),
        ("/emergency--stop shop", "shop"),
        ("/emergency", ""),
        ("/emergency stop shop", "shop"),
        ("/emergency -stop", ""),
        ("/stop", ""),
        ("/emergency_stop:shop now", "shop now"),
        ("STOP", ""),
        ("stop", ""),
        ("Stop!!!", ""),
        (f" {NBSP}STOP\n", ""),
        (f"{ZWSP}STOP", ""),
    ],
)
def test_every_way_of_writing_stop_stops_s01(text, args):
    found = routed(text)
    assert (found.kind, found.command, found.args) == (Route.STOP, "emergency-stop", args)


def test_stop_needs_no_table_and_no_worker():
    assert route("/emergency-stop", (), {}, "").kind is Route.STOP
    assert route("STOP", (), {}, "").kind is Route.STOP


@pytest.mark.parametrize(
    ("text", "command", "args"),
    [
        ("/approve a1b2c3d4", "approve", "a1b2c3d4"),
        ("/reject  a1b2  too big ", "reject", "a1b2  too big"),
        ("/specs", "specs", ""),
        ("/role", "role", ""),
        ("/Role consultant", "role", "consultant"),
        ("/status@amiral_bot", "status", ""),
        ("/new_project shop", "project new", "shop"),
        (f"/new{EN}project shop", "project new", "shop"),
        ("/help", "help", ""),
        ("/start", "help", ""),
        ("/release 7f", "release", "7f"),
    ],
)
def test_a_command_is_found_by_any_spelling_and_its_arguments_are_trimmed(text, command, args):
    found = routed(text)
    assert (found.kind, found.command, found.args) == (Route.COMMAND, command, args)


@pytest.mark.parametrize(
    ("text", "command", "args"),
    [
        ("/c", "help", "c"),
        ("/d", "help", "d"),
        ("/d@amiral_bot", "help", "d"),
        ("/w", "help", "w"),
        ("/w:", "help", "w"),
        ("/w:consultant", "help", "w"),
        ("/approve", "approve", ""),
    ],
)
def test_a_name_alone_asks_for_help_or_a_list_and_runs_nothing(text, command, args):
    found = routed(text)
    assert (found.kind, found.command, found.args) == (Route.COMMAND, command, args)
    assert not found.worker


@pytest.mark.parametrize(
    ("text", "suggestion"),
    [
        ("/aprove a1b2", "/approve"),
        ("/aprove", "/approve"),
        ("/statsu", "/status"),
        ("/w:consultnt hi", "/w:consultant hi"),
        ("/w consultnt", "/w:consultant"),
        ("/w:nope hi", ""),
        ("/w:../x", ""),
        ("/w:../x hi", ""),
        ("/w:consultant:developer hi", "/w:consultant hi"),
        ("/opt/x is broken", ""),
        ("/", ""),
        ("//c hi", "/c"),
        ("/c:developer hi", "/c"),
        ("/approve:x", "/approve"),
        ("/d@no-bot hi", ""),
    ],
)
def test_what_is_unknown_is_refused_with_the_nearest_and_reaches_no_worker_s07(text, suggestion):
    found = routed(text)
    assert (found.kind, found.suggestion) == (Route.ERROR, suggestion)
    assert found.error
    assert not found.worker
    assert not found.command


def test_the_refusal_says_what_happened_and_what_to_do():
    assert routed("/aprove a1b2").error == "No command /aprove. Did you mean /approve a1b2?"
    assert routed("/w:nope hi").error == (
        'No worker "nope". Known: consultant, data_keeper, developer, ui-designer.'
    )
    assert "/help" in routed("/zzzzz").error


@pytest.mark.parametrize(
    "text", ["/d@other_bot hi", "/emergency_stop@other_bot", "", " \n\t\u00a0"]
)
def test_what_is_for_another_bot_or_empty_is_ignored(text):
    found = routed(text)
    assert found.kind is Route.IGNORED
    assert found.error


def test_without_a_name_of_our_own_any_bot_suffix_is_ours():
    assert routed("/EMERGENCY-STOP@bot", bot="").kind is Route.STOP
    assert routed("/d@any_bot hi", bot="").worker == "developer"
    assert routed("/d@amiral_bot hi", bot="@amiral_bot").worker == "developer"


def test_a_seat_that_the_registry_lacks_is_refused():
    assert routed("/c hi", workers=("developer",)).kind is Route.ERROR
    assert routed("/c", workers=("developer",)).kind is Route.ERROR
    assert routed("hi", active="gone").kind is Route.ERROR


MESSAGES = st.text(st.characters()) | st.builds(
    "{}{}{}{}".format,
    st.sampled_from(["/", WIDE_SLASH, " /", "\n/", ""]),
    st.sampled_from(["c", "d", "w", "w:", "approve", "emergency", "x", "STOP", ""]) | st.text(),
    st.sampled_from([" ", "\n", ":", "@", "@amiral_bot", "_", EN, EM, NBSP, ZWSP, ""]),
    st.text(),
)
HOSTILE = st.sets(
    st.text() | st.sampled_from(["../x", "", " ", "-rf", "a b", "c", "\n"]), max_size=5
)


@given(MESSAGES, HOSTILE, st.sampled_from(["", "amiral_bot"]))
@example("/d hi", frozenset({"developer"}), "")
def test_the_router_is_total_and_only_known_workers_get_messages_p09(text, workers, bot):
    found = routed(text, workers=workers, active="developer", bot=bot)
    if found.kind is Route.MESSAGE:
        assert found.worker in workers
        assert found.args
    else:
        assert not found.worker
    assert bool(found.error) == (found.kind in (Route.ERROR, Route.IGNORED))
    assert as_data(found)["kind"] == found.kind
    assert describe(found).startswith(found.kind)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("/d hi", "message to developer: hi"),
        ("/approve a1b2c3d4", "command approve a1b2c3d4"),
        ("stop", "stop emergency-stop"),
        ("", "ignored: The message is empty."),
    ],
)
def test_a_route_is_told_in_one_line(text, told):
    assert describe(routed(text)) == told


@given(MESSAGES)
def test_a_slash_never_falls_to_the_active_worker_p09(text):
    found = routed(f"/{text}", active="data_keeper")
    if found.kind is Route.MESSAGE and found.worker == "data_keeper":
        assert "data" in text.casefold()


@given(st.text("abcdefghijklmnopqrstuvwxyz_-", min_size=1, max_size=12), st.text())
def test_an_unknown_command_starts_nothing_p09(name, args):
    folded = name.replace("_", "-")
    if folded in {spelling.replace("_", "-") for spelling in (*SPELLINGS, "c", "d", "w")}:
        return
    if "emergency-stop" in folded.replace("--", "-"):
        return
    assert routed(f"/{name} {args}").kind in (Route.ERROR, Route.COMMAND, Route.STOP)
    assert not routed(f"/{name} {args}").worker


@pytest.mark.parametrize(
    ("text", "command", "arguments"),
    [
        ("/role", "role", {}),
        ("/role consultant", "role", {"worker": "consultant"}),
        ("/reject a1b2 too big\nand slow", "reject", {"id": "a1b2", "reason": "too big\nand slow"}),
        ("/reject a1b2 --reason big", "reject", {"id": "a1b2", "reason": "big"}),
        (f"/reject a1b2 {EM}reason big", "reject", {"id": "a1b2", "reason": "big"}),
        ("/reject a1b2", "reject", {"id": "a1b2"}),
        ("/gate g1 reject no", "gate", {"id": "g1", "answer": "reject", "note": "no"}),
        ("/limits", "limits", {}),
        ("/limits resume developer", "limits resume", {"worker": "developer"}),
        ("/emergency_stop shop", "emergency-stop", {"scope": "shop"}),
        ("STOP", "emergency-stop", {}),
        ("/c", "help", {"command": "c"}),
    ],
)
def test_the_arguments_of_a_chat_command_are_read_by_the_table(text, command, arguments):
    found = routed(text)
    parsed = parse_chat(found, TABLE)
    assert (parsed.command, dict(parsed.arguments)) == (command, arguments)


def test_a_wrong_argument_in_chat_is_refused_as_in_the_terminal():
    with pytest.raises(Invalid, match="STOP_ID"):
        parse_chat(routed("/release"), TABLE)
    with pytest.raises(Invalid, match="approve or reject"):
        parse_chat(routed("/gate g1 maybe"), TABLE)


@given(st.sampled_from(sorted(SPELLINGS)), st.text(st.characters()))
def test_reading_arguments_is_total(name, args):
    found = routed(f"/{name} {args}")
    try:
        parsed = parse_chat(found, TABLE)
    except Invalid:
        return
    assert parsed.command.split()[0] == found.command.split()[0]
