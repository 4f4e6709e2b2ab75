"""Linked worktrees: made whole, found again, kept apart from the user's checkout, removed."""

import asyncio
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from amiral.base.errors import Broken, Invalid

SCRIPT = Path(__file__).with_name("scripts") / "keep_worktree.py"


def held(shop, before):
    """Everything of the user's is as it was; branches of ours and their worktrees are ours."""
    after = shop.manifest()
    for told in (before, after):
        lines = told["refs"].split("\n")
        told["refs"] = "\n".join(line for line in lines if "amiral/" not in line)
        for name in [name for name in told if "/refs/heads/amiral" in name or name == "worktrees"]:
            del told[name]
    assert after == before


# ------------------------------------------------------------------ made


async def test_a_worktree_is_made_from_the_users_commit_on_a_branch_of_its_own(worktrees, shop):
    before = shop.manifest()
    worktree = await worktrees.ensure("a1b2c3d4")
    assert worktree.branch == "amiral/a1b2c3d4"
    assert worktree.folder == worktree.tree.work_tree
    assert worktree.folder.name == "a1b2c3d4"
    assert shop.git("rev-parse", "HEAD", at=worktree.folder) == shop.git("rev-parse", "HEAD")
    assert shop.git("branch", "--show-current", at=worktree.folder) == worktree.branch
    assert sorted(path.name for path in worktree.folder.iterdir()) == [
        *(".git", ".gitignore", "cart.py", "docs", "link", "paid.py", "run.sh"),
    ]
    assert (worktree.folder / "paid.py").read_text() == "x = 1\n", "what is committed, no more"
    held(shop, before)


async def test_a_worktree_is_the_same_one_for_every_process(worktrees, worktrees_of, shop):
    made = await worktrees.ensure("developer")
    shop.write("new.py", "x\n", at=made.folder)
    for other in (worktrees, worktrees_of(shop.root)):
        assert await other.ensure("developer") == made == await other.find("developer")
    assert (made.folder / "new.py").read_text() == "x\n"
    assert (await worktrees.ensure("designer")).folder != made.folder
    assert await worktrees.find("nobody") is None


async def test_a_folder_is_known_to_lie_in_a_worktree(worktrees, shop):
    made = await worktrees.ensure("developer")
    assert worktrees.holds(str(made.folder))
    assert worktrees.holds(str(made.folder / "docs"))
    assert not worktrees.holds(str(shop.root))


@pytest.mark.parametrize(
    "name",
    ["", ".", "..", "a/b", "../x", "-x", "_x", ".x", "A", "é", "x\n", "x y", "a.state", "a" * 41],
)
async def test_a_name_that_could_lead_elsewhere_is_refused(worktrees, shop, name):
    before = shop.manifest()
    with pytest.raises(Invalid, match="no worktree can be called"):
        await worktrees.ensure(name)
    assert await worktrees.find(name) is None
    assert shop.manifest() == before


async def test_without_a_commit_the_next_step_is_told(worktrees_of, checkout, tmp_path, user):
    empty = checkout(tmp_path / "empty").begin()
    assert await worktrees_of(empty.root).is_git()
    with pytest.raises(Broken, match="has no commit yet") as caught:
        await worktrees_of(empty.root).ensure("developer")
    assert "git commit" in caught.value.next_step
    empty.commit(a="1")
    assert (await worktrees_of(empty.root).ensure("developer")).branch == "amiral/developer"


async def test_a_project_may_be_a_part_of_a_repository(worktrees_of, shop):
    before = shop.manifest()
    worktree = await worktrees_of(shop.root / "docs").ensure("developer")
    assert worktree.folder == worktree.tree.work_tree / "docs"
    assert (worktree.folder / "guide.md").read_text() == "Buy.\n"
    assert (worktree.tree.work_tree / "cart.py").exists()
    held(shop, before)


async def test_a_part_with_nothing_committed_is_an_empty_folder_there(worktrees_of, shop):
    shop.write("new/part/a.txt", "x")
    worktree = await worktrees_of(shop.root / "new" / "part").ensure("developer")
    assert list(worktree.folder.iterdir()) == []


