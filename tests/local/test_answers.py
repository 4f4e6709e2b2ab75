"""Behaviour of the commands that need no project process."""

import json
import tempfile
from pathlib import Path

import pytest

from amiral import __version__
from amiral.base.clock import SystemClock
from amiral.chats.people import People
from amiral.commands.registry import Role
from amiral.local import answers
from amiral.projects.store import Projects
from amiral.projects.trust import Trust

SHIPPED = Path(answers.__file__).parents[1] / "framework" / "workers" / "workers_registry.json"


@pytest.fixture
def root(monkeypatch):
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        (root / "shop" / ".amiral" / "config").mkdir(parents=True)
        monkeypatch.setenv("AMIRAL_HOME", str(root / "home"))
        monkeypatch.chdir(root / "shop")
        yield root


def run(capsys, *argv):
    code = answers.run(list(argv))
    return code, *capsys.readouterr()


def unreached(capsys, *argv):
    code = answers.run_unreached(list(argv), "nobody is there")
    return code, *capsys.readouterr()


@pytest.mark.parametrize(
    "argv", [(), ("--help",), ("-h",), ("help",), ("help", "--json"), ("help", "-p", "x")]
)
def test_help_lists_the_commands(capsys, argv):
    code, out, err = run(capsys, *argv)
    assert (code, err) == (0, "")
    assert "\n  status " in out


def test_one_command_is_explained(capsys):
    for argv in (("status", "--help"), ("help", "status"), ("--help", "status")):
        code, out, _ = run(capsys, *argv)
        assert (code, out.split("\n")[0]) == (0, "amiral status")
    assert run(capsys, "help", "nothing")[0] == 4
    assert run(capsys, "nothing", "--help")[0] == 2


def test_the_version_is_told(capsys):
    assert run(capsys, "--version") == (0, f"amiral {__version__}\n", "")
    code, out, _ = run(capsys, "--version", "--json")
    assert (code, json.loads(out)) == (0, {"text": f"amiral {__version__}"})


def test_a_registry_file_is_checked(capsys, root):
    assert run(capsys, "workers", "check", str(SHIPPED))[:2] == (0, "✓ 3 workers, no mistake\n")
    code, out, _ = run(capsys, "workers", "check", str(SHIPPED), "--json")
    workers = ["consultant", "developer", "ui-designer"]
    assert (code, json.loads(out)) == (0, {"ok": True, "workers": workers, "errors": []})
    bad = root / "bad.json"
    bad.write_text(SHIPPED.read_text().replace('"all"', '"read"').replace('"chat"', '"tty"', 1))
    code, out, err = run(capsys, "workers", "check", str(bad))
    assert (code, err) == (1, "")
    assert [line.partition(": ")[0] for line in out.strip().split("\n")] == [
        f"{bad}:8",
        f"{bad}:26",
    ]
    code, out, _ = run(capsys, "workers", "check", str(bad), "--json")
    assert (code, json.loads(out)["ok"], len(json.loads(out)["errors"])) == (1, False, 2)


def test_a_file_that_cannot_be_read_is_told(capsys, root):
    assert run(capsys, "workers", "check", str(root / "none"))[0] == 4
    code, _, err = run(capsys, "workers", "check", str(root))
    assert (code, "cannot read" in err) == (1, True)


def test_a_message_is_routed_without_a_process(capsys, root):
    code, out, _ = unreached(capsys, "route", "--json", "/c", "hi")
    assert (code, json.loads(out)) == (
        0,
        {"kind": "message", "worker": "consultant", "args": "hi"},
    )
    code, out, _ = unreached(capsys, "route", "--json", "/aprove x")
    assert (code, json.loads(out)) == (
        0,
        {
            "kind": "error",
            "error": "No command /aprove. Did you mean /approve x?",
            "suggestion": "/approve",
        },
    )
    assert unreached(capsys, "route", "hi")[1] == "message to developer: hi\n"


def test_the_router_knows_the_trusted_workers_of_the_project(capsys, root):
    project = Projects(root / "home", root / "user").register(root / "shop")
    file = root / "shop" / ".amiral" / "config" / "workers_registry.json"
    file.write_text(SHIPPED.read_text().replace('"ui-designer"', '"qa"'))
    assert "No worker" in unreached(capsys, "route", "/w:qa hi")[1]
    trust = Trust(root / "home")
    shown = trust.show(project, file.name)
    trust.trust(project, shown.file, shown.sha256, 1)
    assert unreached(capsys, "route", "/w:qa hi")[1] == "message to qa: hi\n"
    assert unreached(capsys, "-p", "shop", "route", "/w:qa hi")[1] == "message to qa: hi\n"
    assert unreached(capsys, "-p", "shpo", "route", "hi")[0] == 4


def test_what_needs_a_process_says_that_there_is_none(capsys, root):
    code, out, err = unreached(capsys, "status")
    assert (code, out, err) == (3, "", "✗ nobody is there\n  run `amiral up`\n")
    assert unreached(capsys, "demo")[0] == 1
    assert unreached(capsys, "statsu")[0] == 2


def test_a_home_that_cannot_be_is_denied(capsys, root, monkeypatch):
    monkeypatch.setenv("AMIRAL_HOME", "/tmp/amiral")
    code, _, err = unreached(capsys, "route", "hi")
    assert (code, "set AMIRAL_HOME to a folder that stays" in err) == (5, True)


def test_what_is_typed_cannot_move_the_terminal_r54(capsys, root):
    _, _, err = unreached(capsys, "sta\x1b[2J\u202etsu")
    assert "\x1b" not in err
    assert "\u202e" not in err
    _, out, _ = unreached(capsys, "route", "/c a\x1b[2Jb\u202ec")
    assert out == "message to consultant: ab<U+202E>c\n"


def test_people_are_paired_whether_a_project_runs_or_not(capsys, root):
    Projects(root / "home", Path.home()).register(root / "shop")
    code, out, err = unreached(capsys, "pair", "--role", "member", "--json")
    made = json.loads(out)
    assert (code, err, made["role"], made["project"]) == (0, "", "member", "shop")
    people = People(root / "home", SystemClock())
    assert people.pair(made["code"], "telegram:3", "Ann") is Role.MEMBER
    assert unreached(capsys, "pair", "--list")[1] == "telegram:3  Ann  member of shop\n"
    assert unreached(capsys, "pair", "--drop", "telegram:3")[0] == 0
    assert unreached(capsys, "pair", "--list")[1] == "nobody is paired: amiral pair\n"


def test_a_guest_is_paired_for_a_project_that_is_named(capsys, root):
    code, _, err = unreached(capsys, "pair", "--role", "viewer")
    assert (code, "viewer of which project?" in err) == (2, True)
    assert unreached(capsys, "pair", "--role", "viewer", "-p", "none")[0] == 4
    assert "makes its writer owner" in unreached(capsys, "pair")[1]
    assert (root / "home" / "config" / "people.json").exists()
