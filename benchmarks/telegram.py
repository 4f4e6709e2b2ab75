"""What bots cost: 30 of them in one process, each in its long poll, beside what they are made of.

`python -m benchmarks telegram`. They talk to the emulator of the Bot API in a process of its own.
"""

import json
import subprocess
import sys
import time

from benchmarks.figures import Figure, spread
from benchmarks.footprint import memory_mb, of_part, processor_ms

from amiral.testbench.bot_api.remote import Remote, served

BOTS = 30
STARTS = 5
WATCHED_S = 5.0
LOOK_S = 0.002
# From the first line of the program until each bot has been told who it is and polls.
BOTS_POLL = """
import time
began = time.perf_counter()
import asyncio, json, sys
from amiral.telegram.api import Bot, Connections
imported = time.perf_counter()

async def start(bot):
    await bot.call("getMe", dict)
    return asyncio.create_task(bot.updates(wait_s=50))

async def main():
    async with Connections() as connections:
        bots = [Bot(token, connections, sys.argv[1]) for token in sys.argv[2:]]
        polls = await asyncio.gather(*map(start, bots))
        await asyncio.sleep(0)
        told = [imported - began, time.perf_counter() - began]
        print(json.dumps(told), flush=True)
        sys.stdin.read()
        for poll in polls:
            poll.cancel()

asyncio.run(main())
"""


def tokens() -> list[str]:
    """Make up a token for each bot."""
    return [f"{700000001 + number}:{'AA' + 'x' * 33}" for number in range(BOTS)]


def polling(api: Remote) -> int:
    """Count the bots whose long poll has arrived."""
    return sum(bot["is_polling"] for bot in api.do("state")["bots"].values())


def start(api: Remote) -> tuple[float, float, float, float]:
    """Start all bots once: seconds of imports, seconds of all, megabytes, idle share in percent."""
    command = [sys.executable, "-c", BOTS_POLL, api.url, *tokens()]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdin
        assert child.stdout
        imports, whole = json.loads(child.stdout.readline())
        while polling(api) < BOTS:
            time.sleep(LOOK_S)
        before_ms = processor_ms(child.pid)
        time.sleep(WATCHED_S)
        idle = (processor_ms(child.pid) - before_ms) / WATCHED_S / 10
        found = imports, whole, memory_mb(child.pid), idle
        child.stdin.close()
    return found


def figures() -> list[Figure]:
    """Measure all of it."""
    found = []
    for _ in range(STARTS):
        # Polls of a process that is gone would count for the next one.
        with served() as api:
            for token in tokens():
                api.do("bot", token=token)
            found.append(start(api))
    imports, wholes, memories, idles = zip(*found, strict=True)
    return [
        spread(f"{BOTS} bots polling, memory of the process", memories, "MB", 45),
        spread(f"{BOTS} bots, first line → all polling", wholes, "s", 0.3),
        spread("of that, imports", imports, "s"),
        spread(f"{BOTS} bots polling, of one core", idles, "%"),
        Figure("memory of asyncio alone", of_part("import asyncio"), "MB"),
        Figure("memory of asyncio and aiohttp", of_part("import asyncio, aiohttp"), "MB"),
    ]
