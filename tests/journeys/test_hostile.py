"""Odd folders, broken CLIs, garbage, full disks: one clear word, and the rest works."""

import base64
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from amiral.testbench.rig import scripted_config, until

NAMES = {
    "spaces": "my old  shop ",
    "quotes": """it's "the" `shop` $(touch /tmp/amiral-was-here) \\""",
    "newline": "two\nlines",
    "emoji": "🛒 boutique d'été 한국",
    "long": "s" * 200,
    "dash": "--json",
    "direction": "shop\u202egpj",
}


BANNER = {"amiral", "found", "project", "notice", "open", "socket", "chat"}


def program(yard, name, text, mode=0o755) -> str:
    path = yard.folder / name
    path.write_text(text)
    path.chmod(mode)
    return str(path)


def clear(answer, code, *parts):
    """One clear error: no traceback, what happened and what to do."""
    assert answer.code == code, answer
    assert (answer.out, answer.err.count("✗")) == ("", 1), answer
    assert "Traceback" not in answer.err
    for part in parts:
        assert part in answer.err


def up(rig):
    """A start that is expected to fail."""
    return rig.run("child", str(rig.project))


# ------------------------------------------------------------------ folders


@pytest.mark.parametrize("kind", NAMES)
def test_a_project_may_lie_in_a_folder_of_any_name(yard, kind):
    """R57."""
    rig = yard.scripted(
        'turns: [{use: {tool: write, args: {path: made.txt, text: "made"}}}, {say: Made.}]',
        project=NAMES[kind],
    )
    rig.launch(as_json=False)
    until(lambda: "\nchat " in rig.log(), "the banner")
    begun = [line.split(None, 1)[0] for line in rig.log().rstrip("\n").split("\n")]
    assert set(begun) <= BANNER, "what the folder is called is no line of its own"
    assert rig.run("say", "/d make it").out == "Made.\n"
    assert (rig.project / "made.txt").read_text() == "made"
    (told,) = rig.ask("projects").json()["projects"]
    assert told["path"] == str(rig.project)
    typed = shlex.split(rig.log().rstrip("\n").split("\n")[-1])
    words = typed[typed.index("say") :]
    assert words == ["say", "-p", told["name"], "/c what does this project do?"]
    assert rig.run(*words, cwd=Path("/")).code == 0
    assert rig.run("emergency-stop").code == 0


def test_a_home_too_deep_for_a_socket_is_told(yard):
    rig = yard.rig(folder="d" * 90)
    clear(up(rig), 2, "too long for a socket", "AMIRAL_HOME")
    assert rig.run("status").code == 3


def test_a_folder_that_is_none_and_a_home_in_the_project_are_refused(yard):
    rig = yard.scripted()
    clear(rig.run("up", str(rig.project / "nothing")), 2, "is no folder")
    clear(rig.run("up", str(rig.home)), 2, "can be no project")
    clear(rig.run("up", str(rig.home.parent)), 2, "can be no project")
    assert up_and_asked(rig)


def test_all_works_without_git(yard):
    rig = yard.scripted(environ={"PATH": str(yard.folder)})
    rig.project = rig.home.with_name("home-sample") / "shop"
    rig.where = ("--sample",)
    assert up_and_asked(rig)
    assert not (rig.project / ".git").exists()


def up_and_asked(rig) -> bool:
    rig.start()
    return bool(rig.ask("say", "/c hello").json()["outcome"] == "done")


# ------------------------------------------------------------------ CLIs


@pytest.fixture
def with_claude(yard, hire):
    """Give a function that starts a rig whose Claude Code is some program, save for one worker."""

    def start(command):
        rig = yard.rig(f"[drivers.claude]\ncommand = {json.dumps([command])}\n")
        hire(rig, {"driver": "scripted"})
        rig.start()
        rig.ask("trust", "workers_registry.json")
        until(lambda: "tester" in rig.run("workers").out, "the worker")
        return rig

    return start


def banner(rig, driver):
    until(lambda: "\n" in rig.log(), "the banner")
    told = json.loads(rig.log().partition("\n")[0])
    return next(cli for cli in told["clis"] if cli["driver"] == driver)


def rest_works(rig):
    assert rig.ask("say", "/w:tester hello").json()["outcome"] == "done"
    assert rig.run("status").code == 0