async def test_two_projects_of_a_repository_have_branches_of_their_own(worktrees_of, shop):
    one = await worktrees_of(shop.root).ensure("developer")
    other = worktrees_of(shop.root / "docs", home="another home")
    two = await other.ensure("developer")
    assert (one.branch, two.branch) == ("amiral/developer", "amiral/developer-2")
    assert await other.ensure("developer") == two


async def test_a_checkout_may_be_a_linked_worktree_itself(worktrees_of, shop, checkout, tmp_path):
    shop.git("worktree", "add", "--quiet", "-b", "feature", str(tmp_path / "feature"))
    feature = checkout(tmp_path / "feature")
    feature.commit(only_py="here\n")
    before = feature.manifest()
    worktree = await worktrees_of(feature.root).ensure("developer")
    assert (worktree.folder / "only.py").exists()
    assert worktree.tree.common_dir == shop.root / ".git"
    held(feature, before)


async def test_a_bare_repository_has_worktrees_and_nothing_else(
    worktrees_of, shop, checkout, tmp_path
):
    bare = checkout(tmp_path / "bare.git")
    shop.git("clone", "--quiet", "--bare", str(shop.root), str(bare.root))
    worktrees = worktrees_of(bare.root)
    assert await worktrees.is_git()
    worktree = await worktrees.ensure("developer")
    shop.write("new.py", "x\n", at=worktree.folder)
    await worktrees.work.stage(worktree)
    assert await worktrees.work.commit(worktree, "new", "developer") == await worktrees.work.tip(
        worktree
    )
    assert "new.py" in await worktrees.work.diff(worktree, only_commits=True)


async def test_a_detached_head_is_as_good_as_a_branch(worktrees, shop):
    shop.git("checkout", "--quiet", "--detach")
    before = shop.manifest()
    worktree = await worktrees.ensure("developer")
    assert shop.git("branch", "--show-current", at=worktree.folder) == "amiral/developer"
    held(shop, before)


async def test_hooks_of_the_repository_never_run(worktrees, shop, alarm):
    program, bell = alarm
    hooks = ["post-checkout", "pre-commit", "commit-msg", "post-commit", "reference-transaction"]
    hooks += ["post-index-change", "prepare-commit-msg", "post-merge", "pre-merge-commit"]
    for hook in hooks:
        (shop.root / ".git" / "hooks" / hook).symlink_to(program)
    worktree = await worktrees.ensure("developer")
    shop.write("new.py", "x\n", at=worktree.folder)
    await worktrees.work.stage(worktree)
    await worktrees.work.commit(worktree, "new", "developer")
    shop.git("-c", "core.hooksPath=/dev/null", "stash", "--include-untracked")
    await worktrees.work.merge(worktree, "Merge it")
    await worktrees.discard(worktree)
    assert not bell.exists()


async def test_a_branch_of_the_users_is_left_alone(worktrees, shop):
    shop.git("branch", "amiral/developer")
    worktree = await worktrees.ensure("developer")
    assert worktree.branch == "amiral/developer-2"
    shop.write("new.py", "x\n", at=worktree.folder)
    await worktrees.discard(worktree)
    assert shop.branches() == ["amiral/developer", "main"]


async def test_a_branch_that_leaves_no_room_for_ours_is_told(worktrees, shop):
    shop.git("branch", "amiral")
    with pytest.raises(Broken, match="the branch `amiral` is in the way") as caught:
        await worktrees.ensure("developer")
    assert caught.value.next_step == "git branch -m amiral ANOTHER_NAME"
    shop.git("branch", "-m", "amiral", "other")
    assert (await worktrees.ensure("developer")).branch == "amiral/developer"


async def test_a_folder_in_the_way_is_never_removed(worktrees, worktrees_of, shop):
    folder = (await worktrees.ensure("designer")).folder.with_name("developer")
    shop.write("theirs.txt", "x\n", at=folder)
    with pytest.raises(Broken, match="is in the way") as caught:
        await worktrees.ensure("developer")
    assert caught.value.next_step == f"move {folder} away"
    assert await worktrees_of(shop.root).repair() == []
    assert (folder / "theirs.txt").exists()
    folder.rename(folder.with_name("elsewhere"))
    await worktrees.ensure("developer")


