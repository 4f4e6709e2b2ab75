"""Sends updates to the webhooks of bots, one after the other, until each was taken."""

import asyncio
import json

import aiohttp

from amiral.testbench.bot_api.chats import Bot, Webhook
from amiral.testbench.bot_api.wire import Json
from amiral.testbench.bot_api.world import World

_PATIENCE = aiohttp.ClientTimeout(total=60)
_LONGEST_DELAY_S = 60
_TAKEN = range(200, 300)


class Deliveries:
    """The deliveries that go on. An update is tried again at once, then after 2, 4, 8… seconds."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._going: dict[int, asyncio.Task[None]] = {}

    def start(self, bot: Bot) -> None:
        """Deliver what waits for a bot, unless that is being done."""
        if bot.id not in self._going or self._going[bot.id].done():
            self._going[bot.id] = asyncio.create_task(self._deliver(bot))

    async def stop(self) -> None:
        """End them all."""
        for task in self._going.values():
            task.cancel()
        await asyncio.gather(*self._going.values(), return_exceptions=True)

    async def _deliver(self, bot: Bot) -> None:
        failures = 0
        async with aiohttp.ClientSession(timeout=_PATIENCE) as session:
            while (hook := bot.webhook) is not None:
                waiting = bot.queue.take(0, 1, self._world.clock.now_s())
                if not waiting:
                    return
                if await _is_taken(session, hook, waiting[0]):
                    failures = 0
                    bot.queue.forget(waiting[0]["update_id"])
                    continue
                failures += 1
                if failures > 1:
                    await self._world.clock.sleep(min(2 ** (failures - 1), _LONGEST_DELAY_S))


async def _is_taken(session: aiohttp.ClientSession, hook: Webhook, update: Json) -> bool:
    headers = {"Content-Type": "application/json"}
    if hook.secret:
        headers["X-Telegram-Bot-Api-Secret-Token"] = hook.secret
    try:
        async with session.post(hook.url, data=json.dumps(update), headers=headers) as answer:
            hook.error = f"Wrong response from the webhook: {answer.status} {answer.reason}"
            return answer.status in _TAKEN
    except (aiohttp.ClientError, OSError, TimeoutError):
        hook.error = "Connection refused or lost"
        return False
