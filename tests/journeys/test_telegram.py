"""The phone: a project's own bot, over HTTP against an emulator of the Bot API."""

import contextlib
import json
import sys
import time

import pytest

from amiral.testbench.bot_api.remote import served
from amiral.testbench.rig import scripted_config, until

TOKEN = "700000001" + ":AA" + "k" * 33
BOT, OWNER, FRIEND, STRANGER = 700000001, 42, 43, 44
GROUP = -100500
SCENARIO = """
turns:
  - {match: hook, say: "The **hooks** run before each commit."}
  - {match: slow, hang: 300}
  - {match: wait, hang: 2, say: "Slowly answered."}
  - {match: why, say: "I was asked with this."}
default: {say: "Hello from the worker."}
"""


class Phone:
    """People in chats with the bot, as the emulator tells them."""

    def __init__(self, api):
        self.api, self.do = api, api.do
        api.do("bot", token=TOKEN, username="amiral_bot", reads_all=True)
        api.do("limits", is_on=False)
        members = {str(BOT): "member"}
        for person in (OWNER, FRIEND, STRANGER):
            api.do("chat", id=person, type="private", bots=members)
        api.do("chat", id=GROUP, type="supergroup", is_forum=True, bots=members)

    def say(self, text, user=OWNER, chat=0, **more):
        return self.do("say", chat=chat or user, user=user, text=text, bot=BOT, **more)

    def messages(self, chat=OWNER):
        return self.do("messages", chat=chat, bot=BOT)

    def ours(self, chat=OWNER):
        """What the bot has said and still stands there, hourglasses left out."""
        said = [m for m in self.messages(chat) if m.get("from", {}).get("id") == BOT]
        return [m for m in said if m.get("text") != "⏳"]

    def texts(self, chat=OWNER):
        return [m.get("text", "") for m in self.ours(chat)]

    def hears(self, part, chat=OWNER):
        until(lambda: any(part in text for text in self.texts(chat)), f"{part!r} in the chat")
        return next(m for m in self.ours(chat) if part in m.get("text", ""))

    def press(self, message, label, user=OWNER, chat=OWNER):
        rows = message["reply_markup"]["inline_keyboard"]
        (data,) = [b["callback_data"] for row in rows for b in row if label in b["text"]]
        fields = {"chat": chat, "bot": BOT, "user": user, "message_id": message["message_id"]}
        self.do("press", **fields, data=data)


@pytest.fixture
def phone():
    with served() as api:
        yield Phone(api)


@pytest.fixture
def rig(yard, phone):
    return bot_of(yard, phone, [OWNER])


def settings(phone, owners):
    return (
        f'\n[telegram]\napi_base = "{phone.api.url}"\nowners = {owners}\n'
        '\n[projects.shop]\nbot_token = "vault:telegram/shop"\n'
        f'members = {{"telegram:{FRIEND}" = "viewer"}}\n'
    )


def bot_of(yard, phone, owners):
    rig = yard.scripted(SCENARIO, settings(phone, owners))
    assert rig.run("vault", "set", "telegram/shop", stdin=TOKEN).code == 0
    rig.start()
    return rig


def test_a_message_reaches_a_worker_and_its_answer_comes_once(rig, phone):
    phone.say("hello")
    phone.hears("Hello from the worker.")
    phone.say("/c tell me of hooks")
    said = phone.hears("The hooks run before each commit.")
    assert {"type": "bold", "offset": 4, "length": 5} in said["entities"]
    assert len(phone.ours()) == 2


def test_strangers_hear_nothing_and_viewers_may_look(rig, phone):
    phone.say("/status", STRANGER)
    phone.say("hello", STRANGER)
    phone.say("hello", FRIEND)
    assert "viewers may look" in phone.hears("✗", FRIEND)["text"]
    phone.say("/workers", FRIEND)
    phone.hears("developer", FRIEND)
    assert phone.ours(STRANGER) == []


@pytest.mark.parametrize("spelling", ["/emergency_stop", "/EMERGENCY—STOP@amiral_bot", " STOP!"])
def test_a_stop_is_heard_while_its_lane_is_busy(rig, phone, spelling):
    phone.say("/d slow")
    until(rig.agents, "an agent at work")
    phone.say("/emergency_stop", STRANGER)
    phone.say(spelling, forwarded_from=FRIEND)
    phone.hears("forwarded")
    assert rig.agents()
    phone.say(spelling)
    until(lambda: not rig.agents(), "the stop")
    stopped = phone.hears("⛔ stopped")["text"]
    assert "0 processes left" in stopped
    assert "/release " in stopped


def test_a_reply_brings_its_context_to_the_worker_it_answers(rig, phone):
    phone.say("/c tell me of hooks")
    answer = phone.hears("hooks run")
    rig.kill()
    phone.do("pass", seconds=3 * 24 * 3600)
    rig.start()
    phone.say("why so?", reply_to=answer["message_id"], quote="before each commit")
    phone.hears("I was asked with this.")
    told = [json.loads(line) for line in rig.run("events", "--json").out.split("\n") if line]
    queued = [one["payload"] for one in told if one["name"] == "MessageQueued"][-1]
    assert queued["worker"] == "consultant"
    assert queued["quoted"] == "before each commit"