async def test_settings_that_change_what_git_does_are_of_no_effect(worktrees, shop, user):
    for key, value in {
        "branch.autoSetupMerge": "always",
        "worktree.useRelativePaths": "true",
        "checkout.guess": "true",
        "commit.cleanup": "strip",
        "commit.template": "/nowhere",
        "status.showUntrackedFiles": "no",
        "diff.external": "/nowhere",
        "core.fsmonitor": "/nowhere",
        "core.pager": "/nowhere",
    }.items():
        shop.git("config", key, value)
    (user / ".gitconfig").write_text("[commit]\n\tgpgSign = true\n[gpg]\n\tprogram = /nowhere\n")
    before = (shop.root / ".git" / "config").read_bytes()
    worktree = await worktrees.ensure("developer")
    shop.write("new.py", "x\n", at=worktree.folder)
    await worktrees.work.stage(worktree)
    await worktrees.work.commit(worktree, "# new", "developer")
    assert shop.git("log", "-1", "--format=%s", at=worktree.folder) == "# new"
    assert "new.py" in await worktrees.work.diff(worktree, only_commits=False)
    await worktrees.discard(worktree)
    assert (shop.root / ".git" / "config").read_bytes() == before


# ------------------------------------------------------------------ git


async def test_a_plain_folder_is_no_repository(worktrees_of, tmp_path, user):
    (tmp_path / "plain").mkdir()
    assert not await worktrees_of(tmp_path / "plain").is_git()


async def test_without_git_there_are_no_worktrees(worktrees, worktrees_of, shop, monkeypatch):
    assert await worktrees.is_git()
    monkeypatch.setenv("PATH", "/nowhere")
    assert not await worktrees_of(shop.root).is_git()
    assert await worktrees_of(shop.root).repair() == []


