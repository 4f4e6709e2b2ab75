"""What is in a worktree: noted once, committed, shown, and what of it is never taken."""

import os
import subprocess

import pytest

from amiral.base.errors import Broken


@pytest.fixture
async def worktree(worktrees):
    return await worktrees.ensure("developer")


@pytest.fixture
def work(worktrees):
    return worktrees.work


async def committed(work, worktree, message="new"):
    await work.stage(worktree)
    return await work.commit(worktree, message, "developer")


def names(shop, commit):
    return shop.git("show", "--name-only", "--format=", commit).split("\n")


# ------------------------------------------------------------------ committed


async def test_a_commit_holds_all_that_changed_in_the_name_of_the_worker(work, worktree, shop):
    shop.write("new/a b.py", "x\n", at=worktree.folder)
    shop.write("new/é.py", "x\n", at=worktree.folder)
    shop.write("cart.py", "total = 1\n", at=worktree.folder)
    shop.write("made.log", "ignored\n", at=worktree.folder)
    (worktree.folder / "paid.py").unlink()
    assert sorted(await work.changes(worktree)) == ["cart.py", "new/a b.py", "new/é.py", "paid.py"]
    assert await work.is_touched(worktree)
    base = await work.base(worktree)
    commit = await committed(work, worktree, "Add a title\n\n# not a comment\x00\x1b[31m")
    assert await work.changes(worktree) == []
    assert await work.is_touched(worktree)
    assert shop.git("rev-parse", "amiral/developer") == commit == await work.tip(worktree)
    assert shop.git("rev-parse", f"{commit}^") == base == await work.base(worktree)
    assert await work.files(worktree, base) == ("cart.py", "new/a b.py", "new/é.py", "paid.py")
    told = shop.git("log", "-1", "--format=%an <%ae>|%cn|%B", commit)
    assert told == (
        "developer <developer@amiral.invalid>|developer|Add a title\n\n# not a comment\n"
    ).rstrip("\n")


async def test_without_a_change_there_is_no_commit(work, worktree):
    tip = await work.tip(worktree)
    assert await committed(work, worktree) == tip
    assert not await work.is_touched(worktree)


async def test_all_files_may_be_removed(work, worktree, shop):
    for path in worktree.folder.iterdir():
        subprocess.run(["rm", "-r", path], check=True)
    commit = await committed(work, worktree)
    assert shop.git("ls-tree", "-r", commit) == ""


async def test_what_comes_after_staging_is_no_part_of_it_whatever_was_killed(
    work, worktree, worktrees_of, shop
):
    """Tests run between the two; what they leave is no work."""
    shop.write("new.py", "x\n", at=worktree.folder)
    await work.stage(worktree, "attempt-1")
    shop.write("report.xml", "<tests/>\n", at=worktree.folder)
    shop.write("new.py", "changed by a test\n", at=worktree.folder)
    shop.git("add", "--all", at=worktree.folder)
    again = worktrees_of(shop.root).work
    await again.stage(worktree, "attempt-1")
    commit = await again.commit(worktree, "new", "developer")
    assert names(shop, commit) == ["new.py"]
    assert shop.git("show", f"{commit}:new.py") == "x"
    await again.stage(worktree, "attempt-2")
    assert "report.xml" in names(shop, await again.commit(worktree, "more", "developer"))


async def test_the_projects_configuration_is_never_committed(worktrees, shop):
    """Not even where it is tracked, deep in the repository, or was staged by the agent."""
    shop.write("part/.amiral/config/roles.json", "{}\n")
    shop.commit("tracked")
    worktree = await worktrees.ensure("developer")
    shop.write("part/.amiral/config/roles.json", '{"evil": 1}\n', at=worktree.folder)
    shop.write(".amiral/state/x.json", "[]\n", at=worktree.folder)
    shop.git("add", "--all", "--force", at=worktree.folder)
    shop.write("new.py", "x\n", at=worktree.folder)
    commit = await committed(worktrees.work, worktree)
    assert names(shop, commit) == ["new.py"]
    assert await worktrees.work.changes(worktree) == []
    assert ".amiral" not in await worktrees.work.diff(worktree, only_commits=False)


async def test_a_half_done_merge_is_told_by_its_files(work, worktree, shop):
    shop.commit("one", at=worktree.folder, cart_py="total = 1\n")
    shop.commit("two", cart_py="total = 2\n")
    shop.git("merge", "main", at=worktree.folder, code=1)
    with pytest.raises(Broken, match=r"half done: cart\.py"):
        await work.check_whole(worktree)
    shop.git("checkout", "--theirs", "cart.py", at=worktree.folder)
    shop.git("add", "cart.py", at=worktree.folder)
    await work.check_whole(worktree)
    commit = await committed(work, worktree)
    assert len(shop.git("log", "-1", "--format=%P", commit).split()) == 2
    assert shop.git("rev-parse", "amiral/developer") == commit


