"""Updates as Telegram sends them, and real commands: who may, what is done, how often."""

import json
from itertools import count

import pytest

from amiral.agents.tables import ENGINE
from amiral.base import chat_events as ev
from amiral.base import events
from amiral.base.errors import Conflict
from amiral.chats import rows
from amiral.chats.adapter import Update
from amiral.chats.handling import Handling, Voice
from amiral.chats.people import People
from amiral.chats.rows import Taken
from amiral.chats.tables import CHATS
from amiral.chats.taps import TAP_S, TAPS, Choice, Taps
from amiral.commands.approvals import ApprovalCommands
from amiral.commands.help import Help
from amiral.commands.registry import Commands, Reply, Role, command
from amiral.commands.specs import SpecCommands
from amiral.commands.table import TABLE
from amiral.safety.approvals import Approvals
from amiral.specs.store import Specs
from amiral.specs.tables import SPECS
from amiral.store.brake import Brake
from amiral.store.journal import Journal
from amiral.telegram.incoming import read_update
from amiral.testbench.fake_clock import FakeClock

BOT, OTHER_BOT = 700, 701
OWNER, MEMBER, VIEWER, STRANGER = 1, 2, 3, 9
GROUP = {"id": -100, "type": "supergroup"}
SPEC, REQUEST, DIGEST = "a1b2c3d4", "e5f6a7b8", "d" * 64
ALLOW = f"/approve_request {REQUEST} allow --digest={DIGEST}"
WORKERS = ("consultant", "developer", "ui-designer")
DAY_MS = 24 * 3600 * 1000


class Works:
    """In place of what stops and shows: notes what was asked."""

    def __init__(self):
        self.stops: list[str] = []

    @command("emergency-stop")
    async def emergency_stop(self, caller, scope="", level=0):
        self.stops.append(caller.id)
        return Reply("⛔ stopped")

    @command("status")
    async def status(self, caller):
        return Reply(f"all is well, {caller.role} on {caller.surface}")

    @command("interrupt")
    async def interrupt(self, caller, worker):
        return Reply()


