"""Killed anywhere, on a failing or a full disk: acknowledged is stored, nothing is half done."""

import json

import pytest

from amiral.base.events import RoleChosen
from amiral.store.journal import Journal

ACKED = {"first", "second", "third", "fourth", "last"}


def told(output, verb):
    lines = [line.split() for line in output.split("\n") if line.startswith(verb)]
    return {(int(seq), worker) for _, seq, worker in lines} if verb == "acked" else lines


@pytest.fixture
def check(clock, tables, dump):
    async def look(path, output):
        """Acknowledged is stored, without a gap, tables as the events make them; who is stored."""
        before = dump(path) if path.exists() else {}
        journal = await Journal.open(path, clock, tables)
        stored = {(one.seq, getattr(one.event, "worker", "")) for one in journal.read(0)}
        assert told(output, "acked") <= stored
        assert {seq for seq, _ in stored} == set(range(1, len(stored) + 1))
        await journal.rebuild()
        assert before.get("seats", []) == journal.rows("select * from seats order by worker")
        assert await journal.append(RoleChosen("next")) == len(stored) + 1
        await journal.close()
        return {worker for _, worker in stored}

    return look


@pytest.fixture
async def copy_journal(tmp_path, clock, tables):
    """Make a copy of an empty journal that was opened before."""
    begun = tmp_path / "begun.db"
    await (await Journal.open(begun, clock, tables)).close()

    def copy(name):
        path = tmp_path / name / "journal.db"
        path.parent.mkdir()
        path.write_bytes(begun.read_bytes())
        return (path,)

    return copy


@pytest.fixture
def strained(run_script, strace):
    def run(path, call, effect, nth):
        return run_script("append_choices.py", path, under=strace(call, effect, nth))

    return run


@pytest.mark.parametrize("call", ["pwrite64", "fdatasync", "write"])
async def test_p01_killed_at_any_call_what_was_acknowledged_is_stored(
    kill_at_each, copy_journal, check, call
):
    seen = []
    for done, (path,) in kill_at_each(call, "append_choices.py", copy_journal):
        stored = await check(path, done.stdout)
        assert ("second" in stored) == ("third" in stored)
        seen.append(frozenset(stored))
    assert seen[0] < ACKED
    assert seen[-1] == ACKED
    assert len(set(seen)) >= 3


async def test_p01_killed_at_any_sync_a_new_journal_can_be_opened(tmp_path, kill_at_each, check):
    runs = 0
    for done, (path,) in kill_at_each(
        "fdatasync", "append_choices.py", lambda name: (tmp_path / name / "journal.db",)
    ):
        await check(path, done.stdout)
        runs += 1
    assert runs >= 5


@pytest.mark.parametrize(
    ("call", "effect", "places"),
    [("fdatasync", "error=EIO", range(2, 8)), ("pwrite64", "error=ENOSPC", range(10, 18))],
)
async def test_r38_a_disk_that_fails_once_is_told_and_heals(
    strained, copy_journal, check, call, effect, places
):
    outcomes = []
    for nth in places:
        (path,) = copy_journal(str(nth))
        done = strained(path, call, effect, nth)
        outcomes.append((nth, done.returncode, done.stdout, done.stderr[-200:]))
        if done.returncode != 0:
            assert "cannot be used" in done.stderr
            continue
        refused = told(done.stdout, "refused")
        stored = await check(path, done.stdout)
        assert stored == {worker for _, worker in told(done.stdout, "acked")}
        assert stored | {worker for words in refused for worker in words[1:]} == ACKED
    assert sum("refused" in stdout for _, _, stdout, _ in outcomes) >= 3, outcomes


@pytest.fixture(scope="module")
def full(tmp_path_factory, run_script, small_disk):
    """What happened on a disk of 4 MiB that was full in between."""
    folder = tmp_path_factory.mktemp("small")
    done = run_script("full_disk.py", folder, under=small_disk("4m", folder))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_r38_a_full_disk_refuses_appends_whole_and_the_journal_heals(full):
    assert full["refused"] == [True, True]
    assert full["rows_while_full"] == [["before", 1]]
    assert full["acked"] == [1, 2]
    assert full["stored"] == [[1, "before"], [2, "after"]]
    assert full["rows"] == full["rebuilt"] == [["before", 1, 1], ["after", 1, 2]]


def test_r38_a_full_disk_leaves_the_old_file_and_nothing_beside_it(full):
    assert "No space left on device" in full["file_refused"]
    assert full["file"] == "old"
    assert full["files_beside"] == []
    assert full["file_after"] == "new"


def test_r38_a_full_disk_costs_log_records_but_no_log_line_is_torn(full):
    records = []
    for line in full["log_lines"]:
        try:
            records.append(json.loads(line))
        except json.JSONDecodeError:
            assert line.startswith('{"ts"')
    assert full["log_dropped"] > 0
    assert records[-1]["number"] == 200
    assert records[-1]["dropped"] == full["log_dropped"]


def test_p03_a_full_disk_cannot_prevent_a_stop_nor_its_release(full):
    stop_id, reason, is_seen = full["stop"]
    assert (stop_id != "unknown", reason, is_seen) == (True, "the disk is full", True)
    assert full["released"]
