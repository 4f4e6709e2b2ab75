"""A scripted CLI under test, spoken to as the shim speaks to it."""

import json
import os
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

PATIENCE_S = 20.0
SESSION = "11111111-2222-4333-8444-555555555555"


class Cli:
    """One process. Each wait has a deadline; what it printed so far is in `events`."""

    def __init__(
        self, folder: Path, *options: str, resume: bool = False, session=SESSION, env=None
    ):
        self.home = folder / "home"
        self.cwd = folder / "project"
        self.cwd.mkdir(exist_ok=True)
        name = "--resume" if resume else "--session-id"
        command = [sys.executable, "-m", "amiral.testbench.scripted_cli"]
        self.process = subprocess.Popen(
            [*command, "--home", str(self.home), name, session, *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self.cwd,
            env={"PATH": os.environ["PATH"], "TMPDIR": str(folder), **(env or {})},
            bufsize=0,
        )
        assert self.process.stdin and self.process.stdout and self.process.stderr
        self.stdin, self.stdout = self.process.stdin, self.process.stdout
        self.pipes = (self.stdin, self.stdout, self.process.stderr)
        self.events: list[dict] = []
        self._buffer = b""

    def send(self, *lines: dict) -> None:
        self.send_bytes(b"".join(json.dumps(line).encode() + b"\n" for line in lines))

    def send_bytes(self, data: bytes) -> None:
        self.stdin.write(data)

    def message(self, message: str, text: str) -> None:
        self.send({"type": "message", "id": message, "text": text})

    def bytes_until(self, end: bytes) -> bytes:
        deadline = time.monotonic() + PATIENCE_S
        while end not in self._buffer:
            left = deadline - time.monotonic()
            ready = select.select([self.stdout], [], [], max(0, left))[0]
            data = os.read(self.stdout.fileno(), 65536) if ready else b""
            assert data, f"ended or silent before {end!r}: {self._buffer!r} {self.events}"
            self._buffer += data
        found, _, self._buffer = self._buffer.partition(end)
        return found + end

    def until(self, kind: str) -> dict:
        """Read events up to the next of this kind."""
        while True:
            self.events.append(json.loads(self.bytes_until(b"\n")))
            if self.events[-1]["type"] == kind:
                return self.events[-1]

    def close(self) -> tuple[int, list[dict], str]:
        """Close stdin and wait for the end: exit code, all events, stderr."""
        out, err = self.process.communicate(timeout=PATIENCE_S)
        self.events += [json.loads(line) for line in (self._buffer + out).split(b"\n") if line]
        return self.process.returncode, self.events, err.decode()

    def of_kind(self, kind: str) -> list[dict]:
        return [event for event in self.events if event["type"] == kind]

    def records(self, session: str = SESSION) -> list[dict]:
        path = self.home / "scripted" / f"{session}.jsonl"
        return [json.loads(line) for line in path.read_bytes().split(b"\n") if line]

    def effects(self, kind: str) -> list[dict]:
        lines = (self.home / "scripted" / "effects.jsonl").read_text().split("\n")
        return [record for line in lines if line and (record := json.loads(line))["type"] == kind]


@pytest.fixture
def start(tmp_path):
    """Give a function that starts a CLI with options and, when given, a scenario's text."""
    started: list[Cli] = []

    def start(*options: str, scenario: str = "", **more) -> Cli:
        if scenario:
            path = tmp_path / "scenario.yaml"
            path.write_text(scenario, encoding="utf-8")
            options = ("--scenario", str(path), *options)
        started.append(Cli(tmp_path, *options, **more))
        return started[-1]

    yield start
    for cli in started:
        if cli.process.poll() is None:
            cli.process.kill()
        cli.process.wait()
        for pipe in cli.pipes:
            pipe.close()
