"""Behaviour of `amiral doctor`: whatever is broken, it says so, says what to do, and goes on."""

import json
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from amiral.base.clock import SystemClock
from amiral.base.ids import digest
from amiral.local import doctor
from amiral.local.check import Check
from amiral.local.check_home import filesystem_of
from amiral.local.check_machine import look_at_clock, look_at_fence, look_at_open_files
from amiral.local.check_machine import look_at_platform as on
from amiral.projects.served import served_by
from amiral.projects.store import Projects
from amiral.projects.trust import Trust
from amiral.store.brake import Brake
from amiral.store.journal import Journal

TOKEN = "sk-ant-oat01-not-a-real-one"


class Place:
    """A home with one project, and what the doctor says of them."""

    def __init__(self, root: Path, capsys):
        self.root, self.home, self.shop = root, root / "home", root / "shop"
        self.home.mkdir(mode=0o700)
        (self.shop / ".amiral" / "config").mkdir(parents=True)
        (self.home / "amiral.toml").write_text('[drivers.claude]\ncommand = ["no-such-cli"]\n')
        Brake(self.home / "brake").prepare()
        self.project = Projects(self.home, root / "user").register(self.shop)
        self.state = self.home / "projects" / self.project.id
        self._capsys = capsys

    def examine(self, *argv):
        """Give the exit code and the checks by name, those of one name together."""
        code = doctor.run(["doctor", "--json", *argv])
        out, err = self._capsys.readouterr()
        assert err == ""
        checks: dict[str, list[dict]] = {}
        for check in json.loads(out)["checks"]:
            assert set(check) <= {"name", "ok", "detail", "needed", "fix"}
            assert check["ok"] or check.get("fix") or not check["needed"], "a failure names its fix"
            checks.setdefault(check["name"], []).append(check)
        needed = [check for found in checks.values() for check in found if check["needed"]]
        assert code == (0 if all(check["ok"] for check in needed) else 1)
        return code, checks

    def text(self, *argv):
        doctor.run(["doctor", *argv])
        return self._capsys.readouterr().out


@pytest.fixture
def place(monkeypatch, capsys):
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        monkeypatch.setenv("AMIRAL_HOME", str(root / "home"))
        monkeypatch.setenv("HOME", str(root / "user"))
        for name in ("AMIRAL_CLIS", "CLAUDE_CODE_OAUTH_TOKEN", "ANTHROPIC_API_KEY"):
            monkeypatch.delenv(name, raising=False)
        place = Place(root, capsys)
        monkeypatch.chdir(place.shop)
        yield place
        monkeypatch.undo()


def program(place, name, script):
    """Put a program on a path of its own; give it as the setting of the claude driver."""
    path = place.root / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    (place.home / "amiral.toml").write_text(f'[drivers.claude]\ncommand = ["{path}"]\n')
    return path


def test_a_well_home_has_every_needed_check_and_exits_0(place):
    code, checks = place.examine()
    assert code == 0
    assert {"python", "platform", "sqlite", "git", "home", "disk", "settings"} <= set(checks)
    assert {"brake", "cli claude", "cli scripted", "project", "process", "journal"} <= set(checks)
    assert "3." in checks["sqlite"][0]["detail"]
    assert checks["home"][0]["ok"] and checks["brake"] == [
        {"name": "brake", "ok": True, "needed": False, "detail": "off"}
    ]
    assert checks["process"][0]["fix"] == "`amiral up` starts one"
    assert not (place.home / "run").exists(), "it changes nothing"


def test_people_read_a_line_for_each_check_and_the_fix_below(place):
    lines = place.text().split("\n")
    at = next(number for number, line in enumerate(lines) if line.startswith("? cli claude"))
    assert "no program `no-such-cli`" in lines[at]
    assert lines[at + 1].strip().startswith("install it, or set [drivers.claude] command")
    assert Check("a", ok=False, detail="b", needed=True).lines(3) == ["✗ a    b"]


