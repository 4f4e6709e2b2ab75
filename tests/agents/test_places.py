"""In which folder a worker works, and that nobody else writes there meanwhile."""

import asyncio
import subprocess

import pytest

from amiral.agents.places import Places
from amiral.base import events as ev
from amiral.base.errors import NotFound
from amiral.processes.spawn import Spawner
from amiral.projects.git import Git
from amiral.projects.worktrees import Worktrees
from amiral.store.brake import Brake

SLOW = "turns: [{match: slow, hang: 1, say: Late.}]\ndefault: {say: ok}\n"


def git(root, *words):
    who = ("-c", "user.name=Ada", "-c", "user.email=ada@shop.invalid")
    ran = subprocess.run(
        ("git", *who, *words), cwd=root, capture_output=True, text=True, check=True
    )
    return ran.stdout.rstrip("\n")


@pytest.fixture
def root(tmp_path):
    root = tmp_path / "shop"
    root.mkdir()
    return root


@pytest.fixture
def shop(root):
    git(root, "init", "--quiet")
    (root / "cart.py").write_text("x\n")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "-m", "A shop")
    return root


@pytest.fixture
def worktrees(tmp_path, root):
    return Worktrees(Git(Spawner(Brake(tmp_path / "brake"), "h:p")), root, tmp_path / "trees")


@pytest.fixture
def places(worktrees):
    return Places(worktrees)


async def test_who_writes_has_a_worktree_and_who_reads_the_checkout(works, places, shop):
    assert (await places.prepare(works.make_worker(tools=("Read",)), "")).folder == shop
    folder = (await places.prepare(works.make_worker(), "")).folder
    assert folder.name == "dev"
    assert git(folder, "branch", "--show-current") == "amiral/dev"
    of_spec = await places.prepare(works.make_worker(), "a1b2c3d4")
    assert of_spec.folder == folder.with_name("a1b2c3d4")


async def test_a_workers_own_worktree_follows_the_checkout_a_specs_does_not(works, places, shop):
    """A spec's base is fixed when it begins."""
    own = (await places.prepare(works.make_worker(), "")).folder
    of_spec = (await places.prepare(works.make_worker(), "a1b2c3d4")).folder
    begun = git(shop, "rev-parse", "HEAD")
    git(shop, "commit", "--quiet", "--allow-empty", "-m", "newer")
    await places.prepare(works.make_worker(), "")
    await places.prepare(works.make_worker(), "a1b2c3d4")
    assert git(own, "rev-parse", "HEAD") == git(shop, "rev-parse", "HEAD")
    assert git(of_spec, "rev-parse", "HEAD") == begun


async def test_without_git_all_work_in_the_project_itself(works, places, root, monkeypatch):
    assert (await places.prepare(works.make_worker(), "")).folder == root
    assert (await places.prepare(works.make_worker(), "a1b2c3d4")).folder == root
    git(root, "init", "--quiet")
    monkeypatch.setenv("PATH", "/nowhere")
    assert (await places.prepare(works.make_worker(), "")).folder == root


async def test_where_there_is_no_place_the_reason_is_told(works, places, root):
    git(root, "init", "--quiet")
    with pytest.raises(NotFound, match=r"no place to work for dev: .* has no commit yet") as caught:
        await places.prepare(works.make_worker(), "")
    assert "git commit" in caught.value.next_step
    assert (await places.prepare(works.make_worker(tools=("Read",)), "")).folder == root
    (root / ".git" / "HEAD").write_text("nonsense\n")
    (root / ".git").rename(root / "git")
    (root / ".git").write_text("gitdir: nowhere\n")
    with pytest.raises(NotFound, match="git cannot be used here"):
        async with places.hold(works.make_worker(), "", is_begun=False):
            pass


async def test_a_branch_is_named_once_there_is_work_on_it(works, places, shop):
    worker, reader = works.make_worker(), works.make_worker(tools=("Read",))
    assert await places.branch(worker) == ""
    folder = (await places.prepare(worker, "")).folder
    assert await places.branch(worker) == ""
    (folder / "new.py").write_text("x\n")
    assert await places.branch(worker) == "amiral/dev"
    assert await places.branch(reader) == ""


async def order_of(places, *holders):
    """Have workers hold their places side by side; tells who was in together."""
    inside: list[str] = []
    together: set[frozenset[str]] = set()

    async def work(worker, place):
        async with places.hold(worker, place, is_begun=True):
            inside.append(worker.id)
            together.add(frozenset(inside))
            await asyncio.sleep(0.05)
            together.add(frozenset(inside))
            inside.remove(worker.id)

    await asyncio.gather(*(work(*holder) for holder in holders))
    return together


async def test_without_git_two_begun_turns_that_write_are_never_at_work_together(
    works, places, root
):
    one, two = works.make_worker("one"), works.make_worker("two")
    reader = works.make_worker("reader", tools=("Read",))
    together = await order_of(places, (one, ""), (two, "a1b2c3d4"), (reader, ""))
    assert frozenset({"one", "two"}) not in {group - {"reader"} for group in together}
    assert any("reader" in group and len(group) > 1 for group in together)