async def test_a_repository_of_another_user_is_refused_until_the_person_trusts_it(
    worktrees_of, shop, user, tmp_path, monkeypatch
):
    """Git's own rule: the configuration in it would run with our rights."""
    program = tmp_path / "bin" / "git"
    program.parent.mkdir()
    foreign = "export GIT_TEST_ASSUME_DIFFERENT_OWNER=1"
    program.write_text(f'#!/bin/sh\n{foreign}\nexec {shutil.which("git")} "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    with pytest.raises(Broken, match="dubious ownership"):
        await worktrees_of(shop.root).is_git()
    (user / ".gitconfig").write_text(f"[safe]\n\tdirectory = {shop.root}\n")
    assert await worktrees_of(shop.root).is_git()
    assert (await worktrees_of(shop.root).ensure("developer")).folder.exists()


async def test_a_linked_checkout_whose_repository_is_gone_is_told(worktrees_of, checkout, tmp_path):
    lost = checkout(tmp_path / "lost")
    lost.write(".git", f"gitdir: {tmp_path}/nowhere/.git/worktrees/lost\n")
    with pytest.raises(Broken, match="git cannot be used here"):
        await worktrees_of(lost.root).is_git()


# ------------------------------------------------------------------ lost and found


async def test_a_folder_that_was_removed_is_made_again_with_its_commits(worktrees, shop):
    worktree = await worktrees.ensure("developer")
    commit = shop.commit("work", at=worktree.folder, work_py="x\n")
    subprocess.run(["rm", "-r", worktree.folder], check=True)
    assert await worktrees.find("developer") is None
    assert await worktrees.repair() == []
    again = await worktrees.ensure("developer")
    assert (again.folder, again.branch) == (worktree.folder, worktree.branch)
    assert await worktrees.work.tip(again) == commit
    assert (again.folder / "work.py").exists()


async def test_one_that_git_forgot_is_never_removed(worktrees, shop):
    worktree = await worktrees.ensure("developer")
    commit = shop.commit("work", at=worktree.folder, work_py="x\n")
    shop.write("loose.txt", "x\n", at=worktree.folder)
    away = worktree.folder.with_name("elsewhere")
    worktree.folder.rename(away)
    shop.git("worktree", "prune")
    away.rename(worktree.folder)
    for ask in (worktrees.ensure, worktrees.find):
        with pytest.raises(Broken, match="git does not know the worktree") as caught:
            await ask("developer")
        assert caught.value.next_step.startswith(f"move {worktree.folder} away")
    assert await worktrees.repair() == []
    worktree.folder.rename(away)
    assert await worktrees.work.tip(await worktrees.ensure("developer")) == commit
    assert (away / "loose.txt").exists()


async def test_a_record_of_ours_that_cannot_be_read_is_told_and_nothing_removed(worktrees, shop):
    worktree = await worktrees.ensure("developer")
    (worktree.folder.with_name("developer.state")).write_text("made refs/heads/main\n")
    with pytest.raises(Broken, match="cannot be read"):
        await worktrees.ensure("developer")
    (told,) = await worktrees.repair()
    assert told.startswith("worktree developer: ")
    assert (worktree.folder / "cart.py").exists()


async def test_a_branch_that_the_user_checked_out_is_never_removed(worktrees, shop, home, tmp_path):
    worktree = await worktrees.ensure("developer")
    theirs = tmp_path / "look"
    shop.git("worktree", "add", "--quiet", "--force", str(theirs), "amiral/developer")
    with pytest.raises(Broken, match="amiral/developer is checked out in ") as caught:
        await worktrees.discard(worktree)
    assert caught.value.next_step == f"git -C {theirs} switch …"
    (told,) = await worktrees.repair()
    assert f"checked out in {theirs}" in told
    assert shop.git("rev-parse", "HEAD", at=theirs) == shop.git("rev-parse", "main")
    shop.git("switch", "--quiet", "--create", "mine", at=theirs)
    assert await worktrees.repair() == []
    assert list(home.iterdir()) == []
    assert shop.branches() == ["main", "mine"]


async def test_what_somebody_put_beside_worktrees_is_never_removed(worktrees, home):
    worktree = await worktrees.ensure("developer")
    for name in ("developer.original", "developer.bak", "developer.new-1", "notes.txt"):
        (home / name).mkdir()
    for name in ("developer.new-abcd1234", "developer.index-abcd1234"):
        (home / name).mkdir()
    assert await worktrees.repair() == []
    assert sorted(path.name for path in home.iterdir()) == [
        *("developer", "developer.bak", "developer.new-1", "developer.original"),
        *("developer.state", "notes.txt"),
    ]
    assert (worktree.folder / "cart.py").exists()


async def test_a_home_may_be_reached_by_a_link(worktrees_of, shop, tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "home").symlink_to("real")
    worktrees = worktrees_of(shop.root)
    made = await worktrees.ensure("developer")
    assert await worktrees.ensure("developer") == made
    assert await worktrees.discard(made) == ""


# ------------------------------------------------------------------ what an agent may do there


@pytest.mark.parametrize("how", ["changed", "removed", "a link", "a pipe"])
async def test_the_link_to_git_is_put_back(worktrees, shop, tmp_path, alarm, how):
    """G1: an agent swaps the `.git` file of its worktree for one that leads to its own programs."""
    program, bell = alarm
    evil = tmp_path / "evil"
    shop.git("clone", "--quiet", str(shop.root), str(evil))
    shop.git("config", "core.fsmonitor", str(program), at=evil)
    shop.git("config", "filter.x.clean", str(program), at=evil)
    worktree = await worktrees.ensure("developer")
    shop.write(".gitattributes", "* filter=x\n", at=worktree.folder)
    shop.write("new.py", "x\n", at=worktree.folder)
    link = worktree.folder / ".git"
    rightly = link.read_bytes()
    link.unlink()
    if how == "changed":
        link.write_text(f"gitdir: {evil}/.git\n")
    elif how == "a link":
        link.symlink_to(evil / ".git")
    elif how == "a pipe":
        os.mkfifo(link)
    assert "new.py" in await worktrees.work.diff(worktree, only_commits=False)
    await worktrees.work.stage(worktree)
    commit = await worktrees.work.commit(worktree, "new", "developer")
    await worktrees.ensure("developer")
    assert link.read_bytes() == rightly
    assert shop.git("rev-parse", "amiral/developer") == commit
    assert not bell.exists()


async def test_git_is_never_led_by_its_own_way_to_what_worktrees_share(
    worktrees, shop, tmp_path, alarm
):
    """G1: `commondir` is where an agent that may commit can write."""
    program, bell = alarm
    evil = tmp_path / "evil"
    shop.git("clone", "--quiet", "--bare", str(shop.root), str(evil))
    shop.git("config", "filter.x.clean", str(program), at=evil)
    worktree = await worktrees.ensure("developer")
    shop.write(".gitattributes", "* filter=x\n", at=worktree.folder)
    (worktree.tree.git_dir / "commondir").write_text(f"{evil}\n")
    shop.write("new.py", "x\n", at=worktree.folder)
    shop.git("add", "--all", at=worktree.folder)
    assert bell.exists(), "git alone runs it"
    bell.unlink()
    (worktree.tree.git_dir / "index").unlink()
    shop.write("new.py", "y\n", at=worktree.folder)
    await worktrees.work.changes(worktree)
    await worktrees.work.diff(worktree, only_commits=False)
    await worktrees.work.stage(worktree)
    commit = await worktrees.work.commit(worktree, "new", "developer")
    assert not bell.exists()
    assert shop.git("rev-parse", "amiral/developer") == commit


async def test_a_repository_in_place_of_the_link_is_told(worktrees, shop):
    worktree = await worktrees.ensure("developer")
    (worktree.folder / ".git").unlink()
    shop.git("init", "--quiet", at=worktree.folder)
    with pytest.raises(Broken, match="a repository of its own") as caught:
        await worktrees.ensure("developer")
    assert caught.value.next_step == f"move {worktree.folder / '.git'} away"
    (worktree.folder / ".git").rename(worktree.folder.with_name("theirs"))
    await worktrees.ensure("developer")


async def test_locks_of_a_killed_git_are_removed(worktrees, shop):
    worktree = await worktrees.ensure("developer")
    shop.write("new.py", "x\n", at=worktree.folder)
    for lock in ("index.lock", "HEAD.lock"):
        (worktree.tree.git_dir / lock).touch()
    await worktrees.work.stage(worktree)
    assert await worktrees.work.commit(worktree, "new", "developer")
    (worktree.tree.git_dir / "index.lock").touch()
    await worktrees.ensure("developer")
    shop.git("add", "--all", at=worktree.folder)


async def test_a_head_that_is_none_is_put_back(worktrees, shop):
    """As after a power cut; git takes such a place for no repository at all."""
    worktree = await worktrees.ensure("developer")
    (worktree.tree.git_dir / "HEAD").write_text("")
    shop.write("new.py", "x\n", at=worktree.folder)
    await worktrees.ensure("developer")
    assert await worktrees.work.changes(worktree) == ["new.py"]


async def test_a_lock_that_cannot_be_removed_is_told(worktrees):
    worktree = await worktrees.ensure("developer")
    (worktree.tree.git_dir / "index.lock").mkdir()
    with pytest.raises(Broken, match=r"index\.lock cannot be removed") as caught:
        await worktrees.ensure("developer")
    assert caught.value.next_step == f"remove {worktree.tree.git_dir / 'index.lock'}"


# ------------------------------------------------------------------ removed


async def test_after_a_discard_the_checkout_is_as_before_and_nothing_is_lost(worktrees, shop):
    """The issue: files, modes, HEAD, index, the user's branches, refs, configuration."""
    before = shop.manifest()
    worktree = await worktrees.ensure("developer")
    first = shop.commit("work", at=worktree.folder, work_py="x\n")
    shop.write("loose.txt", "loose\n", at=worktree.folder)
    shop.write("cart.py", "total = 1\n", at=worktree.folder)
    (worktree.folder / "paid.py").unlink()
    kept = await worktrees.discard(worktree)
    assert shop.manifest() == before
    assert not worktree.folder.exists()
    assert await worktrees.find("developer") is None
    assert shop.git("cat-file", "-t", kept) == "commit"
    assert shop.git("rev-parse", f"{kept}^") == first
    assert shop.git("show", f"{kept}:loose.txt") == "loose"
    assert shop.git("show", f"{kept}:cart.py") == "total = 1"
    shop.git("show", f"{kept}:paid.py", code=128)
    shop.git("gc", "--quiet")
    assert shop.git("show", f"{kept}:work.py") == "x", "git's upkeep leaves it"


async def test_a_discard_of_nothing_names_nothing(worktrees, shop):
    before = shop.manifest()
    worktree = await worktrees.ensure("developer")
    shop.write("made.log", "ignored\n", at=worktree.folder)
    assert await worktrees.discard(worktree) == ""
    assert shop.manifest() == before


async def test_old_commits_are_kept_as_long_as_new_ones(worktrees, shop):
    """Git's upkeep removes what nothing names once it is two weeks old."""
    worktree = await worktrees.ensure("developer")
    old = shop.commit("work", at=worktree.folder, work_py="x\n")
    for path in (shop.root / ".git" / "objects").rglob("*"):
        os.utime(path, (1e9, 1e9))
    kept = await worktrees.discard(worktree)
    assert kept != old
    shop.git("gc", "--quiet")
    assert shop.git("show", f"{kept}:work.py") == "x"


async def test_a_repository_made_inside_keeps_a_discard_from_losing_it(worktrees, shop, checkout):
    worktree = await worktrees.ensure("developer")
    checkout(worktree.folder / "vendor").begin().commit(a="1")
    with pytest.raises(Broken, match="vendor/: a repository of its own") as caught:
        await worktrees.discard(worktree)
    assert str(worktree.folder / "vendor") in caught.value.next_step
    assert (worktree.folder / "vendor" / "a").exists()
    subprocess.run(["rm", "-r", worktree.folder / "vendor" / ".git"], check=True)
    kept = await worktrees.discard(worktree)
    assert shop.git("show", f"{kept}:vendor/a") == "1"


async def test_a_folder_whose_rights_a_program_took_away_is_removed(worktrees, shop):
    worktree = await worktrees.ensure("developer")
    locked = worktree.folder / "cache.log" / "deep"
    locked.mkdir(parents=True)
    (locked / "file").write_text("x")
    locked.chmod(0)
    locked.parent.chmod(0o500)
    outside = worktree.folder.with_name("outside")
    outside.mkdir(0o500)
    (worktree.folder / "link.log").symlink_to(outside)
    command = [sys.executable, SCRIPT, shop.root, worktree.folder.parent, "discard"]
    if os.getuid() == 0:
        command = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", *command]
    ran = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert not worktree.folder.exists()
    assert outside.stat().st_mode & 0o777 == 0o500


async def test_after_a_discard_one_begins_anew(worktrees, shop):
    worktree = await worktrees.ensure("developer")
    shop.commit("work", at=worktree.folder, work_py="x\n")
    await worktrees.discard(worktree)
    again = await worktrees.ensure("developer")
    assert (again.branch, again.folder) == (worktree.branch, worktree.folder)
    assert not (again.folder / "work.py").exists()


# ------------------------------------------------------------------ killed


POINTS = ["worktree.making", "worktree.added", "worktree.moved"]
LEAVING = ["worktree.kept", "worktree.leaving", "worktree.removed"]


def killed(shop, folder, what, env) -> bool:
    """Have a process of its own make or discard a worktree; tells whether it was killed."""
    ran = subprocess.run(
        (sys.executable, SCRIPT, shop.root, folder, what),
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode in (0, -9), (ran.stdout, ran.stderr)
    return ran.returncode == -9


def at(point):
    return {"AMIRAL_FAILPOINTS": "1", "AMIRAL_FAILPOINT": point}


async def whole(worktrees, shop):
    """A new process gives a worktree that is all there, and nothing else is left."""
    worktree = await worktrees.ensure("developer")
    assert shop.git("status", "--porcelain", at=worktree.folder) == ""
    assert (worktree.folder / "docs" / "guide.md").read_text() == "Buy.\n"
    left = sorted(path.name for path in worktree.folder.parent.iterdir())
    assert left == ["developer", "developer.state"]
    assert len(shop.git("worktree", "list").split("\n")) == 2
    assert shop.branches() == ["amiral/developer", "main"]
    return worktree


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("is_repaired", [True, False])
async def test_one_that_was_killed_while_made_is_whole_at_the_next_start(
    worktrees, shop, home, point, is_repaired
):
    before = shop.manifest()
    assert killed(shop, home, "ensure", at(point))
    if is_repaired:
        assert await worktrees.repair() == []
        assert shop.manifest() == before
        assert list(home.iterdir()) == []
    await whole(worktrees, shop)
    held(shop, before)


@pytest.mark.parametrize("point", POINTS)
async def test_one_that_was_killed_while_made_again_keeps_its_commits(worktrees, shop, home, point):
    worktree = await worktrees.ensure("developer")
    commit = shop.commit("work", at=worktree.folder, work_py="x\n")
    subprocess.run(["rm", "-r", worktree.folder], check=True)
    assert killed(shop, home, "ensure", at(point))
    assert await worktrees.repair() == []
    again = await worktrees.ensure("developer")
    assert await worktrees.work.tip(again) == commit


@pytest.mark.parametrize("point", LEAVING)
@pytest.mark.parametrize("then", ["repair", "ensure"])
async def test_one_that_was_killed_while_removed_is_gone_at_the_next_start(
    worktrees, shop, home, point, then
):
    before = shop.manifest()
    worktree = await worktrees.ensure("developer")
    shop.commit("work", at=worktree.folder, work_py="x\n")
    assert killed(shop, home, "discard", at(point))
    if then == "repair":
        assert await worktrees.repair() == []
    else:
        await worktrees.ensure("developer")
    if point == "worktree.kept":
        assert (worktree.folder / "work.py").exists(), "not decided yet: all is there"
    elif then == "ensure":
        await whole(worktrees, shop)
    else:
        assert list(home.iterdir()) == []
    if found := await worktrees.find("developer"):
        await worktrees.discard(found)
    assert shop.manifest() == before


GIT = """#!/bin/sh
echo >>{counter}
[ $(wc -l <{counter}) = {number} ] || exec {git} "$@"
kill -9 $PPID
"""


def fatal_git(tmp_path, number):
    """A git that kills its caller at the n-th call, before it does anything."""
    folder, counter = tmp_path / "bin", tmp_path / "calls"
    folder.mkdir(exist_ok=True)
    counter.write_text("")
    git = shutil.which("git")
    program = folder / "git"
    program.write_text(GIT.format(counter=counter, number=number, git=git))
    program.chmod(0o755)
    return {"PATH": f"{folder}:{os.environ['PATH']}"}


async def test_killed_at_any_call_of_git_it_is_whole_at_the_next_start(
    worktrees, shop, home, tmp_path
):
    before, kills = shop.manifest(), 0
    while killed(shop, home, "ensure", fatal_git(tmp_path, kills + 1)):
        kills += 1
        await worktrees.discard(await whole(worktrees, shop))
        assert shop.manifest() == before
    assert kills > 5


LEFT = {
    "a record git can make nothing of": ("locked",),
    "a record that makes git refuse everything": ("locked", "gitdir", "HEAD", "commondir"),
    "a lock on the branch": ("lock",),
    "half of the files": ("branch", "whole"),
}
"""What git was seen to leave when it was killed at one of its calls, as by a power cut."""


@pytest.mark.parametrize("left", LEFT)
async def test_what_a_killed_git_leaves_is_removed(worktrees, shop, home, left):
    before = shop.manifest()
    assert killed(shop, home, "ensure", at("worktree.making"))
    name = f"developer.new-{(home / 'developer.state').read_text().split()[-1]}"
    record = shop.root / ".git" / "worktrees" / name
    if "lock" in LEFT[left]:
        shop.write(".git/refs/heads/amiral/developer.lock", "")
    elif "whole" in LEFT[left]:
        shop.git("worktree", "add", "--quiet", "-b", "amiral/developer", str(home / name))
        (home / name / "cart.py").unlink()
        (record / "index.lock").touch()
        (record / "locked").write_text("initializing")
    else:
        (home / name).mkdir()
        for file in LEFT[left]:
            record.mkdir(parents=True, exist_ok=True)
            text = f"{home / name / '.git'}\n" if file == "gitdir" else ""
            (record / file).write_text(text)
    await worktrees.discard(await whole(worktrees, shop))
    assert shop.manifest() == before
    assert not (shop.root / ".git" / "worktrees").exists()
