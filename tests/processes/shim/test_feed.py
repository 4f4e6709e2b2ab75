"""Inputs: recorded first, written once, answered truthfully, whatever dies in between."""

import asyncio
import hashlib

import pytest

from amiral.base.errors import Broken, Invalid
from amiral.processes import session_files, tree
from amiral.processes.link import ShimGone

# Keeps its own transcript of what arrived, and echoes it.
ECHOES = """
import os, sys
transcript = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
while chunk := os.read(0, 65536):
    os.write(transcript, chunk)
    try:
        os.write(1, chunk)
    except OSError:
        pass
"""
READS_NOTHING = "import time; time.sleep(1000)"
HASHES = """
import hashlib, sys
for line in sys.stdin.buffer:
    print(len(line), hashlib.sha256(line).hexdigest(), flush=True)
"""


async def echoing(yard, **changes):
    transcript = yard.home / "transcript"
    run = await yard.session(ECHOES, str(transcript), **changes)
    return run, lambda: transcript.read_bytes() if transcript.exists() else b""


async def test_an_input_is_written_once_however_often_it_is_sent(yard):
    run, _ = await echoing(yard)
    first = await asyncio.gather(*(run.link.input("i1", "one\n") for _ in range(5)))
    assert await run.link.input("i2", "two\n") == "written"
    again = await run.link.input("i1", "one\n")
    assert {*first, again} == {"written"}
    await run.link.close_input()
    await run.exited()
    assert run.out() == b"one\ntwo\n"
    assert session_files.read_inputs(run.folder) == {"i1": "written", "i2": "written"}


async def test_the_next_owner_may_send_it_again_and_it_is_still_written_once(yard):
    run, _ = await echoing(yard)
    await run.link.input("i1", "one\n")
    run.link.close()
    link = await yard.connect_to(run.link.path, token=2)
    assert await link.input_state("i1") == "written"
    assert await link.input("i1", "one\n") == "written"
    assert await link.input_state("i2") == "unknown"
    await link.close_input()
    await yard.until((run.folder / "exit.json").exists)
    assert run.out() == b"one\n"


@pytest.mark.parametrize("size", [1 << 20, 16 << 20, 64 << 20])
async def test_a_long_input_arrives_whole(yard, size):
    run = await yard.session(HASHES)
    data = "é" * (size // 2) + "\n"
    assert await run.link.input("big", data) == "written"
    assert await run.link.input("small", "x\n") == "written"
    await run.link.close_input()
    await run.exited()
    digest = hashlib.sha256(data.encode()).hexdigest()
    assert run.out().split()[:2] == [b"%d" % (size + 1), digest.encode()]


async def test_a_cli_that_reads_nothing_blocks_nobody(yard):
    run = await yard.session(READS_NOTHING)
    waiting = asyncio.create_task(run.link.input("big", "x" * (64 << 20)))
    other = await yard.connect_to(run.link.path, token=1)
    while await other.input_state("big") == "unknown":
        assert not waiting.done()
    queued = asyncio.create_task(other.input("later", "y\n"))
    while await run.link.input_state("later") == "unknown":
        assert not queued.done()
    assert await run.link.kill() == 0
    assert await waiting == "unsure"
    assert await queued == "gone"
    await run.exited()
    assert session_files.read_inputs(run.folder) == {"big": "recorded"}


async def test_closing_waits_for_what_was_accepted(yard):
    run = await yard.session(HASHES + READS_NOTHING)
    writing = run.link.input("i1", "x" * (1 << 20))
    assert (await asyncio.gather(writing, run.link.close_input()))[0] == "written"
    assert await run.link.input("i2", "more") == "gone"
    await run.prints(b"%d " % (1 << 20))
    assert session_files.read_inputs(run.folder) == {"i1": "written"}


async def test_a_cli_that_closed_its_stdin_gets_nothing_and_it_is_said(yard):
    run = await yard.session("import os, time; os.close(0); print('closed'); time.sleep(1000)")
    await run.prints(b"closed")
    assert await run.link.input("i1", "x\n") == "gone"
    with pytest.raises(ShimGone):
        await run.link.request("input", id="i2", data="x\n")
    assert session_files.read_inputs(run.folder) == {}


async def test_a_text_that_is_no_utf8_is_refused_before_anything_is_recorded(yard):
    run, transcript = await echoing(yard)
    with pytest.raises(Invalid):
        await run.link.input("i1", "\ud83d")
    reply = await yard.raw(run.link.path, b'{"op":"hello","protocol":1,"token":1}')
    assert reply["ok"]
    reply = await yard.raw(
        run.link.path,
        b'{"op":"hello","protocol":1,"token":1}',
        b'{"op":"input","n":1,"id":"i2","data":"\\ud83d"}',
    )
    assert reply["error"] == "invalid"
    assert session_files.read_inputs(run.folder) == {}
    assert transcript() == b""


async def test_on_a_full_disk_nothing_is_given_to_the_cli_and_it_is_said_r38(yard):
    disk = yard.home / "disk"
    disk.mkdir()
    link = await yard.shim_inside(f"mount -t tmpfs -o size=1m none {disk}")
    inside = yard.seen_by(link, disk)
    _, transcript = await echoing(yard, link=link, dir=str(disk / "s"), cwd="/")
    assert await link.input("i1", "one\n") == "written"
    fill(inside / "filler")
    with pytest.raises(Broken, match="nothing was given to the CLI"):
        await link.input("i2", "t" * 8000 + "\n")
    assert await link.input_state("i2") == "unknown"
    assert session_files.read_inputs(inside / "s") == {"i1": "written"}
    (inside / "filler").unlink()
    assert await link.input("i2", "two\n") == "written"
    await yard.until(lambda: transcript() == b"one\ntwo\n")
    assert session_files.read_inputs(inside / "s") == {"i1": "written", "i2": "written"}


def fill(path):
    with open(path, "wb", buffering=0) as filler:
        for size in (65536, 4096, 1):
            try:
                while filler.write(b"f" * size):
                    pass
            except OSError:
                continue


@pytest.mark.parametrize(
    ("failpoint", "state", "arrived"),
    [
        ("shim.input.recorded", {"i1": "recorded"}, [0]),
        ("shim.input.half", {"i1": "recorded"}, range(1, 300_001)),
        ("shim.input.piped", {"i1": "recorded"}, [300_001]),
        ("shim.input.written", {"i1": "written"}, [300_001]),
    ],
)
async def test_the_files_tell_what_a_killed_shim_had_written(
    yard, monkeypatch, failpoint, state, arrived
):
    monkeypatch.setenv("AMIRAL_FAILPOINTS", "1")
    monkeypatch.setenv("AMIRAL_FAILPOINT", failpoint)
    run, transcript = await echoing(yard)
    with pytest.raises(ShimGone):
        await run.link.input("i1", "x" * 300_000 + "\n")
    await run.shim_gone()
    # The pipe broke with the shim: this CLI ends by itself, and what it got is known.
    await yard.until(lambda: not tree.is_alive(run.cli), "the end of the CLI")
    assert session_files.read_exit(run.folder) is None
    assert session_files.read_inputs(run.folder) == state
    assert len(transcript()) in arrived
