"""Work by command: looked at, taken, thrown away; refused while somebody is at it."""

import os
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from amiral.agents.tables import ENGINE
from amiral.base import events as ev
from amiral.base.errors import Conflict, Denied, NotFound
from amiral.commands.arguments import parse_argv
from amiral.commands.registry import Caller, Commands, Reply, Role
from amiral.commands.table import TABLE
from amiral.commands.work import WorkCommands
from amiral.processes.spawn import Spawner
from amiral.projects.git import Git
from amiral.projects.worktrees import Worktrees
from amiral.specs import rows
from amiral.specs.store import Specs
from amiral.specs.tables import SPECS
from amiral.store.brake import Brake
from amiral.store.journal import Journal
from amiral.testbench.fake_clock import FakeClock

OWNER = Caller("owner", Role.OWNER, "console")


@dataclass
class Shop:
    """A project in git, and what its workers left; `vacated` tells where they were sent off."""

    root: Path
    journal: Journal
    worktrees: Worktrees
    vacated: list[str] = field(default_factory=list)

    def __post_init__(self):
        self.specs = Specs(self.journal, FakeClock())
        topic = WorkCommands(self.worktrees, self.specs, self.journal, self.vacate)
        self.commands = Commands(TABLE, topic)

    async def vacate(self, folder: str) -> None:
        assert os.path.isdir(folder)
        self.vacated.append(folder)

    async def say(self, text, caller=OWNER) -> Reply:
        return await self.commands.dispatch(caller, parse_argv(text.split(), TABLE))

    async def data(self, text) -> Any:
        return (await self.say(text)).data

    def git(self, *words, at=None) -> str:
        who = ("-c", "user.name=Ada", "-c", "user.email=ada@shop.invalid")
        ran = subprocess.run(
            ("git", *who, *words), cwd=at or self.root, capture_output=True, text=True, check=True
        )
        return ran.stdout.rstrip("\n")

    async def work(self, name="developer", **files) -> Path:
        """Leave files in a worktree, not committed."""
        worktree = await self.worktrees.ensure(name)
        for key, text in files.items():
            (worktree.folder / ".".join(key.rsplit("_", 1))).write_text(text)
        return worktree.folder

    async def spec(self, status="done", spec_id="a1b2c3d4") -> ev.SpecExecuting:
        """Bring a spec there, with one commit in its worktree when it is done."""
        base = self.git("rev-parse", "HEAD")
        what = ("Add it", "P", "A", ("One",), ("f",), "low", "consultant", "c-o", "m0")
        given = ev.SpecExecuting(spec_id, 1, "developer", "m1", f"amiral/{spec_id}", base)
        folder = await self.work(spec_id, new_py="x\n")
        self.git("add", "--all", at=folder)
        self.git("commit", "--quiet", "-m", "Add it", at=folder)
        commit = self.git("rev-parse", "HEAD", at=folder)
        path: list[ev.Event] = [ev.SpecCreated(spec_id, *what), ev.SpecApproved(spec_id), given]
        ends: dict[str, list[ev.Event]] = {
            "executing": [],
            "failed": [ev.SpecFailed(spec_id, 1, "no")],
            "done": [ev.SpecDone(spec_id, 1, commit, ("One",), ("new.py",), "ok")],
        }
        await self.journal.append(*path, *ends[status])
        return given

    def now(self, spec_id="a1b2c3d4"):
        return rows.named(self.journal.rows, spec_id)

    async def turn(self, folder, *, is_parked=False) -> None:
        """Have a turn of the developer run in a folder."""
        who = ("t1", "m9", "developer", "session")
        begun: list[ev.Event] = [
            ev.MessageQueued("m9", "developer", "c", "x", "owner"),
            ev.SessionOpened("session", "developer", "c", "scripted", str(folder), "s", "d"),
            ev.TurnStarted(*who, "m9"),
        ]
        parked = ev.TurnParked(*who, (1, 0), "five_hour", None, "cli")
        await self.journal.append(*begun, *([parked] if is_parked else []))


