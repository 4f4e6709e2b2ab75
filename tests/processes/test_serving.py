"""Which process serves a project: told by the kernel, never by a number in a file alone (R30)."""

import asyncio
import json
import os
import socket
import tempfile
import time
from pathlib import Path

import pytest

from amiral.base.clock import SystemClock
from amiral.base.errors import Conflict
from amiral.processes import tree
from amiral.processes.heartbeat import own_beat, write
from amiral.processes.serving import UNNAMED, Served, Server, claim_project, server_of
from amiral.processes.spawn import Stdio

CLOCK = SystemClock()
HOLDS = """
import fcntl, os, sys, time
lock = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o600)
fcntl.flock(lock, fcntl.LOCK_EX)
os.truncate(lock, 0)
os.pwrite(lock, sys.argv[2].replace("ME", str(os.getpid())).encode(), 0)
os.write(1, b"held.")
time.sleep(1000)
"""


@pytest.fixture
def served():
    with tempfile.TemporaryDirectory(prefix="amiral-") as folder:
        home = Path(folder)
        (home / "run").mkdir()
        yield Served(home, "shop-1", "shop", "/srv/shop")


@pytest.fixture
async def hold(yard, served):
    """Give a function that starts a process which holds the project's lock and leaves a text."""
    served.lock.parent.mkdir(parents=True)
    started = []

    async def start(text):
        reading, writing = os.pipe()
        argv = [*yard.PYTHON, HOLDS, str(served.lock), text]
        child = yard.spawner.start(argv, kind="own", env={}, cwd="/", stdio=Stdio(stdout=writing))
        os.close(writing)
        started.append(child)
        assert await asyncio.to_thread(os.read, reading, 5) == b"held."
        os.close(reading)
        return child

    yield start
    for child in started:
        child.drop()


def me():
    return tree.identify(os.getpid()) or UNNAMED


async def found(served):
    return await server_of(served, CLOCK)


async def test_who_only_keeps_others_out_is_not_taken_for_the_one_that_serves(served):
    """Nor is the one who served before, whose number may be another's by now."""
    (await claim_project(served, CLOCK)).release()
    claim = await claim_project(served, CLOCK, serves=False)
    assert await found(served) == Server(UNNAMED, is_listening=False)
    with pytest.raises(Conflict, match="in use by process unknown"):
        await claim_project(served, CLOCK)
    claim.release()


async def test_nobody_serves_a_project_that_was_never_served(served):
    assert await found(served) is None


async def test_one_claims_and_a_second_is_refused_by_name(served):
    claim = await claim_project(served, CLOCK)
    with pytest.raises(Conflict, match=f"shop is in use by process {os.getpid()}"):
        await claim_project(served, CLOCK)
    claim.release()
    (await claim_project(served, CLOCK)).release()


async def test_a_claim_waits_out_one_who_only_looks(served):
    (await claim_project(served, CLOCK)).release()
    looking = [asyncio.create_task(found(served)) for _ in range(50)]
    claims = [await claim_project(served, CLOCK)]
    await asyncio.gather(*looking)
    claims[0].release()


async def test_who_holds_the_lock_serves(served, hold):
    child = await hold("ME")
    assert await found(served) == Server(child.identity, is_listening=False)


async def test_r30_a_lock_file_that_names_a_living_stranger_names_nobody(served):
    served.lock.parent.mkdir(parents=True)
    served.lock.write_text(f"{os.getppid()}\n")
    assert await found(served) is None


async def test_who_holds_the_lock_namelessly_is_known_by_its_heartbeat(served, hold):
    await hold("")
    assert await found(served) == Server(UNNAMED, is_listening=False)
    write(served.home, own_beat("shop", "shop-1", 1, CLOCK))
    assert await found(served) == Server(me(), is_listening=False)


@pytest.mark.parametrize("text", ["", "999999999", "-1", "shop", "0"])
async def test_a_holder_with_a_wrong_number_is_unnamed_and_no_second_one_starts(served, hold, text):
    await hold(text)
    assert await found(served) == Server(UNNAMED, is_listening=False)


async def test_r30_a_reused_number_in_a_heartbeat_is_no_proof(served, hold):
    await hold("")
    beat = own_beat("shop", "shop-1", 1, CLOCK)
    document = {name: getattr(beat, name) for name in beat.__dataclass_fields__}
    write(served.home, beat)
    path = served.home / "state" / "heartbeat_shop.json"
    path.write_text(json.dumps(document | {"start": beat.start + 1}))
    assert await found(served) == Server(UNNAMED, is_listening=False)


async def test_who_listens_serves_even_when_it_hangs(served):
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(served.socket))
        listener.listen()
        assert await found(served) == Server(me(), is_listening=True)


async def test_a_socket_left_by_a_dead_process_says_nothing(served):
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(served.socket))
    assert await found(served) is None


async def test_a_socket_whose_backlog_is_full_is_not_waited_for(served, hold):
    child = await hold("ME")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(served.socket))
        listener.listen(0)
        with socket.socket(socket.AF_UNIX) as first:
            first.connect(str(served.socket))
            began = time.monotonic()
            server = await found(served)
            assert time.monotonic() - began < 5
    assert server is not None
    assert server.identity in (child.identity, tree.identify(os.getpid()))


async def test_a_dead_holder_holds_nothing(served, hold):
    child = await hold("ME")
    await asyncio.to_thread(child.kill)
    await child.exited()
    assert await found(served) is None