class Room:
    """Chats with one bot, and the project behind it; `posted` is what workers were given."""

    account = f"telegram:{BOT}"
    table, project = TABLE, "shop"

    def __init__(self, folder, journal, clock):
        self.journal, self.clock = journal, clock
        self.people = People(
            folder,
            clock,
            [f"telegram:{OWNER}"],
            {"shop": {f"telegram:{MEMBER}": "member", f"telegram:{VIEWER}": "viewer"}},
        )
        self.works = Works()
        brake = Brake(folder / "brake")
        brake.prepare()
        approvals = Approvals(journal, clock, brake, lambda _: None)
        nobody = None
        specs = SpecCommands(Specs(journal, clock), journal, nobody, nobody)  # type: ignore[arg-type]
        topics = (self.works, ApprovalCommands(approvals), specs, Help(TABLE))
        self.commands = Commands(TABLE, *topics)
        self.posted: list = []
        self.answers: dict[str, str] = {}
        self.told: list[str] = []
        self.is_stopped = False
        self._numbers = count(1)
        self.restart()

    def restart(self, language="auto"):
        voice = Voice("amiral_bot", language)
        adapter = self
        self.handling = Handling(self.journal, self.clock, adapter, self.people, self, voice)  # type: ignore[arg-type]

    # what an adapter does

    def read(self, raw):
        return read_update(raw, self.account)

    async def answer_tap(self, query, text):
        self.told.append(text)
        raise Conflict("the query is too old")

    # what a desk does

    def workers(self):
        return WORKERS

    def active(self):
        return "developer"

    async def post(self, message, worker, text, sender, quoted):
        if self.is_stopped:
            raise Conflict("stop a1 is on", "release it")
        if message not in [one[0] for one in self.posted]:
            self.posted.append((message, worker, text, sender, quoted))

    async def dispatch(self, caller, parsed):
        return await self.commands.dispatch(caller, parsed)

    async def said(self, message):
        return self.answers.get(message, "")

    # what people do

    def update(self, text="", user=OWNER, *, kind="message", chat=None, age_s=0, **more):
        number = next(self._numbers)
        said = {
            "message_id": 1000 + number,
            "date": self.clock.now_ms() // 1000 - age_s,
            "chat": chat or {"id": user, "type": "private"},
            "from": {"id": user, "is_bot": False, "first_name": f"P{user}", "language_code": "en"},
            "text": text,
        }
        return Taken(str(number), "lane", json.dumps({"update_id": number, kind: said | more}), 0)

    async def say(self, text="", user=OWNER, **more):
        """Gives what was said to it, "" when nothing was."""
        taken = self.update(text, user, **more)
        await self.handling.handle(taken)
        return self.replied(taken)

    async def press(self, data, user=OWNER, chat=None, number=None):
        number = number or next(self._numbers)
        message = {"message_id": 5, "chat": chat or {"id": user, "type": "private"}}
        tap = {"id": "q", "from": {"id": user, "first_name": "P"}, "message": message, "data": data}
        raw = json.dumps({"update_id": number, "callback_query": tap})
        taken = Taken(str(number), "lane", raw, 0)
        await self.handling.handle(taken)
        return self.replied(taken)

    def replied(self, taken):
        found = rows.find_reply(self.journal.rows, f"{self.account}:{taken.number}")
        return found.text if found else ""

    def all(self, kind):
        return [one.event for one in self.journal.read(0) if isinstance(one.event, kind)]

    def replies(self):
        return rows.due(self.journal.rows, self.account)

    def buttons(self):
        """The labels and taps that stand below replies."""
        found = [one for reply in self.replies() for row in reply.buttons for one in row]
        return {button.label: button.tap for button in found}

    async def offer(self, **more):
        """Put a button below a reply that allows the request."""
        key = "request:x"
        made, buttons = Taps(self.journal, self.clock).offer([Choice("Allow", ALLOW)], key, **more)
        await self.journal.append(*made)
        return buttons[0].tap

    def allowed(self):
        return [one.allowed for one in self.all(events.ApprovalAnswered)]


@pytest.fixture
async def room(tmp_path):
    clock = FakeClock()
    tables = (ENGINE, SPECS, CHATS, TAPS)
    journal = await Journal.open(tmp_path / "state" / "journal.db", clock, tables)
    who = (REQUEST, "m1", "t1", "developer", "s1", "ask-1")
    expires_ms = clock.now_ms() + 2 * DAY_MS
    await journal.append(
        events.ApprovalAsked(*who, "Bash", "git push", "git push", DIGEST, "a rule", expires_ms),
        events.SpecCreated(
            *(SPEC, "Coupons", "P", "A", ("a",), ("f",), "low", "consultant"),
            *("consultant-owner", "m2"),
        ),
    )
    yield Room(tmp_path, journal, clock)
    await journal.close()


# who may


async def test_members_and_owners_talk_and_viewers_look(room):
    for user, worker in ((OWNER, "developer"), (MEMBER, "developer")):
        await room.say("hello", user)
        assert room.posted[-1][1:4] == (worker, "hello", f"telegram:{user}")
    assert "viewers may look" in await room.say("hello", VIEWER)
    assert await room.say("/status", VIEWER) == "all is well, viewer on telegram"
    assert "you are viewer" in await room.say("/emergency_stop", VIEWER)
    assert "you are member" in await room.say(f"/approve {SPEC}", MEMBER)
    assert len(room.posted) == 2
    assert room.works.stops == []


@pytest.mark.parametrize(
    "more",
    [
        {"user": STRANGER},
        {"user": STRANGER, "chat": GROUP},
        {"chat": GROUP, "sender_chat": GROUP, "from": {"id": 1087968824, "is_bot": True}},
        {"chat": GROUP, "sender_chat": {"id": -1, "type": "channel"}},
        {"from": {"id": OWNER, "is_bot": True, "first_name": "x"}},
    ],
)
@pytest.mark.parametrize("text", ["/emergency_stop", "STOP", "/approve a1b2c3d4", "hello"])
async def test_hard_8_whoever_is_not_listed_is_silently_nobody(room, text, more):
    taken = room.update(text, **more)
    await room.handling.urgent(Update(taken.number, "lane", taken.raw))
    await room.handling.handle(taken)
    assert room.replied(taken) == ""
    assert (room.posted, room.works.stops) == ([], [])


