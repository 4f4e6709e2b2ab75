"""A shim's own life: it starts lean, serves whoever may speak, and leaves when nobody needs it."""

import asyncio
import os
import signal
import socket

import pytest

from amiral.processes import proc, tree
from amiral.processes.answers import Exited, Fenced
from amiral.processes.shim.loop import SHIM_CODE
from amiral.processes.shim.wire import MAX_LINE_BYTES

HELLO = b'{"op":"hello","n":1,"protocol":1,"token":1}'
MAX_OVER_BARE_KB = 5500
WAITS = "import sys; sys.stdin.read()"


def identity(link) -> tree.Identity:
    found = tree.identify(link.hello.pid)
    assert found is not None
    return found


def rss_kb(pid: int) -> int:
    (line,) = (one for one in open_text(f"/proc/{pid}/status") if one.startswith("VmRSS"))
    return int(line.split()[1])


async def bare_kb(yard) -> int:
    """Measure an interpreter that does nothing."""
    code = "print([line for line in open('/proc/self/status') if line.startswith('VmRSS')])"
    ran = await yard.spawner.run([*yard.PYTHON, code], kind="own", env={}, cwd="/", timeout_s=20.0)
    return int(ran.out.split()[1])


def open_text(path):
    with open(path) as file:
        return list(file)


async def test_it_is_small_and_a_session_of_its_own(yard):
    link = await yard.shim()
    seen = proc.look(link.hello.pid)
    assert seen is not None
    assert seen.session == link.hello.pid
    assert rss_kb(link.hello.pid) <= await bare_kb(yard) + MAX_OVER_BARE_KB
    held = {os.readlink(f"/proc/{link.hello.pid}/fd/{end}") for end in (0, 1, 2)}
    assert held == {"/dev/null"}


async def test_it_ignores_the_signals_of_a_terminal(yard):
    link = await yard.shim()
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        os.kill(link.hello.pid, number)
    assert await link.input_state("i1") == "unknown"


async def test_idle_it_leaves_with_its_last_connection(yard):
    link = await yard.shim()
    other = await yard.connect_to(link.path, token=1)
    shim = identity(link)
    link.close()
    assert await other.input_state("i1") == "unknown"
    other.close()
    await yard.until(lambda: not tree.is_alive(shim))
    assert not os.path.exists(link.path)


async def test_idle_it_leaves_when_told(yard):
    link = await yard.shim()
    shim = identity(link)
    await link.retire()
    await yard.until(lambda: not tree.is_alive(shim))


async def test_idle_it_leaves_after_a_while(yard):
    code = SHIM_CODE.replace("main(sys.argv[2])", "main(sys.argv[2], 0.3)")
    link = await yard.shim_inside("", code)
    shim = identity(link)
    assert link.hello.state == "idle"
    await yard.until(lambda: not tree.is_alive(shim))


async def test_launched_it_outlives_every_connection(yard):
    run = await yard.session(WAITS)
    run.link.close()
    link = await yard.connect_to(run.link.path, token=1)
    assert link.hello.state == "running"
    assert tree.is_alive(run.shim)


GARBAGE = [
    b"",
    b"x",
    b"{",
    b"[]",
    b"3",
    b"null",
    b"\xff\xfe",
    b"{}",
    b'{"op":3}',
    b'{"op":"fly"}',
    b'{"op":"launch"}',
    b'{"op":"hello"}',
    b'{"op":"hello","protocol":2,"token":1}',
    b'{"op":"hello","protocol":1,"token":"1"}',
    b'{"op":"hello","protocol":1,"token":true}',
    b'{"op":"drop","segment":1.5}',
    b'{"op":"signal","name":"SEGV","target":"cli"}',
    b'{"op":"input","id":1,"data":"x"}',
    b"[" * 100_000,
]


