"""A home, and projects beside it that are set up and taken out by the command line."""

import os
import pty
import re
import select
import subprocess
import sys
from pathlib import Path

import pytest

from amiral.testbench.rig import Answer, plain_environment, scripted_config

ANSWERS = '[purpose]\nabout = "Tea by mail"\n[stack]\ntest = "true"\ndeploy = "echo shipped"\n'
LINE = re.compile("[\x03\x04]|[^\n\x03\x04]*\n")
CTRL_C = b"\x03"
LEFT_ALONE = (".lock", ".good")


class Yard:
    """What a person has: a home, a folder of code, an answers file, a command line."""

    def __init__(self, root: Path):
        self.root, self.home, self.code = root, root / "home", root / "code"
        self.code.mkdir()
        (root / "user").mkdir()
        self.answers = self.file("answers.toml", ANSWERS)
        self.environ = {
            **plain_environment(),
            "AMIRAL_HOME": str(self.home),
            "HOME": str(root / "user"),
            "AMIRAL_HUB_PORT": "0",
        }

    def file(self, name: str, text: str) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def settled(self) -> "Yard":
        """Another project and settings of the owner's are there already."""
        self.home.mkdir(mode=0o700)
        self.file("home/amiral.toml", f"# mine\r\n{scripted_config()}[hub]\nport = 0")
        assert self.new("other").code == 0
        return self

    def run(self, *argv, under=(), cwd=None, **environ) -> Answer:
        ran = subprocess.run(
            [*under, sys.executable, "-m", "amiral", *map(str, argv)],
            env={**self.environ, **environ},
            cwd=cwd or self.code,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert "Traceback" not in ran.stderr, ran.stderr
        return Answer(ran.returncode, ran.stdout, ran.stderr)

    def new(self, name="tea", *words, **how) -> Answer:
        return self.run("project", "new", name, *words, "--answers", self.answers, "--json", **how)

    def remove(self, name="tea", *words, **how) -> Answer:
        return self.run("project", "remove", name, f"--yes-remove={name}", *words, "--json", **how)

    def killed(self, point, *argv) -> bool:
        ran = self.run(*argv, AMIRAL_FAILPOINTS="1", AMIRAL_FAILPOINT=point)
        assert ran.code in (0, -9), (ran.out, ran.err)
        return ran.code == -9

    def at_terminal(self, *argv, typed: str) -> tuple[int, str]:
        """Run at a terminal, typing one line at each prompt; gives the code and all it showed."""
        ours, theirs = pty.openpty()
        lines = [line.encode() for line in LINE.findall(typed)]
        command = ["setsid", "--ctty", "--wait", sys.executable, "-m", "amiral", *map(str, argv)]
        with subprocess.Popen(
            command,
            env={**self.environ, "TERM": "dumb"},
            cwd=self.code,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
        ) as process:
            os.close(theirs)
            shown = b""
            line = b""
            while part := _read(ours, line):
                shown += part
                if shown.endswith(b" ") and lines:
                    line = lines.pop(0)
                    os.write(ours, line)
            code = process.wait(60)
        os.close(ours)
        text = shown.decode("utf-8", "replace").replace("\r\n", "\n")
        assert "Traceback" not in text, text
        return code, text

    def everything(self) -> dict[str, str]:
        """Every file and folder of code and home, but locks and last good copies."""
        told = {}
        for top in (self.home, self.code):
            for path in top.rglob("*"):
                if path.suffix not in LEFT_ALONE and ".git" not in path.parts:
                    told[str(path.relative_to(self.root))] = _looks(path)
        return told

    def state(self, name="tea") -> Path:
        (found,) = (self.home / "projects").glob(f"{name}-*")
        return found


def _read(terminal: int, typed: bytes) -> bytes:
    """Wait for more; a Ctrl-C between a prompt and its reading is lost, and pressed again."""
    while not select.select([terminal], [], [], 0.5)[0]:
        if typed == CTRL_C:
            os.write(terminal, CTRL_C)
    try:
        return os.read(terminal, 1 << 16)
    except OSError:
        return b""


def _looks(path: Path) -> str:
    if path.is_symlink():
        return f"-> {path.readlink()}"
    return path.read_bytes().decode("utf-8", "replace") if path.is_file() else "folder"


@pytest.fixture
def yard(tmp_path_factory):
    return Yard(tmp_path_factory.mktemp("y").resolve())
