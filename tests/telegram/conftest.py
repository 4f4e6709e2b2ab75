"""A bot of ours beside the emulator of the Bot API, and how to find out what was let slip."""

import traceback
from pathlib import Path

import pytest

from amiral.telegram.api import Bot, Connections
from amiral.testbench.bot_api.server import BotApi

# Spelt in pieces, so that no scanner takes this file for a leak.
TOKEN = "700000001" + ":AA" + "secretsecretsecretsecretsecretsec"
PERSON = 42
TESTS = str(Path(__file__).parent.parent)


@pytest.fixture
def token():
    return TOKEN


@pytest.fixture
async def api():
    """Give the emulator, with a bot and a person who has begun to talk to it."""
    async with BotApi() as api:
        api.do("bot", token=TOKEN, username="amiral_bot")
        api.do("limits", is_on=False)
        api.do("chat", id=PERSON, type="private", bots={700000001: "member"})
        yield api


@pytest.fixture
async def connections():
    async with Connections() as connections:
        yield connections


@pytest.fixture
def bot(api, connections):
    return Bot(TOKEN, connections, api.url)


@pytest.fixture
def told():
    """Give a function from an exception to all that could be shown of it, variables included.

    Of the tests' own frames nothing is told: they hold the token, to look for it.
    """

    def told(error):
        shown, found = [], [error]
        for one in found:
            shown += [repr(one), str(one), repr(vars(one))]
            for frame, _ in traceback.walk_tb(one.__traceback__):
                if frame.f_code.co_filename.startswith(TESTS):
                    continue
                shown += [f"{name} = {value!r}" for name, value in frame.f_locals.items()]
            more = (one.__cause__, one.__context__)
            found += [next_one for next_one in more if next_one and next_one not in found]
        return "\n".join(shown)

    return told
