"""A session folds its CLI's output in bounded steps and never waits for a CLI that is gone."""

import asyncio

import pytest

from amiral.agents.driver import Input
from amiral.agents.drivers import scripted
from amiral.agents.rows import SessionRow
from amiral.agents.session import (
    EXITED,
    LINK_LOST,
    NEVER_LAUNCHED,
    SHIM_LOST,
    Session,
    fenced,
)
from amiral.agents.tail import OutputTail
from amiral.base.errors import Conflict
from amiral.processes.answers import DiskFull, Exited

SAID = b'{"type": "said", "text": "hi"}\n'
FINAL = b'{"type": "final", "how": "done"}\n'


@pytest.fixture
def session(tmp_path):
    """Make a session over output that is there already, told up to a byte."""
    made = []

    def make(output: bytes, told=0, snapshot=0):
        (tmp_path / "out.000001").write_bytes(output)
        names = (
            "s1",
            "dev",
            "dev-owner",
            "scripted",
            "/shop",
            "/none",
            "seat",
            "",
            "k",
            "open",
            "",
        )
        row = SessionRow(*names, 1, told, "", 1, snapshot)
        tail = OutputTail(tmp_path, row.snapshot_at)
        made.append(Session(row, scripted.DRIVER, scripted.ScriptedState(), tail))
        return made[-1]

    yield make
    for one in made:
        one.detach()


async def test_what_was_told_before_is_folded_again_and_not_new(session):
    one = session(SAID * 3, told=2 * len(SAID))
    assert [line.is_new for line in one.batch(is_last=False)] == [False, False, True]


async def test_folding_begins_at_the_snapshot(session):
    one = session(SAID * 3, told=2 * len(SAID), snapshot=len(SAID))
    lines = one.batch(is_last=False)
    assert [line.position for line in lines] == [(1, 2 * len(SAID)), (1, 3 * len(SAID))]


async def test_a_batch_ends_with_a_final_event(session):
    one = session(SAID + FINAL + SAID)
    assert len(one.batch(is_last=False)) == 2
    assert len(one.batch(is_last=False)) == 1
    assert one.batch(is_last=False) == []


async def test_p11_a_batch_is_bounded_in_lines_and_in_bytes(session):
    one = session(SAID * 2000)
    assert [len(one.batch(is_last=False)) for _ in range(5)] == [512, 512, 512, 464, 0]
    big = b'{"type": "said", "text": "%s"}\n' % (b"x" * (3 << 20))
    two = session(big * 4)
    assert [len(two.batch(is_last=False)) for _ in range(3)] == [2, 2, 0]


async def test_a_snapshot_names_the_place_and_the_state_there(session):
    one = session(b'{"type": "opened", "session": "k"}\n' + SAID)
    one.batch(is_last=False)
    read = one.snapshot()
    assert (read.session, read.position) == ("s1", one.position)
    assert read.state == '{"is_open":true}'


@pytest.mark.parametrize("why", [EXITED, SHIM_LOST, NEVER_LAUNCHED])
async def test_what_is_known_for_sure_takes_the_place_of_a_broken_connection(session, why):
    one = session(b"")
    assert not one.is_over
    one.end(LINK_LOST)
    assert one.is_over
    one.end(why, 3)
    one.end(LINK_LOST)
    one.end("something else", 4)
    assert (one.why_over, one.exit_code) == (why, 3)


@pytest.mark.parametrize("ask", ["close", "kill"])
async def test_a_session_without_a_shim_is_over_as_soon_as_it_is_asked_anything(session, ask):
    one = session(b"")
    await getattr(one, ask)()
    assert one.why_over == LINK_LOST


async def test_a_line_for_a_cli_that_is_gone_is_not_written_and_not_waited_for(session):
    one = session(b"")
    one.end(EXITED, 0)
    await one.write([Input("m1", "x\n")])
    await one.release_output()


async def test_waiting_ends_when_the_session_is_woken(session):
    one = session(b"")
    one.woken.set()
    await one.wait(60)
    await one.wait(0.001)


def test_a_fenced_session_is_a_conflict_that_names_it():
    error = fenced("s1")
    assert isinstance(error, Conflict)
    assert "s1" in error.message


class Deaf:
    """A shim whose CLI takes no input any more, and does not end by itself."""

    def __init__(self, delivery):
        self.delivery, self.killed = delivery, 0

    def on_notice(self, take):
        self.take = take

    def close(self):
        pass

    async def input(self, _key, _data):
        return self.delivery

    async def kill(self):
        self.killed += 1
        self.take(Exited(None, 9))


@pytest.mark.parametrize(("delivery", "killed"), [("written", 0), ("gone", 1), ("unsure", 1)])
async def test_r41_a_cli_that_did_not_take_a_line_is_ended(session, delivery, killed):
    one, link = session(b""), Deaf(delivery)
    one.connect(link)
    await one.write([Input("m1", "x\n")])
    if killed:
        await asyncio.wait_for(one.over.wait(), 20)
    assert (link.killed, one.is_over) == (killed, bool(killed))


async def test_r38_a_session_knows_that_its_output_cannot_be_stored(session):
    one, link = session(b""), Deaf("written")
    one.connect(link)
    link.take(DiskFull("No space left on device"))
    assert one.disk_full == "No space left on device"
    assert one.woken.is_set()
    assert not one.is_over
