"""A whole amiral in a throw-away home, driven from outside: started, asked, killed, started again.

For end-to-end tests and the chaos run; a plug-in's author can use it the same way.
"""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TypeVar

from amiral.base.errors import Broken
from amiral.base.ids import digest

_START_S = 30.0
_ANSWER_S = 60.0
_LOOK_S = 0.02
_OURS = ("AMIRAL_", "ANTHROPIC_", "CLAUDE", "OPENAI_", "CODEX_")

FoundT = TypeVar("FoundT")


@dataclass(frozen=True)
class Answer:
    """What one command line answered."""

    code: int
    out: str
    err: str

    def json(self) -> Any:  # noqa: ANN401 whatever the document is
        """Read the JSON document on stdout."""
        return json.loads(self.out)

    def lines(self) -> list[Any]:
        """Read JSON lines on stdout."""
        return [json.loads(line) for line in self.out.split("\n") if line]


@dataclass(frozen=True)
class Running:
    """A session whose shim runs: whose it is, and the numbers of its two processes."""

    worker: str
    folder: Path
    shim: int
    cli: int


class Hung(Broken):
    """The process went away, or did not answer in time."""


def scripted_config(scenario: Path | None = None) -> str:
    """Give an amiral.toml under which the scripted worker answers, whatever CLIs there are."""
    lines = []
    for name in ("claude", "codex"):
        lines += [f"[drivers.{name}]", 'command = ["no-such-cli"]']
    if scenario is not None:
        lines += ["[drivers.scripted]", f"scenario = {json.dumps(str(scenario))}"]
    return "\n".join(lines) + "\n"


def plain_environment() -> dict[str, str]:
    """Give our own environment without anything of amiral's, and without any login."""
    return {name: value for name, value in os.environ.items() if not name.startswith(_OURS)}


def until(find: Callable[[], FoundT], what: str, seconds: float = _START_S) -> FoundT:
    """Look again and again until `find` gives something; Hung says what did not happen in time."""
    by = time.monotonic() + seconds
    while not (found := find()):
        if time.monotonic() > by:
            raise Hung(f"{what}: not within {seconds} s")
        time.sleep(_LOOK_S)
    return found


def is_running(pid: int) -> bool:
    """Tell whether a process runs; one that waits to be reaped does not."""
    return _start_of(pid) > 0


