"""What an update asks for: who may, what it is, and that nothing is done that nobody ordered."""

import pytest

from amiral.base import events as ev
from amiral.base.errors import Conflict
from amiral.chats.adapter import Gone
from amiral.chats.handling import Handling, Voice
from amiral.chats.people import People
from amiral.commands.registry import Reply, Role
from amiral.commands.table import TABLE

OWNER, MEMBER, VIEWER, NOBODY = "test:9", "test:2", "test:3", "test:4"


class Desk:
    """What was asked for, in place of a project."""

    table, project = TABLE, "shop"

    def __init__(self):
        self.posted, self.ordered = {}, []
        self.refusal, self.answers = None, {}

    def workers(self):
        return ["consultant", "developer", "ui-designer"]

    def active(self):
        return "developer"

    async def post(self, message, worker, text, sender, quoted):
        if self.refusal:
            raise self.refusal
        self.posted[message] = (worker, text, sender, quoted)

    async def dispatch(self, caller, parsed):
        self.ordered.append((caller.id, caller.role, parsed.command, dict(parsed.arguments)))
        if self.refusal:
            raise self.refusal
        return Reply(f"did {parsed.command}")

    async def said(self, message):
        return self.answers.get(message, "")


@pytest.fixture
async def desk(talk):
    desk = Desk()
    talk.service.longest = 4000
    members = {"shop": {MEMBER: "member", VIEWER: "viewer"}}
    people = People(talk.folder, talk.clock, [OWNER], members)
    voice = Voice("amiral_bot")
    handling = Handling(talk.journal, talk.clock, talk.service, people, desk, voice)
    talk.handle, talk._urgent, talk.people = handling.handle, handling.urgent, people
    talk.begin()
    return desk


async def handled(talk, text="", **more):
    """Push one and wait until it is dealt with."""
    number = talk.service.push(text, **more)
    sql = "select state from chat_updates where number = ?"
    await talk.until(lambda: talk.journal.rows(sql, number) == [("done",)], text)
    return number


async def said(talk, part):
    await talk.until(lambda: any(part in one for one in talk.service.shown()), part)


def posted(desk):
    return [(worker, text) for worker, text, *_ in desk.posted.values()]


@pytest.mark.parametrize(
    ("text", "worker", "task"),
    [
        ("/w:consultant fais \u00e7a", "consultant", "fais \u00e7a"),
        ("/w:ui-designer@amiral_bot x", "ui-designer", "x"),
        ("/d x", "developer", "x"),
        ("plain text", "developer", "plain text"),
    ],
)
async def test_9_a_message_reaches_whom_it_names(talk, desk, text, worker, task):
    await handled(talk, text, person=MEMBER)
    assert posted(desk) == [(worker, task)]
    ((_, _, sender, quoted),) = desk.posted.values()
    assert (sender, quoted) == (MEMBER, None)
    assert talk.journal.rows("select worker, message != '' from chat_heard") == [(worker, 1)]


@pytest.mark.parametrize("text", ["/w:../x y", "/w:nope hi", "/aprove x", "/opt/x"])
async def test_what_is_unknown_reaches_no_worker(talk, desk, text):
    await handled(talk, text)
    await said(talk, "\u2717")
    assert (desk.posted, desk.ordered) == ({}, [])


@pytest.mark.parametrize(
    "text",
    [
        "/emergency-stop",
        "/emergency_stop@amiral_bot",
        "/EMERGENCY-STOP@Amiral_bot",
        "/emergency\u2014stop",
        "/Emergency\u2013Stop",
        "/emergency",
        " \u00a0STOP!",
    ],
)
async def test_7_a_stop_is_carried_out_once_however_it_is_spelt(talk, desk, text):
    await handled(talk, text, person=MEMBER, age_s=3600)
    await said(talk, "did emergency-stop")
    assert desk.ordered == [(MEMBER, Role.MEMBER, "emergency-stop", {})]


async def test_what_is_meant_for_another_bot_is_not_for_us(talk, desk):
    await handled(talk, "/emergency_stop@other_bot", chat="-5", is_private=False)
    await handled(talk, "/status@other_bot", chat="-5", is_private=False)
    assert (desk.ordered, talk.service.calls) == ([], [])


@pytest.mark.parametrize(
    "more",
    [
        {"person": NOBODY},
        {"is_real": False},
        {"kind": "edited"},
        {"kind": "joined"},
        {"kind": "other"},
    ],
)
async def test_8_strangers_and_edits_are_met_with_silence(talk, desk, more):
    for text in ("/emergency_stop", "hello", "/status"):
        await handled(talk, text, **more)
    assert (desk.ordered, desk.posted, talk.service.shown()) == ([], {}, [])


async def test_8_a_forwarded_order_is_refused_and_a_forwarded_text_is_a_text(talk, desk):
    for text in ("/emergency_stop", "/approve a1", "/c do it"):
        await handled(talk, text, is_forwarded=True)
    await said(talk, "gives no orders")
    assert (desk.ordered, desk.posted) == ([], {})
    await handled(talk, "look at this", is_forwarded=True)
    assert posted(desk) == [("developer", "look at this")]


