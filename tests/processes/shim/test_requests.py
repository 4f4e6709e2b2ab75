"""What an owner may ask of a shim, and what a shim refuses."""

import contextlib
import os

import pytest

from amiral.base.errors import Broken, Conflict, Denied, Invalid, NotFound
from amiral.processes import session_files, tree
from amiral.processes.answers import Exited, Fenced, OutputGrew
from amiral.processes.link import ShimGone

WAITS = "import sys; print('up', flush=True); sys.stdin.read()"
ECHOES = "import sys\nfor line in sys.stdin: print(line, end='', flush=True)"


async def test_hello_tells_where_the_shim_stands(yard):
    link = await yard.shim()
    assert (link.hello.state, link.hello.session, link.hello.out) == ("idle", None, None)
    run = await yard.session(WAITS, link=link)
    await run.prints(b"up\n")
    other = await yard.connect_to(link.path, token=1)
    assert (other.hello.state, other.hello.session) == ("running", run.order.session)
    assert (other.hello.out, other.hello.exit) == ((1, 3), None)
    assert (other.hello.writer, other.hello.token, other.hello.pid) == (True, 1, run.shim.pid)


async def test_a_newer_owner_fences_out_the_older_which_may_still_read(yard):
    run = await yard.session(ECHOES)
    newer = await yard.connect_to(run.link.path, token=2)
    fenced = await yard.until(lambda: run.heard(Fenced), "the notice")
    assert fenced.token == 2
    writes: dict[str, dict] = {
        "input": {"id": "i1", "data": "x\n"},
        "close": {},
        "kill": {},
        "signal": {"name": "KILL", "target": "tree"},
        "drop": {"segment": 1},
        "retire": {},
        "launch": {},
    }
    for op, fields in writes.items():
        with pytest.raises(Denied, match="token 2"):
            await run.link.request(op, **fields)
    assert await run.link.input_state("i1") == "unknown"
    assert await newer.input("i1", "from the newer\n") == "written"
    await run.prints(b"from the newer\n")
    await yard.until(lambda: run.heard(OutputGrew))


async def test_an_older_owner_that_comes_late_is_read_only(yard):
    run = await yard.session(ECHOES)
    await yard.connect_to(run.link.path, token=7)
    late = await yard.connect_to(run.link.path, token=6)
    assert (late.hello.writer, late.hello.token) == (False, 7)
    with pytest.raises(Denied):
        await late.close_input()


async def test_one_shim_launches_once(yard):
    run = await yard.session(WAITS)
    with pytest.raises(Conflict, match="launched here already"):
        await yard.session(WAITS, link=run.link)
    with pytest.raises(Conflict):
        await run.link.retire()


async def test_a_session_folder_is_launched_into_once(yard):
    run = await yard.session("pass")
    await run.exited()
    link = await yard.shim()
    with pytest.raises(Conflict, match="earlier launch"):
        await yard.session("pass", link=link, dir=str(run.folder))
    assert session_files.read_exit(run.folder) is not None


async def test_before_a_launch_there_is_nothing_to_tell(yard):
    link = await yard.shim()
    with pytest.raises(Conflict, match="nothing was launched"):
        await link.input("i1", "x")
    with pytest.raises(Conflict):
        await link.signal("TERM")
    assert await link.kill() == 0


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"argv": ("/no/such/cli",)}, NotFound, "/no/such/cli: No such file"),
        ({"argv": ("no-such-cli",)}, NotFound, "no-such-cli: No such file"),
        ({"argv": ("/etc/passwd",)}, Denied, "/etc/passwd: Permission denied"),
        ({"argv": ("/etc",)}, Denied, "/etc: "),
        ({"cwd": "/no/such/folder"}, NotFound, "working folder /no/such/folder"),
        ({"cwd": "/etc/passwd"}, NotFound, "working folder /etc/passwd"),
        ({"argv": ("true", "x\0y")}, Broken, "Invalid argument"),
        ({"argv": ("true", "x" * 3_000_000)}, Broken, "true: Argument list too long"),
        ({"argv": ()}, Invalid, "argv"),
        ({"env": {"A=B": "x"}}, Broken, "Invalid argument"),
    ],
)
async def test_a_cli_that_cannot_start_is_named_and_the_shim_can_be_asked_again(
    yard, changes, error, message
):
    link = await yard.shim()
    with pytest.raises(error, match=message):
        await yard.session("pass", link=link, **changes)
    run = await yard.session("print('fine')", link=link, dir=str(yard.home / "s1"))
    assert await run.exited() == Exited(0, None)
    assert run.out() == b"fine\n"