@pytest.mark.parametrize("kind", ["missing", "not executable", "a folder"])
def test_a_command_that_is_no_program_is_told_and_the_scripted_worker_answers(
    yard, with_claude, kind
):
    command = str(yard.folder / "cli")
    if kind == "a folder":
        (yard.folder / "cli").mkdir()
    elif kind == "not executable":
        program(yard, "cli", "#!/bin/sh\n", 0o644)
    rig = with_claude(command)
    assert f"no program `{command}`" in banner(rig, "claude")["problem"]
    assert "[drivers.claude] command in amiral.toml" in banner(rig, "claude")["fix"]
    assert rig.ask("say", "/c hello").json()["outcome"] == "done"
    rest_works(rig)


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("#!/bin/sh\nprintf '\\033[31m\\000no version here\\033[0m'\nexit 0\n", ""),
        ('#!/bin/sh\n[ "$1" = --version ] && echo 2.1.332 && exit\nexit 3', "2.1.332"),
        ("this is no program", ""),
        ("#!/no/such/interpreter\n", ""),
    ],
    ids=["garbage for a version", "ends at once", "no program", "no interpreter"],
)
def test_a_cli_that_does_not_work_fails_its_own_messages_and_nothing_else(
    yard, with_claude, text, version
):
    rig = with_claude(program(yard, "cli", text))
    assert rig.is_alive
    told = banner(rig, "claude")
    assert told["version"] == version
    assert bool(told["problem"]) == (not version)
    shown = rig.run("say", "/c hello")
    assert shown.code == 1
    assert shown.out.startswith("✗ consultant · failed: ")
    assert "Traceback" not in shown.out
    rest_works(rig)


def test_a_cli_may_say_much_on_stderr_before_its_first_word(yard):
    """R08: 200 KB to a pipe that nobody reads would hold it for ever."""
    cli = f'exec {shlex.quote(sys.executable)} -m amiral.testbench.scripted_cli "$@"'
    noisy = f"#!/bin/sh\nhead -c 200000 /dev/zero | tr '\\0' x >&2\n{cli}\n"
    command = json.dumps([program(yard, "cli", noisy)])
    rig = yard.rig(scripted_config() + f"[drivers.scripted]\ncommand = {command}\n").start()
    assert banner(rig, "scripted")["version"] == "1.0.0"
    assert rig.ask("say", "/c hello").json()["outcome"] == "done"
    (session,) = rig.running()
    assert (session.folder / "err").stat().st_size == 200_000


def test_a_scenario_with_mistakes_fails_the_message_and_says_where(yard):
    rig = yard.scripted("turns: [{sya: hello}]").start()
    said = rig.ask("say", "/c hello").json()
    assert said["outcome"] == "failed"
    assert "scenario.yaml:1: " in said["reason"]
    assert rig.ask("health").code == 0


GARBAGE = {
    "colours and carriage returns": b"\x1b[31mred\x1b[0m\r\n50%\r100%\r\n\r\n",
    "bytes that are no text": bytes(range(128, 256)) * 4 + b"\n",
    "nothing but nulls": bytes(4096) + b"\n",
    "json that is none of ours": b'{"type": "fin\xffal"}\n[1, 2]\n"x"\n{}\nnull\n',
    "a deep nest": b"[" * 100_000 + b"\n",
    "lone surrogates": b'{"type":"said","text":"\\ud83d"}\n',
    "a long line": b"x" * 3_000_000 + b"\n",
}


@pytest.mark.parametrize("kind", GARBAGE)
def test_garbage_on_stdout_is_kept_and_the_answer_comes(yard, kind):
    """R03, R08, P12."""
    raw = {"raw": {"base64": base64.b64encode(GARBAGE[kind]).decode(), "split": [1, 3]}}
    rig = yard.scripted(json.dumps({"turns": [{**raw, "say": "Here I am."}]})).start()
    said = rig.ask("say", "/c hello").json()
    assert said["outcome"] == "done"
    assert said["replies"][0]["text"].endswith("Here I am.")
    (session,) = rig.running()
    assert GARBAGE[kind] in (session.folder / "out.000001").read_bytes()
    assert rig.ask("say", "/c again").json()["outcome"] == "done"


