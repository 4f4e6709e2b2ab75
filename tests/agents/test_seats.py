"""Where and as whom a worker's CLI is started."""

import functools
import stat
from dataclasses import replace

import pytest

from amiral.agents.clis import Cli
from amiral.agents.declared import Rules
from amiral.agents.driver import Seat
from amiral.agents.drivers import scripted
from amiral.agents.places import Places
from amiral.agents.rights import Rights
from amiral.agents.seats import Holds, Seats, seat_digest
from amiral.agents.ways_out import WaysOut
from amiral.base.errors import NotFound
from amiral.base.settings import Sandbox
from amiral.permissions.projection import Enforcement
from amiral.processes.probe import probe
from amiral.processes.spawn import Spawner
from amiral.projects.git import Git
from amiral.projects.worktrees import Worktrees
from amiral.store.brake import Brake


async def warned(text):
    raise AssertionError(text)


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "cli"
    path.write_text(f"#!/bin/sh\necho called >> {tmp_path}/calls\necho scripted 1.0.0\n")
    path.chmod(0o755)
    return path


@pytest.fixture
async def seats(tmp_path, program):
    brake = Brake(tmp_path / "brake")
    brake.prepare()
    spawner = Spawner(brake, "home:p1")
    root = tmp_path / "shop"
    root.mkdir()
    places = Places(Worktrees(Git(spawner), root, tmp_path / "worktrees"))

    def find_cli(driver):
        if driver == "missing":
            raise NotFound("no program `missing`", "install it")
        return Cli(driver, (str(program), "--x"), {"TOKEN": "abc"}, is_logged_in=True)

    workers = tmp_path / "workers"
    tried = functools.partial(probe, spawner, tmp_path)
    rights = Rights(Rules, Sandbox(), tried, tmp_path / "amiral", warned)
    holds = Holds(rights, WaysOut("open", workers, warned))
    return Seats(spawner, find_cli, lambda worker: f"I am {worker.id}.", places, holds, workers)


async def test_a_seat_holds_all_that_a_cli_is_started_with(seats, works, program, tmp_path):
    worker = works.make_worker(model="m", max_turns=7)
    assert await seats.take(worker, "", "fresh") == Seat(
        worker="dev",
        command=(str(program), "--x"),
        cwd=str(tmp_path / "shop"),
        config_home=str(tmp_path / "workers" / "dev" / "home"),
        tmp=str(tmp_path / "workers" / "dev" / "tmp"),
        model="m",
        tools="all",
        max_turns=7,
        identity="I am dev.",
        login={"TOKEN": "abc"},
        fresh_key="fresh",
    )


async def test_s3_27_a_worker_reads_what_it_may_do_and_is_given_it(seats, works):
    seat = await seats.take(works.make_worker(tools=("Read",)), "", "fresh")
    assert seat.permissions is not None
    assert [rule.source for rule in seat.permissions.rules] == ["tools of dev"] * 3
    assert seat.enforcement == "enforced"
    told, fence = await seats.enclose(scripted.DRIVER, seat)
    assert told.identity.startswith("I am dev.\n\n## Your permissions\n")
    assert "Nothing of the folder you work in can be written." in told.identity
    assert (told, fence is not None) == (replace(seat, identity=told.identity), True)
    assert seat_digest(seat) != seat_digest(replace(seat, enforcement=Enforcement.NONE))


async def test_what_was_compiled_is_told_once_a_launch_and_parts_no_sessions(
    seats, works, tmp_path
):
    seat = await seats.take(works.make_worker(tools=("Write",)), "", "fresh")
    before, _ = await seats.enclose(scripted.DRIVER, seat)
    (tmp_path / "shop" / ".mcp.json").write_text("{}")
    after, _ = await seats.enclose(scripted.DRIVER, seat)
    assert ".mcp.json is protected by name" in after.identity != before.identity
    again = await seats.take(works.make_worker(tools=("Write",)), "", "fresh")
    assert seat_digest(again) == seat_digest(seat)


async def test_without_permissions_a_worker_is_told_nothing_of_any(seats, works):
    seat = await seats.take(works.make_worker(), "", "fresh")
    assert await seats.enclose(scripted.DRIVER, seat) == (seat, None)


async def test_who_works_in_a_worktree_is_told_that_git_only_looks(seats, works):
    seat = await seats.take(works.make_worker(tools=("Read",)), "", "fresh")
    told, _ = await seats.enclose(scripted.DRIVER, replace(seat, git_folders=("/repo/.git",)))
    assert told.identity.endswith("amiral commits it.")


async def test_a_workers_own_folders_are_private(seats, works, tmp_path):
    await seats.take(works.make_worker(), "", "fresh")
    for name in ("home", "tmp"):
        mode = (tmp_path / "workers" / "dev" / name).stat().st_mode
        assert stat.S_IMODE(mode) == 0o700


async def test_a_former_seat_needs_no_cli_any_more(seats, works):
    now = await seats.take(works.make_worker(), "", "fresh")
    former = seats.former("dev", "/elsewhere")
    assert (former.config_home, former.tmp) == (now.config_home, now.tmp)
    assert (former.cwd, former.command) == ("/elsewhere", ())
    with pytest.raises(NotFound, match="missing"):
        await seats.take(works.make_worker(driver="missing"), "", "fresh")


async def test_the_version_is_asked_once_for_each_installed_file(seats, works, program, tmp_path):
    seat = await seats.take(works.make_worker(), "", "fresh")
    for _ in range(3):
        assert await seats.version(scripted.DRIVER, seat) == "1.0.0"
    assert (tmp_path / "calls").read_text() == "called\n"
    program.write_text(program.read_text().replace("1.0.0", "1.1.0"))
    assert await seats.version(scripted.DRIVER, seat) == "1.1.0"
    program.unlink()
    with pytest.raises(NotFound, match="No such file"):
        await seats.version(scripted.DRIVER, seat)


SEAT = Seat(
    "dev", ("cli",), "/shop", "/home", "/tmp", "m", ("Read",), 5, "I am dev.", {"A": "1"}, "", "k"
)


@pytest.mark.parametrize(
    "change",
    [
        {"command": ("other",)},
        {"command": ("cli", "--x")},
        {"cwd": "/elsewhere"},
        {"model": "n"},
        {"tools": "all"},
        {"tools": ("Read", "Bash")},
        {"max_turns": 6},
        {"identity": "I am another."},
    ],
)
def test_what_matters_to_a_running_cli_tells_seats_apart(change):
    assert seat_digest(replace(SEAT, **change)) != seat_digest(SEAT)


@pytest.mark.parametrize(
    "change",
    [{"login": {"A": "2"}}, {"resume_key": "k", "fresh_key": ""}, {"fresh_key": "other"}],
)
def test_logins_and_keys_make_no_other_seat(change):
    assert seat_digest(replace(SEAT, **change)) == seat_digest(SEAT)
