"""Real shims and real programs, each test under a home of its own that leaves nothing behind."""

import asyncio
import json
import os
import secrets
import shutil
import socket
import sys
import tempfile
import textwrap
import time
from pathlib import Path

import pytest

import amiral
from amiral.processes import cgroup, proc, tree
from amiral.processes.answers import Exited, Launched, Lost, Order
from amiral.processes.covers import shared_folders
from amiral.processes.fence import (
    DELETE,
    DEVICE,
    EXECUTE,
    READ,
    WRITE,
    Fence,
    abi,
    system_grants,
)
from amiral.processes.link import ShimLink
from amiral.processes.pool import ShimPool, shim_command, start_shim
from amiral.processes.probe import WHOLE_ABI
from amiral.processes.session_files import read_meta
from amiral.processes.spawn import Ran, Spawner, Stdio, base_environment
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


ALL = READ | WRITE | DELETE | EXECUTE | DEVICE
TRIES = """
import errno, json, os, sys
inside, outside, *more = sys.argv[1:]
told = {}

def attempt(name, action):
    try:
        action()
        told[name] = "done"
    except OSError as error:
        told[name] = errno.errorcode[error.errno]

"""


class Pen:
    """A folder that is granted beside one that is not, and programs behind the fence between."""

    ALL = ALL
    SOURCES = amiral.__path__[0].rpartition("/")[0]
    namespaces = staticmethod(namespaces)

    def __init__(self, yard: Yard):
        self.yard = yard
        self.inside, self.outside = yard.home / "in", yard.home / "out"
        for folder in (self.inside, self.outside):
            folder.mkdir()

    def fence(self, *grants, fenced=ALL, ports=None, **changes) -> Fence:
        """Give a fence round the inside, or round what is granted, that lets Python run."""
        system = system_grants(str(Path.home()), (sys.prefix, sys.base_prefix))
        return Fence((*(grants or ((str(self.inside), ALL),)), *system), fenced, ports, **changes)

    def box(self, *covers, **changes) -> Fence:
        """Give a fence whose program runs in a box, where `(path, kind)` are covered too."""
        return self.fence(covers=(*shared_folders(), *covers), **changes)

    async def run(self, *argv, fence=None, timeout_s=PATIENCE_S) -> Ran:
        """Run a program behind a fence."""
        return await self._run(argv, fence or self.fence(), timeout_s)

    async def run_freely(self, *argv) -> Ran:
        """Run the same without any fence: what fails here too proves nothing."""
        return await self._run(argv, None, PATIENCE_S)

    async def tries(self, code, *more, fence=None) -> dict[str, str]:
        """Run Python code behind a fence, and give how each of its attempts went."""
        return told_by(await self.run(*self.trying(code, *more), fence=fence))

    async def tries_freely(self, code, *more) -> dict[str, str]:
        """Run the same attempts without any fence."""
        return told_by(await self.run_freely(*self.trying(code, *more)))

    async def session(self, code, *more, **changes) -> Running:
        """Launch attempts behind a fence as the CLI of a session."""
        wish = {"argv": tuple(self.trying(code, *more)), "fence": self.fence()}
        return await self.yard.session("", **(wish | changes))

    async def _run(self, argv, fence: Fence | None, timeout_s: float) -> Ran:
        env = base_environment()
        return await self.yard.spawner.run(
            argv, kind="test", env=env, cwd="/", timeout_s=timeout_s, fence=fence
        )

    def trying(self, code, *more) -> list[str]:
        """Give the command of a program that makes attempts; `inside` and `outside` are known."""
        program = TRIES + textwrap.dedent(code) + "\nprint(json.dumps(told), flush=True)\n"
        return [*PYTHON, program, str(self.inside), str(self.outside), *more]


def told_by(ran: Ran) -> dict[str, str]:
    assert ran.code == 0, ran.err.decode()
    told: dict[str, str] = json.loads(ran.out)
    return told


@pytest.fixture
def pen(yard):
    if abi() < WHOLE_ABI:
        pytest.skip("the fence needs Landlock ABI 6 here: run on Linux 6.12 or later")
    return Pen(yard)


@pytest.fixture
def boxing(pen):
    if shutil.which("bwrap") is None:
        pytest.skip("there is no bwrap: make system-packages")
    return pen


@pytest.fixture
async def yard():
    home = Path(tempfile.mkdtemp(prefix="amiral-"))
    yard = Yard(home)
    yield yard
    await yard.clear()
    shutil.rmtree(home)