async def test_a_repository_of_its_own_is_told_since_a_commit_would_not_hold_it(
    work, worktree, shop, checkout
):
    checkout(worktree.folder / "made").begin()
    cloned = checkout(worktree.folder / "vendor" / "lib").begin()
    cloned.commit(a="1")
    shop.git("add", "vendor/lib", at=worktree.folder)
    shop.write("new.py", "x\n", at=worktree.folder)
    with pytest.raises(Broken, match=r"made/, vendor/lib: a repository of its own") as caught:
        await work.stage(worktree)
    assert str(worktree.folder / "made" / ".git") in caught.value.next_step
    told = await work.diff(worktree, only_commits=False)
    assert "+x" in told
    assert told.endswith("its own: made/\nleft out, a repository of its own: vendor/lib")
    shop.git("commit", "--quiet", "-m", "the agent's", at=worktree.folder)
    with pytest.raises(Broken, match="vendor/lib"):
        await work.stage(worktree)


async def test_g3_a_submodule_is_left_alone_and_nothing_configured_in_it_runs(
    worktrees, shop, checkout, tmp_path, alarm
):
    """G1: git looks into a submodule by running git there, with what is configured there."""
    program, bell = alarm
    lib = checkout(tmp_path / "lib").begin()
    lib.commit(a_txt="1\n")
    allow = ("-c", "protocol.file.allow=always")
    shop.git(*allow, "submodule", "--quiet", "add", str(lib.root), "lib")
    shop.commit("a library")
    before = shop.manifest()
    worktree = await worktrees.ensure("developer")
    inner = worktree.folder / "lib"
    assert list(inner.iterdir()) == []
    shop.git(*allow, "submodule", "--quiet", "update", "--init", at=worktree.folder)
    shop.git("config", "filter.x.clean", str(program), at=inner)
    shop.write(".gitattributes", "* filter=x\n", at=inner)

    async def look():
        work = worktrees.work
        for act in (work.changes, work.stage, work.is_touched, work.check_whole, work.freshen):
            (inner / "a.txt").write_text("1\n")
            subprocess.run(["touch", "-d", "yesterday", inner / "a.txt"], check=True)
            await act(worktree)
        await worktrees.work.diff(worktree, only_commits=False)

    await look()
    assert not bell.exists()
    shop.git("add", "--all", at=worktree.folder)
    assert bell.exists(), "git alone runs it"
    bell.unlink()
    shop.write("new.py", "x\n", at=worktree.folder)
    lib.commit("inside", at=inner, b_txt="2\n")
    bell.unlink(missing_ok=True)
    assert names(shop, await committed(worktrees.work, worktree)) == ["new.py"]
    await worktrees.discard(worktree)
    assert not bell.exists()
    assert shop.manifest() == before


async def test_filters_of_the_persons_own_settings_do_not_run_on_an_agents_tree(
    work, worktree, shop, user, alarm
):
    program, bell = alarm
    (user / ".gitconfig").write_text(f'[filter "x"]\n\tclean = {program}\n\tsmudge = {program}\n')
    shop.write(".gitattributes", "* filter=x\n", at=worktree.folder)
    shop.write("new.py", "x\n", at=worktree.folder)
    await committed(work, worktree)
    assert not bell.exists()


async def test_g1_filters_of_the_repositorys_own_settings_run_behind_a_fence(
    work, worktree, shop, tmp_path
):
    outside, config = tmp_path / "outside", shop.root / ".git" / "config"
    script = f"echo x >{outside}; echo x >>{config}; echo x >>{shop.root}/cart.py; tr a-z A-Z"
    shop.git("config", "filter.x.clean", f"sh -c '{script}' 2>/dev/null")
    cart, settings = (shop.root / "cart.py").read_bytes(), config.read_bytes()
    shop.write(".gitattributes", "*.py filter=x\n", at=worktree.folder)
    shop.write("new.py", "y\n", at=worktree.folder)
    commit = await committed(work, worktree)
    assert shop.git("show", f"{commit}:new.py", at=worktree.folder) == "Y"
    assert not outside.exists()
    assert config.read_bytes() == settings
    assert (shop.root / "cart.py").read_bytes() == cart


# ------------------------------------------------------------------ on whatever branch


