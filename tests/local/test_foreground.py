"""What `up` and `child` say when they serve, and how they name themselves."""

import subprocess
import sys
from pathlib import Path

from amiral.local.foreground import Banner
from amiral.projects.project import Project

SHOP = Project("shop-1", "my shop", "/code/\x1b[2Jshop")


def test_a_banner_says_what_a_newcomer_needs_and_leaves_out_what_there_is_not():
    banner = Banner(Path("/home"), [SHOP], ["scripted 1"], ["a warning"], "http://x", "/run/s")
    first, *lines, chat = banner.text.split("\n")
    assert first.startswith("amiral ")
    assert lines == [
        "found   scripted 1",
        "project my shop (/code/shop)",
        "notice  a warning",
        "open    http://x   (valid once, 10 minutes)",
        "socket  /run/s",
    ]
    assert chat.endswith("say -p 'my shop' \"/c what does this project do?\"")
    assert Banner(Path("/home"), [], [], []).text.count("\n") == 0


def test_the_command_is_named_as_it_was_typed(tmp_path):
    program = tmp_path / "bin" / "amiral"
    program.parent.mkdir()
    program.write_text("")
    tell = (
        "import sys; from amiral.local.foreground import _command\n"
        "sys.argv[0] = sys.argv[1]; print(_command())"
    )
    for path, shown in ((str(program.parent), "amiral"), ("/nowhere", "bin/amiral")):
        ran = subprocess.run(
            [sys.executable, "-c", tell, str(program)],
            env={"PATH": path},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        )
        assert ran.stdout == f"{shown}\n"
