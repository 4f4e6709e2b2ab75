"""The CLI under its shim: what it prints is kept, byte for byte, and its end is its own exit."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import time

import pytest

from amiral.processes import session_files, tree
from amiral.processes.answers import DiskFull, Exited, OutputGrew

LINES = 40_000


def expected_lines(count: int) -> bytes:
    return b"".join(b'{"line": %d, "pad": "%s"}\n' % (n, b"x" * (n % 90)) for n in range(count))


PRINTS_LINES = """
import sys
for n in range(int(sys.argv[1])):
    sys.stdout.write('{"line": %d, "pad": "%s"}\\n' % (n, "x" * (n % 90)))
"""


async def test_what_it_prints_is_kept_and_its_code_told(yard):
    run = await yard.session("print('hello'); raise SystemExit(3)")
    assert await run.exited() == Exited(3, None)
    assert run.out() == b"hello\n"
    assert (found := session_files.read_exit(run.folder)) is not None
    assert (found.code, found.signal, found.survivors) == (3, None, 0)
    await run.shim_gone()
    assert not os.path.exists(run.link.path)


async def test_its_signal_is_told(yard):
    run = await yard.session("import os; os.kill(os.getpid(), 9)")
    assert await run.exited() == Exited(None, 9)


async def test_a_tail_without_newline_is_kept_whole_r05(yard):
    run = await yard.session("import os; os.write(1, b'{' * 65536)")
    assert await run.exited() == Exited(0, None)
    assert run.out() == b"{" * 65536


async def test_output_is_told_as_a_position_that_only_grows(yard):
    run = await yard.session(PRINTS_LINES, "2000")
    await run.exited()
    told = [notice.at for notice in run.notices if isinstance(notice, OutputGrew)]
    assert told == sorted(told)
    assert told[-1] == (1, len(expected_lines(2000)))


HOLDS_STDOUT = """
import os, signal, sys, time
if os.fork() == 0:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.setsid()
    if os.fork() == 0:
        print(os.getpid(), flush=True)
        time.sleep(1000)
    os._exit(0)
time.sleep(float(sys.argv[1]))
os.write(1, b"the end")
"""


async def test_the_end_is_the_exit_though_a_grandchild_holds_stdout_r07(yard):
    run = await yard.session(HOLDS_STDOUT, "0.2")
    await run.prints(b"the end")
    began = time.monotonic()
    assert await run.exited() == Exited(0, None)
    assert time.monotonic() - began < 5
    (grandchild,) = (int(line) for line in run.out().split() if line.isdigit())
    assert tree.identify(grandchild) is None


SPEAKS_ON_STDERR_FIRST = """
import os, sys
for _ in range(int(sys.argv[1])):
    os.write(2, b"e" * 999 + b"\\n")
print("done")
"""


async def test_stderr_is_drained_before_the_first_byte_of_stdout_r08(yard):
    run = await yard.session(SPEAKS_ON_STDERR_FIRST, "200")
    await run.exited()
    assert run.out() == b"done\n"
    assert (run.folder / "err").read_bytes() == (b"e" * 999 + b"\n") * 200


async def test_of_a_flood_on_stderr_the_last_part_is_kept(yard):
    run = await yard.session(SPEAKS_ON_STDERR_FIRST, "6000")
    await run.exited()
    kept = (run.folder / "err.1").read_bytes() + (run.folder / "err").read_bytes()
    assert 1 << 20 <= len(kept) <= (2 << 20) + 65536
    assert set(kept.split(b"\n")) <= {b"e" * 999, b""}


@pytest.mark.parametrize("size", [1 << 20, 16 << 20, 64 << 20])
async def test_a_long_line_is_kept_and_the_next_one_too(yard, size):
    run = await yard.session(
        "import os, sys\nprint('x' * int(sys.argv[1]), flush=True)\nprint('next')", str(size)
    )
    await run.exited()
    digest = hashlib.sha256(b"x" * size + b"\nnext\n").hexdigest()
    assert hashlib.sha256(run.out()).hexdigest() == digest
    segments = sorted(path.name for path in run.folder.glob("out.*"))
    assert segments == ["out.000001", "out.000002"][: 1 + size // (64 << 20)]


OWNER = """
import asyncio, json, sys
from pathlib import Path
from amiral.processes.answers import Order
from amiral.processes.pool import ShimPool
from amiral.processes.spawn import Spawner
from amiral.store.brake import Brake

async def main(brake, tag, run, order):
    pool = ShimPool(Spawner(Brake(brake), tag), Path(run), 1, size=0)
    link = await pool.take()
    await pool.launch(link, Order(**json.loads(order)))
    print(link.path, flush=True)
    await asyncio.Event().wait()

asyncio.run(main(*sys.argv[1:]))
"""


async def test_killing_the_owner_loses_no_byte_and_the_next_one_goes_on(yard):
    code = PRINTS_LINES + "sys.stdout.flush()\nprint(sys.stdin.readline())"
    order = yard.order(code, str(LINES))
    plain = json.dumps({name: getattr(order, name) for name in order.__dataclass_fields__})
    arguments = [str(yard.home / "brake"), yard.tag, str(yard.run), plain]
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER, *arguments], stdout=subprocess.PIPE, text=True
    )
    with owner:
        assert owner.stdout is not None
        path = owner.stdout.readline().strip()
        owner.send_signal(signal.SIGKILL)
    link = await yard.connect_to(path, token=2)
    assert (link.hello.session, link.hello.writer) == (order.session, True)
    run = yard.attached(link, order)
    assert await link.input("i1", "still there\n") == "written"
    await run.exited()
    assert run.out() == expected_lines(LINES) + b"still there\n\n"


async def test_a_shim_whose_folder_was_deleted_still_ends(yard):
    run = await yard.session("print('x' * (65 << 20), flush=True); print(input())")
    await run.prints(b"x\n")
    for path in run.folder.iterdir():
        path.unlink()
    run.folder.rmdir()
    assert await run.link.input("i1", "y\n") == "written"
    assert await run.exited() == Exited(0, None)
    await run.shim_gone()


FILLS = "import os, sys\ndata = bytes(range(256)) * 8192\nsys.stdout.buffer.write(data)"


async def test_on_a_full_disk_the_cli_waits_and_no_byte_is_lost_r38(yard):
    disk = yard.home / "disk"
    disk.mkdir()
    link = await yard.shim_inside(f"mount -t tmpfs -o size=4m none {disk}")
    inside = yard.seen_by(link, disk)
    (inside / "filler").write_bytes(b"f" * (3 << 20))
    run = await yard.session(FILLS, link=link, dir=str(disk / "s"), cwd="/")
    told = await yard.until(lambda: run.heard(DiskFull), "the notice")
    assert "No space" in told.message
    assert await link.input_state("i1") == "unknown"
    assert run.heard(Exited) is None
    # Held open, because what the shim has mounted is gone when it exits.
    with open(inside / "s" / "out.000001", "rb") as out:
        (inside / "filler").unlink()
        assert await run.exited() == Exited(0, None)
        assert out.read() == bytes(range(256)) * 8192
    assert sum(isinstance(notice, DiskFull) for notice in run.notices) == 1