@pytest.mark.parametrize("how", [["-b", "mine"], ["--detach"], ["--orphan", "fresh"]])
async def test_work_done_on_another_branch_counts(work, worktree, shop, how):
    shop.git("checkout", "--quiet", *how, at=worktree.folder)
    if how[0] != "--orphan":
        shop.commit("theirs", at=worktree.folder, work_py="x\n")
    shop.write("new.py", "x\n", at=worktree.folder)
    if how[0] == "--orphan":
        with pytest.raises(Broken, match="developer has no commit any more"):
            await work.stage(worktree)
        return
    commit = await committed(work, worktree)
    assert shop.git("rev-parse", "amiral/developer") == commit
    assert shop.git("branch", "--show-current", at=worktree.folder) == "amiral/developer"
    assert shop.git("show", f"{commit}:work.py") == "x"


async def test_a_branch_that_holds_other_commits_is_never_moved_off_them(work, worktree, shop):
    commit = shop.commit("work", at=worktree.folder, work_py="x\n")
    shop.git("checkout", "--quiet", "--detach", "HEAD^", at=worktree.folder)
    assert await work.is_touched(worktree)
    await work.freshen(worktree)
    with pytest.raises(Broken, match="has left its branch amiral/developer") as caught:
        await work.stage(worktree)
    assert shop.git("rev-parse", "amiral/developer") == commit
    subprocess.run(caught.value.next_step.split(), check=True, capture_output=True)
    await work.stage(worktree)


async def test_a_branch_that_was_removed_ends_in_a_reason(work, worktree, shop):
    shop.git("update-ref", "-d", "refs/heads/amiral/developer")
    shop.write("new.py", "x\n", at=worktree.folder)
    with pytest.raises(Broken, match="developer has no commit any more") as caught:
        await committed(work, worktree)
    assert "reflog" in caught.value.next_step


# ------------------------------------------------------------------ kept fresh


async def test_an_untouched_worktree_follows_the_checkout(work, worktree, shop):
    newer = shop.commit("newer", cart_py="total = 5\n")
    await work.freshen(worktree)
    assert await work.tip(worktree) == newer
    assert (worktree.folder / "cart.py").read_text() == "total = 5\n"
    shop.git("checkout", "--quiet", "-b", "old", "HEAD~1")
    other = shop.commit("on another line", other_py="x\n")
    await work.freshen(worktree)
    assert await work.tip(worktree) == other
    assert shop.git("branch", "--show-current", at=worktree.folder) == "amiral/developer"
    assert not await work.is_touched(worktree)


@pytest.mark.parametrize("what", ["a change", "a new file", "a commit"])
async def test_a_worktree_with_work_in_it_stays_as_it_is(work, worktree, shop, what):
    tip = await work.tip(worktree)
    shop.write("new.py" if what == "a new file" else "cart.py", "x\n", at=worktree.folder)
    if what == "a commit":
        tip = await committed(work, worktree)
    shop.commit("newer", cart_py="total = 5\n")
    await work.freshen(worktree)
    assert await work.tip(worktree) == tip
    assert bool(await work.changes(worktree)) == (what != "a commit")


async def test_a_worktree_whose_work_was_merged_follows_again(work, worktree, clean):
    clean.write("new.py", "x\n", at=worktree.folder)
    await committed(work, worktree)
    merged = await work.merge(worktree, "Merge it")
    assert not await work.is_touched(worktree)
    await work.freshen(worktree)
    assert await work.tip(worktree) == merged


async def test_a_worktree_that_cannot_follow_is_worked_in_as_it_is(worktrees, work, worktree, shop):
    """A changed file of the project's configuration is no work, and no way to move over it."""
    shop.write("part/.amiral/roles.json", "{}\n")
    shop.git("add", "--force", "part")
    shop.commit("tracked")
    await work.freshen(worktree)
    tip = await work.tip(worktree)
    shop.write("part/.amiral/roles.json", '{"evil": 1}\n', at=worktree.folder)
    shop.write("part/.amiral/roles.json", '{"new": 1}\n')
    shop.commit("newer")
    await work.freshen(worktree)
    assert await work.tip(worktree) == tip


# ------------------------------------------------------------------ shown


