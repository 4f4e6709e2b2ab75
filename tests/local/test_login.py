"""Behaviour of `amiral login`: the CLI's own login, kept in the one folder all workers share."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

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

    def run(self, *argv: str, stdin=KEY) -> subprocess.CompletedProcess:
        environ = {"AMIRAL_HOME": str(self.home), "AMIRAL_CLIS": str(self.root / "clis")}
        return subprocess.run(
            (sys.executable, "-m", "amiral", *argv),
            env={**os.environ, **environ},
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