async def test_garbage_gets_one_error_each_and_harms_nothing(yard):
    run = await yard.session(WAITS)
    reader, writer = await asyncio.open_unix_connection(run.link.path)
    for line in [HELLO, *GARBAGE]:
        writer.write(line + b"\n")
    answers = [await reader.readline() for _ in range(1 + len(GARBAGE))]
    assert b'"ok": true' in answers[0]
    assert all(b'"ok": false' in answer for answer in answers[1:])
    writer.write(b'{"op":"input_state","n":"last","id":"i1"}\n')
    assert b'"n": "last"' in await reader.readline()
    writer.close()
    assert await run.link.input_state("i1") == "unknown"


async def test_a_request_that_is_too_long_is_refused_and_reading_goes_on(yard):
    link = await yard.shim()
    reader, writer = await asyncio.open_unix_connection(link.path)
    writer.write(b"x" * (MAX_LINE_BYTES + 4096) + b"\n" + HELLO + b"\n")
    assert b"invalid" in await reader.readline()
    assert b'"state": "idle"' in await reader.readline()
    writer.close()


async def test_nothing_is_answered_before_hello(yard):
    link = await yard.shim()
    answer = await yard.raw(link.path, b'{"op":"retire","n":1}')
    assert answer["error"] == "denied"
    assert await link.input_state("i1") == "unknown"


async def test_a_crowd_of_strangers_keeps_nobody_out(yard):
    link = await yard.shim()
    crowd = [socket.socket(socket.AF_UNIX) for _ in range(150)]
    for stranger in crowd:
        stranger.connect(link.path)
    other = await yard.connect_to(link.path, token=1)
    assert await other.input_state("i1") == await link.input_state("i1") == "unknown"
    for stranger in crowd:
        stranger.close()


def is_full(connection, data) -> bool:
    try:
        while True:
            connection.send(data)
    except BlockingIOError:
        return True


PRINTS_A_LOT = "import sys\nfor _ in range(500): print('x' * 99_999)\nsys.stdin.read()"


async def test_an_owner_that_does_not_read_holds_up_nobody(yard):
    link = await yard.shim()
    with socket.socket(socket.AF_UNIX) as deaf:
        deaf.connect(link.path)
        deaf.sendall(HELLO + b"\n")
        # Asks more than it ever reads the answers of: it is simply not read on.
        deaf.setblocking(False)
        await yard.until(lambda: is_full(deaf, b'{"op":"input_state","id":"i1"}\n' * 100))
        run = await yard.session(PRINTS_A_LOT, link=link)
        await yard.until(
            lambda: sum(p.stat().st_size for p in run.folder.glob("out.*")) == 50_000_000
        )
        assert rss_kb(link.hello.pid) <= await bare_kb(yard) + MAX_OVER_BARE_KB + 2048
        await run.link.close_input()
        assert await run.exited() == Exited(0, None)
        await run.shim_gone()


TAKES_OVER = """
import os, socket, sys
if len(sys.argv) > 2:
    os.setuid(int(sys.argv[2]))
connection = socket.socket(socket.AF_UNIX)
connection.connect(sys.argv[1])
try:
    connection.sendall(b'{"op":"hello","n":1,"protocol":1,"token":1000000}\\n')
except OSError:
    pass
print(connection.recv(4096))
"""


async def test_what_runs_below_a_shim_has_no_say_in_it(yard):
    link = await yard.shim()
    run = await yard.session(TAKES_OVER, link.path, link=link)
    await run.exited()
    assert b"denied" in run.out()
    assert run.heard(Fenced) is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
async def test_another_user_has_no_say(yard):
    link = await yard.shim()
    os.chmod(yard.home, 0o755)
    os.chmod(yard.run, 0o755)
    os.chmod(link.path, 0o666)
    command = [*yard.PYTHON, TAKES_OVER, link.path, "65534"]
    ran = await yard.spawner.run(command, kind="own", env={}, cwd="/", timeout_s=20.0)
    assert b"denied" in ran.out, ran.err
    assert await link.input_state("i1") == "unknown"