async def test_with_git_only_those_of_one_worktree_wait_for_each_other(works, places, shop):
    one, two = works.make_worker("one"), works.make_worker("two")
    assert frozenset({"one", "two"}) in await order_of(places, (one, ""), (two, ""))
    together = await order_of(places, (one, "a1b2c3d4"), (two, "a1b2c3d4"))
    assert frozenset({"one", "two"}) not in together


async def test_a_shared_checkout_for_two_writers_is_refused(works):
    """It is free again when its writer's turn has ended, and shared with those who read."""
    read = ("Read",)
    workers = {name: works.make_worker(name) for name in ("one", "two")}
    works.plan.workers = {**workers, "reader": works.make_worker("reader", tools=read)}
    works.scenario(SLOW)
    await works.open()
    running = await works.post("slow", "one")
    await works.until(lambda: works.events(ev.MessageSeen, running), "it being seen")
    refused = await works.ended(await works.post("quick", "two"))
    assert refused.outcome == "failed"
    assert refused.reason.startswith(f"two cannot write in {works.project} while one does: without")
    assert "git init" in refused.reason
    assert (await works.ended(await works.post("quick", "reader"))).outcome == "done"
    assert not works.events(ev.TurnEnded, running)
    assert (await works.ended(running)).outcome == "done"
    assert (await works.ended(await works.post("quick", "two"))).outcome == "done"


async def test_who_begins_to_write_in_a_shared_checkout_finds_no_other_cli_in_it(works):
    """What a CLI left running behind its turn would go on writing there."""
    works.plan.workers = {name: works.make_worker(name) for name in ("one", "two")}
    await works.open()
    await works.ended(await works.post("quick", "one"))
    first = works.row()
    assert first.state == "open"
    await works.ended(await works.post("quick", "two"))
    (ended,) = works.events(ev.SessionEnded)
    assert (ended.session, ended.reason) == (first.session, "another writes in its folder")
    await works.ended(await works.post("again", "one"))
    assert works.row().resume_key == first.fresh_key


async def test_who_begins_to_write_in_a_shared_checkout_leaves_those_who_read_their_sessions(works):
    reader = works.make_worker("reader", tools=("Read",))
    works.plan.workers = {"one": works.make_worker("one"), "reader": reader}
    await works.open()
    await works.ended(await works.post("quick", "reader"))
    first = works.row()
    assert (first.state, first.writes) == ("open", False)
    await works.ended(await works.post("quick", "one"))
    assert works.events(ev.SessionEnded) == []
    await works.ended(await works.post("again", "reader"))
    assert [one.session for one in works.events(ev.TurnStarted)][::2] == [first.session] * 2


async def test_after_a_crash_the_running_writer_goes_on_and_one_that_comes_is_refused(works):
    """The one that comes would be first by name."""
    works.plan.workers = {name: works.make_worker(name) for name in ("a-first", "z-last")}
    works.scenario(SLOW)
    await works.open()
    running = await works.post("slow", "z-last")
    await works.until(lambda: works.events(ev.MessageSeen, running), "it being seen")
    await works.inbox.stop()
    await works.journal.append(ev.MessageQueued("m2", "a-first", "a-first-owner", "quick", "owner"))
    await works.crash()
    await works.open()
    assert (await works.ended("m2")).outcome == "failed"
    assert (await works.ended(running)).outcome == "done"


@pytest.fixture
async def two_writers(works):
    """The turn of one runs, the turn of two was parked and is told to go on; gives both."""
    works.plan.workers = {name: works.make_worker(name) for name in ("one", "two")}
    works.scenario(
        "turns: [{match: long, limit: {window: week, resets_in_s: 3600}},"
        " {match: slow, hang: 1, say: Late.}]\ndefault: {say: ok}\n"
    )
    await works.open()
    parked = await works.post("long", "two")
    await works.parked(parked)
    running = await works.post("slow", "one")
    await works.until(lambda: works.events(ev.MessageSeen, running), "it being seen")
    await works.inbox.resume("two", "owner")
    return running, parked


async def test_a_begun_turn_waits_until_the_shared_checkout_is_free(works, two_writers):
    running, parked = two_writers
    assert (await works.ended(parked)).outcome == "done"
    order = [
        (type(event).__name__, event.message)
        for event in works.events(ev.TurnResumed | ev.TurnEnded)
    ]
    assert order[:2] == [("TurnEnded", running), ("TurnResumed", parked)]


async def test_a_writer_that_waits_can_be_cancelled(works, two_writers):
    running, parked = two_writers
    await works.inbox.cancel(parked, "owner", "no more")
    assert (await works.ended(parked)).outcome == "cancelled"
    assert not works.events(ev.TurnResumed, parked)
    assert (await works.ended(running)).outcome == "done"
