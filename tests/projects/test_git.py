"""How git is asked: what it is given, what its answers become."""

import asyncio
import subprocess

import pytest

from amiral.base.errors import Broken, NotFound
from amiral.processes.spawn import Spawner
from amiral.projects.git import Git, identity, said
from amiral.projects.git_tree import GitTree
from amiral.store.brake import Brake


@pytest.fixture
def git(tmp_path):
    return Git(Spawner(Brake(tmp_path / "brake"), "h:p"))


async def test_an_answer_comes_without_its_last_line_end(git, shop):
    assert await git.ask(shop.root, "rev-parse", "--abbrev-ref", "HEAD") == "main"
    assert await git.tells(shop.root, "rev-parse", "--verify", "HEAD")
    assert not await git.tells(shop.root, "rev-parse", "--verify", "nothing")


async def test_what_git_refuses_is_told_with_its_words_and_where_to_look(git, shop):
    with pytest.raises(Broken, match=r"git rev-parse failed: fatal: Needed a single") as caught:
        await git.ask(shop.root, "rev-parse", "--verify", "nothing")
    assert caught.value.next_step == f"see `git -C {shop.root} status`"


async def test_a_folder_that_is_gone_is_not_taken_for_a_missing_git(git, tmp_path, monkeypatch):
    with pytest.raises(NotFound, match="gone"):
        await git.run(GitTree(tmp_path, tmp_path, tmp_path / "gone"), "status")
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(NotFound, match="git is not installed") as caught:
        await git.run(tmp_path, "status")
    assert caught.value.next_step == "install git"


async def test_half_an_answer_is_no_answer(tmp_path, shop):
    small = Git(Spawner(Brake(tmp_path / "brake"), "h:p", output_limit=10))
    with pytest.raises(Broken, match="more than can be taken in"):
        await small.ask(shop.root, "rev-parse", "HEAD")


async def test_stdin_and_variables_are_handed_on(git, shop):
    assert await git.ask(shop.root, "hash-object", "--stdin", stdin=b"x\n") == (
        "587be6b4c3f93f93c489c0111bba5596147a26cb"
    )
    told = await git.ask(shop.root, "var", "GIT_AUTHOR_IDENT", env=identity("developer"))
    assert told.startswith("developer <developer@amiral.invalid> ")


async def test_settings_of_the_person_count_where_the_person_gave_the_order(git, shop, user):
    """And only there: on an agent's tree a filter of theirs might run the agent's own files."""
    (user / ".gitconfig").write_text('[user]\n\tname = Ada\n[filter "x"]\n\tclean = false\n')
    words = ("config", "user.name")
    assert (await git.run(shop.root, *words, as_person=True)).out == b"Ada\n"
    assert (await git.run(shop.root, *words)).code == 1
    assert (await git.run(shop.root, "config", "filter.x.clean")).code == 1
    assert (
        await git.run(shop.root, "config", "core.hooksPath", as_person=True)
    ).out == b"/dev/null\n"


async def test_nobody_is_ever_asked_for_a_password(git, shop):
    told = await git.run(shop.root, "ls-remote", "https://localhost:1/shop.git")
    assert told.code != 0
    assert not told.timed_out


async def test_nothing_of_ours_reaches_git_from_outside(git, shop, monkeypatch):
    """Variables of the process that started amiral, say a hook of git's, lead nowhere."""
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR"):
        monkeypatch.setenv(name, "/nowhere")
    assert await git.ask(shop.root, "rev-parse", "--abbrev-ref", "HEAD") == "main"


async def test_a_git_that_hangs_is_told(tmp_path, monkeypatch):
    program = tmp_path / "bin" / "git"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\nexec sleep 60\n")
    program.chmod(0o755)
    spawner = Spawner(Brake(tmp_path / "brake"), "h:p")
    ran = await spawner.run(
        [str(program)], kind="own", env={"PATH": "/usr/bin:/bin"}, cwd="/", timeout_s=0.05
    )
    assert said(ran) == "it took longer than 300 s"


async def test_many_may_ask_at_once(git, shop):
    asked = (git.ask(shop.root, "rev-parse", "HEAD") for _ in range(8))
    assert set(await asyncio.gather(*asked)) == {shop.git("rev-parse", "HEAD")}


def test_the_tests_see_no_settings_of_this_machine(user):
    told = subprocess.run(["git", "config", "--global", "--list"], capture_output=True, check=False)
    assert told.stdout == b""


async def test_g3_an_address_that_is_a_program_is_run_by_no_git_of_amirals(git, shop, tmp_path):
    """Not even where the repository itself allows it."""
    ran = tmp_path / "ran"
    address = f"ext::touch {ran}"
    shop.git("config", "protocol.ext.allow", "always")
    for words in (("ls-remote", address), ("clone", address, str(tmp_path / "clone"))):
        assert not await git.tells(shop.root, *words)
        assert not ran.exists()
    person = await git.run(shop.root, "ls-remote", address, as_person=True)
    assert person.code != 0
    assert not ran.exists()
    shop.git("ls-remote", address, code=128)
    assert ran.exists(), "git alone runs it"
