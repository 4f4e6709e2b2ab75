"""The token is in requests and nowhere else: no failure, variable, log line or output shows it."""

import asyncio
import gc
import json
import logging
import re

import pytest
from aiohttp import web

from amiral.base.errors import AmiralError, Invalid
from amiral.telegram.api import Bot, Connections
from amiral.telegram.failures import Unreachable
from amiral.telegram.upload import Upload

BOT, PERSON = 700000001, 42
FAULTS = ("429", "500", "502", "drop_before", "drop_after", "garbage", "refuse", "hang")


@pytest.fixture
def assert_hidden(token, told):
    """Give a function that looks for the token in all that an exception holds."""

    def look(error):
        everything = told(error)
        assert "secretsecret" not in everything, everything
        assert "hidden-password" not in everything, everything

    return look


@pytest.fixture(autouse=True)
def _nothing_is_logged_or_printed(caplog, capfd, token):
    caplog.set_level(logging.DEBUG)
    logging.getLogger("aiohttp").setLevel(logging.NOTSET)
    yield
    gc.collect()
    printed = "".join(capfd.readouterr())
    assert "secretsecret" not in caplog.text + printed


@pytest.mark.parametrize("fault", FAULTS)
async def test_no_fault_shows_the_token(bot, api, assert_hidden, fault):
    api.do("fault", kind=fault, seconds=3)
    limit_s = 0.2 if fault == "hang" else 20
    with pytest.raises(AmiralError) as failure:
        await bot.call("sendMessage", dict, chat_id=PERSON, text="x", timeout_s=limit_s)
    assert_hidden(failure.value)


@pytest.mark.parametrize(
    "base",
    [
        "http://127.0.0.1:9",
        "http://no-such-host.invalid",
        "https://127.0.0.1:9",
        "http://[::1",
        "http://256.1.1.1:99999",
    ],
)
async def test_no_address_that_cannot_be_reached_shows_the_token(
    token, connections, assert_hidden, base
):
    with pytest.raises(Unreachable) as failure:
        await Bot(token, connections, base).call("getMe", dict, timeout_s=5)
    assert_hidden(failure.value)


async def test_no_tls_failure_shows_the_token(token, api, connections, assert_hidden):
    base = api.url.replace("http://", "https://")
    with pytest.raises(Unreachable) as failure:
        await Bot(token, connections, base).call("getMe", dict)
    assert failure.value.is_unsent
    assert_hidden(failure.value)


@pytest.mark.parametrize("fault", [*FAULTS[:4], "refuse"])
async def test_no_failed_download_shows_the_token(bot, api, assert_hidden, tmp_path, fault):
    said = api.do("say", chat=PERSON, user=PERSON, bot=BOT, file={"hex": "00"})
    api.do("fault", kind=fault, method="download", times=2, code=404)
    with pytest.raises(AmiralError) as failure:
        await bot.download(said["document"]["file_id"], tmp_path / "a")
    assert_hidden(failure.value)


async def test_no_file_that_cannot_be_sent_shows_the_token(bot, assert_hidden, tmp_path):
    files = [Upload("document", "a", tmp_path / "none")]
    with pytest.raises(AmiralError) as failure:
        await bot.call("sendDocument", dict, files=files, chat_id=PERSON)
    assert_hidden(failure.value)


async def test_a_time_limit_from_outside_shows_nothing(bot, api, assert_hidden, tmp_path):
    api.do("fault", kind="hang", seconds=3, times=2)
    said = api.do("say", chat=PERSON, user=PERSON, bot=BOT, file={"hex": "00"})
    calls = (
        lambda: bot.call("getMe", dict),
        lambda: bot.download(said["document"]["file_id"], tmp_path / "a"),
    )
    for call in calls:
        with pytest.raises(TimeoutError) as failure:
            async with asyncio.timeout(0.1):
                await call()
        assert_hidden(failure.value)
    assert list(tmp_path.iterdir()) == []


async def test_a_task_that_is_cancelled_ends_so_and_shows_nothing(bot, api, assert_hidden):
    task = asyncio.create_task(bot.updates(wait_s=50))
    async with asyncio.timeout(10):
        while not api.do("state")["bots"][str(BOT)]["is_polling"]:
            await asyncio.sleep(0.001)
    task.cancel()
    with pytest.raises(asyncio.CancelledError) as cancelled:
        await task
    assert task.cancelled()
    assert_hidden(cancelled.value)


async def test_a_closed_session_shows_nothing(token, api, assert_hidden):
    async with Connections() as connections:
        bot = Bot(token, connections, api.url)
    with pytest.raises(Unreachable) as failure:
        await bot.call("getMe", dict)
    assert_hidden(failure.value)


async def test_a_server_that_repeats_what_it_was_asked_shows_nothing(
    token, connections, assert_hidden
):
    async def repeat(request):
        body = json.dumps({"ok": False, "error_code": 400, "description": f"no {request.path}"})
        return web.Response(body=body, status=400)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", repeat)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        bot = Bot(token, connections, f"http://127.0.0.1:{runner.addresses[0][1]}")
        with pytest.raises(AmiralError, match=re.escape("no /bot[redacted]/getMe")) as failure:
            await bot.call("getMe", dict)
        assert_hidden(failure.value)
    finally:
        await runner.cleanup()


@pytest.mark.parametrize(
    "pasted",
    [
        "",
        "secretsecret",
        "Use this token: 700000001:AAsecretsecretsecretsecretsecretsec",
        "700000001:AAsecretsecretsecretsecretsecretsec\n",
        "700000001:AAsecretsecret/../../secretsecretsecret",
        "700000001:short",
        "bot700000001:AAsecretsecretsecretsecretsecretsec",
    ],
)
def test_what_is_no_token_is_refused_here_and_not_repeated(connections_closed, told, pasted):
    with pytest.raises(Invalid, match="not a bot's token") as refused:
        Bot(pasted, connections_closed)
    assert "secretsecret" not in told(refused.value)


@pytest.fixture
def connections_closed():
    return Connections()


def test_a_bot_shows_its_number_alone(connections_closed, token):
    bot = Bot(token, connections_closed)
    assert (repr(bot), f"{bot}", str([bot])) == (
        "Bot(700000001)",
        "Bot(700000001)",
        "[Bot(700000001)]",
    )


async def test_the_library_below_says_nothing_under_a_warning(bot):
    await bot.call("getMe", dict)
    for name in ("aiohttp", "aiohttp.client", "aiohttp.internal"):
        assert logging.getLogger(name).getEffectiveLevel() >= logging.WARNING
