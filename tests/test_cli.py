"""Behaviour of the `amiral` command: a thin client that stays thin."""

import contextlib
import json
import os
import pty
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from amiral.base.ids import digest
from amiral.cli import LOCAL
from amiral.commands.registry import Runs
from amiral.commands.table import TABLE
from amiral.projects.store import Projects

AMIRAL = (sys.executable, "-m", "amiral")
FOREIGN = (
    *("asyncio", "argparse", "dataclasses", "inspect", "logging", "msgspec", "pathlib"),
    *("socket", "subprocess", "tempfile", "tomllib", "typing", "yaml", "importlib.metadata"),
    "sqlite3",
)


class Place:
    """A home of its own, a project folder in it, and the environment that leads there."""

    def __init__(self, root: Path):
        self.root = root
        self.home = root / "h"
        self.shop = root / "code" / "shop"
        (self.home / "run").mkdir(parents=True)
        self.shop.mkdir(parents=True)
        self.environ = {
            "AMIRAL_HOME": str(self.home),
            "HOME": str(root / "user"),
            "PATH": os.environ["PATH"],
        }

    def socket_of(self, folder: Path) -> Path:
        return self.home / "run" / f"{digest(os.path.realpath(folder), 16)}.sock"

    def run(self, *argv, cwd=None, stdin="", **environ):
        return subprocess.run(
            [*AMIRAL, *argv],
            cwd=cwd or self.shop,
            env={**self.environ, **environ},
            input=stdin,
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )


@pytest.fixture
def place():
    with tempfile.TemporaryDirectory() as root:
        yield Place(Path(root).resolve())


class Server:
    """Stands in for the project process: answers each request with frames, keeps what it read."""

    def __init__(self, path: Path, *frames, held=0.0):
        self.frames, self.held = frames, held
        self.requests: list[dict[str, object]] = []
        self._listener = socket.socket(socket.AF_UNIX)
        before = os.getcwd()
        os.chdir(path.parent)
        self._listener.bind(path.name)
        os.chdir(before)
        self._listener.listen()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self):
        with contextlib.suppress(OSError):
            while True:
                link, _ = self._listener.accept()
                with link, link.makefile("rb") as stream:
                    self.requests.append(json.loads(stream.readline()))
                    self._answer(link, stream)

    def _answer(self, link, stream):
        for frame in self.frames:
            link.sendall(json.dumps(frame).encode() + b"\n")
            if "ask" in frame:
                self.requests.append(json.loads(stream.readline()))
        if self.held:
            stream.readline()

    def close(self):
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(5)


@contextlib.contextmanager
def serving(place, *frames, folder=None, held=0.0):
    server = Server(place.socket_of(folder or place.shop), *frames, held=held)
    try:
        yield server
    finally:
        server.close()


def test_what_was_typed_is_sent_and_the_frames_are_printed(place):
    frames = ({"out": "one\n"}, {"err": "note\n"}, {"out": "two é\n"}, {"exit": 6})
    with serving(place, *frames) as server:
        done = place.run("say", "/c hi", "--wait", "0", LANG="fr_FR.UTF-8")
    assert (done.stdout, done.stderr, done.returncode) == ("one\ntwo é\n", "note\n", 6)
    assert server.requests == [
        {
            "argv": ["say", "/c hi", "--wait", "0"],
            "cwd": str(place.shop),
            "tty": False,
            "colour": False,
            "language": "fr",
        }
    ]


def test_the_project_is_found_from_a_folder_inside_it_or_by_a_link(place):
    inner = place.shop / "src" / "deep"
    inner.mkdir(parents=True)
    (place.root / "link").symlink_to(inner)
    with serving(place, {"exit": 0}) as server:
        assert place.run("status", cwd=inner).returncode == 0
        assert place.run("status", cwd=place.root / "link").returncode == 0
    assert len(server.requests) == 2


def test_a_project_is_named_from_anywhere(place):
    project = Projects(place.home, place.root / "user").register(place.shop)
    with serving(place, {"out": "here\n"}, {"exit": 0}):
        for argv in (["-p", "shop", "status"], ["status", f"--project={project.id}"]):
            assert place.run(*argv, cwd=place.root).stdout == "here\n"
        missing = place.run("status", "-p", "shpo", cwd=place.root)
    assert missing.returncode == 4
    assert "did you mean shop?" in missing.stderr


def test_stdin_is_sent_when_it_is_asked_for(place):
    with serving(place, {"ask": "stdin"}, {"exit": 0}) as server:
        assert place.run("say", "-", stdin="s3cret\n").returncode == 0
    assert server.requests[1] == {"stdin": "s3cret\n"}


def test_a_socket_path_too_long_for_the_kernel_is_reached(place):
    far = place.root / ("x" * 90)
    far.mkdir()
    place.home.rename(far / "h")
    place.home = far / "h"
    place.environ["AMIRAL_HOME"] = str(place.home)
    with serving(place, {"out": "far\n"}, {"exit": 0}) as server:
        assert place.run("status").stdout == "far\n"
    assert server.requests[0]["cwd"] == str(place.shop)