@pytest.fixture
async def shop(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    root = tmp_path / "shop"
    root.mkdir()
    brake = Brake(tmp_path / "brake")
    brake.prepare()
    worktrees = Worktrees(Git(Spawner(brake, "h:p")), root, tmp_path / "home" / "worktrees")
    journal = await Journal.open(tmp_path / "state" / "journal.db", FakeClock(), [ENGINE, SPECS])
    shop = Shop(root, journal, worktrees)
    shop.git("init", "--quiet", "--initial-branch=main")
    (root / "cart.py").write_text("total = 0\n")
    shop.git("add", "--all")
    shop.git("commit", "--quiet", "-m", "A shop")
    yield shop
    await journal.close()


# ------------------------------------------------------------------ diff


async def test_a_diff_shows_what_a_worker_has_left(shop):
    await shop.work(cart_py="total = 1\n", new_py="x\n")
    reply = await shop.say("diff developer")
    assert "+total = 1" in reply.text
    assert "+++ b/new.py" in reply.text
    assert reply.data == {"name": "developer", "branch": "amiral/developer", "diff": reply.text}


async def test_a_diff_of_nothing_says_so(shop):
    await shop.work()
    reply = await shop.say("diff Developer")
    assert (reply.text, reply.exit_code) == ("✓ developer: nothing differs", 0)


async def test_a_diff_of_a_done_spec_is_what_merging_brings(shop):
    await shop.spec("done")
    await shop.work("a1b2c3d4", report_xml="left by tests\n")
    diff = (await shop.data("diff a1b2c3d4"))["diff"]
    assert "new.py" in diff
    assert "report.xml" not in diff
    assert (await shop.say("merge a1b2c3d4")).text.endswith("left out, not committed: report.xml")
    assert (await shop.data("diff a1b2c3d4"))["diff"] == ""


async def test_a_diff_of_an_executing_spec_is_what_there_is_so_far(shop):
    await shop.spec("executing")
    await shop.work("a1b2c3d4", more_py="more\n")
    await shop.turn(await shop.work("a1b2c3d4"))
    assert "+more" in (await shop.data("diff a1b2c3d4"))["diff"]


@pytest.mark.parametrize("command", ["diff", "merge", "discard"])
@pytest.mark.parametrize("name", ["nobody", "../x", "deve\x1b[31mloper", "x" * 300])
async def test_who_has_no_work_is_told(shop, command, name):
    await shop.work()
    with pytest.raises(NotFound, match="no work of ") as caught:
        await shop.say(f"{command} {name}")
    assert caught.value.next_step == "amiral specs; amiral workers"
    assert len(caught.value.message) < 80


# ------------------------------------------------------------------ merge


async def test_a_workers_work_is_committed_and_merged(shop):
    folder = await shop.work(new_py="x\n")
    reply = await shop.say("merge developer")
    commit = shop.git("rev-parse", "main")
    assert reply.text == f"✓ merged amiral/developer as {commit[:12]}"
    assert reply.data == {"name": "developer", "branch": "amiral/developer", "commit": commit}
    assert (shop.root / "new.py").read_text() == "x\n"
    told = shop.git("log", "--format=%an|%s", "-2", "--topo-order")
    assert told == "amiral|Merge the work of developer\ndeveloper|Work of developer"
    assert folder.exists()
    with pytest.raises(Conflict, match="developer has nothing to merge"):
        await shop.say("merge developer")


async def test_a_specs_work_is_merged_as_it_was_tested_and_noted(shop):
    await shop.spec("done")
    await shop.work("a1b2c3d4", report_xml="left by tests\n")
    commit = (await shop.data("merge a1b2c3d4"))["commit"]
    assert shop.git("log", "-1", "--format=%B", commit) == (
        "Add it\n\nFrom amiral/a1b2c3d4\n\nSpec: a1b2c3d4"
    )
    assert shop.git("show", "--name-only", "--format=", "-m", "--first-parent", commit) == "new.py"
    assert shop.now().merged == commit
    with pytest.raises(Conflict, match=f"its work was merged as {commit}"):
        await shop.say("merge a1b2c3d4")


async def test_a_spec_that_was_merged_by_hand_is_noted_as_merged(shop):
    await shop.spec("done")
    shop.git("merge", "--quiet", "--no-ff", "-m", "by hand", "amiral/a1b2c3d4")
    assert (await shop.data("merge a1b2c3d4"))["commit"] == shop.git("rev-parse", "HEAD")
    assert shop.now().merged == shop.git("rev-parse", "HEAD")


@pytest.mark.parametrize("status", ["executing", "failed"])
async def test_a_spec_that_is_not_done_is_not_merged(shop, status):
    await shop.spec(status)
    words = {"executing": "developer carries it out", "failed": "its last attempt failed"}
    with pytest.raises(Conflict, match=f"cannot be merged: {words[status]}"):
        await shop.say("merge a1b2c3d4")
    assert not (shop.root / "new.py").exists()


async def test_a_merge_that_is_refused_notes_nothing(shop):
    await shop.spec("done")
    (shop.root / "cart.py").write_text("total = 9\n")
    with pytest.raises(Conflict, match="not committed"):
        await shop.say("merge a1b2c3d4")
    assert shop.now().merged == ""
    shop.git("checkout", "--quiet", "cart.py")
    await shop.say("merge a1b2c3d4")


# ------------------------------------------------------------------ discard


async def test_discarded_work_is_gone_from_sight_and_can_be_brought_back(shop):
    folder = await shop.work(new_py="x\n")
    reply = await shop.say("discard developer")
    kept = reply.data["commit"]
    assert reply.text == (
        f"✓ discarded amiral/developer\n  git branch amiral/developer {kept[:12]} brings it back"
    )
    assert not folder.exists()
    assert shop.git("branch", "--list", "amiral/*") == ""
    assert shop.vacated == [str(folder)]
    _, command, branch, commit, *_ = reply.text.split("\n")[1].split()
    shop.git(command, branch, commit)
    assert shop.git("show", "amiral/developer:new.py") == "x"


async def test_a_discard_of_nothing_has_nothing_to_bring_back(shop):
    await shop.work()
    reply = await shop.say("discard developer")
    assert (reply.text, reply.data["commit"]) == ("✓ discarded amiral/developer", "")


@pytest.mark.parametrize("status", ["failed", "done"])
async def test_a_specs_work_is_discarded_and_noted(shop, status):
    await shop.spec(status)
    kept = (await shop.data("discard a1b2c3d4"))["commit"]
    assert shop.git("show", f"{kept}:new.py") == "x"
    assert shop.now().branch == ""
    with pytest.raises(NotFound):
        await shop.say("diff a1b2c3d4")
    for command in ("discard", "merge"):
        with pytest.raises(Conflict, match="a1b2c3d4 cannot be"):
            await shop.say(f"{command} a1b2c3d4")


async def test_a_spec_whose_worktree_is_gone_already_is_noted_as_discarded(shop):
    """As after a crash between the two."""
    await shop.spec("done")
    await shop.worktrees.discard(await shop.worktrees.ensure("a1b2c3d4"))
    reply = await shop.say("discard a1b2c3d4")
    assert (reply.text, reply.data["commit"]) == ("✓ discarded amiral/a1b2c3d4", "")
    assert shop.now().branch == ""


@pytest.mark.parametrize("command", ["merge", "discard"])
async def test_work_whose_folder_was_removed_is_still_there_by_its_branch(shop, command):
    await shop.spec("done")
    shutil.rmtree(await shop.work("a1b2c3d4"))
    with pytest.raises(NotFound, match="no work of 'a1b2c3d4'"):
        await shop.say("diff a1b2c3d4")
    commit = (await shop.data(f"{command} a1b2c3d4"))["commit"]
    assert shop.git("show", f"{commit}:new.py") == "x"
    assert (command == "merge") == bool(shop.git("branch", "--list", "amiral/a1b2c3d4"))


@pytest.mark.parametrize("command", ["merge", "discard"])
async def test_a_spec_that_was_never_begun_has_no_work_and_its_state_is_told(shop, command):
    what = ("Add it", "P", "A", ("One",), ("f",), "low", "consultant", "c-o", "m0")
    await shop.journal.append(ev.SpecCreated("a1b2c3d4", *what))
    with pytest.raises(Conflict, match=f"a1b2c3d4 cannot be {command}.*: it is a draft"):
        await shop.say(f"{command} a1b2c3d4")


async def test_an_executing_specs_work_is_not_discarded(shop):
    await shop.spec("executing")
    with pytest.raises(Conflict, match="cannot be discarded: developer carries it out"):
        await shop.say("discard a1b2c3d4")
    assert (await shop.work("a1b2c3d4") / "new.py").exists()


# ------------------------------------------------------------------ while somebody is there


@pytest.mark.parametrize("command", ["merge", "discard"])
@pytest.mark.parametrize("how", ["working", "limited", "starting"])
async def test_nothing_is_taken_or_removed_while_a_turn_is_there(shop, command, how):
    folder = await shop.work(new_py="x\n")
    if how != "starting":
        await shop.turn(folder, is_parked=how == "limited")
        with pytest.raises(Conflict, match="developer is working in developer"):
            await shop.say(f"{command} developer")
    else:
        async with shop.worktrees.lock("developer"):
            with pytest.raises(Conflict, match="a worker is working in developer"):
                await shop.say(f"{command} developer")
    assert (folder / "new.py").exists()
    assert not (shop.root / "new.py").exists()


async def test_a_turn_elsewhere_does_not_matter(shop):
    await shop.work(new_py="x\n")
    await shop.turn(shop.root)
    await shop.say("merge developer")


@pytest.mark.parametrize("role", [Role.VIEWER, Role.MEMBER, Role.AGENT])
@pytest.mark.parametrize("command", ["diff", "merge", "discard"])
async def test_only_the_owner_may(shop, command, role):
    await shop.work(new_py="x\n")
    with pytest.raises(Denied):
        await shop.say(f"{command} developer", Caller("guest", role, "console"))