async def test_the_owner_hears_of_strangers_once_an_hour(room):
    for _ in range(3):
        await room.say("let me in [here](http://x)", STRANGER)
    (note,) = room.replies()
    assert (note.spot.chat, note.message) == (str(OWNER), "")
    assert "`P9 (telegram:9)`" in note.text
    assert [one.text for one in room.all(events.WarningRaised)] == [note.text]
    room.restart()
    await room.say("again", STRANGER)
    assert len(room.replies()) == 1
    room.clock.jump(3600 * 1000)
    await room.say("again", STRANGER)
    assert len(room.replies()) == 2


async def test_what_strangers_say_to_each_other_is_not_told(room):
    await room.say("hello all", STRANGER, chat=GROUP)
    assert room.replies() == []
    await room.say("/status", STRANGER, chat=GROUP)
    await room.press("v1:made-up", STRANGER, chat=GROUP)
    assert len(room.replies()) == 1


async def test_a_code_lets_in_once_and_the_same_update_is_told_again(room):
    code = room.people.offer(Role.MEMBER, "shop")
    for taken in (
        room.update(f"/pair {code}", STRANGER, chat=GROUP),
        room.update(f"/pair {code}", STRANGER, forward_origin={"type": "user"}),
        room.update("/pair wrong", STRANGER),
    ):
        await room.handling.handle(taken)
        assert room.replied(taken) == ""
    taken = room.update(f"/Pair@amiral_bot\n{code.upper()} ", STRANGER)
    for _ in range(2):
        await room.handling.handle(taken)
    assert "You are member" in room.replied(taken)
    assert "does not count" in await room.say(f"/start {code}", OWNER)
    assert "/help" in await room.say("/start", STRANGER)


async def test_people_who_cannot_be_read_are_told_of_and_take_nobody_elses_rights(room, tmp_path):
    file = tmp_path / "config" / "people.json"
    file.parent.mkdir()
    file.write_text("{")
    assert "all is well" in await room.say("/status", MEMBER)
    assert "all is well" in await room.say("/status", OWNER)
    (warning,) = room.all(events.WarningRaised)
    assert (warning.subject, "people.json" in warning.text) == ("people", True)


# what it asks for


async def test_nothing_but_a_stop_is_heard_ahead_and_what_cannot_be_read_not_at_all(room):
    for raw in (room.update("/status").raw, room.update("hello").raw, "{", "[]"):
        await room.handling.urgent(Update("9", "lane", raw))
    assert (room.replies(), room.posted) == ([], [])


@pytest.mark.parametrize("text", ["/c", "/approve", "/w:", "/help"])
async def test_a_name_alone_is_answered_with_help_or_a_list(room, text):
    told = await room.say(text)
    assert told.startswith(("/c TEXT", f"? {SPEC}"))
    assert (room.posted, room.all(events.SpecApproved)) == ([], [])


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("/aprove x", "/approve"),
        ("/w:consultent hi", "/w:consultant hi"),
        ("/w:../x", ""),
        ("/w:nope hi", ""),
    ],
)
async def test_hard_9_what_is_unknown_reaches_nobody_and_offers_what_was_meant(room, text, meant):
    assert (await room.say(text)).startswith("✗ No ")
    assert room.posted == []
    assert [one.action for one in room.all(ev.TapOffered)] == [meant] * bool(meant)


async def test_what_was_meant_is_done_by_a_tap_of_who_wrote_it(room):
    await room.say("/w:consultent hi", OWNER, chat=GROUP)
    (tap,) = room.buttons().values()
    await room.press(tap, MEMBER, chat=GROUP)
    assert room.posted == []
    await room.press(tap, OWNER, chat=GROUP)
    assert [one[1:3] for one in room.posted] == [("consultant", "hi")]
    assert room.buttons() == {}