def test_an_unreachable_daemon_is_exit_3_with_the_next_step(place):
    done = place.run("status")
    assert (done.stdout, done.returncode) == ("", 3)
    assert done.stderr == "✗ amiral is not running for this folder\n  run `amiral up`\n"
    done = place.run("status", "--json")
    assert json.loads(done.stdout)["error"] == {
        "kind": "unreachable",
        "message": "amiral is not running for this folder",
        "next": "run `amiral up`",
    }
    assert (done.stderr, done.returncode) == ("", 3)


def test_a_socket_left_by_a_killed_process_is_unreachable_too(place):
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(place.socket_of(place.shop)))
    assert place.run("status").returncode == 3


def test_a_folder_that_is_gone_is_told_and_projects_are_reached_by_name(place):
    project = Projects(place.home, place.root / "user").register(place.shop)
    gone = 'mkdir gone && cd gone && rmdir ../gone && exec "$@"'
    from_there = ["sh", "-c", gone, "sh", *AMIRAL]

    def run(*argv):
        return subprocess.run(
            [*from_there, *argv],
            cwd=place.shop,
            env=place.environ,
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )

    done = run("status")
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith("✗ the folder you are in is gone\n")
    with serving(place, {"out": "here\n"}, {"exit": 0}) as server:
        assert run("status", "-p", project.name).stdout == "here\n"
    assert server.requests[0]["cwd"] == ""


def test_a_daemon_that_dies_before_its_last_frame_is_told(place):
    with serving(place, {"out": "one\n"}):
        done = place.run("status")
    assert (done.stdout, done.returncode) == ("one\n", 3)
    assert "went away before it had answered" in done.stderr


def test_a_mistake_needs_no_daemon_to_be_named(place):
    assert place.run("statsu").returncode == 2
    assert "did you mean status?" in place.run("statsu").stderr
    assert place.run().returncode == 0


def on_a_terminal(place, *argv, **environ):
    """Run with stdout on a terminal; give what it printed."""
    master, slave = pty.openpty()
    env = {**place.environ, "TERM": "xterm", **environ}
    with subprocess.Popen([*AMIRAL, *argv], cwd=place.shop, env=env, stdout=slave) as process:
        os.close(slave)
        process.wait(30)
    data = b""
    with contextlib.suppress(OSError):
        while chunk := os.read(master, 4096):
            data += chunk
    os.close(master)
    return data.decode()


def test_colour_is_for_terminals_that_want_it(place):
    with serving(place, {"out": "✓ done ✗ bad\n"}, {"exit": 0}) as server:
        assert on_a_terminal(place, "status") == "\x1b[32m✓\x1b[0m done \x1b[31m✗\x1b[0m bad\r\n"
        assert on_a_terminal(place, "status", NO_COLOR="1") == "✓ done ✗ bad\r\n"
        assert on_a_terminal(place, "status", TERM="dumb") == "✓ done ✗ bad\r\n"
        assert place.run("status").stdout == "✓ done ✗ bad\n"
    assert [request["colour"] for request in server.requests] == [True, False, False, False]
    assert [request["tty"] for request in server.requests] == [True, True, True, False]


def test_ctrl_c_ends_quietly_with_130(place):
    with (
        serving(place, {"out": "working\n"}, held=30),
        subprocess.Popen(
            [*AMIRAL, "say", "x"],
            cwd=place.shop,
            env=place.environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process,
    ):
        assert process.stdout is not None
        assert process.stdout.readline() == "working\n"
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=30) == ("", "")
        assert process.returncode == 130


def test_a_reader_that_goes_away_is_no_traceback(place):
    reader, writer = os.pipe()
    os.close(reader)
    with serving(place, {"out": "x\n"}, {"exit": 0}):
        done = subprocess.run(
            [*AMIRAL, "status"],
            cwd=place.shop,
            env=place.environ,
            stdout=writer,
            stderr=subprocess.PIPE,
            timeout=30,
            check=False,
        )
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, b"")


def test_words_that_are_no_utf8_are_sent_as_replacement_characters(place):
    argv: list[str | bytes] = [*AMIRAL, b"say", b"a\xffb"]
    with serving(place, {"exit": 0}) as server:
        subprocess.run(argv, cwd=place.shop, env=place.environ, timeout=30, check=True)
    assert server.requests[0]["argv"] == ["say", "a\ufffdb"]


@pytest.mark.parametrize("argv", [("status",), ("say", "hi", "--wait", "0"), ("status", "--json")])
def test_a_hot_command_imports_nothing_heavy(place, argv):
    with serving(place, {"out": "✓ x\n"}, {"exit": 0}):
        done = subprocess.run(
            [sys.executable, "-X", "importtime", "-m", "amiral", *argv],
            cwd=place.shop,
            env=place.environ,
            capture_output=True,
            text=True,
            timeout=30,
            check=True,
        )
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.split("\n")}
    ours = {name for name in imported if name.partition(".")[0] == "amiral"}
    assert ours == {"amiral", "amiral.cli", "amiral.base", "amiral.base.home"}
    bare = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", "pass"],
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    already = {line.rpartition("|")[2].strip() for line in bare.stderr.split("\n")}
    assert not (imported - already) & set(FOREIGN)


def test_every_command_carried_out_here_is_declared_so():
    rows = TABLE.by_name()
    assert set(LOCAL) <= set(rows)
    assert {rows[name].runs for name in LOCAL} == {Runs.LOCAL}
    here = {row.name for row in TABLE if row.runs is Runs.LOCAL and not row.later}
    assert here <= set(LOCAL)
