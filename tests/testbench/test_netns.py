"""Programs that see no network but the loopback."""

import os
import subprocess
import sys

import pytest

from amiral.testbench.netns import is_isolated, isolating, main

LOOK = """
import os, socket
print(os.getpid(), [name for _, name in socket.if_nameindex()])
one = socket.create_server(("127.0.0.1", 0))
socket.create_connection(one.getsockname(), timeout=5).close()
try:
    socket.create_connection(("192.0.2.1", 80), timeout=5)
except OSError as error:
    print(error.strerror)
"""


def run(*command: str) -> subprocess.CompletedProcess[str]:
    inside = [sys.executable, "-m", "amiral.testbench.netns", *command]
    return subprocess.run(inside, capture_output=True, text=True, check=False, timeout=30)


def test_the_program_reaches_itself_and_nothing_else():
    command = [sys.executable, "-m", "amiral.testbench.netns", "--", sys.executable, "-c", LOOK]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:
        told, reason = program.communicate(timeout=30)[0].strip().split("\n")
    assert told == f"{program.pid} ['lo']", "it takes the place of the one that isolates it"
    assert reason == "Network is unreachable"


def test_it_ends_as_the_program_ends():
    assert run("--", "sh", "-c", "exit 7").returncode == 7


def test_a_program_that_is_not_there_is_told():
    ran = run("--", "no-such-program")
    assert (ran.returncode, ran.stderr) == (
        1,
        "Error: no-such-program: No such file or directory\n",
    )


@pytest.mark.parametrize("arguments", [[], ["--"], ["ls"], ["--up"]])
def test_a_wrong_call_is_told_how_to_call(arguments, capsys):
    assert main(arguments) == 2
    assert "usage:" in capsys.readouterr().err


def test_a_command_is_isolated_once():
    if is_isolated():
        assert isolating(["ls"]) == ["ls"]
    else:
        assert isolating(["ls"])[-2:] == ["--", "ls"]
    inner = "from amiral.testbench.netns import isolating; print(isolating(['ls']))"
    ran = run("--", sys.executable, "-c", inner)
    assert ran.stdout == "['ls']\n"
    assert os.getpid() > 0
