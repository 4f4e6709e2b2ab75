"""Everything there is: bots, people, chats and what was said, under one clock."""

import re
from collections.abc import Callable, Mapping
from typing import TypeVar

from amiral.base.clock import Clock
from amiral.base.errors import NotFound
from amiral.testbench.bot_api.chats import Bot, Chat
from amiral.testbench.bot_api.faults import Faults
from amiral.testbench.bot_api.files import Files
from amiral.testbench.bot_api.messages import Box, Messages
from amiral.testbench.bot_api.queue import DAY_S, Queue
from amiral.testbench.bot_api.rates import Rates
from amiral.testbench.bot_api.record import Record
from amiral.testbench.bot_api.shifted_clock import ShiftedClock
from amiral.testbench.bot_api.taps import Taps
from amiral.testbench.bot_api.wire import Json, Parameters, Refusal, bad_request

FoundT = TypeVar("FoundT")

_TOKEN = re.compile(r"\d+:[\w-]+", re.ASCII)
_FIRST_UPDATE = 730_000_001


class World:
    """The state that all methods share. `on_webhook` is told of each update for a webhook."""

    def __init__(self, clock: Clock) -> None:
        self.clock = ShiftedClock(clock)
        self.bots: dict[int, Bot] = {}
        self.chats: dict[int, Chat] = {}
        self.people: dict[int, Json] = {}
        self.messages = Messages()
        self.files = Files()
        self.taps = Taps(self.clock)
        self.rates = Rates(self.clock)
        self.faults = Faults()
        self.record = Record()
        self.on_webhook: Callable[[Bot], None] = lambda _bot: None

    def add_bot(self, token: str, username: str, *, reads_all: bool) -> Bot:
        """Have a bot; again the same token means the same bot."""
        number = int(token.partition(":")[0])
        queue = self.bots[number].queue if number in self.bots else Queue(_FIRST_UPDATE)
        self.bots[number] = Bot(token, username, reads_all, queue)
        return self.bots[number]

    def bot_with(self, token: str) -> Bot:
        """Find who calls; raises a Refusal."""
        if not _TOKEN.fullmatch(token):
            raise Refusal(404, "Not Found")
        bot = self.bots.get(int(token.partition(":")[0]))
        if bot is None or bot.token != token or bot.is_revoked:
            raise Refusal(401, "Unauthorized")
        return bot

    def bot(self, number: int) -> Bot:
        """Find a bot that a test names; raises NotFound."""
        return _found(self.bots, number, "bot")

    def chat(self, number: int) -> Chat:
        """Find a chat that a test names; raises NotFound."""
        return _found(self.chats, number, "chat")

    def chat_of(self, bot: Bot, parameters: Parameters, *, to_write: bool = True) -> Chat:
        """Find the chat that a call is about, when the bot may go there; raises a Refusal."""
        if not parameters.text("chat_id"):
            raise bad_request("chat_id is empty")
        chat = self.chats.get(parameters.whole("chat_id"))
        if chat is None:
            raise bad_request("chat not found")
        chat.check_access(bot.id, to_write=to_write)
        return chat

    @staticmethod
    def box(bot: int, chat: Chat) -> Box:
        """Name where the numbers of messages of a chat count."""
        return (bot if chat.is_private else 0, chat.id)

    def push(self, bot: Bot, kind: str, content: Json, life_s: int = DAY_S) -> Json | None:
        """Let a bot know, if it wants to; gives the update."""
        if not bot.wants(kind):
            return None
        update = bot.queue.push(self.clock.now_s() + life_s, kind, content)
        if bot.webhook:
            self.on_webhook(bot)
        elif bot.waiting and not bot.waiting.done():
            bot.waiting.set_result("updates")
        return update


def _found(there: Mapping[int, FoundT], number: int, what: str) -> FoundT:
    try:
        return there[number]
    except KeyError:
        raise NotFound(f"no {what} {number}", f"there are {sorted(there)}") from None
