"""Behaviour of renewing logins: in time, by one process at a time, and told when it fails."""

import asyncio
import contextlib
import sys
from dataclasses import replace

import pytest

from amiral.agents.clis import Cli
from amiral.agents.driver import FileToWrite, Input, Launch, Login
from amiral.agents.renewal import Renewals
from amiral.base import events as ev
from amiral.base.clock import SystemClock
from amiral.base.errors import NotFound
from amiral.processes.spawn import Spawner
from amiral.store.brake import Brake
from amiral.store.claim import Claim
from amiral.store.journal import Journal

RENEWS = """
import os, pathlib, sys
here = pathlib.Path(os.environ["HERE"])
asked = sys.stdin.readline()
with (here / "asked").open("a") as file:
    file.write(asked)
if (here / "config").read_text() == "works":
    (here / "auth.json").write_text("fresh")
sys.stdin.read()
(here / "let go").touch()
"""


def renewal(command, folder, content, now_ms):
    """A login is due while it is stale."""
    assert now_ms > 0
    if content != b"stale":
        return None
    files = (FileToWrite("config", "works" if command[-1] == "works" else "fails"),)
    inputs = (Input("renew", "please\n"),)
    return Launch(command[:-1], {"HERE": folder}, folder, files, inputs)


LOGIN = Login(("KEY",), ("auth.json",), renewal=renewal)


@pytest.fixture
def place(tmp_path):
    folder = tmp_path / "logins" / "codex"
    folder.mkdir(parents=True)
    (folder / "auth.json").write_text("stale")
    return folder


@pytest.fixture
def cli(place):
    command = (sys.executable, "-c", RENEWS, "works")
    return Cli("codex", command, {"KEY": "k"}, is_logged_in=True, login=LOGIN, login_place=place)


@pytest.fixture
async def journal(tmp_path):
    opened = await Journal.open(tmp_path / "journal.db", SystemClock(), ())
    yield opened
    await opened.close()


@pytest.fixture
def brake(tmp_path):
    brake = Brake(tmp_path / "brake")
    brake.prepare()
    return brake


@pytest.fixture
def renewals(journal, brake):
    """Give a function that makes them for these CLIs, as each project process does."""

    def make(*clis, patience_s=20.0) -> Renewals:
        spawner = Spawner(brake, "h:p")
        return Renewals(journal, SystemClock(), spawner, clis, patience_s)

    return make


def asked(place) -> int:
    return (place / "asked").read_text().count("please") if (place / "asked").exists() else 0


def warnings(journal) -> list[str]:
    told = [stamped.event for stamped in journal.read(0)]
    return [event.text for event in told if isinstance(event, ev.WarningRaised)]


async def test_a_login_that_ends_soon_is_renewed_and_a_fresh_one_left_alone(
    renewals, cli, place, journal
):
    ours = renewals(cli, NotFound("no claude"), replace(cli, login=Login(("KEY",))))
    await ours.renew()
    await ours.renew()
    assert (place / "auth.json").read_text() == "fresh"
    assert (asked(place), warnings(journal)) == (1, [])


async def test_of_several_processes_one_renews(renewals, cli, place, journal):
    await asyncio.gather(*(renewals(cli).renew() for _ in range(4)))
    assert (asked(place), warnings(journal)) == (1, [])
    assert (place / "auth.json").read_text() == "fresh"


async def test_while_another_process_renews_nothing_is_done(renewals, cli, place):
    other = Claim(place / "renewal.lock", "the login")
    await renewals(cli).renew()
    assert asked(place) == 0
    other.release()
    await renewals(cli).renew()
    assert asked(place) == 1


async def test_a_renewal_that_does_nothing_is_ended_and_told_once(renewals, cli, place, journal):
    ours = renewals(replace(cli, command=(*cli.command[:-1], "fails")), patience_s=1.0)
    await ours.renew()
    await ours.renew()
    assert asked(place) == 2, "it is tried again"
    (told,) = warnings(journal)
    assert "could not be renewed" in told and "set KEY" in told
    assert not (place / "let go").exists(), "what hung was killed"


async def test_a_program_that_is_gone_is_told_with_its_reason(renewals, cli, place, journal):
    await renewals(replace(cli, command=("/no/such/program", "works"))).renew()
    (told,) = warnings(journal)
    assert "/no/such/program" in told
    assert (place / "auth.json").read_text() == "stale"


async def test_a_stop_forbids_it_silently(renewals, cli, place, journal, brake):
    brake.engage("test", "owner", 1)
    await renewals(cli).renew()
    assert (asked(place), warnings(journal)) == (0, [])


async def test_it_looks_again_and_again(journal, brake, cli, place):
    class Quick(SystemClock):
        async def sleep(self, seconds):
            await super().sleep(min(seconds, 0.01))

    ours = Renewals(journal, Quick(), Spawner(brake, "h:p"), [cli])
    (place / "auth.json").unlink()
    running = asyncio.create_task(ours.run())
    async with asyncio.timeout(20):
        (place / "auth.json").write_text("stale")
        while (place / "auth.json").read_text() != "fresh":
            await asyncio.sleep(0.01)
    running.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await running
    assert warnings(journal) == []