def test_a_mistake_in_the_settings_is_told_and_the_rest_is_looked_at(place):
    (place.home / "amiral.toml").write_text("[hub]\nprot = 1\nport = true\n")
    code, checks = place.examine()
    assert (code, len(checks["settings"])) == (1, 2)
    assert checks["settings"][0]["detail"].startswith("amiral.toml:2: unknown key hub.prot")
    assert checks["brake"][0]["ok"]
    assert "cli scripted" in checks


def test_a_stop_that_is_on_is_told_with_its_release(place):
    stop = Brake(place.home / "brake").engage("trying", "owner", 1)
    code, checks = place.examine()
    assert code == 0
    assert checks["brake"][0]["fix"] == f"amiral release {stop.stop_id}"
    assert "trying" in checks["brake"][0]["detail"]


def test_a_brake_that_cannot_be_read_is_a_failure(place):
    (place.home / "brake" / "latch").write_bytes(b"\xff")
    code, checks = place.examine()
    assert (code, checks["brake"][0]["fix"]) == (1, "amiral release unknown")


@pytest.mark.parametrize(
    ("home", "words"),
    [("/tmp/amiral-shared", "emptied at a restart"), ("~/" + "x" * 90, "too long for sockets")],
)
def test_a_home_that_cannot_be_is_told(place, monkeypatch, home, words):
    monkeypatch.setenv("AMIRAL_HOME", home)
    code, checks = place.examine()
    assert code == 1
    assert words in checks["home"][0]["detail"]
    assert "AMIRAL_HOME" in checks["home"][0]["fix"]


def test_a_home_that_is_no_folder_or_open_to_others_is_told(place, monkeypatch):
    place.home.chmod(0o755)
    assert place.examine()[1]["home"][0]["fix"].startswith(f"chmod 700 {place.home}")
    file = place.root / "file"
    file.write_text("")
    monkeypatch.setenv("AMIRAL_HOME", str(file))
    code, checks = place.examine()
    assert (code, "no folder" in checks["home"][0]["detail"]) == (1, True)


def test_a_home_that_is_not_there_yet_is_fine(place, monkeypatch):
    monkeypatch.setenv("AMIRAL_HOME", str(place.root / "new" / "home"))
    code, checks = place.examine()
    assert (code, checks["home"][0]["ok"]) == (0, True)
    assert not (place.root / "new").exists()


def test_a_lost_registry_of_projects_is_told(place):
    for file in (place.home / "config").glob("bot_registry.json*"):
        file.write_text("{")
    code, checks = place.examine()
    assert code == 1
    assert "no good copy" in checks["projects"][0]["detail"]
    assert not checks["project"][0]["ok"]
    assert checks["trust"][0]["ok"]


async def written_journal(place):
    journal = await Journal.open(place.state / "journal.db", SystemClock(), ())
    await journal.close()


async def test_a_journal_is_read_and_a_damaged_one_is_told(place):
    await written_journal(place)
    command = [sys.executable, "-m", "amiral", "doctor", "--json"]
    well = subprocess.run(command, capture_output=True, text=True, check=True)
    assert '"detail":"0 events' in well.stdout
    path = place.state / "journal.db"
    path.write_bytes(b"no database" * 1000)
    ill = subprocess.run(command, capture_output=True, text=True, check=False)
    (journal,) = [one for one in json.loads(ill.stdout)["checks"] if one["name"] == "journal"]
    assert (ill.returncode, ill.stderr) == (1, "")
    assert "not a database" in journal["detail"]
    assert "restore it from a backup" in journal["fix"]


def listening(place, backlog=1):
    path = served_by(place.home, place.project).socket
    path.parent.mkdir(mode=0o700)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen(backlog)
    return listener


def test_a_socket_left_by_a_killed_process_is_told(place):
    listening(place).close()
    code, checks = place.examine()
    assert code == 0
    assert "its socket was left behind" in checks["process"][0]["detail"]
    assert "goes on where it was killed" in checks["process"][0]["fix"]


def test_a_process_that_does_not_answer_is_a_failure(place):
    place.state.mkdir(parents=True)
    (place.state / "journal.db.lock").write_text("4711\n")
    with listening(place, backlog=8):
        code, checks = place.examine()
    assert code == 1
    assert "does not answer" in checks["process"][0]["detail"]
    assert "end process 4711" in checks["process"][0]["fix"]


