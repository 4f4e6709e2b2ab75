"""Programs start in one place, under the brake, with exactly what they were given."""

import asyncio
import os
import signal
import time

import pytest

from amiral.base.errors import Broken, Conflict, Denied, NotFound
from amiral.processes import proc, tree
from amiral.processes.spawn import Ran, Spawner, Stdio, base_environment
from amiral.store.brake import Brake
from amiral.store.latch import Stop

TEST_ENV = {"PATH": os.environ["PATH"]}
LEAVES_ONE_BEHIND = "(trap '' TERM HUP; exec setsid sleep 1000) >/dev/null 2>&1 & echo $!"


def is_running(pid: int) -> bool:
    found = tree.identify(pid)
    return found is not None and tree.is_alive(found)


async def run(yard, *argv, kind="test", timeout_s=20.0, stdin=b"", env=TEST_ENV):
    return await yard.spawner.run(
        argv, kind=kind, env=env, cwd="/", timeout_s=timeout_s, stdin=stdin
    )


async def test_a_program_gets_exactly_its_environment_folder_and_input(yard):
    ran = await run(yard, "sh", "-c", "env; pwd; cat; exit 3", env={"ONE": "1"}, stdin=b"text")
    lines = ran.out.split(b"\n")
    own = {b"ONE=1", b"PWD=/", b"/", b"text", b"SHLVL=0", b"_=/usr/bin/env", b"OLDPWD=/"}
    (tag,) = set(lines) - own
    assert tag.startswith(f"AMIRAL_TAG={yard.tag}:run-".encode())
    assert (ran.code, ran.err, ran.timed_out, ran.is_cut) == (3, b"", False, False)


async def test_our_own_programs_carry_no_tag(yard):
    ran = await run(yard, "env", kind="own", env={"ONE": "1"})
    assert ran == Ran(0, b"ONE=1\n", b"")


def test_the_base_environment_holds_nothing_secret(monkeypatch):
    monkeypatch.setenv("AMIRAL_TOKEN", "x")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "x")
    monkeypatch.setenv("HOME", "/home/someone")
    base = base_environment()
    assert base["HOME"] == "/home/someone"
    assert not [name for name in base if "TOKEN" in name or "KEY" in name or "AMIRAL" in name]


async def test_a_signal_is_a_negative_code(yard):
    assert (await run(yard, "sh", "-c", "kill -9 $$")).code == -signal.SIGKILL


@pytest.mark.parametrize(
    ("argv", "error"),
    [(("/no/such",), NotFound), (("no-such",), NotFound), (("/etc/passwd",), Denied)],
)
async def test_a_program_that_cannot_start_is_named(yard, argv, error):
    with pytest.raises(error, match=argv[0]):
        await run(yard, *argv)


async def test_a_missing_folder_is_named(yard):
    with pytest.raises(NotFound, match="/no/such/folder"):
        yard.spawner.start(["true"], kind="own", env=TEST_ENV, cwd="/no/such/folder")


async def test_too_many_arguments_are_no_mystery(yard):
    with pytest.raises(Broken, match="Argument list too long"):
        await run(yard, "true", "x" * 3_000_000)


async def test_of_much_output_the_end_is_kept(yard):
    small = Spawner(yard.brake, yard.tag, output_limit=1000)
    code = "import os\nfor n in range(100_000): os.write(1 + n % 2, b'%06d\\n' % n)"
    ran = await small.run([*yard.PYTHON, code], kind="own", env={}, cwd="/", timeout_s=20.0)
    assert ran.is_cut
    assert (len(ran.out), ran.out[-7:]) == (1000, b"099998\n")
    assert (len(ran.err), ran.err[-7:]) == (1000, b"099999\n")


async def test_input_that_nobody_reads_is_no_trouble(yard):
    assert (await run(yard, "true", stdin=b"x" * 5_000_000)).code == 0
    ran = await run(yard, "wc", "-c", stdin=b"x" * 5_000_000)
    assert ran.out == b"5000000\n"