@pytest.mark.parametrize("text", ["/status@other_bot", " ", "", "/c@other_bot x"])
async def test_what_is_for_another_bot_or_empty_is_left_alone(room, text):
    assert await room.say(text) == ""
    assert (room.posted, room.replies()) == ([], [])


@pytest.mark.parametrize("text", ["/status", "/c do it", "/w:nope x", f"/approve {SPEC}", "STOP"])
async def test_what_was_edited_or_forwarded_asks_for_nothing(room, text):
    assert await room.say(text, kind="edited_message") == ""
    taken = room.update(text, forward_origin={"type": "user"})
    await room.handling.urgent(Update(taken.number, "lane", taken.raw))
    await room.handling.handle(taken)
    assert "forwarded message gives no orders" in room.replied(taken)
    assert (room.posted, room.works.stops, room.all(events.SpecApproved)) == ([], [], [])


async def test_what_was_forwarded_is_context_of_a_reply_to_it(room):
    forwarded = room.update("/d TASK: delete all", forward_origin={"type": "user"})
    await room.handling.handle(forwarded)
    replied = {"message_id": 1000 + int(forwarded.number), "chat": {"id": OWNER}, "date": 1}
    await room.say("is this true?", reply_to_message=replied)
    (_, worker, text, _, quoted), *_ = room.posted
    assert (worker, text, quoted.text) == ("developer", "is this true?", "/d TASK: delete all")


async def test_the_same_update_twice_has_one_effect(room):
    for text in ("hello", f"/approve {SPEC}"):
        taken = room.update(text)
        for _ in range(2):
            await room.handling.handle(taken)
            room.restart()
    assert len(room.posted) == len(room.all(events.SpecApproved)) == 1
    assert len(room.replies()) == 2


async def test_a_second_answer_is_told_the_first(room):
    assert (await room.say(f"/approve {SPEC}")).startswith("✓ approved")
    assert "it is approved, by telegram:1" in await room.say(f"/approve {SPEC}")
    await room.say(f"/reject {SPEC} no need")
    assert "rejected" in await room.say(f"/approve {SPEC}")
    await room.say(f"/approve_request {REQUEST} deny")
    assert "was denied by telegram:1" in await room.say(f"/approve_request {REQUEST} allow")
    assert room.allowed() == [False]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("/approve --help", "/approve [ID]"),
        ("/approve —help", "/approve [ID]"),
        (f"/approve {SPEC} --project till", "about shop alone"),
        ("/approve a b", "takes no further"),
        ("/approve zzzzzzzz", "no spec"),
        ("/deploy shop", "runs in a terminal"),
    ],
)
async def test_options_of_the_terminal_order_nothing_and_errors_are_told(room, text, told):
    assert told in await room.say(text)
    assert room.all(events.SpecApproved) == []


async def test_a_command_that_says_nothing_is_ticked_and_a_project_may_be_named(room):
    assert await room.say("/interrupt developer") == "✓"
    assert (await room.say("/status -p shop")).startswith("all is well")


async def test_files_are_refused_with_their_words_once_for_an_album_and_a_stop_is_heard(room):
    photo = {"photo": [{"file_id": "a"}], "caption": "fix this", "media_group_id": "g"}
    for _ in range(3):
        await room.say("", **photo)
    assert [one.text.partition(",")[0] for one in room.replies()] == ["Files cannot be taken yet"]
    assert await room.say("", **photo | {"caption": "STOP"}) == "⛔ stopped"
    assert room.posted == []


async def test_our_words_are_french_for_those_who_read_it(room):
    french = {"from": {"id": OWNER, "first_name": "P", "language_code": "fr-CA"}}
    assert "message transféré" in await room.say("/c", forward_origin={}, **french)
    room.restart("en")
    assert "forwarded message" in await room.say("/c", forward_origin={}, **french)
    room.restart("fr")
    assert "message transféré" in await room.say("/c", forward_origin={})


# replies