async def test_a_viewer_looks_and_does_not_talk(talk, desk):
    await handled(talk, "hello", person=VIEWER)
    await said(talk, "viewers may look")
    await handled(talk, "/status", person=VIEWER)
    assert desk.posted == {}
    assert desk.ordered == [(VIEWER, Role.VIEWER, "status", {})]


async def test_a_stale_order_is_asked_again_and_carried_out_by_its_writer_alone(talk, desk):
    await handled(talk, "/approve a1b2c3d4", age_s=600)
    await said(talk, "Shall it still be carried out?")
    assert desk.ordered == []
    ((tap,),) = talk.journal.rows("select tap from chat_taps")
    for person in (MEMBER, NOBODY):
        await handled(talk, kind="tap", tap=f"v1:{tap}", person=person)
    assert desk.ordered == []
    await handled(talk, kind="tap", tap=f"v1:{tap}")
    await handled(talk, kind="tap", tap=f"v1:{tap}")
    assert desk.ordered == [(OWNER, Role.OWNER, "approve", {"id": "a1b2c3d4"})]
    assert ("tap", "This was answered already, by test:9.") in talk.service.calls


async def test_14_a_button_that_is_made_up_is_told_to_be_so_and_does_nothing(talk, desk):
    for tap in ("v1:made-up", "/emergency_stop", "hello"):
        await handled(talk, kind="tap", tap=tap, language="fr")
    told = ("tap", "Ce bouton ne compte plus : rien n'a \u00e9t\u00e9 fait.")
    assert talk.service.calls == [told] * 3
    assert (desk.ordered, desk.posted) == ([], {})


async def test_what_was_meant_is_offered_and_done_by_a_tap(talk, desk):
    await handled(talk, "/statsu")
    await said(talk, "Did you mean /status?")
    ((tap,),) = talk.journal.rows("select tap from chat_taps")
    await handled(talk, kind="tap", tap=f"v1:{tap}")
    assert [command for *_, command, _ in desk.ordered] == ["status"]


async def test_errors_are_told_with_the_next_step(talk, desk):
    desk.refusal = Conflict("stop 7f is on: enough", "amiral release 7f")
    await handled(talk, "/status")
    await said(talk, "\u2717 stop 7f is on: enough\n/release 7f")
    await handled(talk, "hello")
    await talk.until(lambda: len(talk.service.shown()) == 2)
    assert desk.posted == {}


async def test_10_a_reply_goes_to_who_said_it_with_its_words(talk, desk):
    await handled(talk, "/c tell me", number="1000")
    (message,) = desk.posted
    desk.answers[message] = talk.answers[message] = "les hooks tournent"
    await talk.journal.append(ev.MessageReturned(message, "consultant", "a nudge"))
    await said(talk, "les hooks")
    ((stands_in,),) = talk.journal.rows("select id from chat_parts")
    await handled(talk, "why?", quoted={"id": stands_in, "text": "an old copy"})
    await handled(talk, "and this?", quoted={"id": stands_in, "part": "les hooks"})
    await handled(talk, "/d and you?", quoted={"id": "1000"})
    (_, whole, part, other) = desk.posted.values()
    assert (whole[0], whole[3].text) == ("consultant", "les hooks tournent")
    assert (part[0], part[3].text) == ("consultant", "les hooks")
    assert (other[0], other[3].text, other[3].by) == ("developer", "/c tell me", "Bea")


async def test_a_file_alone_is_politely_refused(talk, desk):
    await handled(talk, has_file=True)
    await said(talk, "Files cannot be taken yet")
    assert desk.posted == {}


async def test_a_code_makes_a_stranger_known_in_private_alone(talk, desk):
    code = talk.people.offer(Role.MEMBER, "shop")
    await handled(talk, f"/pair {code}", person=NOBODY, chat="-5", is_private=False)
    await handled(talk, "/pair wrong", person=NOBODY)
    assert talk.service.shown() == talk.service.shown("-5") == []
    await handled(talk, f"/start {code}", person=NOBODY)
    await said(talk, "You are member from now on")
    await handled(talk, "hello", person=NOBODY)
    assert posted(desk) == [("developer", "hello")]


async def test_an_update_handled_again_does_nothing_twice(talk, desk):
    """As after a kill between its effects and the note of them."""
    taken = []
    handle = talk.handle

    async def twice(update):
        taken.append(update)
        await handle(update)
        await handle(update)

    talk.handle = twice
    await handled(talk, "hello")
    await handled(talk, "/status")
    await said(talk, "did status")
    assert len(desk.posted) == 1
    assert len(desk.ordered) == 1
    assert talk.journal.rows("select count(*) from chat_replies") == [(2,)]


async def test_a_press_whose_hourglass_cannot_be_taken_off_counts(talk, desk):
    await handled(talk, "/statsu")
    ((tap,),) = talk.journal.rows("select tap from chat_taps")
    talk.service.faults.append(("tap", Gone("too old")))
    await handled(talk, kind="tap", tap=f"v1:{tap}")
    assert len(desk.ordered) == 1
