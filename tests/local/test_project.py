"""`amiral project new`: made whole or not at all, and nothing that was there is touched (S1.27)."""

import json
import os
import subprocess
import sys

import pytest

from amiral.projects.project import project_at
from amiral.projects.trust import State, Trust
from amiral.testbench.rig import until

POINTS = (
    *("setup.noted", "setup.folders", "setup.file:1", "setup.file:5", "setup.committed"),
    *("setup.repository", "setup.settings", "setup.trusted", "setup.kept", "setup.registered"),
)
OURS = (
    *("AGENTS.md", "CLAUDE.md", "MANIFEST.md", ".amiral/.gitignore"),
    *(f".amiral/config/{name}.json" for name in ("workers_registry", "project_roles")),
    ".amiral/config/permissions.json",
)


def git(folder, *words):
    command = ["git", "-C", str(folder), *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_a_folder_that_was_not_there_becomes_a_whole_project(yard):
    yard.settled()
    told = yard.new("tea", "deep/tea").json()
    root = yard.code / "deep" / "tea"
    assert told["changed"] and not told["kept"]
    assert set(OURS) <= set(told["made"])
    assert git(root, "status", "--porcelain") == ""
    assert git(root, "log", "--format=%s") == "Set up by amiral\n"
    trust, project = Trust(yard.home), project_at(str(root), "tea")
    assert trust.waiting(project) == ()
    in_force = [trust.in_force(project, file).state for file in trust.files(project)]
    assert in_force == [State.TRUSTED] * 3
    settings = yard.run("config", "--json").json()["settings"]
    assert settings["projects.tea.deploy"]["value"] == "echo shipped"
    assert settings["projects.tea.path"]["value"] == str(root)
    text = (yard.home / "amiral.toml").read_bytes()
    assert text.startswith(b"# mine\r\n")


def test_the_same_answers_again_change_nothing_and_say_so(yard):
    yard.settled().new()
    before = yard.everything()
    again = yard.new().json()
    assert (again["changed"], again["made"], again["kept"]) == (False, [], [])
    assert yard.everything() == before


def test_what_is_there_stays_as_it_is_and_is_told(yard):
    yard.settled()
    yard.file("code/tea/CLAUDE.md", "mine")
    yard.file("code/tea/.amiral/config/permissions.json", '{"version": 1, "default": "allow"}')
    yard.file("code/tea/package.json", '{"scripts": {"test": "x"}}')
    told = yard.new().json()
    assert told["kept"] == ["CLAUDE.md", ".amiral/config/permissions.json"]
    assert (yard.code / "tea" / "CLAUDE.md").read_text() == "mine"
    project = project_at(str(yard.code / "tea"), "tea")
    waiting = Trust(yard.home).waiting(project)
    assert [one.file for one in waiting] == ["config/permissions.json"], "nobody answered for it"
    assert not (yard.code / "tea" / ".git").exists(), "files of others are not put under git"


def test_files_that_were_there_are_in_no_commit_and_that_is_told(yard):
    yard.file("code/tea/notes.txt", "mine")
    yard.file("answers.toml", "[stack]\ngit = true\n")
    told = yard.new().json()
    assert any("not committed: notes.txt" in notice for notice in told["notices"])
    assert git(yard.code / "tea", "status", "--porcelain") == "?? notes.txt\n"


def test_settings_the_owner_wrote_before_are_kept(yard):
    yard.settled()
    with (yard.home / "amiral.toml").open("a") as file:
        file.write("\n[projects.tea]\ntest = 'mine'\n")
    before = (yard.home / "amiral.toml").read_bytes()
    assert yard.new().json()["kept"] == ["[projects.tea] of amiral.toml"]
    assert (yard.home / "amiral.toml").read_bytes() == before


def test_a_link_in_the_way_is_not_followed(yard):
    outside = yard.root / "outside"
    outside.mkdir()
    (yard.code / "tea").mkdir()
    (yard.code / "tea" / ".amiral").symlink_to(outside)
    told = yard.new().json()
    assert all(name in told["kept"] for name in OURS if name.startswith(".amiral"))
    assert list(outside.iterdir()) == []


def test_settings_kept_elsewhere_stay_a_link(yard):
    yard.settled()
    dots = yard.root / "dots.toml"
    (yard.home / "amiral.toml").rename(dots)
    (yard.home / "amiral.toml").symlink_to(dots)
    dots.chmod(0o640)
    assert yard.new().code == 0
    assert (yard.home / "amiral.toml").is_symlink()
    assert "[projects.tea]" in dots.read_text()
    assert dots.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("point", POINTS)
def test_one_that_was_killed_is_whole_after_the_next_try(yard, point):
    yard.settled()
    assert yard.killed(point, "project", "new", "tea", "--answers", yard.answers)
    told = yard.new().json()
    assert told["notices"], "that an earlier one was killed is told"
    assert yard.new().json()["changed"] is False
    assert not (yard.home / "config" / "setup.json").exists()
    assert [path.name for path in (yard.code / "tea").glob(".amiral-*")] == []
    assert git(yard.code / "tea", "status", "--porcelain") == ""
    assert (yard.home / "amiral.toml").read_text().count("[projects.tea]") == 1


@pytest.mark.parametrize("point", POINTS)
def test_one_that_was_killed_is_taken_back_by_any_other(yard, point):
    yard.settled().new("more")
    before = yard.everything()
    yard.file("code/tea/notes.txt", "mine")
    yard.file("answers.toml", "[stack]\ngit = true\ntest = 'true'\n")
    assert yard.killed(point, "project", "new", "tea", "--answers", yard.answers)
    assert yard.run("project", "remove", "nobody", "--yes-remove", "nobody").code in (0, 4)
    if point == "setup.registered":
        assert yard.new("tea").json()["changed"] is False
        return
    assert yard.everything() == {**before, "code/tea": "folder", "code/tea/notes.txt": "mine"}
    assert not (yard.code / "tea" / ".git").exists()


def test_what_was_changed_since_the_kill_stays(yard):
    assert yard.killed("setup.kept", "project", "new", "tea", "--answers", yard.answers)
    (yard.code / "tea" / "AGENTS.md").write_text("mine by now")
    git(yard.code / "tea", "-c", "user.name=A", "-c", "user.email=a@b", "commit", "-qam", "x")
    yard.run("project", "remove", "nobody")
    left = sorted(path.name for path in (yard.code / "tea").iterdir())
    assert left == [".git", "AGENTS.md"]


def test_two_at_once_make_one_project(yard):
    yard.settled()
    for round_ in range(3):
        name = f"tea{round_}"
        argv = [sys.executable, "-m", "amiral", "project", "new", name, "--json"]
        argv += ["--answers", str(yard.answers)]
        racing = [
            subprocess.Popen(argv, env=yard.environ, cwd=yard.code, stdout=subprocess.PIPE)
            for _ in range(2)
        ]
        told = [json.loads(one.communicate(timeout=60)[0]) for one in racing]
        assert sorted(one["changed"] for one in told) == [False, True]
    assert len(yard.run("project", "new", "tea0", yard.code / "elsewhere").err) > 0


def test_a_name_or_a_folder_that_is_taken_is_refused(yard):
    yard.settled().new()
    assert yard.new("tea", "elsewhere").code == 6
    assert yard.new("TEA", "elsewhere").code == 6
    assert yard.new("coffee", "tea").code == 6
    assert not (yard.code / "elsewhere").exists()


@pytest.mark.parametrize(
    "name", ["", "-rf", "../up", "a/b", ".hidden", "~", "a\nb", "all", "ALL", "x" * 61, "\u202ea"]
)
def test_names_that_cannot_be_are_refused_and_leave_nothing(yard, name):
    ran = yard.run("project", "new", "--answers", yard.answers, "--json", "--", name)
    assert (ran.code, ran.json()["error"]["kind"]) == (2, "usage")
    assert not yard.home.exists()
    assert list(yard.code.iterdir()) == []


@pytest.mark.parametrize("name", ["my 'shop'", 'q"u', "$(touch P)", "été", "a]b", "x.y", "# 1"])
def test_names_that_are_only_odd_come_and_go(yard, name):
    yard.settled()
    before = yard.everything()
    assert yard.new(name).code == 0
    assert yard.run("config", "--json").json()["settings"][f"projects.{name}.test"]
    assert yard.remove(name, "--with-folder").code == 0
    archive = {one for one in yard.everything() if one.startswith("home/archive")}
    left = {one: text for one, text in yard.everything().items() if one not in archive}
    left = {one: text for one, text in left.items() if not one.startswith("home/brake")}
    assert left == before


@pytest.mark.parametrize("place", ["home", "user", ".", "file", "file/in", "a\x1bb"])
def test_places_that_cannot_be_are_refused(yard, place):
    yard.settled()
    yard.file("file", "")
    assert yard.new("tea", yard.root / place).code == 2


def test_mistakes_of_the_answers_are_told_by_line_and_nothing_is_made(yard):
    yard.file("answers.toml", "[stack]\nlangage = 'x'\n[chat]\nrights = 'root'\n")
    ran = yard.new()
    assert (ran.code, ran.json()["error"]["message"].count("answers.toml:")) == (2, 2)
    assert not (yard.code / "tea").exists()
    assert yard.run("project", "new", "tea", "--answers", "none.toml").code == 4
    yard.file("answers.toml", "#" * (300 << 10))
    assert yard.new().code == 2
    yard.answers = yard.code
    assert yard.new().code == 1


def test_settings_that_cannot_be_read_stop_it_before_anything(yard):
    yard.settled()
    yard.file("home/amiral.toml", "[hub\n")
    before = yard.everything()
    assert yard.new().code == 2
    assert yard.everything() == before


def test_a_skill_of_the_library_is_proposed_copied_and_trusted(yard):
    yard.settled()
    skill = "---\nname: tea\ndescription: of tea\nkeywords: [tea]\n---\nHot.\n"
    yard.file("home/library/skills/tea.md", skill)
    yard.file("home/library/skills/bad.md", "no")
    told = yard.new().json()
    assert (yard.code / "tea" / ".amiral" / "skills" / "tea.md").read_text() == skill
    assert any("bad.md:1" in notice for notice in told["notices"])
    project = project_at(str(yard.code / "tea"), "tea")
    assert Trust(yard.home).in_force(project, "skills/tea.md").state is State.TRUSTED


def test_no_secret_is_asked_for_or_written(yard):
    assert yard.new().code == 0
    assert not list(yard.code.rglob(".env*"))
    assert not (yard.home / "vault").exists()


def test_an_agent_can_neither_set_up_nor_remove_nor_deploy(yard):
    from amiral.base.ids import digest  # noqa: PLC0415

    yard.settled().new()
    tag = f"{digest(str(yard.home))}:shop:s1"
    for words in (
        ["project", "new", "x", "--answers", str(yard.answers)],
        ["project", "remove", "tea", "--yes-remove", "tea"],
        ["deploy", "tea", "--yes"],
    ):
        ran = yard.run(*words, "--json", AMIRAL_TAG=tag)
        assert (ran.code, ran.json()["error"]["kind"]) == (5, "denied")
    assert (yard.code / "tea" / "AGENTS.md").exists()


INTERVIEW = "Tea\nrust\nvi\n-\n" + "?\nmake test\n\nmaybe\ny\n-\nclaud\ncodex\n\n\nasking\n"


def test_a_person_is_asked_step_by_step_and_helped(yard):
    code, shown = yard.at_terminal("project", "new", "tea", typed=INTERVIEW + "\n")
    assert code == 0, shown
    for words in ("1/4 purpose", "4/4 chat", "A command, run on", "must be true or false"):
        assert words in shown
    assert "did you mean claude" in shown
    assert "Make it? [yes]" in shown
    root = yard.code / "tea"
    assert "- Tests: `make test`" in (root / "AGENTS.md").read_text()
    assert '"driver": "codex"' in (root / ".amiral/config/workers_registry.json").read_text()
    assert (root / ".git").exists()


@pytest.mark.parametrize("typed", ["Tea\nrust\n\x03", "Tea\n\x04", INTERVIEW + "no\n"])
def test_who_leaves_early_leaves_nothing(yard, typed):
    code, shown = yard.at_terminal("project", "new", "tea", typed=typed)
    assert code in (2, 6, 130), shown
    assert not (yard.code / "tea").exists()
    assert not yard.home.exists()


def test_without_a_terminal_or_answers_nobody_is_asked(yard):
    for words in ((), ("--json",)):
        assert yard.run("project", "new", "tea", *words).code == 2
    assert not yard.home.exists()


MOUNTED = 'mount -t tmpfs -o "$1" none "$2" && shift 2 && exec "$@"'


def mounted(options, folder):
    unshare = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-rm"]
    prefix = [*unshare, "sh", "-c", MOUNTED, "sh", options, str(folder)]
    if subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("no file system may be mounted here")
    return prefix


@pytest.mark.parametrize("options", ["ro", "size=8k", "size=24k"])
def test_a_folder_that_takes_nothing_leaves_the_home_as_it_was(yard, options):
    yard.settled()
    (yard.code / "disk").mkdir()
    before = yard.everything()
    ran = yard.new("tea", "disk/tea", under=mounted(options, yard.code / "disk"))
    assert ran.code == 1
    assert "disk/tea" in ran.json()["error"]["message"] or options == "size=24k"
    assert yard.everything() == before


FILLED = (
    'mount -t tmpfs -o size=64k,mode=700 none "$1" && cp -a "$2/." "$1/" && '
    'head -c "$3" /dev/zero >"$1/filler" || true; shift 3; "$@"; code=$?; '
    'rm -f "$H/filler"; exec env AFTER=1 sh -c "cd $C && $AGAIN; exit $code"'
)


@pytest.mark.parametrize("filler", [64 << 10, 28 << 10, 20 << 10, 12 << 10, 4 << 10])
def test_a_home_that_is_full_leaves_the_folder_as_it_was_once_there_is_room(yard, filler):
    yard.settled()
    saved = yard.root / "saved"
    subprocess.run(["cp", "-a", yard.home, saved], check=True)
    unshare = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-rm"]
    again = f"{sys.executable} -m amiral project remove nobody >/dev/null 2>&1; ls -A {yard.code}"
    under = [*unshare, "sh", "-c", FILLED, "sh", str(yard.home), str(saved), str(filler)]
    ran = yard.new("tea", under=under, H=str(yard.home), C=str(yard.root), AGAIN=again)
    if "must be superuser" in ran.err or "permission denied" in ran.err:
        pytest.skip("no file system may be mounted here")
    first, *listed = [line for line in ran.out.split("\n") if line]
    told = json.loads(first)
    if "error" in told:
        assert told["error"]["kind"] == "broken"
        assert "tea" not in listed
    else:
        assert "tea" in listed


def test_nothing_waits_for_a_setup_that_is_gone(yard):
    """The lock is the kernel's: a killed holder holds nothing."""
    assert yard.killed("setup.noted", "project", "new", "tea", "--answers", yard.answers)
    until(lambda: yard.new().code == 0, "the next setup", 10)
