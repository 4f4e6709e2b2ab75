"""getUpdates and webhooks: how updates get to a bot, and what becomes of two that want them."""

import asyncio
import re
from collections.abc import Mapping

from amiral.testbench.bot_api.chats import Bot, Webhook
from amiral.testbench.bot_api.method import Method
from amiral.testbench.bot_api.wire import Json, Parameters, Refusal, bad_request
from amiral.testbench.bot_api.world import World

_LONGEST_S = 50
_MOST = 100
_AGAIN_S = 3
_AT_ONCE_S = 0.5
_SECRET = re.compile(r"[A-Za-z0-9_-]{0,256}")
_WEBHOOK_ON = (
    "Conflict: can't use getUpdates method while webhook is active; "
    "use deleteWebhook to delete the webhook first"
)
_OTHER_POLL = (
    "Conflict: terminated by other getUpdates request; "
    "make sure that only one bot instance is running"
)
_OTHER_WEBHOOK = "Conflict: terminated by setWebhook request"


async def get_updates(world: World, bot: Bot, parameters: Parameters) -> list[Json]:
    """Wait for updates; a second one that waits ends the first.

    The same offset asked again within moments waits 3 s at least, and gets one update only: so the
    server slows down who does not take in what it gets.
    """
    if bot.webhook:
        raise await _conflict(world, bot, _WEBHOOK_ON)
    _want(bot, parameters)
    offset = parameters.whole("offset")
    limit = min(max(parameters.whole("limit", _MOST), 1), _MOST)
    timeout_s = min(max(parameters.whole("timeout"), 0), _LONGEST_S)
    now = world.clock.monotonic_s()
    if bot.polled[0] == offset:
        timeout_s = max(timeout_s, _AGAIN_S) if now < bot.polled[1] + _AGAIN_S else timeout_s
        limit = 1 if now < bot.polled[1] + _AT_ONCE_S else limit
    bot.polled = (offset, now)
    found = bot.queue.take(offset, limit, world.clock.now_s())
    if found or not timeout_s:
        return found
    why = await _wait(world, bot, timeout_s)
    if why in {_OTHER_POLL, _OTHER_WEBHOOK}:
        raise await _conflict(world, bot, why)
    return bot.queue.take(offset, limit, world.clock.now_s())


async def _wait(world: World, bot: Bot, timeout_s: int) -> str:
    _end_wait(bot, _OTHER_POLL)
    bot.waiting = mine = asyncio.get_running_loop().create_future()
    time_out = asyncio.ensure_future(world.clock.sleep(timeout_s))
    try:
        await asyncio.wait({mine, time_out}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        time_out.cancel()
        if bot.waiting is mine:
            bot.waiting = None
    return mine.result() if mine.done() else "time is up"


def _end_wait(bot: Bot, why: str) -> None:
    if bot.waiting and not bot.waiting.done():
        bot.waiting.set_result(why)
        bot.conflicts += 1


async def _conflict(world: World, bot: Bot, description: str) -> Refusal:
    """Give the refusal: at once the first time, then held back, so that nobody spins."""
    now = world.clock.monotonic_s()
    if now < bot.quiet_until:
        await world.clock.sleep(_AGAIN_S)
    else:
        bot.quiet_until = now + _AGAIN_S
    return Refusal(409, description)


def _want(bot: Bot, parameters: Parameters) -> None:
    """Remember the kinds wanted from now on; nothing said means as before."""
    wanted = parameters.document("allowed_updates", "allowed updates")
    if isinstance(wanted, list):
        bot.wanted = frozenset(str(kind).lower() for kind in wanted)


def set_webhook(world: World, bot: Bot, parameters: Parameters) -> bool:
    """Send updates to an address from now on; here plain http is good enough."""
    url = parameters.text("url")
    if not url:
        return delete_webhook(world, bot, parameters)
    if not url.startswith(("https://", "http://")):
        raise bad_request("invalid webhook URL specified")
    if not _SECRET.fullmatch(parameters.text("secret_token")):
        raise bad_request("secret token contains unallowed characters")
    _want(bot, parameters)
    _drop(bot, parameters)
    bot.webhook = Webhook(url, parameters.text("secret_token"))
    _end_wait(bot, _OTHER_WEBHOOK)
    world.on_webhook(bot)
    return True


def delete_webhook(_world: World, bot: Bot, parameters: Parameters) -> bool:
    """Let updates be fetched again."""
    bot.webhook = None
    _drop(bot, parameters)
    return True


def _drop(bot: Bot, parameters: Parameters) -> None:
    if parameters.flag("drop_pending_updates"):
        bot.queue.clear()


def webhook_info(world: World, bot: Bot, _parameters: Parameters) -> Json:
    """Tell of the webhook, and how much waits."""
    hook = bot.webhook or Webhook("")
    pending = len(bot.queue.pending(world.clock.now_s()))
    told = {"url": hook.url, "has_custom_certificate": False, "pending_update_count": pending}
    return {**told, "last_error_message": hook.error} if hook.error else told


METHODS: Mapping[str, Method] = {
    "getupdates": get_updates,
    "setwebhook": set_webhook,
    "deletewebhook": delete_webhook,
    "getwebhookinfo": webhook_info,
}