def test_mistakes_of_a_trusted_registry_and_files_without_effect_are_told(place):
    file = place.shop / ".amiral" / "config" / "workers_registry.json"
    file.write_text('{"version": 1, "workers": 5}')
    assert "no effect until you trust it" in place.examine()[1]["workers"][1]["detail"]
    trust = Trust(place.home)
    shown = trust.show(place.project, file.name)
    trust.trust(place.project, shown.file, shown.sha256, 1)
    code, checks = place.examine()
    assert (code, checks["workers"][1]["ok"]) == (0, False)
    assert checks["workers"][1]["detail"].startswith("workers_registry.json:1: ")


@pytest.mark.parametrize(
    ("text", "needed", "words"),
    [
        ('[ui]\nlanguage = "fr"\n', False, "config/amiral.toml: read"),
        ("[hub]\nport = 1\n", False, "hub.port can be set in the home only"),
        ("[budget]\nday_usd = true\n", True, "budget.day_usd must be"),
    ],
)
def test_the_own_settings_of_a_project_are_read(place, text, needed, words):
    (place.shop / ".amiral" / "config" / "amiral.toml").write_text(text)
    code, checks = place.examine()
    (own,) = checks["own settings"]
    assert (code, own["needed"], words in own["detail"]) == (int(needed), needed, True)


def test_a_login_is_named_by_its_variable_and_never_shown(place, monkeypatch):
    path = program(place, "claude", "echo '2.1.332 (Claude Code)'")
    assert place.examine()[1]["cli claude"][0]["fix"].startswith("set CLAUDE_CODE_OAUTH_TOKEN or")
    monkeypatch.setenv("CLAUDE_CODE_OAUTH_TOKEN", TOKEN)
    (claude,) = place.examine()[1]["cli claude"]
    words = f"2.1.332 ({path}), tested, logged in by CLAUDE_CODE_OAUTH_TOKEN"
    assert (claude["ok"], claude["detail"]) == (True, words)
    assert TOKEN not in place.text()


@pytest.mark.parametrize(
    ("script", "words"),
    [("echo hello", "does not tell its version"), ("echo 1.0.0", "1.0.0 is untested")],
)
def test_a_strange_cli_is_told(place, script, words):
    program(place, "claude", script)
    code, checks = place.examine()
    assert (code, checks["cli claude"][0]["ok"]) == (0, False)
    assert words in checks["cli claude"][0]["detail"]


def test_a_cli_that_cannot_be_started_does_not_hide_the_others(place):
    program(place, "claude", "").write_bytes(b"\x7fELF broken")
    code, checks = place.examine()
    assert (code, checks["cli claude"][0]["ok"], checks["cli scripted"][0]["ok"]) == (
        *(0, False, True),
    )


def driver_package(place, monkeypatch, code):
    """Install a package that brings a driver, by a folder on the import path."""
    folder = place.root / "packages"
    info = folder / "other-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[amiral.drivers]\nother = other_driver:DRIVER\n")
    (folder / "other_driver.py").write_text(code)
    monkeypatch.syspath_prepend(str(folder))


def test_a_driver_package_that_cannot_be_loaded_is_named(place, monkeypatch):
    driver_package(place, monkeypatch, "import no_such_module\n")
    code, checks = place.examine()
    assert code == 1
    assert "other_driver:DRIVER cannot be loaded" in checks["driver other"][0]["detail"]
    assert checks["brake"][0]["ok"]


def test_agents_without_a_project_process_are_told(place):
    tag = f"{digest(str(place.home))}:{place.project.id}:s1"
    env = {**os.environ, "AMIRAL_TAG": tag}
    with subprocess.Popen(["sleep", "60"], env=env) as agent:
        try:
            _, checks = place.examine()
        finally:
            agent.kill()
    (left,) = checks["leftovers"]
    assert left["detail"] == f"1 processes of {place.project.id} run without its project process"
    assert "amiral emergency-stop" in left["fix"]