async def answered(room, text="The long answer about les hooks."):
    """Have a worker answer in a chat; gives the message as its service copies it into replies."""
    await room.say("/c tell me", user=OWNER)
    (reply,) = room.replies()
    room.answers[reply.message] = text
    await room.journal.append(
        ev.ChatPartSent(reply.key, 0, "77"), ev.ChatReplyShown(reply.key, 1, "x")
    )
    me = {"id": BOT, "is_bot": True, "first_name": "amiral"}
    chat = {"id": OWNER, "type": "private"}
    return {"message_id": 77, "chat": chat, "from": me, "date": 5, "text": "cut…"}


async def test_hard_10_a_reply_brings_our_own_record_to_the_worker_who_said_it(room):
    said = await answered(room)
    when_ms = room.clock.now_ms()
    room.clock.jump(3 * DAY_MS)
    room.restart()
    await room.say("and now?", reply_to_message=said)
    _, worker, text, _, quoted = room.posted[-1]
    assert (worker, text) == ("consultant", "and now?")
    assert (quoted.text, quoted.by) == ("The long answer about les hooks.", "consultant")
    assert quoted.sent_ms == when_ms
    await room.say("/d and you?", reply_to_message=said)
    assert room.posted[-1][1] == "developer"


async def test_hard_11_a_chosen_part_is_all_that_is_brought(room):
    said = await answered(room)
    await room.say("pourquoi ?", reply_to_message=said, quote={"text": "les hooks"})
    assert room.posted[-1][4].text == "les hooks"


async def test_a_reply_to_what_nobody_has_on_record_brings_the_services_copy(room):
    said = {"message_id": 3, "chat": {"id": OWNER}, "date": 60, "text": "TASK: drop all\x1b[31m"}
    await room.say("why?", reply_to_message=said)
    assert room.posted[-1][4].text == "TASK: drop all"
    await room.say("why?", reply_to_message={"message_id": 4, "chat": {"id": OWNER}})
    assert room.posted[-1][4] is None


async def test_hard_12_a_reply_to_another_projects_bot_is_told_and_not_routed(room):
    other = {"id": OTHER_BOT, "is_bot": True, "first_name": "till"}
    said = {"message_id": 3, "chat": GROUP, "from": other, "text": "Shall I?"}
    elsewhere = {"origin": {"type": "user", "sender_user": other}}
    for more in ({"reply_to_message": said}, {"external_reply": elsewhere}):
        assert "another bot" in await room.say("yes", chat=GROUP, **more)
    assert room.posted == []
    await room.say("/d what do you say?", chat=GROUP, reply_to_message=said)
    assert room.posted[-1][4].text == "Shall I?"


# buttons


async def test_hard_14_a_stranger_presses_and_nothing_happens_at_all(room):
    tap = await room.offer()
    assert await room.press(tap, STRANGER, chat=GROUP) == ""
    assert (room.told, room.allowed(), room.all(ev.TapUsed)) == ([], [], [])


async def test_hard_14_one_who_may_not_uses_nothing_up(room):
    tap = await room.offer()
    for user in (MEMBER, VIEWER):
        assert await room.press(tap, user, chat=GROUP) == ""
        assert "is for: owner" in room.told[-1]
    assert (await room.press(tap, OWNER, chat=GROUP)).startswith("✓ allowed")
    assert room.allowed() == [True]


async def test_hard_14_the_owner_presses_twice_and_answers_once_whatever_restarts(room):
    tap = await room.offer(digest=DIGEST)
    for number in (900, 900, 901):
        await room.press(tap, number=number)
        room.restart()
    assert room.allowed() == [True]
    assert room.told == ["", "", f"This was answered already, by telegram:{OWNER}."]


async def test_hard_14_what_is_old_or_made_up_is_told_and_changes_nothing(room):
    tap = await room.offer()
    room.clock.jump(TAP_S * 1000)
    for data in (tap, "v1:made-up", "/emergency_stop", ALLOW):
        assert await room.press(data) == ""
        assert "counts no more" in room.told[-1]
    assert (room.allowed(), room.works.stops, room.posted) == ([], [], [])
