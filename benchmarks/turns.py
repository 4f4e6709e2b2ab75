"""How long a message takes from its acceptance to its CLI: in open sessions, and in new ones.

`python -m benchmarks turns`. The whole of a project process runs in this process; only the CLI is a
stub (`stub_driver.py`). An acceptance is timed when `post` returns: the message is on disk then.
"""

import asyncio
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path

from benchmarks.figures import Figure, spread

from amiral import app as wiring
from amiral.agents.answers import Answers
from amiral.app import App
from amiral.base import events as ev
from amiral.base.ids import new_id
from amiral.base.settings import DriverSettings, Settings
from amiral.projects.store import Projects
from amiral.projects.trust import Trust

CLOCK = (sys.executable, "-I", "-S", "-u", str(Path(__file__).with_name("clock_cli.py")))
CAT = ("cat",)
MESSAGES = 200
SESSIONS = 20
NS_PER_MS = 1e6
WRITER = "writer"
ROW = {
    "label": "Stub",
    "icon": "·",
    "type": "chat",
    "model": "none",
    "max_turns": 0,
    "tools": ["Read"],
    "system_prompt_skill": "",
    "prompt_style": "history",
    "driver": "stub",
    "output_format": "text",
    "focus_dirs": [],
    "log_category": "stub",
}


def make_repository(folder: Path) -> None:
    """A writing worker works in a worktree of its own, so there must be a commit to begin at."""
    for words in (("init", "-q"), ("commit", "-q", "--allow-empty", "-m", "first")):
        person = ("-c", "user.name=bench", "-c", "user.email=bench@amiral.invalid")
        subprocess.run(("git", *person, *words), cwd=folder, check=True)


def install_stub(folder: Path) -> None:
    """Bring the driver in as any other package would, by an entry point."""
    info = folder / "amiral_benchmarks-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: amiral-benchmarks\nVersion: 1\n")
    (info / "entry_points.txt").write_text(
        "[amiral.drivers]\nstub = benchmarks.stub_driver:DRIVER\n"
    )
    sys.path.append(str(folder))


@contextlib.asynccontextmanager
async def serving(command: tuple[str, ...], ready_shims: int) -> AsyncIterator[App]:
    """Serve a project of stub workers w0, w1… with so many shims kept ready."""
    with tempfile.TemporaryDirectory(prefix="amiral-bench-") as name:
        root = Path(name).resolve()
        for folder in ("home", "shop/.amiral/config", "packages"):
            (root / folder).mkdir(parents=True, mode=0o700)
        install_stub(root / "packages")
        project = Projects(root / "home", root / "user").register(root / "shop")
        file = root / "shop/.amiral/config/workers_registry.json"
        rows = [{**ROW, "id": f"w{number}"} for number in range(SESSIONS + 1)]
        rows.append({**ROW, "id": WRITER, "tools": "all"})
        make_repository(root / "shop")
        file.write_text(json.dumps({"version": 1, "workers": rows}))
        trust = Trust(root / "home")
        shown = trust.show(project, file.name)
        trust.trust(project, shown.file, shown.sha256, 1)
        wiring._READY_SHIMS = ready_shims  # noqa: SLF001 no setting for a benchmark's sake
        settings = Settings(drivers={"stub": DriverSettings(command)})
        app = App(root / "home", project, settings)
        try:
            await app.start()
            yield app
        finally:
            await app.close()
            sys.path.remove(str(root / "packages"))


class Post:
    """Sends messages to the workers of one project, and waits until they are at the CLI."""

    def __init__(self, app: App) -> None:
        self._app, self._answers = app, Answers(app.journal)

    async def one(self, worker: str) -> float:
        """Milliseconds from acceptance to the CLI."""
        message = new_id()
        queued = ev.MessageQueued(message, worker, f"owner-{worker}", "hi", "owner")
        await self._app.inbox.post(queued)
        accepted_ns = time.monotonic_ns()
        return (await self._arrived(message) - accepted_ns) / NS_PER_MS

    async def said(self, worker: str) -> float:
        """Milliseconds from before `say --wait 0` is sent over the socket to the CLI."""
        began_ns = time.monotonic_ns()
        reader, writer = await asyncio.open_unix_connection(self._app.socket_path)
        request = {"argv": ["say", "--wait", "0", "--json", f"/w:{worker} hi"], "cwd": "/"}
        writer.write(json.dumps(request).encode() + b"\n")
        told = json.loads(json.loads(await reader.readline())["out"])
        writer.close()
        return (await self._arrived(told["message_id"]) - began_ns) / NS_PER_MS

    async def _arrived(self, message: str) -> int:
        """Wait until the turn has ended; give when the line was at the CLI."""
        return int((await self._answers.wait_for(message)).text)


async def open_session() -> list[Figure]:
    async with serving(CLOCK, 1) as app:
        post = Post(app)
        await post.one("w0")
        await post.one(WRITER)
        posted, whole, written = [], [], []
        for _ in range(MESSAGES):
            posted.append(await post.one("w0"))
            whole.append(await post.said("w0"))
            written.append(await post.one(WRITER))
    return [
        spread("accepted → line at the CLI, open session", posted, "ms", 5.0),
        spread("`say` sent → line at the CLI, open session", whole, "ms"),
        spread("accepted → line, open session, worktree looked after", written, "ms"),
    ]


async def new_sessions(ready_shims: int) -> list[float]:
    """Milliseconds for a first message each to workers without a session; the first one apart."""
    took = []
    async with serving(CAT, ready_shims) as app:
        post = Post(app)
        for number in range(SESSIONS + 1):
            while app.shims.ready < ready_shims and number:  # noqa: ASYNC110 it tells nobody
                await asyncio.sleep(0.005)
            took.append(await post.one(f"w{number}"))
    return took


def bare_python() -> list[float]:
    """What starting a shim's interpreter costs here and now, for scale."""
    took = []
    for _ in range(SESSIONS):
        began_ns = time.monotonic_ns()
        subprocess.run((sys.executable, "-I", "-S", "-c", "pass"), check=True)
        took.append((time.monotonic_ns() - began_ns) / NS_PER_MS)
    return took


def figures() -> list[Figure]:
    """Measure all of it."""
    scale = bare_python()
    opened = asyncio.run(open_session())
    first_fresh, *fresh = asyncio.run(new_sessions(0))
    first_ready, *ready = asyncio.run(new_sessions(1))
    echo = "to `cat` and its echo read back"
    return [
        spread("for scale: python -I -S -c pass", scale, "ms"),
        *opened,
        spread("accepted → first line, new session, fresh shim", fresh, "ms", 30.0, echo),
        spread("accepted → first line, new session, ready shim", ready, "ms", 8.0, echo),
        spread("the same, first session of a process", [first_fresh, first_ready], "ms"),
    ]


if __name__ == "__main__":
    os.environ.pop("AMIRAL_HOME", None)
    for figure in figures():
        print(figure)
