"""A CLI that cannot be started: one clear failed turn, nothing left behind, the queue goes on."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from amiral.agents.driver import FileToWrite
from amiral.agents.drivers import scripted
from amiral.base import events as ev
from amiral.base.errors import NotFound
from amiral.processes import tree


def program(works, text, mode=0o755):
    path: Path = works.home / "cli"
    path.write_text(text)
    path.chmod(mode)
    works.plan.command = (str(path),)
    return path


def missing(works):
    works.plan.command = (str(works.home / "nowhere"),)


def not_executable(works):
    program(works, "#!/bin/sh\n", 0o644)


def no_program_at_all(works):
    program(works, "\x00\x01")


def without_folder(works):
    works.plan.workers["dev"] = works.make_worker(tools=("Read",))
    works.project.rmdir()


def unknown_driver(works):
    works.plan.workers["dev"] = works.make_worker(driver="telepathy")


def not_found(works):
    def find_cli(driver):
        raise NotFound(f"driver {driver}: no program `{driver}`", "install it")

    works.plan.find_cli = find_cli


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (missing, "nowhere: No such file or directory. install it again"),
        (not_executable, "cli: Permission denied"),
        (no_program_at_all, "cli: Exec format error"),
        (without_folder, "shop is no folder"),
        (unknown_driver, "no driver `telepathy`; known: scripted"),
        (not_found, "driver scripted: no program `scripted`. install it"),
    ],
)
async def test_a_cli_that_cannot_start_gives_one_clear_failed_turn(works, spoil, reason):
    works.scenario("default: {say: ok}")
    command = works.plan.command
    spoil(works)
    await works.open()
    message, later = await works.post("a"), await works.post("b")
    end = await works.ended(message)
    assert end.outcome == "failed"
    assert reason in end.reason
    assert (await works.ended(later)).reason == end.reason
    assert len(works.events(ev.TurnEnded)) == 2
    assert not works.events(ev.WarningRaised)
    assert len(works.events(ev.SessionEnded)) == len(works.events(ev.SessionOpened))
    works.plan.command, works.plan.find_cli = command, None
    works.plan.workers["dev"] = works.make_worker()
    works.project.mkdir(exist_ok=True)
    assert (await works.answer("mended")).outcome == "done"


async def test_a_shim_that_launched_nothing_does_not_stay(works):
    works.scenario("default: {say: ok}")
    without_folder(works)
    await works.open()
    await works.answer()
    await works.until(lambda: not tree.tagged(works.tag), "the shim's end")
    assert list(works.run.iterdir()) == []


async def test_a_program_that_vanishes_after_its_version_is_known_is_missed_at_once(works):
    path = program(works, f"#!/bin/sh\nexec {sys.executable} -I -S {STUB} '[]' \"$@\"\n")
    await works.open()
    assert (await works.answer()).outcome == "done"
    await works.close()
    path.unlink()
    await works.open()
    assert "No such file" in (await works.answer()).reason


STUB = Path(__file__).parent / "scripts" / "stub_cli.py"


class Strange(scripted.Scripted):
    """A driver with a defect in its plan: a file that cannot have its name."""

    is_strange = True

    def open(self, seat):
        state, launch = super().open(seat)
        if self.is_strange:
            launch = replace(launch, files=(FileToWrite("settings\0json", "{}"),))
        self.is_strange = False
        return state, launch


async def test_a_plan_with_a_defect_leaves_nothing_behind_and_is_tried_again(works):
    works.plan.drivers = {"scripted": Strange()}
    works.scenario("default: {say: ok}")
    await works.open()
    assert (await works.answer()).outcome == "done"
    first = works.events(ev.SessionOpened)[0]
    (ended,) = works.events(ev.SessionEnded)
    assert (ended.session, ended.reason) == (first.session, "it could not be started")
    assert not (works.run / Path(first.socket).name).exists()
    (warning,) = works.events(ev.WarningRaised)
    assert "ValueError('embedded null byte')" in warning.text


async def test_an_untested_version_is_told_once(works):
    path = program(
        works,
        '#!/bin/sh\n[ "$1" = --version ] && { echo scripted 9.9.9; exit; }\n'
        f'exec {sys.executable} -I -S {STUB} \'[["first"], ["exit", 1]]\' "$@"\n',
    )
    await works.open()
    assert (await works.answer()).outcome == "done"
    assert len(works.events(ev.SessionOpened)) == 2
    (warning,) = works.events(ev.WarningRaised)
    assert warning.subject == "driver scripted"
    assert "9.9.9" in warning.text
    assert works.events(ev.SessionLaunched)[0].cli_version == "9.9.9"
    assert path.exists()


async def test_k3_a_login_reaches_the_cli_and_nothing_of_our_own_environment_does(
    works, monkeypatch
):
    monkeypatch.setenv("AMIRAL_SECRET_OF_OURS", "x")
    works.plan.env = {"THE_LOGIN": "abc"}
    works.scenario('turns: [{use: {tool: bash, args: {command: "env > env.txt"}}}, {say: ok}]')
    await works.open()
    await works.answer()
    told = (works.project / "env.txt").read_text()
    assert "THE_LOGIN=abc\n" in told
    assert "AMIRAL_SECRET_OF_OURS" not in told
    assert f"HOME={works.workers_folder / 'dev' / 'home'}\n" in told