class Rig:
    """One home with one project; `config` is the text of its amiral.toml.

    `environ` is added to our own environment, which is handed on without logins. `where` is what
    `amiral child` is told, the project's path.
    """

    def __init__(
        self,
        folder: Path,
        config: str,
        environ: Mapping[str, str] | None = None,
        project: str = "shop",
    ) -> None:
        self.home = folder / "home"
        self.project = folder / project
        self.project.mkdir(parents=True, exist_ok=True)
        for private in (self.home, folder / "user"):
            private.mkdir(mode=0o700, exist_ok=True)
        (self.home / "amiral.toml").write_text(config, "utf-8")
        own = {"AMIRAL_HOME": str(self.home), "HOME": str(folder / "user"), "AMIRAL_HUB_PORT": "0"}
        self.environ = {**plain_environment(), **own, **(environ or {})}
        self.where = (str(self.project),)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def state(self) -> Path:
        """The folder of the project's state in the home."""
        (folder,) = (self.home / "projects").iterdir()
        return folder

    @property
    def pid(self) -> int:
        """The project process's number."""
        if self._process is None:
            raise Broken("the project process was not started")
        return self._process.pid

    def start(self, environ: Mapping[str, str] | None = None) -> Self:
        """Start the project process and wait until it answers, or has ended."""
        self.launch(environ)
        until(lambda: self.is_listening() or not self.is_alive, f"amiral child\n{self.log()}")
        return self

    def launch(self, environ: Mapping[str, str] | None = None, *, as_json: bool = True) -> None:
        """Start the project process and wait for nothing."""
        log = (self.home / "process.log").open("ab")
        argv = [sys.executable, "-m", "amiral", "child", "--page", *self.where]
        argv += ["--json"] if as_json else []
        env = {**self.environ, **(environ or {})}
        with log:
            self._process = subprocess.Popen(argv, env=env, stdout=log, stderr=log, cwd="/")

    def kill(self) -> None:
        """End the project process as a power cut would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def wait_dead(self, seconds: float = _START_S) -> int:
        """Wait until the process has ended by itself, and give its code."""
        if self._process is None:
            raise Broken("the project process was not started")
        return self._process.wait(seconds)

    @property
    def is_alive(self) -> bool:
        """Tell whether the project process runs."""
        return self._process is not None and self._process.poll() is None

    def stop(self) -> Answer:
        """End everything this rig has started, agents included; the report of the stop."""
        self.kill()
        return self.run("emergency-stop", "--json")

    def ask(self, *argv: str, seconds: float = _ANSWER_S) -> Answer:
        """Send one command line to the running process; Hung when it goes away first."""
        out: list[str] = []
        err: list[str] = []
        for frame in self.frames([*argv, "--json"], seconds):
            if "exit" in frame:
                return Answer(frame["exit"], "".join(out), "".join(err))
            out.append(frame.get("out", ""))
            err.append(frame.get("err", ""))
        raise Hung(f"the process went away before it answered {argv}")

    def frames(self, argv: list[str], seconds: float = _ANSWER_S) -> Iterator[dict[str, Any]]:
        """Send one command line and give the frames of the answer as they come."""
        with socket.socket(socket.AF_UNIX) as link:
            link.settimeout(seconds)
            try:
                link.connect(str(self.socket_path))
                request = {"argv": argv, "cwd": str(self.project)}
                link.sendall(json.dumps(request).encode() + b"\n")
                for line in link.makefile("rb"):
                    yield json.loads(line)
            except OSError as error:
                raise Hung(f"no answer to {argv}: {error}") from error

    def run(self, *argv: str, cwd: Path | None = None, stdin: str = "") -> Answer:
        """Run the real command line as a person would."""
        ran = subprocess.run(
            (sys.executable, "-m", "amiral", *argv),
            env=self.environ,
            cwd=cwd or self.project,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=_ANSWER_S,
            check=False,
        )
        return Answer(ran.returncode, ran.stdout, ran.stderr)

    def post(self, text: str) -> str:
        """Send a chat message without waiting for its answer; gives the message's id."""
        return str(self.ask("say", "--wait", "0", text).json()["message_id"])

    def answers(self, message: str) -> list[dict[str, Any]]:
        """Read how the turn of a message has ended; more than one end is a fault."""
        return [turn for turn in self.told("TurnEnded") if turn["message"] == message]

    def answer(self, message: str) -> dict[str, Any]:
        """Wait for the end of the turn of a message."""
        return until(lambda: self.answers(message), f"the end of the turn of {message}")[0]

    def events(self, since: int = 0) -> list[Any]:
        """Read the journal through the running process."""
        return self.ask("events", "--since", str(since)).lines()

    def told(self, name: str) -> list[dict[str, Any]]:
        """Read what the journal tells of one kind of event, oldest first."""
        return [event["payload"] for event in self.events() if event["name"] == name]

    def wait_told(self, name: str, count: int = 1) -> list[dict[str, Any]]:
        """Wait until the journal holds so many events of one kind."""

        def find() -> list[dict[str, Any]]:
            found = self.told(name)
            return found if len(found) >= count else []

        return until(find, f"{count} {name}")

    def running(self) -> list[Running]:
        """Name the sessions whose shim is alive, by the records they left."""
        folders = sorted(self.state.glob("sessions/*"))
        found = [_running(folder) for folder in folders if not (folder / "exit.json").exists()]
        return [one for one in found if one is not None]

    def agents(self) -> dict[int, str]:
        """Give the living processes that carry this home's tag, each with its session's id."""
        mark = f"AMIRAL_TAG={digest(str(self.home.resolve()))}:"
        found = {int(pid.name): _entry(pid / "environ", mark) for pid in _processes()}
        return {pid: tag.partition(":")[2] for pid, tag in found.items() if tag and is_running(pid)}

    def log(self) -> str:
        """Give what the project process printed."""
        try:
            return (self.home / "process.log").read_text("utf-8", "replace")
        except FileNotFoundError:
            return ""

    @property
    def socket_path(self) -> Path:
        """Where the project process listens."""
        return self.home / "run" / f"{digest(str(self.project.resolve()), 16)}.sock"

    def is_listening(self) -> bool:
        """Tell whether somebody answers at the socket."""
        with socket.socket(socket.AF_UNIX) as link:
            try:
                link.connect(str(self.socket_path))
            except OSError:
                return False
        return True


def _running(folder: Path) -> Running | None:
    try:
        meta = json.loads((folder / "meta.json").read_text())
        worker = (folder / "worker").read_text()
    except (FileNotFoundError, ValueError):
        return None
    pid = meta["shim"]["pid"]
    is_there = _start_of(pid) == meta["shim"]["start"]
    return Running(worker, folder, pid, meta["cli"]["pid"]) if is_there else None


def _processes() -> Iterator[Path]:
    return Path("/proc").glob("[0-9]*")


def _entry(environ: Path, start: str) -> str:
    """Give what follows `start` in an environment, "" when it is not there or not ours to read."""
    try:
        entries = environ.read_bytes().split(b"\0")
    except OSError:
        return ""
    found = (entry.decode("utf-8", "replace") for entry in entries)
    return next((entry.removeprefix(start) for entry in found if entry.startswith(start)), "")


def _start_of(pid: int) -> int:
    """Give the kernel's start time of a living process, 0 when there is none."""
    try:
        fields = Path("/proc", str(pid), "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return 0 if fields[0] in "ZX" else int(fields[19])
