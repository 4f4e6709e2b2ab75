"""Webhooks get each update until they take it, in order, with their secret."""

import asyncio

import pytest
from aiohttp import web

BOT = 700000001


class Hook:
    """A server that answers as it is told, then with 200."""

    def __init__(self) -> None:
        self.statuses: list[int] = []
        self.seen: list[tuple[str, str | None]] = []
        self.taken = asyncio.Event()
        self.url = ""

    async def answer(self, request):
        update = await request.json()
        secret = request.headers.get("X-Telegram-Bot-Api-Secret-Token")
        self.seen.append((update["message"]["text"], secret))
        self.taken.set()
        return web.Response(status=self.statuses.pop(0) if self.statuses else 200)

    async def until(self, count):
        async with asyncio.timeout(10):
            while len(self.seen) < count:
                self.taken.clear()
                await self.taken.wait()


@pytest.fixture
async def hook():
    hook = Hook()
    app = web.Application()
    app.router.add_post("/hook", hook.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    hook.url = f"http://127.0.0.1:{runner.addresses[0][1]}/hook"
    yield hook
    await runner.cleanup()


async def test_updates_are_sent_in_order_with_the_secret(call, write, hook):
    write("waited")
    assert (await call("setWebhook", url=hook.url, secret_token="s3cret")).result is True
    await hook.until(1)
    write("came")
    await hook.until(2)
    assert hook.seen == [("waited", "s3cret"), ("came", "s3cret")]
    info = (await call("getWebhookInfo")).result
    assert info["url"] == hook.url


async def test_an_update_that_is_not_taken_comes_again_at_once_and_then_slower(
    call, write, hook, clock
):
    hook.statuses = [500, 503]
    await call("setWebhook", url=hook.url)
    write("one"), write("two")
    await hook.until(2)
    await clock.until_sleeping(1)
    info = (await call("getWebhookInfo")).result
    assert info["pending_update_count"] == 2
    assert info["last_error_message"].startswith("Wrong response from the webhook: 503")
    await clock.advance(2)
    await hook.until(4)
    assert hook.seen == [("one", None)] * 3 + [("two", None)]


async def test_a_webhook_that_is_not_there_is_told_and_can_be_taken_back(call, write, clock):
    await call("setWebhook", url="http://127.0.0.1:9/")
    write("kept")
    await clock.until_sleeping(1)
    assert (await call("getWebhookInfo")).result["last_error_message"]
    await call("setWebhook", url="")
    assert (await call("getWebhookInfo")).result["url"] == ""
    await clock.advance(60)
    assert len((await call("getUpdates")).result) == 1
    assert (await call("deleteWebhook", drop_pending_updates=True)).result is True
    assert (await call("getUpdates", offset=5)).result == []


@pytest.mark.parametrize(
    "fields",
    [{"url": "ftp://x/"}, {"url": "https://x/", "secret_token": "not allowed"}],
)
async def test_a_webhook_that_cannot_be_one_is_refused(call, fields):
    assert (await call("setWebhook", **fields)).status == 400
