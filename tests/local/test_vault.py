"""`amiral vault`: the value comes from stdin or a silent terminal, and goes to its owner alone."""

import contextlib
import json
import os
import pty
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from amiral.base.ids import digest
from amiral.base.settings import DriverSettings, Settings, Telegram
from amiral.local.check_vault import look_at_vault
from amiral.store.vault import LONGEST_VALUE, Vault

AMIRAL = (sys.executable, "-m", "amiral")
VALUE = "s3cret-of-the-owner"
ALL = (["set", "a"], ["get", "a"], ["list"], ["remove", "a"], ["rotate"], ["check"])


class Place:
    """A home of its own, and the real command."""

    def __init__(self, root: Path):
        self.home = root / "home"
        self.environ = {"AMIRAL_HOME": str(self.home), "HOME": str(root), "PATH": "/usr/bin:/bin"}

    def run(self, *argv, stdin: str | bytes = "", under=(), **environ):
        """Give exit code, stdout and stderr."""
        ran = subprocess.run(
            [*under, *AMIRAL, "vault", *argv],
            env={**self.environ, **environ},
            input=stdin if isinstance(stdin, bytes) else stdin.encode(),
            capture_output=True,
            timeout=30,
            check=False,
        )
        return ran.returncode, ran.stdout.decode(), ran.stderr.decode()

    def told(self, *argv, stdin: str | bytes = "", **environ):
        """Give exit code and the JSON document; nothing else is printed."""
        code, out, err = self.run(*argv, "--json", stdin=stdin, **environ)
        assert (err, out.count("\n")) == ("", 1)
        return code, json.loads(out)


@pytest.fixture
def place():
    with tempfile.TemporaryDirectory(prefix="amiral-") as folder:
        yield Place(Path(folder).resolve())


def kind(told):
    code, document = told
    return code, document["error"]["kind"]


def test_a_secret_is_kept_given_out_listed_and_forgotten(place):
    assert place.run("set", "telegram/master", stdin=f"{VALUE}\n") == (
        0,
        "✓ telegram/master is kept\n",
        "",
    )
    assert place.run("get", "telegram/master") == (0, f"{VALUE}\n", "")
    assert place.run("list") == (0, "telegram/master\n", "")
    assert place.run("check") == (0, "✓ 1 secret, each can be read\n", "")
    assert place.run("rotate")[:2] == (
        0,
        "✓ 1 secret encrypted with a new key, the old one is gone\n",
    )
    assert place.run("remove", "telegram/master") == (0, "✓ telegram/master is forgotten\n", "")
    assert place.run("list") == (0, "the vault holds nothing\n", "")


def test_all_of_it_is_told_as_json(place):
    assert place.told("list") == (0, {"secrets": []})
    assert place.told("check") == (0, {"ok": True, "secrets": 0, "revision": 0, "problems": []})
    assert place.told("set", "a", stdin=VALUE) == (
        0,
        {"name": "a", "revision": 1, "redacted": True},
    )
    assert place.told("get", "a") == (0, {"name": "a", "value": VALUE})
    assert place.told("list") == (0, {"secrets": [{"name": "a", "revision": 1}]})
    assert place.told("rotate") == (0, {"secrets": 1, "revision": 2})
    assert place.told("check") == (0, {"ok": True, "secrets": 1, "revision": 2, "problems": []})
    assert place.told("remove", "a") == (0, {"name": "a", "removed": True, "revision": 3})


def test_what_is_not_there_is_exit_4_and_what_cannot_be_is_exit_2(place):
    assert kind(place.told("rotate")) == (4, "not_found")
    place.run("set", "a", stdin=VALUE)
    for words in (["get", "b"], ["remove", "b"]):
        assert kind(place.told(*words)) == (4, "not_found")
    for words in (
        ["get"],
        ["set"],
        ["set", "A"],
        ["get", "../a"],
        ["sett", "a"],
        ["get", "a", "b"],
    ):
        assert kind(place.told(*words, stdin=VALUE)) == (2, "usage")
    assert place.told("list")[1]["secrets"] == [{"name": "a", "revision": 1}]


@pytest.mark.parametrize("value", ["", "\n", " \n", "a\0b", b"\xff\xfe", "x" * (LONGEST_VALUE + 1)])
def test_a_value_that_is_none_is_refused_and_nothing_changes(place, value):
    place.run("set", "a", stdin=VALUE)
    assert kind(place.told("set", "a", stdin=value)) == (2, "usage")
    assert place.run("get", "a")[1] == f"{VALUE}\n"


def test_a_value_on_the_command_line_is_refused_and_not_repeated(place):
    for words in (["set", "a", VALUE], ["set", "a", "--", VALUE]):
        code, out, err = place.run(*words)
        assert (code, out) == (2, "")
        assert "read from stdin, never from the command line" in err
        assert VALUE not in err
    assert not place.home.exists()


def test_a_value_of_several_lines_is_given_back_byte_for_byte(place):
    value = "-----BEGIN\u202e\nline \x1b[31m\ttwo\r\nend"
    place.run("set", "a", stdin=f"{value}\n".encode())
    assert place.run("get", "a")[1].encode() == f"{value}\n".encode()
    assert place.told("get", "a")[1]["value"] == value
    assert "\x1b" not in place.run("get", "a", "--json")[1]