async def test_a_diff_shows_changes_new_files_and_commits(work, worktree, shop):
    shop.commit("work", at=worktree.folder, work_py="committed\n")
    shop.write("cart.py", "total = 1\n", at=worktree.folder)
    shop.write("new/é.py", "fresh\n", at=worktree.folder)
    shop.write("made.log", "ignored\n", at=worktree.folder)
    (worktree.folder / "image").write_bytes(b"\0\xff" * 10)
    (worktree.folder / "latin").write_bytes(b"caf\xe9\n")
    (worktree.folder / "paid.py").unlink()
    index = (worktree.tree.git_dir / "index").read_bytes()
    told = await work.diff(worktree, only_commits=False)
    for part in ("+committed", "-total = 0", "+total = 1", "b/new/é.py", "+fresh", "-x = 1"):
        assert part in told
    assert "Binary files /dev/null and b/image differ" in told
    assert "+caf\ufffd" in told
    assert "made.log" not in told
    assert (worktree.tree.git_dir / "index").read_bytes() == index, "nobody's work is touched"
    assert not list(worktree.folder.parent.glob("*.index-*"))
    only = await work.diff(worktree, only_commits=True)
    assert "+committed" in only
    assert "fresh" not in only


async def test_a_diff_is_what_merging_would_bring(work, worktree, shop):
    """Not what the user did meanwhile."""
    shop.commit("work", at=worktree.folder, work_py="ours\n")
    shop.commit("theirs", theirs_py="theirs\n")
    told = await work.diff(worktree, only_commits=False)
    assert "+ours" in told
    assert "theirs" not in told


async def test_a_diff_sees_a_change_of_the_same_size_in_the_same_second(work, worktree, shop):
    """Git looks into a file that is as old as its index: a copy of it must not look newer."""
    shop.git("config", "core.checkStat", "minimal")
    path, then = worktree.folder / "cart.py", (1e9, 1e9)
    os.utime(path, then)
    shop.git("update-index", "--really-refresh", at=worktree.folder)
    path.write_text("total = 1\n")
    for file in (path, worktree.tree.git_dir / "index"):
        os.utime(file, then)
    assert "+total = 1" in await work.diff(worktree, only_commits=False)


async def test_a_diff_of_nothing_is_empty(work, worktree):
    assert await work.diff(worktree, only_commits=False) == ""


async def test_a_diff_against_a_branch_without_a_common_past_is_one_too(work, worktree, shop):
    shop.git("stash", "--include-untracked")
    shop.git("checkout", "--quiet", "--orphan", "pages")
    shop.commit("Pages", index_html="<p>\n")
    told = await work.diff(worktree, only_commits=False)
    assert "-<p>" in told
    assert not await work.is_touched(worktree)


async def test_a_diff_that_is_too_long_says_so(work, worktree, shop):
    shop.write("big.txt", "x" * 79 + "\n", at=worktree.folder)
    (worktree.folder / "big.txt").write_text(("x" * 79 + "\n") * 60_000)
    told = await work.diff(worktree, only_commits=False)
    assert told.startswith("… its beginning is left out, it is too long\n")
    assert len(told) < 5 << 20


async def test_a_diff_that_cannot_be_made_is_told(work, worktree):
    (worktree.tree.git_dir / "index").write_bytes(b"nonsense" * 10)
    with pytest.raises(Broken, match="git"):
        await work.diff(worktree, only_commits=False)


async def test_a_diff_goes_without_an_index_that_cannot_be_read(work, worktree, shop):
    (worktree.tree.git_dir / "index").unlink()
    (worktree.tree.git_dir / "index").mkdir()
    shop.write("new.py", "x\n", at=worktree.folder)
    (worktree.tree.git_dir / "index").rmdir()
    assert "+x" in await work.diff(worktree, only_commits=False)


async def test_a_diff_runs_nothing(work, worktree, shop, alarm):
    program, bell = alarm
    shop.git("config", "diff.external", str(program))
    shop.git("config", "diff.x.textconv", str(program))
    shop.git("config", "core.pager", str(program))
    shop.write(".gitattributes", "* diff=x\n", at=worktree.folder)
    shop.write("cart.py", "total = 1\n", at=worktree.folder)
    assert "+total = 1" in await work.diff(worktree, only_commits=False)
    await committed(work, worktree)
    assert "+total = 1" in await work.diff(worktree, only_commits=True)
    assert not bell.exists()


# ------------------------------------------------------------------ from where on


async def test_the_base_is_the_newest_commit_that_both_have(work, worktree, shop):
    begun = await work.base(worktree)
    shop.write("new.py", "x\n", at=worktree.folder)
    await committed(work, worktree)
    newer = shop.commit("newer", cart_py="total = 5\n")
    assert await work.base(worktree) == await work.base(worktree, begun) == begun
    shop.git("merge", "--quiet", "--no-edit", "main", at=worktree.folder)
    assert await work.base(worktree) == await work.base(worktree, begun) == newer
    assert await work.files(worktree, newer) == ("new.py",)
    shop.git("stash", "--include-untracked")
    shop.git("checkout", "--quiet", "-b", "older", begun)
    assert await work.base(worktree) == begun
    assert await work.base(worktree, newer) == newer, "an older checkout is no reason"