async def test_a_script_without_its_interpreter_is_not_found(yard):
    script = yard.home / "script"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o700)
    link = await yard.shim()
    with pytest.raises(NotFound):
        await yard.session("", link=link, argv=(str(script),))


async def test_the_record_of_a_launch_finds_everything_again(yard):
    run = await yard.session(WAITS)
    meta = session_files.read_meta(run.folder)
    assert meta is not None
    assert (meta.shim, meta.cli) == (run.shim, run.cli)
    assert (meta.socket, meta.cgroup) == (run.link.path, run.launched.cgroup)
    assert (meta.session, meta.tag, meta.cwd) == ("s1", f"{yard.tag}:s1", str(yard.home))
    assert {oct(path.stat().st_mode & 0o777) for path in run.folder.iterdir()} == {"0o600"}
    assert run.folder.stat().st_mode & 0o777 == 0o700


WITH_A_CHILD = """
import os, signal, time
signal.signal(signal.SIGTERM, lambda *_: print("term", os.getpid(), flush=True))
if os.fork():
    print("up", flush=True)
while True:
    time.sleep(0.01)
"""


@pytest.mark.parametrize(("target", "count"), [("cli", 1), ("tree", 2)])
async def test_a_signal_goes_to_the_cli_or_to_all_of_its_tree(yard, target, count):
    run = await yard.session(WITH_A_CHILD)
    await run.prints(b"up\n")
    await yard.until(lambda: len(tree.descendants(run.shim.pid)) == 2)
    await run.link.signal("TERM", target)
    await yard.until(lambda: run.out().count(b"term") >= count)
    assert await run.link.kill() == 0
    await run.exited()
    assert run.out().count(b"term") == count


async def test_a_stopped_cli_goes_on_when_told(yard):
    run = await yard.session(ECHOES)
    await run.link.signal("STOP")
    await run.link.input("i1", "x\n")
    await run.link.signal("CONT")
    await run.prints(b"x\n")


async def test_read_segments_are_dropped(yard):
    run = await yard.session("print('x' * (64 << 20))\nprint('rest')\n" + WAITS)
    await run.prints(b"up\n")
    await run.link.drop(2)
    assert [path.name for path in run.folder.glob("out.*")] == ["out.000002"]
    assert run.out() == b"rest\nup\n"


@pytest.mark.parametrize("failpoint", ["shim.recorded", "shim.launched", "shim.exit.before"])
async def test_a_shim_killed_anywhere_leaves_nothing_that_cannot_be_found(
    yard, monkeypatch, failpoint
):
    monkeypatch.setenv("AMIRAL_FAILPOINTS", "1")
    monkeypatch.setenv("AMIRAL_FAILPOINT", failpoint)
    link = await yard.shim()
    order = yard.order("import os; print(os.getpid(), flush=True)")
    with contextlib.suppress(ShimGone):
        await yard.pool.launch(link, order)
    await yard.until(lambda: link.is_lost)
    meta = session_files.read_meta(yard.home / order.session)
    assert meta is not None
    assert session_files.read_exit(yard.home / order.session) is None
    killed = await yard.pool.kill_tree(order.tag, [meta.shim, meta.cli], meta.cgroup, 10.0)
    assert killed.survivors == ()
    assert yard.left() == []
    assert os.path.exists(link.path)
    with pytest.raises(ShimGone):
        await yard.connect_to(link.path, token=2)
