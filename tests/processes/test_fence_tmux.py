"""A real tmux server: no way out of the fence, and none is to be had inside of it (S4)."""

import os
import subprocess

import pytest

QUIET = ("-f", "/dev/null")


def tmux(socket, *words):
    return ("tmux", "-S", str(socket), *QUIET, *words)


@pytest.fixture
def server(pen):
    """The user's own tmux server, its socket in a folder that is granted whole."""
    socket = pen.inside / "tmux"
    env = {**os.environ, "SHELL": "/bin/sh"}
    start = tmux(socket, "new-session", "-d", "-s", "mine", "-x", "80", "-y", "24")
    subprocess.run(start, env=env, check=True)
    yield socket
    subprocess.run(tmux(socket, "kill-server"), check=False, capture_output=True)


@pytest.mark.parametrize(
    "words", ["new-window -d touch", "run-shell touch", "send-keys -t mine touch"]
)
async def test_s4_a_fenced_program_drives_no_tmux_server_of_the_user(pen, server, words):
    """What a server runs for its clients has the rights of the server."""
    done = pen.outside / "done"
    first, *rest = words.split()
    typed = [f"touch {done}", "Enter"] if first == "send-keys" else [f"touch {done}"]
    command = tmux(server, first, *rest[:-1], *typed)
    fenced = await pen.run(*command)
    assert fenced.code != 0
    assert b"error connecting" in fenced.err, fenced
    assert not done.exists()
    free = await pen.run_freely(*command)
    assert free.code == 0, free
    await pen.yard.until(done.exists, "what the server was told")


async def test_s4_a_fenced_program_starts_no_tmux_server_of_its_own(pen):
    done, socket = pen.inside / "done", pen.inside / "own"
    # What a program leaves behind is ended with it, so it waits for its first window.
    waits = f'"$@" && until [ -e {done} ]; do sleep 0.02; done'
    start = tmux(socket, "new-session", "-d", f"touch {done}")
    command = ("sh", "-c", waits, "sh", *start)
    fenced = await pen.run(*command)
    assert fenced.code != 0, fenced
    assert not done.exists()
    assert not socket.exists()
    free = await pen.run_freely(*command)
    assert free.code == 0, free
    assert done.exists()
