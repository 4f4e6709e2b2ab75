"""A worker's own CLI in a terminal: where its turns run, within the same, and never beside one."""

import asyncio
import json
import shlex
import subprocess

import pytest

from amiral.agents.declared import read_rules
from amiral.agents.drivers import scripted
from amiral.base import events as ev
from amiral.base.clock import SystemClock
from amiral.base.errors import Conflict, Denied, NotFound
from amiral.base.settings import Sandbox

HANG = "turns: [{match: hang, hang: 300}]\ndefault: {say: ok}\n"


class Mute(scripted.Scripted):
    """A driver whose CLI has no terminal."""

    in_terminal = None  # type: ignore[assignment]


def rules(*own):
    rows = [{"capability": c, "match": m, "posture": p} for c, m, p in own]
    told = {"version": 1, "default": "deny", "rules": rows, "workers": {}}
    return read_rules(json.dumps(told), "permissions.json")


async def opened(works, name="dev"):
    return await works.inbox.open_terminal(works.plan.workers[name])


def client(terminal, *words):
    """Be the person's own client, as the attach command is."""
    told = shlex.split(terminal.attach)
    before = told[1 : told.index("attach")]
    return subprocess.run([*before, *words], capture_output=True, text=True, check=True)


def types(terminal, text):
    client(terminal, "send-keys", "-l", text)
    client(terminal, "send-keys", "Enter")


async def shows(terminal, text):
    for _ in range(1000):
        screen = client(terminal, "capture-pane", "-p").stdout
        if text in screen:
            return screen
        await SystemClock().sleep(0.01)
    pytest.fail(f"{text!r} is not shown:\n{screen}")


async def run(terminal, command):
    """Have a command run by the shell in there; gives what it prints."""
    types(terminal, f"clear; {command}; echo en''d")
    return await shows(terminal, "end\n")


async def waits(works, message):
    """Longer than the lanes' own look."""
    await SystemClock().sleep(1.5)
    assert works.state_of(message) == "queued"


async def test_it_is_used_in_the_workers_folder_with_its_home_and_its_tag(works):
    await works.open()
    terminal = await opened(works)
    shown = await run(terminal, "pwd -P; echo $HOME; echo $TMPDIR; echo $AMIRAL_TAG")
    home = works.workers_folder / "dev"
    lines = shown.split("\n")
    for told in (works.project, home / "home", home / "tmp", f"{works.tag}:terminal-dev"):
        assert str(told) in lines, shown


async def test_messages_wait_as_long_as_it_is_open_and_then_go_on(works):
    works.scenario(HANG)
    await works.open()
    assert (await works.answer()).outcome == "done"
    terminal = await opened(works)
    assert works.events(ev.SessionEnded)[-1].reason == "idle"
    assert works.inbox.has_terminal("dev")
    message = await works.post()
    await waits(works, message)
    assert (await opened(works)).attach == terminal.attach
    await works.inbox.close_terminal("dev")
    assert not works.inbox.has_terminal("dev")
    assert (await works.ended(message)).outcome == "done"
    with pytest.raises(Conflict, match="no open terminal"):
        await works.inbox.close_terminal("dev")


async def test_it_ends_when_the_person_leaves_its_program(works):
    await works.open()
    terminal = await opened(works)
    message = await works.post()
    types(terminal, "exit")
    assert (await works.ended(message)).outcome == "done"
    assert not works.inbox.has_terminal("dev")
    assert not (works.sessions_folder / "terminal-dev").exists()


async def test_one_that_has_just_ended_is_opened_anew(works):
    await works.open()
    terminal = await opened(works)
    types(terminal, "exit")
    await works.until(lambda: not terminal.is_open, "the end")
    again = await opened(works)
    assert "here" in await run(again, "echo here")


async def test_while_a_turn_runs_none_is_opened(works):
    works.scenario(HANG)
    await works.open()
    message = await works.post("hang")
    await works.state(message, "seen")
    with pytest.raises(Conflict, match="a turn of dev runs") as told:
        await opened(works)
    assert told.value.next_step.endswith("amiral interrupt dev")
    assert not works.inbox.has_terminal("dev")
    works.plan.workers["ops"] = works.make_worker("ops", tools=("Read",))
    await opened(works, "ops")
    await works.inbox.close_terminal("ops")


async def test_it_outlives_this_process_and_keeps_messages_waiting_after(works):
    await works.open()
    terminal = await opened(works)
    await run(terminal, "here=still")
    await works.close()
    await works.open()
    assert works.inbox.has_terminal("dev")
    message = await works.post()
    await waits(works, message)
    again = await opened(works)
    assert "still" in await run(again, "echo $here")
    await works.inbox.close_terminal("dev")
    assert (await works.ended(message)).outcome == "done"


async def test_it_ends_with_the_agents_when_these_shall_end(works):
    await works.open()
    terminal = await opened(works)
    await works.close(with_busy=True)
    assert not terminal.is_open


async def test_one_of_a_worker_that_is_no_more_can_still_be_ended(works):
    await works.open()
    await opened(works)
    await works.crash()
    works.plan.workers = {"ops": works.make_worker("ops")}
    await works.open()
    await works.inbox.close_terminal("dev")


async def test_where_there_is_no_git_nobody_else_writes_meanwhile(works):
    works.plan.workers["ops"] = works.make_worker("ops")
    await works.open()
    await opened(works)
    end = await works.answer(worker="ops")
    assert (end.outcome, "while dev does" in end.reason) == ("failed", True)
    with pytest.raises(Denied, match="while dev does"):
        await opened(works, "ops")
    await works.inbox.close_terminal("dev")
    assert (await works.answer(worker="ops")).outcome == "done"


async def test_it_is_behind_the_same_fence_as_turns(works, tmp_path):
    (works.project / "src").mkdir()
    works.plan.rules = rules(("read", "**", "allow"), ("write", "src/**", "allow"))
    await works.open()
    terminal = await opened(works)
    outside = tmp_path / "out"
    await run(terminal, f"echo x >src/in; echo x >out; echo x >{outside}; echo x >$HOME/own")
    assert (works.project / "src" / "in").read_text() == "x\n"
    assert (works.workers_folder / "dev" / "home" / "own").exists()
    assert not (works.project / "out").exists()
    assert not outside.exists()


async def test_where_nothing_holds_what_is_denied_none_is_opened(works):
    works.plan.rules = rules(("read", "**", "allow"))
    works.plan.sandbox = Sandbox(enforcer="none")
    await works.open()
    with pytest.raises(Denied, match="nothing can hold"):
        await opened(works)
    assert not works.inbox.has_terminal("dev")


async def test_a_driver_without_one_says_so(works):
    works.plan.drivers = {"scripted": Mute()}
    await works.open()
    with pytest.raises(NotFound, match="the driver scripted has no terminal"):
        await opened(works)
    assert (await works.answer()).outcome == "done"


async def test_two_who_ask_at_once_get_the_same(works):
    await works.open()
    first, second = works.inbox.open_terminal, works.plan.workers["dev"]
    async with asyncio.TaskGroup() as both:
        one, other = (both.create_task(first(second)) for _ in range(2))
    assert one.result() is other.result()


async def test_under_a_stop_none_is_opened(works):
    await works.open()
    works.brake.engage("a test", "owner", 0)
    with pytest.raises(Conflict, match="is on"):
        await opened(works)
    assert not works.inbox.has_terminal("dev")
