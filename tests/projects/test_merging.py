"""Work taken into the user's checkout: all of it or nothing, and everything as before then."""

import pytest

from amiral.base.errors import Conflict


@pytest.fixture
async def worktree(worktrees, clean):
    made = await worktrees.ensure("developer")
    clean.write("new.py", "x\n", at=made.folder)
    await worktrees.work.stage(made)
    await worktrees.work.commit(made, "new", "developer")
    return made


@pytest.fixture
def merge(worktrees, worktree):
    async def merge(message="Merge it"):
        return await worktrees.work.merge(worktree, message)

    return merge


def same(before, after):
    """All but what git remembers of an attempt: the numbers of inodes in its index."""
    for told in (before, after):
        for name in [name for name in told if name.endswith("/.git/index")]:
            del told[name]
    assert after == before


async def test_a_merge_is_a_commit_of_the_person_on_their_branch(merge, worktree, clean, user):
    (user / ".gitconfig").write_text("[user]\n\tname = Ada\n\temail = ada@shop.invalid\n")
    before = clean.git("rev-parse", "HEAD")
    commit = await merge("# Add it\n\nFrom amiral/developer")
    assert clean.git("rev-parse", "main", "HEAD").split() == [commit, commit]
    assert clean.git("log", "-1", "--format=%P").split() == [
        *(before, clean.git("rev-parse", "amiral/developer")),
    ]
    told = clean.git("log", "-1", "--format=%an|%ae|%cn|%B")
    assert told == "Ada|ada@shop.invalid|Ada|# Add it\n\nFrom amiral/developer"
    assert (clean.root / "new.py").read_text() == "x\n"
    assert clean.git("status", "--porcelain") == ""


async def test_a_person_who_told_git_no_name_is_no_obstacle(merge, clean, user):
    (user / ".gitconfig").write_text("[user]\n\tuseConfigOnly = true\n")
    await merge()
    assert clean.git("log", "-1", "--format=%an") == "amiral"


async def test_what_is_merged_already_is_not_merged_again(merge, clean):
    """Killed right after the merge, or merged by hand: the same commit is told."""
    commit = await merge()
    clean.commit("later", later_py="x\n")
    assert await merge() == commit


async def test_a_merge_by_hand_counts(merge, clean):
    clean.git("merge", "--quiet", "--no-ff", "-m", "by hand", "amiral/developer")
    commit = clean.git("rev-parse", "HEAD")
    clean.commit("later", later_py="x\n")
    assert await merge() == commit


async def test_a_merge_by_hand_without_a_commit_of_its_own_counts(merge, clean):
    clean.git("merge", "--quiet", "--ff-only", "amiral/developer")
    assert await merge() == clean.git("rev-parse", "HEAD")


async def test_untracked_and_ignored_files_do_not_matter(merge, clean):
    clean.write("untracked.txt", "x\n")
    clean.write("more.log", "x\n")
    await merge()
    assert (clean.root / "untracked.txt").read_text() == "x\n"


@pytest.mark.parametrize("how", ["changed", "staged", "removed"])
async def test_a_dirty_checkout_is_refused(merge, clean, how):
    if how == "removed":
        (clean.root / "cart.py").unlink()
    else:
        clean.write("cart.py", "total = 9\n")
    if how == "staged":
        clean.git("add", "cart.py")
    before = clean.manifest()
    with pytest.raises(Conflict, match="not committed") as caught:
        await merge()
    assert caught.value.next_step == "commit or stash them"
    assert clean.manifest() == before


async def test_a_detached_checkout_is_refused(merge, clean):
    clean.git("checkout", "--quiet", "--detach")
    before = clean.manifest()
    with pytest.raises(Conflict, match="no branch is checked out") as caught:
        await merge()
    assert "git switch" in caught.value.next_step
    assert clean.manifest() == before


async def test_a_conflict_is_taken_back(merge, clean):
    clean.commit("theirs", new_py="y\n")
    clean.write("untracked.txt", "x\n")
    before = clean.manifest()
    with pytest.raises(Conflict, match=r"the merge does not fit: .*new\.py"):
        await merge()
    same(before, clean.manifest())
    assert not (clean.root / ".git" / "MERGE_HEAD").exists()


async def test_an_untracked_file_in_the_way_stays(merge, clean):
    clean.write("new.py", "mine\n")
    before = clean.manifest()
    with pytest.raises(Conflict, match=r"(?s)does not fit: .*new\.py"):
        await merge()
    same(before, clean.manifest())
    assert (clean.root / "new.py").read_text() == "mine\n"


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("merge", ("merge", "--no-ff", "--no-commit", "--strategy=ours")),
        ("cherry-pick", ("cherry-pick",)),
        ("revert", ("revert",)),
    ],
)
async def test_what_the_person_has_under_way_is_not_touched(merge, clean, what, words):
    """Even with nothing to be seen in git's status: what we abort would be theirs."""
    clean.git("checkout", "--quiet", "-b", "side")
    clean.commit("side", side_py="x\n")
    clean.git("checkout", "--quiet", "main")
    if what == "merge":
        clean.git(*words, "side")
    else:
        clean.commit("the same", side_py="x\n")
        clean.commit("and gone", side_py="z\n")
        clean.git(*words, "side" if what == "cherry-pick" else "HEAD~1", code=1)
        clean.git("checkout", "--ours", "side.py")
        clean.git("add", "side.py")
    assert clean.git("status", "--porcelain") == ""
    before = clean.manifest()
    with pytest.raises(Conflict, match=f"a {what} is under way"):
        await merge()
    assert clean.manifest() == before
    head = what.upper().replace("-", "_") + "_HEAD"
    assert (clean.root / ".git" / head).exists()


async def test_a_merge_of_a_bare_repository_is_refused(worktrees_of, shop, checkout, tmp_path):
    bare = checkout(tmp_path / "bare.git")
    shop.git("clone", "--quiet", "--bare", str(shop.root), str(bare.root))
    worktrees = worktrees_of(bare.root)
    made = await worktrees.ensure("developer")
    shop.commit("new", at=made.folder, new_py="x\n")
    with pytest.raises(Conflict, match="must be run in a work tree"):
        await worktrees.work.merge(made, "Merge it")


async def test_settings_of_the_persons_branch_do_not_make_a_merge_something_else(merge, clean):
    clean.git("config", "branch.main.mergeOptions", "--squash --no-commit")
    clean.git("config", "merge.ff", "only")
    commit = await merge()
    assert len(clean.git("log", "-1", "--format=%P", commit).split()) == 2


async def test_filters_of_the_person_run_as_if_they_had_merged(merge, clean, user, alarm):
    program, bell = alarm
    (user / ".gitconfig").write_text(f'[filter "x"]\n\tsmudge = {program}\n')
    clean.commit("filters", _gitattributes="*.py filter=x\n")
    await merge()
    assert bell.exists()
