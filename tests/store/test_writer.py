"""What is asked together is committed together, and one that fails takes nobody with it."""

import asyncio
import contextlib
import threading

import pytest

from amiral.base.errors import Broken, Conflict
from amiral.base.events import RoleChosen, WorkersLoaded
from amiral.store.journal import Journal, Table


@contextlib.asynccontextmanager
async def one_group(journal):
    """Hold the writer back, so that all that is asked inside is one group."""
    holding, go_on = threading.Event(), threading.Event()

    def hold(_rows):
        holding.set()
        go_on.wait(20)
        return [], None

    held = asyncio.create_task(journal.decide(hold))
    async with asyncio.timeout(20):
        while not holding.is_set():
            await asyncio.sleep(0.001)
    yield
    # Let the tasks made inside hand their requests over first.
    await asyncio.sleep(0)
    go_on.set()
    await held


async def results_in_one_group(journal, *requests):
    async with one_group(journal):
        tasks = [asyncio.create_task(request) for request in requests]
    return await asyncio.gather(*tasks, return_exceptions=True)


def claim(worker):
    """Take a seat that nobody has; the wrong way round, it would be taken twice."""

    def decision(rows):
        if rows("select 1 from seats where worker = ?", worker):
            raise Conflict(f"{worker} is taken")
        return [RoleChosen(worker)], "taken"

    return decision


def refuse_bad(write, stamped):
    match stamped.event:
        case RoleChosen("bad"):
            raise ValueError("this table has a defect")
        case RoleChosen("wrong"):
            write("insert into nowhere values (1)", ())
        case RoleChosen("twice"):
            write("insert into strict_seats values (?)", ("a",))
        case RoleChosen(worker):
            write("insert or ignore into strict_seats values (?)", (worker,))
        case _:
            pass


STRICT = Table(
    "strict_seats",
    "create table if not exists strict_seats (worker text primary key) without rowid;",
    refuse_bad,
)


@pytest.fixture
async def strict(tmp_path, clock, tables):
    opened = await Journal.open(tmp_path / "journal.db", clock, [*tables, STRICT])
    yield opened
    await opened.close()


def stored(journal):
    return [(one.seq, one.event.worker) for one in journal.read(0)]


async def test_a_decision_answers_its_value_and_stores_its_events(journal):
    assert await journal.decide(claim("a"), by="owner") == "taken"
    assert stored(journal) == [(1, "a")]
    assert journal.read(0)[0].by == "owner"


@pytest.mark.parametrize("together", [True, False])
async def test_r44_of_many_claims_exactly_one_succeeds(journal, together):
    requests = [journal.decide(claim("a")) for _ in range(40)]
    if together:
        results = await results_in_one_group(journal, *requests)
    else:
        results = await asyncio.gather(*requests, return_exceptions=True)
    assert results.count("taken") == 1
    assert sum(isinstance(result, Conflict) for result in results) == 39
    assert stored(journal) == [(1, "a")]


async def test_a_decision_sees_what_was_asked_before_it_in_the_same_group(journal):
    results = await results_in_one_group(
        journal,
        journal.append(RoleChosen("a")),
        journal.decide(claim("a")),
        journal.decide(claim("b")),
        journal.append(RoleChosen("c")),
    )
    assert isinstance(results[1], Conflict)
    assert (results[0], results[2], results[3]) == (1, "taken", 3)
    assert stored(journal) == [(1, "a"), (2, "b"), (3, "c")]


async def test_a_decision_that_raises_stores_nothing_and_disturbs_nobody(journal):
    def storm(_rows):
        raise LookupError("of its own")

    results = await results_in_one_group(
        journal, *(journal.append(RoleChosen("a")) for _ in range(3)), journal.decide(storm)
    )
    assert results[:3] == [1, 2, 3]
    assert isinstance(results[3], LookupError)
    assert journal.rows("select times from seats") == [(3,)]


async def test_a_decision_that_runs_out_of_items_does_not_hang(journal):
    with pytest.raises(Broken, match="StopIteration"):
        await journal.decide(lambda rows: ([], next(iter(rows("select * from seats")))))


async def test_a_decision_that_would_end_the_program_ends_its_group_alone(journal):
    def leave(_rows):
        raise SystemExit(1)

    results = await results_in_one_group(
        journal, journal.append(RoleChosen("a")), journal.decide(leave)
    )
    assert all(isinstance(result, Broken) for result in results)
    assert await journal.append(RoleChosen("b")) == 1
    assert stored(journal) == [(1, "b")]


async def test_a_decision_cannot_write_behind_the_events(journal):
    await journal.append(RoleChosen("a"))
    with pytest.raises(TypeError, match="not a query"):
        await journal.decide(lambda rows: ([], rows("delete from seats")))
    assert journal.rows("select worker from seats") == [("a",)]


async def test_a_cancelled_decision_is_carried_out(journal):
    task = asyncio.create_task(journal.decide(claim("a")))
    await asyncio.sleep(0)
    task.cancel()
    await journal.append(RoleChosen("b"))
    assert stored(journal) == [(1, "a"), (2, "b")]


@pytest.mark.parametrize("worker", ["bad", "wrong"])
async def test_a_table_that_fails_fails_its_request_whole_and_no_other(strict, worker):
    await strict.append(RoleChosen("a"))
    results = await results_in_one_group(
        strict,
        strict.append(RoleChosen("b")),
        strict.append(RoleChosen("c"), RoleChosen(worker), RoleChosen("d")),
        strict.append(RoleChosen("e")),
        strict.decide(lambda _: ([RoleChosen(worker)], None)),
        strict.append(RoleChosen("f")),
    )
    assert (results[0], results[2], results[4]) == (2, 3, 4)
    for failed in (results[1], results[3]):
        assert isinstance(failed, Broken)
        assert "table strict_seats cannot take RoleChosen" in failed.message
    assert stored(strict) == [(1, "a"), (2, "b"), (3, "e"), (4, "f")]
    assert strict.rows("select worker from seats order by last") == list(
        strict.rows("select worker from strict_seats order by worker")
    )


async def test_a_row_that_may_not_be_twice_fails_its_request_alone(strict):
    await strict.append(RoleChosen("a"))
    with pytest.raises(Broken, match="UNIQUE constraint failed"):
        await strict.append(RoleChosen("twice"))
    assert await strict.append(RoleChosen("b")) == 2


async def test_two_waiters_of_one_failure_get_errors_of_their_own(strict):
    results = await results_in_one_group(
        strict, strict.append(RoleChosen("bad")), strict.append(RoleChosen("bad"))
    )
    assert all(isinstance(result, Broken) for result in results)
    assert results[0] is not results[1]


async def test_more_than_one_group_can_hold_is_committed_in_order(journal):
    results = await results_in_one_group(
        journal, *(journal.append(RoleChosen(f"w{number}")) for number in range(1_300))
    )
    assert results == list(range(1, 1_301))


async def test_a_rebuild_among_others_disturbs_nobody(journal):
    results = await results_in_one_group(
        journal,
        journal.append(RoleChosen("a"), WorkersLoaded((), "x")),
        journal.rebuild(),
        journal.append(RoleChosen("a")),
    )
    assert results == [2, None, 3]
    assert journal.rows("select * from seats") == [("a", 2, 3)]
