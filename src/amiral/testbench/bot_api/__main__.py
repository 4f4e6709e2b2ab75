"""The emulator as a program: `python -m amiral.testbench.bot_api --port 0` prints its port."""

import argparse
import asyncio
import signal
import sys
from collections.abc import Sequence

from amiral.testbench.bot_api.server import BotApi


def main(argv: Sequence[str] | None = None) -> int:
    """Serve until SIGINT or SIGTERM; the port is the first line on stdout."""
    parser = argparse.ArgumentParser(prog="bot_api", description=__doc__, allow_abbrev=False)
    parser.add_argument("--port", type=int, default=0)
    options = parser.parse_args(argv)
    try:
        asyncio.run(_serve(options.port))
    except OSError as error:
        print(f"Error: port {options.port}: {error.strerror}", file=sys.stderr)
        return 1
    return 0


async def _serve(port: int) -> None:
    ended = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    server = BotApi()
    url = await server.start(port)
    print(url.rpartition(":")[2], flush=True)
    await ended.wait()
    await server.stop()


if __name__ == "__main__":
    sys.exit(main())
