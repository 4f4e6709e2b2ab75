"""A whole amiral in a throw-away home, driven from outside: started, asked, killed, started again.

For end-to-end tests and the chaos run; a plug-in's author can use it the same way.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from amiral.base.errors import Broken
from amiral.base.ids import digest, folder_name

_START_S = 30.0
_ANSWER_S = 60.0
_LOOK_S = 0.005


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


class Hung(Broken):
    """The process went away, or did not answer in time."""


def scripted_config(scenario: Path | None = None) -> str:
    """Give an amiral.toml under which the scripted worker answers, whatever CLIs there are."""
    lines = ["[drivers.claude]", 'command = ["no-such-cli"]']
    if scenario is not None:
        lines += ["[drivers.scripted]", f"scenario = {json.dumps(str(scenario))}"]
    return "\n".join(lines) + "\n"


class Rig:
    """One home with one project; `config` is the text of its amiral.toml."""

    def __init__(self, folder: Path, config: str, environ: Mapping[str, str] | None = None) -> None:
        self.home = folder / "home"
        self.project = folder / "shop"
        self.project.mkdir(parents=True, exist_ok=True)
        self.home.mkdir(mode=0o700, exist_ok=True)
        (self.home / "amiral.toml").write_text(config)
        self.environ = {**os.environ, "AMIRAL_HOME": str(self.home), **(environ or {})}
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def state(self) -> Path:
        """The folder of the project's state in the home."""
        real = str(self.project.resolve())
        return self.home / "projects" / folder_name("shop", real)

    @property
    def pid(self) -> int:
        """The project process's number."""
        if self._process is None:
            raise Broken("the project process was not started")
        return self._process.pid

    def start(self, environ: Mapping[str, str] | None = None) -> Self:
        """Start the project process and wait until it answers, or has ended."""
        log = (self.home / "process.log").open("ab")
        argv = (sys.executable, "-m", "amiral", "up", str(self.project), "--json")
        env = {**self.environ, **(environ or {})}
        with log:
            self._process = subprocess.Popen(argv, env=env, stdout=log, stderr=log, cwd="/")
        until = time.monotonic() + _START_S
        while time.monotonic() < until and self._process.poll() is None:
            if self._is_listening():
                return self
            time.sleep(_LOOK_S)
        if self._process.poll() is None:
            raise Hung(f"amiral up did not answer in time: {self.log()}")
        return self

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

    def stop(self) -> None:
        """End everything this rig has started, agents included."""
        if self.is_alive and self._process is not None:
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                self.kill()
        self.run("emergency-stop")

    def ask(self, *argv: str, seconds: float = _ANSWER_S) -> Answer:
        """Send one command line to the running process; Hung when it goes away first."""
        out: list[str] = []
        err: list[str] = []
        with socket.socket(socket.AF_UNIX) as link:
            link.settimeout(seconds)
            try:
                link.connect(str(self._socket()))
                request = {"argv": [*argv, "--json"], "cwd": str(self.project)}
                link.sendall(json.dumps(request).encode() + b"\n")
                for line in link.makefile("rb"):
                    frame = json.loads(line)
                    if "exit" in frame:
                        return Answer(frame["exit"], "".join(out), "".join(err))
                    out.append(frame.get("out", ""))
                    err.append(frame.get("err", ""))
            except OSError as error:
                raise Hung(f"no answer to {argv}: {error}") from error
        raise Hung(f"the process went away before it answered {argv}")

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

    def events(self, since: int = 0) -> list[Any]:
        """Read the journal through the running process."""
        return self.ask("events", "--since", str(since)).lines()

    def log(self) -> str:
        """Give what the project process printed."""
        return (self.home / "process.log").read_text("utf-8", "replace")

    def _socket(self) -> Path:
        return self.home / "run" / f"{digest(str(self.project.resolve()), 16)}.sock"

    def _is_listening(self) -> bool:
        with socket.socket(socket.AF_UNIX) as link:
            try:
                link.connect(str(self._socket()))
            except OSError:
                return False
        return True