def test_a_session_that_ended_unseen_is_told(place):
    session = place.state / "sessions" / "s1"
    session.mkdir(parents=True)
    process = {"pid": 2**22 + 1, "start": 1}
    meta: dict[str, object] = {
        "session": "s1",
        "tag": "t",
        "socket": "",
        "boot_id": "b",
        "shim": process,
    }
    meta |= {"cli": process, "cgroup": None, "argv0": "x", "cwd": "/", "launched_ms": 1}
    (session / "meta.json").write_text(json.dumps(meta))
    (left,) = place.examine()[1]["leftovers"]
    assert left["detail"] == f"sessions that ended unseen: {place.project.id}/s1"
    (session / "meta.json").write_text("{")
    assert place.examine()[1]["leftovers"] == [left]


def test_a_folder_that_is_gone_and_a_project_that_is_unknown_are_told(place, monkeypatch):
    code, checks = place.examine("-p", "shpo")
    assert (code, "did you mean shop" in checks["project"][0]["detail"]) == (1, True)
    gone = place.root / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    code, checks = place.examine()
    assert code == 1
    assert checks["project"][0]["detail"] == "the folder you are in is gone"
    assert checks["brake"][0]["ok"]


def test_nothing_is_started_but_probes_and_nothing_is_written(place):
    program(place, "claude", "echo '2.1.332 (Claude Code)'")
    before = sorted(place.root.rglob("*"))
    code = (
        "import sys\n"
        "def hear(event, args):\n"
        "    if event in ('subprocess.Popen', 'os.exec', 'os.fork', 'os.posix_spawn'):\n"
        "        print('started', args[1][-1] if event == 'subprocess.Popen' else event,"
        " file=sys.stderr)\n"
        "sys.addaudithook(hear)\n"
        "from amiral.local import doctor\n"
        "sys.exit(doctor.run(['doctor']))\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    started = sorted(line for line in ran.stderr.split("\n") if line)
    assert started[:3] == ["started --version"] * 3
    assert len(started) == 4, "beside them the trial of the fence, with our own pid"
    assert started[3].removeprefix("started ").isdecimal()
    assert sorted(place.root.rglob("*")) == before


def test_what_macos_lacks_is_said_in_words():
    said = [check.detail for check in on("darwin", ["no /proc: only process groups are killed"])]
    assert "macOS: written for it, not tried on it yet" in said
    assert any("drive" in words for words in said)
    assert "no /proc: only process groups are killed" in said
    assert [check.ok for check in on("linux", [])] == [True, True]
    assert next(iter(on("win32", []))).has_failed


def test_the_fence_is_tried_out_and_told(tmp_path):
    (off,) = look_at_fence(tmp_path, "none")
    assert (off.ok, "no fence is put up" in off.detail) == (False, True)
    (check,) = look_at_fence(tmp_path, "auto")
    assert check.ok
    assert check.detail.startswith("enforced, Landlock ABI ")
    assert (check.fix, list(tmp_path.iterdir())) == ("", [])


def test_a_clock_behind_what_was_written_is_told(tmp_path):
    written = tmp_path / "latch"
    (fine,) = look_at_clock(1_800_000_000_000, written)
    (old,) = look_at_clock(1_000_000_000_000, written)
    written.write_text("")
    os.utime(written, (1_900_000_000, 1_900_000_000))
    (behind,) = look_at_clock(1_800_000_000_000, written)
    assert (fine.ok, old.ok, behind.ok) == (True, False, False)
    assert "is before 2030-03-17" in behind.detail


def test_few_open_files_are_told_with_the_command():
    (few,), (too_few,), (any_number,) = map(look_at_open_files_list, (256, 64, -1))
    assert (few.ok, few.has_failed, few.fix) == (False, False, "ulimit -n 1024")
    assert (too_few.has_failed, any_number.ok) == (True, True)


def look_at_open_files_list(allowed):
    return list(look_at_open_files(allowed))


def test_the_innermost_and_latest_mount_tells_the_file_system():
    mounts = [("/", "ext4"), ("/home", "nfs"), ("/home/me/mem", "ext4"), ("/home/me/mem", "tmpfs")]
    assert filesystem_of("/home/me/mem/x", mounts) == "tmpfs"
    assert filesystem_of("/home/me", mounts) == "nfs"
    assert filesystem_of("/homes", mounts) == "ext4"
    assert filesystem_of("/x", []) == ""
