"""Real shims and real programs, each test under a home of its own that leaves nothing behind."""

import asyncio
import json
import os
import secrets
import shutil
import socket
import sys
import tempfile
import time
from pathlib import Path

import pytest

from amiral.processes import cgroup, proc, tree
from amiral.processes.answers import Exited, Launched, Lost, Order
from amiral.processes.link import ShimLink
from amiral.processes.pool import ShimPool, shim_command, start_shim
from amiral.processes.session_files import read_meta
from amiral.processes.spawn import Spawner, Stdio, base_environment
from amiral.store.brake import Brake

PATIENCE_S = 20.0
PYTHON = (sys.executable, "-I", "-S", "-u", "-c")
TOKEN = 1


async def until(holds, what="it"):
    """Wait until `holds()` is true, and return what it gave; fail when it takes too long."""
    deadline = time.monotonic() + PATIENCE_S
    while not (found := holds()):
        assert time.monotonic() < deadline, f"{what} did not happen within {PATIENCE_S} s"
        await asyncio.sleep(0.003)
    return found


class Running:
    """A launched session as its owner sees it."""

    def __init__(self, link: ShimLink, order: Order, launched: Launched, notices: list):
        self.link, self.order, self.launched, self.notices = link, order, launched, notices
        self.folder = Path(order.dir)
        self.shim = tree.identify(link.hello.pid) or tree.Identity("", 0, 0)
        self.cli = tree.Identity(tree.boot_id(), launched.pid, launched.start)

    def out(self) -> bytes:
        return b"".join(path.read_bytes() for path in sorted(self.folder.glob("out.*")))

    def heard(self, kind):
        return next((notice for notice in self.notices if isinstance(notice, kind)), None)

    async def prints(self, text: bytes) -> bytes:
        await until(lambda: text in self.out(), f"output of {text!r}")
        return self.out()

    async def exited(self):
        return await until(lambda: self.heard(Exited), "the exit")

    async def shim_gone(self):
        await until(lambda: self.heard(Lost), "the end of the shim")
        await until(lambda: not tree.is_alive(self.shim), "the end of the shim")

    def pids(self) -> list[int]:
        return [int(word) for word in self.out().split() if word.isdigit()]


class Yard:
    """Starts shims and sessions below one home."""

    PYTHON = PYTHON
    until = staticmethod(until)

    def __init__(self, home: Path):
        self.home = home
        self.run = home / "run"
        self.run.mkdir(mode=0o700)
        self.home_tag = secrets.token_hex(6)
        self.tag = f"{self.home_tag}:p1"
        self.brake = Brake(home / "brake")
        self.brake.prepare()
        self.spawner = Spawner(self.brake, self.tag)
        self.pool = ShimPool(self.spawner, self.run, TOKEN, size=0)
        self.links: list[ShimLink] = []
        self._sessions = 0

    async def shim(self) -> ShimLink:
        return self.keep(await start_shim(self.spawner, self.run, TOKEN))

    async def connect_to(self, path: str, token: int) -> ShimLink:
        return self.keep(await ShimLink.connect(path, token))

    def attached(self, link: ShimLink, order: Order) -> Running:
        """Follow a session that somebody else launched."""
        notices: list = []
        link.on_notice(notices.append)
        meta = read_meta(Path(order.dir))
        assert meta is not None
        return Running(link, order, Launched(meta.cli.pid, meta.cli.start, meta.cgroup), notices)

    def seen_by(self, link: ShimLink, path: Path) -> Path:
        """Give the path under which a shim's own mounts are seen from outside."""
        return Path(f"/proc/{link.hello.pid}/root") / path.relative_to("/")

    def keep(self, link: ShimLink) -> ShimLink:
        self.links.append(link)
        return link

    async def shim_inside(self, wrapper: str, code: str = "") -> ShimLink:
        """Start a shim after a shell script in its own mount namespace, or with other code."""
        path = self.run / f"{secrets.token_hex(6)}.sock"
        command = shim_command(path)
        if code:
            command[command.index("-c") + 1] = code
        shell = ["sh", "-ec", f'{wrapper}\nexec "$@"', "sh"]
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(path))
            listener.listen()
            self.spawner.start(
                [*namespaces(), *shell, *command] if wrapper else command,
                kind="shim",
                env={"PATH": os.environ["PATH"]},
                cwd="/",
                stdio=Stdio(stdin=listener.fileno()),
            )
        return self.keep(await ShimLink.connect(path, TOKEN))

    async def raw(self, path: str, *lines: bytes):
        """Send lines as they are and return the answer to the last one."""
        reader, writer = await asyncio.open_unix_connection(path)
        try:
            for line in lines:
                writer.write(line + b"\n")
                while "n" not in (answer := json.loads(await reader.readline())):
                    pass
            return answer
        finally:
            writer.close()

    def order(self, code: str, *arguments: str, **changes) -> Order:
        self._sessions += 1
        session = f"s{self._sessions}"
        wish = {
            "session": session,
            "dir": str(self.home / session),
            "argv": (*PYTHON, code, *arguments),
            "env": base_environment(),
            "cwd": str(self.home),
            "tag": f"{self.tag}:{session}",
        }
        return Order(**(wish | changes))

    async def session(self, code: str, *arguments: str, link=None, **changes) -> Running:
        """Launch Python code as the CLI of a session, under a shim of its own."""
        link = link or await self.shim()
        notices: list = []
        link.on_notice(notices.append)
        order = self.order(code, *arguments, **changes)
        return Running(link, order, await self.pool.launch(link, order), notices)

    def left(self) -> list[tree.Identity]:
        return tree.tagged(self.home_tag)

    async def clear(self):
        for link in self.links:
            link.close()
        await asyncio.to_thread(tree.kill_tree, (), self.home_tag, None, PATIENCE_S)
        for folder in cgroup.cgroups_under(self.home_tag):
            await asyncio.to_thread(tree.kill_tree, (), "", folder, PATIENCE_S)
            cgroup.remove_cgroup(folder)
        # The last exits are seen by the loop, so that no process is left to be reaped.
        await until(lambda: not below_this_process())
        assert cgroup.cgroups_under(self.home_tag) == []


def below_this_process():
    return [seen for seen in proc.processes_now().values() if seen.parent == os.getpid()]


def namespaces() -> list[str]:
    """Give the command that makes own mounts and processes, as root or as somebody."""
    return ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-r", "-m"]


@pytest.fixture
async def yard():
    home = Path(tempfile.mkdtemp(prefix="amiral-"))
    yard = Yard(home)
    yield yard
    await yard.clear()
    shutil.rmtree(home)
