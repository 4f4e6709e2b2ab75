"""Stands for a project's process: serves, beats, and dies or falls silent as it is told to.

    scripted_child.py HOME ID NAME ROOT BEAT_S

What it does stands in HOME/orders/ID, looked at all the time: `exit N`, `silent` (beats no more),
`hang` (nor answers), `goodbye`, `botch` (says goodbye, and fails), `mute` (never comes up),
`random` (dies at once, each time otherwise), `full` (its disk is full). Every start leaves a line
in HOME/started/ID.
"""

import asyncio
import contextlib
import os
import secrets
import signal
import sys
import time
from pathlib import Path

from amiral.base.clock import SystemClock
from amiral.base.errors import Conflict
from amiral.processes.heartbeat import own_beat, write
from amiral.processes.serving import Served, claim_project

LOOK_S = 0.02
CLOCK = SystemClock()


class Stub:
    def __init__(self, served: Served, beat_s: float):
        self.served, self.beat_s, self.seq = served, beat_s, 0

    def order(self) -> str:
        try:
            return (self.served.home / "orders" / self.served.project).read_text().strip()
        except FileNotFoundError:
            return ""

    def beat(self, state="running", reason=""):
        self.seq += 1
        mine = own_beat(self.served.name, self.served.project, self.seq, CLOCK, state, reason)
        write(self.served.home, mine)

    def leave(self, code=0):
        self.beat("ended")
        os._exit(code)

    async def answer(self, reader, writer):
        with contextlib.suppress(OSError):
            await reader.readline()
        writer.close()

    async def serve(self):
        self.obey(self.order(), is_up=False)
        try:
            self.claim = await claim_project(self.served, CLOCK)
        except Conflict as refused:
            say(refused.message)
            os._exit(refused.exit_code)
        with contextlib.suppress(FileNotFoundError):
            self.served.socket.unlink()
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, self.leave)
        await asyncio.start_unix_server(self.answer, self.served.socket)
        self.beat()
        beaten = time.monotonic()
        while True:
            self.obey(order := self.order(), is_up=True)
            if order != "silent" and time.monotonic() - beaten > self.beat_s:
                full = ("degraded", "the disk is full") if order == "full" else ()
                self.beat(*full)
                beaten = time.monotonic()
            await asyncio.sleep(LOOK_S)

    def obey(self, order: str, *, is_up: bool):
        match order.split(), is_up:
            case (["exit", code], _):
                say("it broke")
                os._exit(int(code))
            case (["random"], _):
                say(secrets.token_hex(8))
                os._exit(1)
            case (["mute"], False):
                time.sleep(1000)
            case (["hang"], True):
                while self.order() == "hang":
                    time.sleep(LOOK_S)
            case (["goodbye"], True):
                self.leave()
            case (["botch"], True):
                self.leave(1)
            case _:
                pass


def say(text):
    os.write(sys.stderr.fileno(), f"{text}\n".encode())


def main():
    home, project, name, root, beat_s = sys.argv[1:]
    served = Served(Path(home), project, name, root)
    with (Path(home) / "started" / project).open("a") as started:
        started.write(f"{os.getpid()}\n")
    asyncio.run(Stub(served, float(beat_s)).serve())


main()
