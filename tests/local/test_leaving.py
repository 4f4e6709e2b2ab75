"""`amiral project remove`: asked three times, archived, then gone without a trace (S1.30)."""

import contextlib
import json
import os
import subprocess
import sys
import tarfile

import pytest

from amiral.testbench.rig import until

POINTS = (
    *("archive.written", "removal.archived", "removal.noted", "removal.unregistered"),
    *("removal.cleared", "removal.forgotten", "removal.deleted"),
)


def git(folder, *words):
    command = ["git", "-C", str(folder), *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def archives(yard):
    return sorted((yard.home / "archive").glob("*.tar.gz"))


def names(archive):
    with tarfile.open(archive) as opened:
        return set(opened.getnames())


def read(archive, name) -> bytes:
    with tarfile.open(archive) as opened:
        file = opened.extractfile(name)
        assert file is not None
        return file.read()


def left(yard):
    """Everything but archives and the brake, which no removal is about."""
    apart = ("home/archive", "home/brake")
    return {name: one for name, one in yard.everything().items() if not name.startswith(apart)}


def with_row(yard):
    """What stays of a project that is gone from the home: nothing of it, in no file."""
    return [name for name, text in left(yard).items() if "tea" in name + text]


@contextlib.contextmanager
def served(yard, name="tea"):
    """Have a process serve the project; whatever becomes of it, it is gone at the end."""
    argv = [sys.executable, "-m", "amiral", "child", name]
    with (yard.root / "up.log").open("ab") as log:
        process = subprocess.Popen(argv, env=yard.environ, cwd=yard.code, stdout=log, stderr=log)
    with process:
        try:
            until(lambda: yard.run("-p", "tea", "health", "--json").code == 0, "its answer")
            yield process
        finally:
            process.kill()
            yard.run("emergency-stop")


def test_a_project_whose_folder_we_made_leaves_nothing_but_its_archive(yard):
    before = left(yard.settled())
    yard.new()
    told = yard.remove("tea", "--with-folder").json()
    assert left(yard) == before
    assert [str(one) for one in archives(yard)] == [told["archive"]]
    kept = names(told["archive"])
    assert {"record.json", "state/setup.json", "project/AGENTS.md", "project/.git/HEAD"} <= kept
    record = json.loads(read(told["archive"], "record.json"))
    assert record["registry"]["name"] == "tea"
    assert "echo shipped" in record["settings"]
    assert record["trust"]["config/permissions.json"] == "trusted"


def test_a_folder_of_the_persons_stays_but_for_what_we_made_below_amiral(yard):
    yard.settled()
    yard.file("code/tea/notes.txt", "mine")
    yard.file("code/tea/.amiral/own.txt", "mine")
    yard.new()
    (yard.code / "tea/.amiral/config/permissions.json").write_text('{"version": 1}')
    told = yard.remove().json()
    files = sorted(str(p.relative_to(yard.code / "tea")) for p in (yard.code / "tea").rglob("*.*"))
    assert files == [
        *(".amiral", ".amiral/config/permissions.json", ".amiral/own.txt"),
        *("AGENTS.md", "CLAUDE.md", "MANIFEST.md", "notes.txt"),
    ]
    assert "project/.amiral/config/workers_registry.json" in names(told["archive"])
    assert "project/notes.txt" not in names(told["archive"])
    assert yard.remove().code == 4


def test_a_project_that_was_only_served_goes_as_well(yard):
    yard.settled()
    yard.file("code/tea/notes.txt", "mine")
    with served(yard, str(yard.code / "tea")) as process:
        assert yard.run("say", "/c hello", cwd=yard.code / "tea").code == 0
        assert yard.remove("tea", cwd=yard.code).code == 0
        assert process.wait(30) == 0, "it was told to end"
    assert sorted(path.name for path in (yard.code / "tea").iterdir()) == ["notes.txt"]
    (archive,) = archives(yard)
    kept = names(archive)
    assert "state/journal.db" in kept
    for part in ("state/sessions/", "project/.amiral/state/", "logs/"):
        assert any(name.startswith(part) for name in kept)
    assert [name for name in with_row(yard) if not name.startswith("code/")] == []


@pytest.mark.parametrize("with_folder", [True, False])
@pytest.mark.parametrize("point", POINTS)
def test_one_that_was_killed_is_done_by_the_next_and_nothing_is_lost(yard, point, with_folder):
    before = left(yard.settled())
    if not with_folder:
        yard.file("code/tea/notes.txt", "mine")
    yard.new()
    words = ["--with-folder"] if with_folder else []
    argv = ["project", "remove", "tea", "--yes-remove", "tea", *words]
    assert yard.killed(point, *argv)
    assert yard.remove("tea", *words).code == 0
    kept = set.union(*map(names, archives(yard)))
    assert set((yard.home / "archive").iterdir()) == set(archives(yard))
    assert {"state/setup.json", "project/.amiral/config/project_roles.json"} <= kept
    mine = {"code/tea", "code/tea/notes.txt"} if not with_folder else set()
    mine |= {f"code/tea/{name}.md" for name in ("AGENTS", "CLAUDE", "MANIFEST")} if mine else set()
    assert set(left(yard)) == set(before) | mine
    assert {name: left(yard)[name] for name in before} == before


@pytest.mark.parametrize("point", ["removal.noted", "removal.unregistered", "removal.cleared"])
def test_one_that_was_killed_is_given_up_when_the_project_was_used_since(yard, point):
    yard.settled()
    yard.file("code/tea/notes.txt", "mine")
    yard.new()
    assert yard.killed(point, "project", "remove", "tea", "--yes-remove", "tea")
    with served(yard, str(yard.code / "tea")):
        assert yard.run("say", "/c hello", cwd=yard.code / "tea").code == 0
        told = yard.new("cup").json()["notices"]
        assert "is given up: it is served" in told[0]
    assert (yard.state() / "journal.db").exists()
    assert yard.run("-p", "tea", "status").code == 3, "it is registered, and nobody serves it"


def test_one_that_was_killed_deletes_nothing_that_came_since(yard):
    yard.settled().new()
    assert yard.killed("removal.noted", "project", "remove", "tea", "--yes-remove", "tea")
    yard.file("code/tea/.amiral/state/later.txt", "mine")
    (told,) = yard.new("cup").json()["notices"]
    assert "is given up: it was used since" in told
    assert str(archives(yard)[0]) in told
    assert (yard.code / "tea/.amiral/state/later.txt").read_text() == "mine"
    assert not (yard.home / "config" / "removal.json").exists()


def test_a_person_answers_three_times(yard):
    yard.settled().new()
    for typed in ("te\n", "tea\ny\n", "tea\nyes\nremov\n", "tea\n\x04", "tea\n\x03"):
        code, shown = yard.at_terminal("project", "remove", "tea", typed=typed)
        assert code not in (0, 1), shown
        assert yard.state().exists()
    code, shown = yard.at_terminal("project", "remove", "tea", typed="tea\nyes\nremove\n")
    assert code == 0, shown
    assert "✓ tea is removed" in shown


def test_without_a_terminal_the_name_has_to_be_said_again(yard):
    yard.settled().new()
    assert yard.run("project", "remove", "tea").code == 2
    assert yard.run("project", "remove", "tea", "--yes-remove", "te").code == 2
    assert yard.state().exists()


def refused(yard, words, *more, **how):
    ran = yard.remove("tea", *more, **how)
    assert (ran.code, ran.json()["error"]["kind"]) == (6, "conflict")
    assert words in ran.json()["error"]["message"]
    assert yard.state().exists()
    assert archives(yard) == []


def test_what_must_not_go_is_refused_and_stays_whole(yard):
    yard.settled().new()
    text = (yard.home / "amiral.toml").read_text()
    yard.file("home/amiral.toml", text.replace("[projects.tea]", "[projects.tea]\nprotected=true"))
    refused(yard, "tea is protected")
    yard.file("home/amiral.toml", text)
    refused(yard, "you stand in", cwd=yard.code / "tea")
    stop_id = yard.run("emergency-stop", "--json").json()["stop_id"]
    refused(yard, f"stop {stop_id} is on")
    yard.run("release", stop_id)
    assert yard.new("inner", "tea/inner").code == 0
    refused(yard, "inner lies in it", "--with-folder")


def test_a_folder_that_was_there_before_is_not_taken(yard):
    (yard.settled().code / "tea").mkdir()
    yard.new()
    refused(yard, "was there before", "--with-folder")


def test_work_that_is_not_merged_is_not_thrown_away(yard):
    yard.settled().new()
    with served(yard) as process:
        yard.run("say", "/d hello", cwd=yard.code / "tea")
        (folder,) = (yard.state() / "worktrees").glob("developer")
        (folder / "work.py").write_text("x\n")
        refused(yard, "not merged: developer")
        assert process.poll() is None, "it goes on as if nothing had been asked"
        (folder / "work.py").unlink()
        assert yard.remove().code == 0
    assert git(yard.code / "tea", "branch", "--list", "amiral/*") == ""
    assert len(git(yard.code / "tea", "worktree", "list").split("\n")) == 2


def test_a_project_whose_folder_is_gone_can_still_be_removed(yard):
    yard.settled().new()
    subprocess.run(["rm", "-r", yard.code / "tea"], check=True)
    assert yard.remove().code == 0
    assert with_row(yard) == []


def test_what_runs_for_it_keeps_it(yard):
    from amiral.base.ids import digest  # noqa: PLC0415

    yard.settled().new()
    tag = f"{digest(str(yard.home))}:{yard.state().name}:s1"
    command = [sys.executable, "-c", "import time; print(flush=True); time.sleep(60)"]
    environ = {**os.environ, "AMIRAL_TAG": tag}
    with subprocess.Popen(command, env=environ, stdout=subprocess.PIPE) as agent:
        assert agent.stdout and agent.stdout.readline()
        refused(yard, f"process {agent.pid}")
        agent.kill()
    assert yard.remove().code == 0


def test_a_narrower_stop_of_a_worker_keeps_it_too(yard):
    yard.settled().new()
    with served(yard):
        stop_id = yard.run("emergency-stop", "tea/developer", "--json").json()["stop_id"]
        refused(yard, f"stop {stop_id} is on")


def test_one_that_is_refused_late_tells_that_its_process_was_ended(yard):
    yard.settled().new()
    (yard.home / "archive").write_text("in the way")
    with served(yard) as process:
        ran = yard.remove("tea")
        assert ran.json()["error"]["kind"] == "denied"
        assert "amiral up" in ran.json()["error"]["next"]
        assert process.wait(30) == 0
    assert yard.state().exists()


def test_a_second_name_a_link_and_a_locked_folder_are_archived_too(yard):
    yard.settled().new()
    inner = yard.state() / "sessions" / "s1"
    inner.mkdir(parents=True)
    (inner / "out").write_text("x" * 5000)
    os.link(inner / "out", inner / "again")
    (inner / "link").symlink_to("/etc/passwd")
    os.mkfifo(inner / "pipe")
    (inner / os.fsdecode(b"\xff")).write_text("odd")
    inner.chmod(0o500)
    assert yard.remove().code == 0
    (archive,) = archives(yard)
    folder = f"state/sessions/{inner.name}"
    assert read(archive, f"{folder}/out") == read(archive, f"{folder}/again") == b"x" * 5000
    assert f"{folder}/pipe" not in names(archive)
    with tarfile.open(archive) as opened:
        assert opened.getmember(f"{folder}/link").linkname == "/etc/passwd"


def test_settings_written_so_that_they_cannot_be_cut_are_told(yard):
    yard.settled().new()
    yard.file("home/amiral.toml", "projects = {tea = {test = 'x'}, b = {test = 'y'}}\n")
    assert "still speaks of tea" in yard.remove().json()["notices"][0]
    assert "tea" in (yard.home / "amiral.toml").read_text()