def test_a_short_value_is_kept_and_its_owner_told_that_nobody_will_recognise_it(place):
    code, out, _ = place.run("set", "pin", stdin="12345")
    assert code == 0
    assert "✓ pin is kept\n? it is shorter than 6 characters" in out
    assert "12345" not in out
    assert place.told("set", "pin", stdin="12345")[1]["redacted"] is False


def on_a_terminal(place, *argv, typed=""):
    """Run with all three on a terminal, type something, and give what the terminal showed."""
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [*AMIRAL, "vault", *argv],
        env=place.environ,
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
    )
    shown = b""
    with process:
        os.close(slave)
        while typed and b": " not in shown:
            shown += os.read(master, 4096)
        os.write(master, typed.encode())
        with contextlib.suppress(OSError):
            while chunk := os.read(master, 4096):
                shown += chunk
    os.close(master)
    return process.returncode, shown.decode()


def test_at_a_terminal_the_value_is_asked_for_and_not_shown(place):
    code, shown = on_a_terminal(place, "set", "a", typed=f"{VALUE}\n")
    assert code == 0
    assert "value of a: " in shown
    assert "✓ a is kept" in shown
    assert VALUE not in shown
    assert place.run("get", "a")[1] == f"{VALUE}\n"
    assert on_a_terminal(place, "set", "a", typed="\x04")[0] == 2
    assert on_a_terminal(place, "set", "a", typed="\n")[0] == 2


def test_r54_a_terminal_is_not_moved_by_a_value(place):
    place.run("set", "a", stdin="one\x1b]0;title\x07\x1b[2Jtwo")
    code, shown = on_a_terminal(place, "get", "a")
    assert (code, shown) == (0, "onetwo\r\n")


def test_k2_what_was_tampered_with_is_told_by_name_and_is_exit_1(place):
    for name in "ab":
        place.run("set", name, stdin=f"{VALUE} {name}")
    path = place.home / "vault" / "vault.json"
    found = json.loads(path.read_bytes())
    found["records"]["a"]["data"] = found["records"]["b"]["data"]
    path.write_text(json.dumps(found, separators=(",", ":"), sort_keys=True) + "\n")
    code, error = place.told("get", "a")
    assert (code, error["error"]["kind"]) == (1, "broken")
    assert error["error"]["message"].startswith("secret a was changed or damaged")
    code, told = place.told("check")
    assert (code, told["ok"], len(told["problems"])) == (1, False, 1)
    assert place.run("check")[1].startswith("✗ secret a was changed")
    assert place.run("get", "b")[0] == 0
    checks = list(look_at_vault(Settings(), {}, place.home))
    assert [(check.ok, check.needed) for check in checks] == [(False, True)]
    assert "secret a " in checks[0].detail


def test_k2_a_key_open_to_others_is_exit_5_and_says_what_to_do(place):
    place.run("set", "a", stdin=VALUE)
    (key,) = (place.home / "vault" / "keys").iterdir()
    key.chmod(0o640)
    code, error = place.told("get", "a")
    assert (code, error["error"]["kind"]) == (5, "denied")
    assert "amiral vault rotate" in error["error"]["next"]
    assert VALUE not in json.dumps(error)


def test_k1_the_value_stands_in_no_file_and_in_no_message(place):
    place.run("set", "a", stdin=VALUE)
    place.run("rotate")
    for path in place.home.rglob("*"):
        assert VALUE.encode() not in (path.read_bytes() if path.is_file() else b"")
    for words in (["list"], ["check"], ["rotate"], ["remove", "a"]):
        assert VALUE not in "".join(map(str, place.run(*words)))


def test_k3_an_agent_may_do_none_of_it(place):
    """P09: neither a cleared environment nor another session hides what runs below a shim."""
    place.run("set", "a", stdin=VALUE)
    tag = f"{digest(str(place.home))}:shop:s1"
    under = (["sh", "-c", '"$@"; exit $?', "sh"], ["setsid", "-w"])
    for words in ALL:
        for prefix in (*under, ["sh", "-c", 'env -i AMIRAL_HOME="$0" "$@"; exit $?', place.home]):
            code, out, err = place.run(
                *words, "--json", stdin="x" * 9, under=tuple(map(str, prefix)), AMIRAL_TAG=tag
            )
            assert (code, json.loads(out)["error"]["kind"], err) == (5, "denied", "")
            assert VALUE not in out
    assert place.told("check")[1]["revision"] == 1


def test_a_home_in_a_folder_of_everybody_is_refused(place):
    assert kind(place.told("set", "a", stdin=VALUE, AMIRAL_HOME="/tmp")) == (5, "denied")


def test_the_doctor_reads_all_secrets_and_looks_for_those_that_settings_name(place):
    settings = Settings(
        telegram=Telegram(master_token="vault:bot"),
        drivers={"scripted": DriverSettings(env={"TOKEN": "vault:a", "PLAIN": "b"})},
        sources={"telegram.master_token": "amiral.toml:2"},
    )

    def look(settings):
        return [(one.ok, one.detail, one.fix) for one in look_at_vault(settings, {}, place.home)]

    assert look(Settings()) == [(True, "none yet", "")]
    assert look(settings)[1:] == [
        (False, "[drivers.scripted] env TOKEN: the vault has no secret a", "amiral vault set a"),
        (False, "[telegram] master_token: the vault has no secret bot", "amiral vault set bot"),
    ]
    Vault(place.home).put("a", VALUE)
    Vault(place.home).put("bot", VALUE)
    assert look(settings) == [(True, "2 secrets, each can be read", "")]