@pytest.mark.parametrize("kind", ["test", "own"])
async def test_a_timeout_kills_the_whole_tree_r29(yard, kind):
    script = f"{LEAVES_ONE_BEHIND}; trap '' TERM; sleep 1000"
    began = time.monotonic()
    ran = await run(yard, "sh", "-c", script, kind=kind, timeout_s=0.3)
    assert (ran.timed_out, ran.code) == (True, -signal.SIGKILL)
    assert time.monotonic() - began < 5
    assert not is_running(int(ran.out))


async def test_what_a_test_leaves_behind_ends_with_it_p04(yard):
    ran = await run(yard, "sh", "-c", LEAVES_ONE_BEHIND)
    assert (ran.code, ran.timed_out) == (0, False)
    assert not is_running(int(ran.out))


async def test_what_our_own_program_leaves_behind_goes_on(yard):
    ran = await run(yard, "sh", "-c", LEAVES_ONE_BEHIND, kind="own")
    left = tree.identify(int(ran.out))
    assert left is not None
    assert tree.send(left, signal.SIGKILL)


async def test_a_pipe_that_something_else_holds_does_not_hold_up_the_end_r07(yard):
    began = time.monotonic()
    ran = await run(yard, "sh", "-c", "setsid sleep 1000 & echo $!", kind="own")
    assert time.monotonic() - began < 5
    left = tree.identify(int(ran.out))
    assert left is not None
    assert tree.send(left, signal.SIGKILL)


async def test_a_run_that_is_cancelled_leaves_nothing(yard):
    running = asyncio.create_task(run(yard, "sh", "-c", "sleep 1000 & sleep 1000"))
    await yard.until(lambda: len(yard.left()) == 3)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert yard.left() == []
    children = [one for one in proc.processes_now().values() if one.parent == os.getpid()]
    assert children == [], "it is reaped already: the loop may end now"


async def test_the_end_is_seen_though_nobody_reads_its_output(yard):
    reading, writing = os.pipe()
    child = yard.spawner.start(
        ["sh", "-c", "yes"], kind="own", env=TEST_ENV, cwd="/", stdio=Stdio(stdout=writing)
    )
    os.close(writing)
    assert child.kill().survivors == ()
    assert await child.exited() == -signal.SIGKILL
    assert child.has_ended
    assert tree.identify(child.pid) is None
    os.close(reading)


@pytest.mark.parametrize("kind", ["agent", "test", "deploy", "shim"])
async def test_under_a_stop_nothing_starts_but_our_own_p03(yard, kind):
    stop = yard.brake.engage("enough", "owner", 1)
    with pytest.raises(Conflict, match=stop.stop_id) as refusal:
        yard.spawner.start(["true"], kind=kind, env=TEST_ENV, cwd="/")
    assert refusal.value.next_step == f"amiral release {stop.stop_id}"
    assert (await run(yard, "true", kind="own")).code == 0
    yard.brake.release(stop.stop_id)
    assert (await run(yard, "true")).code == 0


async def test_a_latch_that_cannot_be_read_is_a_stop(yard):
    (yard.home / "brake" / "latch").unlink()
    with pytest.raises(Conflict, match="unknown"):
        await run(yard, "true")


class PulledMeanwhile(Brake):
    """A brake that somebody pulls between the look at it and the start of the program."""

    looks = 0

    def state(self, worker: str = "") -> Stop | None:
        self.looks += 1
        return None if self.looks == 1 else Stop("st1", "just now", "owner", 1, "all")


async def test_a_stop_that_comes_while_a_program_starts_still_ends_it_p03(yard):
    spawner = Spawner(PulledMeanwhile(yard.home / "brake"), yard.tag)
    with pytest.raises(Conflict, match="st1"):
        await spawner.run(["sleep", "1000"], kind="test", env=TEST_ENV, cwd="/", timeout_s=9.0)
    assert yard.left() == []