def test_what_a_worker_writes_cannot_move_the_terminal(yard):
    """R54."""
    evil = "\x1b]0;title\x07\x1b[2Jred\x9b31m\u202etxt.exe\u0007 end"
    rig = yard.scripted(json.dumps({"turns": [{"say": evil}, {"say": evil}]})).start()
    shown = rig.run("say", "/c hello").out
    assert shown == "red<U+202E>txt.exe end\n"
    for words in (["conversation", "show", "consultant-owner"], ["events"], ["status"]):
        out = rig.run(*words).out
        assert not {"\x1b", "\x9b", "\x07", "\u202e"} & set(out), words
    exact = rig.run("say", "/c hello", "--json")
    assert exact.json()["replies"][0]["text"] == evil
    assert "\u202e" not in exact.out


# ------------------------------------------------------------------ the home


@pytest.mark.mounting
def test_a_home_that_cannot_be_written_is_told_by_every_command(yard):
    rig = yard.scripted()
    mount(rig.home, "ro")
    clear(up(rig), 1, str(rig.home))
    assert rig.run("status").code == 3
    assert rig.run("route", "/c hello").code == 0
    stopped = rig.run("emergency-stop")
    assert "Traceback" not in stopped.err
    release = rig.run("release", "0a1b2c3d")
    assert release.code in (1, 6)
    assert "Traceback" not in release.err
    subprocess.run(["umount", str(rig.home)], check=True)


@pytest.mark.mounting
def test_a_users_home_that_cannot_be_written_does_not_matter(yard):
    rig = yard.scripted()
    mount(Path(rig.environ["HOME"]), "ro")
    assert up_and_asked(rig)
    subprocess.run(["umount", rig.environ["HOME"]], check=True)


@pytest.mark.mounting
def test_a_full_disk_at_the_start_is_told_and_room_is_enough(yard):
    rig = yard.scripted()
    settings = (rig.home / "amiral.toml").read_text()
    mount(rig.home, "size=64k,mode=700")
    (rig.home / "amiral.toml").write_text(settings)
    (rig.home / "filler").write_bytes(bytes(48 << 10))
    failed = up(rig)
    clear(failed, 1)
    assert "space" in failed.err
    subprocess.run(["mount", "-o", "remount,size=16m", str(rig.home)], check=True)
    assert up_and_asked(rig)
    rig.kill()
    rig.run("emergency-stop")
    subprocess.run(["umount", "-l", str(rig.home)], check=True)


def mount(folder: Path, options: str):
    command = ["mount", "-t", "tmpfs", "-o", options, "none", str(folder)]
    subprocess.run(command, check=True)


def test_settings_with_mistakes_are_told_by_line_and_nothing_starts(yard):
    rig = yard.rig("[safety]\nstop_grace_s = 'soon'\n\n[drivrs.claude]\ncommand = ['x']\n")
    answer = up(rig)
    clear(answer, 2, "amiral.toml:2: ", "amiral.toml:4: ")
    (rig.home / "amiral.toml").write_text("= nonsense")
    clear(up(rig), 2, "amiral.toml:1")
    assert not (rig.home / "projects").exists()


def test_a_damaged_journal_is_never_replaced_by_an_empty_one(yard):
    rig = yard.scripted().start()
    rig.ask("say", "/c hello")
    rig.kill()
    rig.run("emergency-stop")
    journal = rig.state / "journal.db"
    damaged = b"not a database, " * 512
    journal.write_bytes(damaged)
    for name in ("journal.db-wal", "journal.db-shm"):
        (rig.state / name).unlink(missing_ok=True)
    clear(up(rig), 1, str(journal), "backup")
    assert journal.read_bytes() == damaged


def test_a_file_in_place_of_the_home_is_told(yard):
    rig = yard.scripted()
    place = yard.folder / "file"
    place.write_text("")
    environ = {**rig.environ, "AMIRAL_HOME": str(place)}
    for words in (["up", str(rig.project)], ["emergency-stop"], ["release", "x"], ["status"]):
        ran = subprocess.run(
            [sys.executable, "-m", "amiral", *words],
            env=environ,
            cwd=rig.project,
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode != 0
        assert "Traceback" not in ran.stderr
        assert ran.stderr.startswith("✗ "), ran.stderr
    assert os.path.isfile(place)