def test_what_was_sent_while_nobody_ran_is_answered_once(rig, phone):
    phone.say("wait for it")
    until(rig.agents, "an agent at work")
    rig.kill()
    phone.say("hello")
    rig.start()
    phone.hears("Slowly answered.")
    phone.hears("Hello from the worker.")
    time.sleep(1)
    assert sorted(phone.texts()) == ["Hello from the worker.", "Slowly answered."]


def test_one_is_paired_by_a_code_that_counts_once(rig, phone):
    code = rig.run("pair", "--role", "member", "--json").json()["code"]
    phone.say(f"/pair {code}", STRANGER)
    phone.hears("member", STRANGER)
    phone.say("hello", STRANGER)
    phone.hears("Hello from the worker.", STRANGER)


def test_a_permission_is_given_by_a_tap_of_the_owner_alone_and_once(yard, phone, hire):
    """Hard input 14: a stranger is not heard, a viewer may not, the owner taps twice."""
    path = yard.folder / "scenario.yaml"
    path.write_text("turns: [{use: {tool: bash, args: {command: git push}}}, {say: Pushed.}]\n")
    command = [sys.executable, "-m", "amiral.testbench.scripted_cli"]
    command += ["--scenario", str(path), "--ask-permissions"]
    scripted = f"[drivers.scripted]\ncommand = {json.dumps(command)}\n"
    rig = yard.rig(scripted_config() + scripted + settings(phone, [OWNER]))
    rules = [{"capability": "execute-bash", "match": "git push*", "posture": "ask"}]
    hire(rig, {"tools": "all", "permissions": {"default": "allow", "rules": rules}})
    assert rig.run("vault", "set", "telegram/shop", stdin=TOKEN).code == 0
    rig.start()
    assert rig.ask("trust", "workers_registry.json").code == 0
    until(lambda: "tester" in rig.run("workers").out, "the worker", 5)
    phone.say("/w:tester push it")
    asked = phone.hears("wants to use Bash")
    phone.press(asked, "Allow", user=STRANGER)
    phone.press(asked, "Allow")
    phone.press(asked, "Deny")
    phone.hears("Pushed.")
    until(lambda: "allowed" in phone.ours()[1]["text"], "how it ended")
    assert "reply_markup" not in phone.ours()[1]
    assert [one["allowed"] for one in rig.told("ApprovalAnswered")] == [True]


def test_an_unknown_command_reaches_nobody_and_a_button_offers_what_was_meant(rig, phone):
    phone.say("/statsu")
    offered = phone.hears("Did you mean")
    phone.press(offered, "Yes")
    phone.hears("shop")
    assert rig.told("MessageQueued") == []


def test_p01_kills_lose_no_message_and_double_no_reply(yard, phone):
    people = [100 + number for number in range(10)]
    for person in people:
        phone.do("chat", id=person, type="private", bots={str(BOT): "member"})
    rig = bot_of(yard, phone, people)
    wanted = set()
    for number in range(50):
        person = people[number % len(people)]
        wanted.add((person, phone.say(f"/c hello {number}", person)["message_id"]))
        if number % 10 == 9:
            rig.kill()
            rig.start()

    def replies():
        said = [(person, m) for person in people for m in phone.ours(person)]
        return [(person, m["reply_to_message"]["message_id"], m["text"]) for person, m in said]

    until(lambda: len(replies()) >= len(wanted), "every reply", 60)
    time.sleep(1)
    assert sorted((person, asked) for person, asked, _ in replies()) == sorted(wanted)
    assert {text for *_, text in replies()} == {"Hello from the worker."}
    assert len(rig.told("MessageQueued")) == len(wanted)


def holding(rig, secret):
    """Name the files of the home with a secret in them; one just being replaced is met again."""
    while True:
        with contextlib.suppress(FileNotFoundError):
            files = [path for path in rig.home.rglob("*") if path.is_file()]
            return [path for path in files if secret in path.read_bytes()]


def test_the_token_is_in_nothing_that_amiral_writes(rig, phone):
    phone.say("hello")
    phone.hears("Hello from the worker.")
    phone.do("revoke", bot=BOT)
    phone.say("anybody?")
    until(lambda: "hears nothing" in rig.run("health").out, "the trouble in health")
    assert holding(rig, TOKEN[10:].encode()) == []
    assert TOKEN[10:] not in rig.log()


def test_a_bot_without_its_token_is_told_and_the_rest_works(yard, phone):
    rig = yard.scripted(SCENARIO, settings(phone, [OWNER]))
    rig.start()
    until(lambda: "the vault has no secret telegram/shop" in rig.run("health").out, "what lacks")
    assert rig.ask("say", "/d hello").json()["outcome"] == "done"
