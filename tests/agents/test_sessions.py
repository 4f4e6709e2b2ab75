"""The sessions of all workers: opened, found again, ended with all they started, cleared away."""

import asyncio
import shutil

from amiral.agents.sessions import KEPT
from amiral.base import events as ev
from amiral.processes import tree

FORKING = """
turns:
  - process: {fork: setsid, ignore: [TERM, HUP], lives_s: 60}
    say: ok
default: {say: ok}
"""


def opened(number, socket="/none", worker="dev", driver="scripted"):
    names = (f"s{number:02d}", worker, "dev-owner", driver, "/shop", socket, "seat", "", "k")
    return ev.SessionOpened(*names)


async def test_r29_ending_a_session_ends_all_that_its_cli_started(works):
    works.scenario(FORKING)
    await works.open()
    await works.answer()
    left = tree.tagged(f"{works.tag}:{works.session()}")
    assert len(left) == 2
    await works.close()
    await works.until(lambda: not any(map(works.is_alive, left)), "the end of the tree")


async def test_a_cli_that_does_not_end_by_itself_is_killed_after_the_grace(works):
    works.plan.grace_s = 0.1
    works.stub(["ignore", "SIGTERM"], "message", "seen", "final", "hold")
    await works.open()
    await works.answer()
    cli = works.meta().cli
    await works.close()
    assert not works.is_alive(cli)
    await works.open()
    (ended,) = works.events(ev.SessionEnded)
    assert (ended.reason, ended.exit_code) == ("the project's process ended", -9)


async def test_a_shim_that_does_not_answer_is_killed_with_its_cli(works):
    works.plan.grace_s = 0.1
    works.scenario("default: {say: ok}")
    await works.open()
    await works.answer()
    meta = works.meta()
    session = await works.sessions.find(works.row())
    session.end("the connection to its shim broke")
    await works.close()
    assert not works.is_alive(meta.shim)
    assert not works.is_alive(meta.cli)


async def test_a_running_turn_outlives_the_end_of_the_process_unless_it_is_told_to_end(works):
    works.scenario("turns: [{say: ok, hang: 60}]")
    works.plan.grace_s = 0.1
    await works.open()
    message = await works.post()
    await works.state(message, "seen")
    cli = works.meta().cli
    await works.close()
    assert works.is_alive(cli)
    await works.open()
    await works.until(lambda: works.inbox.is_running("dev"))
    await works.close(with_busy=True)
    assert not works.is_alive(cli)
    await works.open()
    end = await works.ended(message)
    assert (end.outcome, end.reason) == ("interrupted", "the CLI ended (signal 9)")
    assert len(works.events(ev.SessionEnded)) == 1


async def test_a_session_that_was_never_launched_makes_room_for_one_that_is(works):
    works.scenario("default: {say: ok}")
    await works.open()
    await works.journal.append(opened(1))
    assert (await works.answer()).outcome == "done"
    (ended,) = works.events(ev.SessionEnded)
    assert (ended.session, ended.reason) == ("s01", "it was never launched")


async def test_a_socket_that_is_another_sessions_by_now_is_not_taken_for_ones_own(works):
    works.scenario("default: {say: ok}")
    await works.open()
    link = await works.shims.take()
    await works.journal.append(opened(1, link.path))
    assert (await works.answer()).outcome == "done"
    assert works.events(ev.SessionEnded)[0].reason == "it was never launched"
    link.close()


async def test_a_session_whose_cli_was_never_told_all_it_needs_is_not_used(works):
    """Killed between the launch and the commit of it: the CLI runs, nobody knows how far it is."""
    works.scenario("default: {say: ok}")
    await works.open()
    await works.answer()
    row, meta = works.row(), works.meta()
    await works.crash()
    shutil.rmtree(works.home / "journal")
    await works.open()
    names = (row.session, row.worker, row.conversation, row.driver, row.cwd, row.socket)
    await works.journal.append(ev.SessionOpened(*names, row.seat, "", row.fresh_key))
    assert (await works.answer()).outcome == "done"
    assert works.events(ev.SessionEnded)[0].reason == "replaced"
    assert not works.is_alive(meta.cli)


async def test_the_socket_of_a_killed_shim_is_removed(works):
    works.scenario("default: {say: ok}")
    await works.open()
    await works.answer()
    works.kill(works.meta().shim)
    await works.answer("again")
    sockets = {path.name for path in works.run.iterdir()}
    await works.until(lambda: len(list(works.run.iterdir())) == 1, f"one socket of {sockets}")


async def test_files_of_the_last_sessions_stay_and_older_ones_go(works):
    works.scenario("default: {say: ok}")
    await works.open()
    for number in range(KEPT + 5):
        await works.journal.append(opened(number), ev.SessionEnded(f"s{number:02d}", "dev", "x"))
        (works.sessions_folder / f"s{number:02d}").mkdir()
    await works.journal.append(opened(99, worker="two"), ev.SessionEnded("s99", "two", "x"))
    (works.sessions_folder / "s99").mkdir()
    await works.answer()
    await works.close()
    left = sorted(path.name for path in works.sessions_folder.iterdir())
    await works.open()
    wanted = [f"s{number:02d}" for number in range(6, KEPT + 5)]
    assert left == sorted([*wanted, "s99", works.session()])


async def test_a_session_folder_that_somebody_removed_holds_nothing_up(works):
    works.scenario("default: {say: ok}")
    await works.open()
    await works.answer()
    meta = works.meta()
    await works.crash()
    works.kill(meta.shim)
    shutil.rmtree(works.sessions_folder)
    works.sessions_folder.mkdir(mode=0o700)
    await works.open()
    assert (await works.answer("again")).outcome == "done"


async def test_a_session_found_and_ended_twice_at_once_is_one_and_ends_once(works):
    works.scenario("default: {say: ok}")
    await works.open()
    await works.answer()
    await works.crash()
    await works.open()
    row = works.row()
    one, two = await asyncio.gather(works.sessions.find(row), works.sessions.find(row))
    assert one is two
    await asyncio.gather(works.sessions.finish(one, "a"), works.sessions.finish(two, "b"))
    assert [ended.reason for ended in works.events(ev.SessionEnded)] == ["a"]
