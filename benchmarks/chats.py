"""What kills cost in chats: `python -m benchmarks chats`; of every message and reply none may go.

Two bots, each of a project of its own, get 180 messages while their processes are killed eight
times between them. A message is lost when no answer stands in its chat, doubled when it was queued
or answered twice.
"""

import tempfile
from dataclasses import dataclass
from pathlib import Path

from benchmarks.figures import Figure

from amiral.testbench.bot_api.remote import Remote, served
from amiral.testbench.rig import Hung, Rig, scripted_config, until

MESSAGES, KILLS, CHATS = 90, 4, 15
SAID = "Hello from the worker."
PATIENCE_S = 180.0


@dataclass
class Counted:
    """Of one bot."""

    lost: int = 0
    queued_twice: int = 0
    answered_twice: int = 0
    hourglasses: int = 0


class Talk:
    """One bot, its project, and people who write to it."""

    def __init__(self, api: Remote, folder: Path, bot: int) -> None:
        self.api, self.bot = api, bot
        token = f"{bot}:AA" + "k" * 33
        self.people = [bot % 1000 * 1000 + number for number in range(1, CHATS + 1)]
        api.do("bot", token=token, username=f"bot_{bot}")
        for person in self.people:
            api.do("chat", id=person, type="private", bots={str(bot): "member"})
        scenario = folder / "scenario.yaml"
        scenario.write_text(f'default: {{say: "{SAID}"}}\n', "utf-8")
        more = (
            f'\n[telegram]\napi_base = "{api.url}"\nowners = {self.people}\n'
            '\n[projects.shop]\nbot_token = "vault:telegram/shop"\n'
        )
        self.rig = Rig(folder, scripted_config(scenario) + more)
        self.rig.run("vault", "set", "telegram/shop", stdin=token)
        self.asked: set[tuple[int, int]] = set()

    def say(self, number: int) -> None:
        """Have the next person write."""
        person = self.people[number % CHATS]
        text = f"/c hello {number}"
        said = self.api.do("say", chat=person, user=person, bot=self.bot, text=text)
        self.asked.add((person, said["message_id"]))

    def answers(self) -> list[tuple[int, int]]:
        """Give what was answered: the chat and the message."""
        said = [(p, m) for p in self.people for m in self._ours(p) if m["text"] == SAID]
        return [(person, m["reply_to_message"]["message_id"]) for person, m in said]

    def counted(self) -> Counted:
        """Wait for the answers and count."""
        try:
            until(lambda: set(self.answers()) >= self.asked, "all answers", PATIENCE_S)
        except Hung as error:
            # What is missing then is what the figure tells.
            print(error)
        answers = self.answers()
        glasses = sum(m["text"] == "⏳" for p in self.people for m in self._ours(p))
        queued = len(self.rig.told("MessageQueued"))
        return Counted(
            len(self.asked - set(answers)),
            max(0, queued - len(self.asked)),
            len(answers) - len(set(answers)),
            glasses,
        )

    def _ours(self, person: int) -> list[dict]:
        found = self.api.do("messages", chat=person, bot=self.bot)
        return [one for one in found if one.get("from", {}).get("id") == self.bot]


def figures() -> list[Figure]:
    """Measure all of it."""
    with served() as api, tempfile.TemporaryDirectory(prefix="amiral-") as folder:
        api.do("limits", is_on=False)
        talks = []
        for number in (1, 2):
            inside = Path(folder).resolve() / str(number)
            inside.mkdir(mode=0o700)
            talks.append(Talk(api, inside, 700000000 + number))
        try:
            counted = _run(talks)
        finally:
            for talk in talks:
                talk.rig.stop()
    return [
        Figure(
            f"{MESSAGES * 2} messages, {KILLS * 2} kills: lost", sum(c.lost for c in counted), "", 0
        ),
        Figure("handled twice", sum(c.queued_twice for c in counted), "", 0),
        Figure("answered twice", sum(c.answered_twice for c in counted), "", 0),
        Figure("hourglasses left behind", sum(c.hourglasses for c in counted), ""),
    ]


def _run(talks: list[Talk]) -> list[Counted]:
    for talk in talks:
        talk.rig.start()
    for number in range(MESSAGES):
        for talk in talks:
            talk.say(number)
        if number % (MESSAGES // KILLS) == MESSAGES // KILLS - 1:
            for talk in talks:
                talk.rig.kill()
                talk.rig.start()
    return [talk.counted() for talk in talks]
