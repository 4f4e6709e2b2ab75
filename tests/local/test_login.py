"""Behaviour of `amiral login`: the CLI's own login, kept in the one folder all workers share."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from amiral.base.ids import digest
from amiral.testbench.rig import until

KEY = "sk-dummy-0123456789abcdef"


class Place:
    """A home, and a made-up Codex that writes down how it was called."""

    def __init__(self, root: Path):
        self.root, self.home = root, root / "home"
        self.home.mkdir(mode=0o700)
        self.login = self.home / "logins" / "codex"
        self.clis = root / "clis" / "node_modules" / ".bin"
        self.clis.mkdir(parents=True)

    def program(self, text: str):
        path = self.clis / "codex"
        path.write_text(text)
        path.chmod(0o755)

    @property
    def environ(self):
        own = {"AMIRAL_HOME": str(self.home), "AMIRAL_CLIS": str(self.root / "clis")}
        return {**os.environ, **own}

    def begin(self, *argv: str) -> subprocess.Popen[bytes]:
        command = (sys.executable, "-m", "amiral", *argv)
        return subprocess.Popen(command, env=self.environ, stdin=subprocess.PIPE)

    def run(self, *argv: str, stdin=KEY) -> subprocess.CompletedProcess:
        return subprocess.run(
            (sys.executable, "-m", "amiral", *argv),
            env=self.environ,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )


@pytest.fixture
def place(tmp_path):
    return Place(tmp_path)


def test_a_key_on_stdin_is_handed_to_codex_in_its_folder(place):
    place.program('#!/bin/sh\necho "$@" >called; cat >auth.json; echo "$CODEX_HOME"\n')
    ran = place.run("login", "codex")
    assert (ran.returncode, ran.stdout.strip()) == (0, str(place.login))
    assert (place.login / "called").read_text() == "login --with-api-key\n"
    assert (place.login / "auth.json").read_text() == KEY
    assert 'cli_auth_credentials_store" = "file"' in (place.login / "config.toml").read_text()
    assert place.login.stat().st_mode & 0o777 == 0o700
    assert KEY not in ran.stdout + ran.stderr


def test_r36_under_a_stop_nobody_logs_in(place):
    place.program("#!/bin/sh\ntouch called\n")
    stop = json.loads(place.run("emergency-stop", "--json").stdout)["stop_id"]
    ran = place.run("login", "codex")
    assert ran.returncode == 6
    assert f"amiral release {stop}" in ran.stderr
    assert not (place.login / "called").exists()


def test_p03_a_stop_ends_a_login_with_what_it_started(place):
    place.program("#!/bin/sh\nsleep 600 &\necho $! >child; echo $AMIRAL_TAG >tag; cat\n")
    with place.begin("login", "codex") as login:
        tag = place.login / "tag"
        until(lambda: tag.exists() and tag.read_text(), "its tag")
        assert tag.read_text().startswith(f"{digest(str(place.home))}::login-")
        report = json.loads(place.run("emergency-stop", "--json").stdout)
        assert report["survivors"] == 0
        child = int((place.login / "child").read_text())
        assert {login.pid, child} <= set(report["killed"])
        assert login.wait(timeout=10) == -signal.SIGKILL


def test_its_failure_is_ours(place):
    place.program("#!/bin/sh\necho no such key >&2; exit 7\n")
    ran = place.run("login", "codex")
    assert (ran.returncode, ran.stderr) == (7, "no such key\n")


@pytest.mark.parametrize(
    ("cli", "kind", "words"),
    [
        ("scripted", "usage", "scripted has no login"),
        ("codex", "not_found", "no program `codex`"),
        ("parrot", "not_found", "no CLI `parrot`; known: "),
    ],
)
def test_what_cannot_be_logged_in_is_told(place, cli, kind, words):
    (place.home / "amiral.toml").write_text('[drivers.codex]\ncommand = ["no-such-cli"]\n')
    ran = place.run("login", cli, "--json")
    told = json.loads(ran.stdout or ran.stderr)["error"]
    assert told["kind"] == kind
    assert words.replace("`codex`", "`no-such-cli`") in told["message"]


def test_a_program_that_cannot_be_started_is_told(place):
    place.program("\x7fELF broken")
    ran = place.run("login", "codex")
    assert ran.returncode == 1 and "codex: Exec format error" in ran.stderr
