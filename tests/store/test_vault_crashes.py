"""Changes of the vault that are killed, refused by the disk, or made by several at once."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from amiral.store.vault import Report, Vault

SCRIPT = Path(__file__).parent / "scripts" / "vault_steps.py"
PATIENCE_S = 60


def keys_of(home):
    return sorted((home / "vault" / "keys").iterdir())


def run(home, *words, at=""):
    env = {**os.environ, "AMIRAL_FAILPOINTS": "1", "AMIRAL_FAILPOINT": at}
    return subprocess.run(
        [sys.executable, str(SCRIPT), str(home), *words],
        env=env,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


AT = ("vault.key_made", "vault.written", "vault.noted", "vault.key_removed")


@pytest.mark.parametrize("place", AT)
def test_p10_killed_anywhere_in_a_rotation_every_secret_can_be_read(home, vault, place):
    assert run(home, "rotate", at=place).returncode == -signal.SIGKILL
    assert vault.check() == Report(3 if place == AT[0] else 4, ("a", "b", "c/d"), ())
    assert vault.get("a") == "value of a"
    vault.put("z", "z")
    assert len(keys_of(home)) == 1, "what the killed one left is gone with the next change"
    assert vault.check().problems == ()
    assert vault.rotate().names == ("a", "b", "c/d", "z")


@pytest.mark.parametrize("place", AT)
def test_p02_killed_anywhere_in_a_change_the_old_or_the_new_is_there(home, vault, place):
    ran = run(home, "put", "a", "new", at=place)
    if place == AT[0]:
        assert ran.returncode == 0, "no key is made"
    else:
        assert (ran.returncode, ran.stdout) == (-signal.SIGKILL, "")
    assert vault.get("a") == "new"
    assert vault.put("a", "newer") == 5


@pytest.mark.parametrize("place", ["vault.begun", *AT])
def test_killed_anywhere_in_the_first_change_the_next_one_works(home, place):
    assert run(home, "put", "a", "first", at=place).returncode == -signal.SIGKILL
    there = Vault(home).names()
    assert there == ({} if place in ("vault.begun", "vault.key_made") else {"a": 1})
    Vault(home).put("b", "second")
    assert set(Vault(home).names()) == {*there, "b"}
    assert len(keys_of(home)) == 1
    assert sorted(path.name for path in (home / "vault").iterdir()) == [
        "keys",
        "vault.json",
        "vault.json.lock",
    ]


@pytest.mark.parametrize("call", ["fsync", "rename", "unlink"])
def test_p10_killed_at_any_call_of_a_rotation_every_secret_can_be_read(
    tmp_path, kill_at_each, call
):
    def prepare(name):
        Vault(tmp_path / name).put("a", "value of a")
        Vault(tmp_path / name).put("b", "value of b")
        return tmp_path / name, "rotate"

    killed = 0
    for done, (home, _) in kill_at_each(call, "vault_steps.py", prepare):
        killed += done.returncode != 0
        vault = Vault(home)
        assert vault.check().problems == ()
        assert (vault.get("a"), vault.get("b")) == ("value of a", "value of b")
        vault.put("c", "value of c")
        assert len(keys_of(home)) == 1
    assert killed


@pytest.mark.parametrize("call", ["write", "fsync", "rename"])
@pytest.mark.parametrize("nth", [1, 2, 3])
def test_r38_a_refusing_disk_leaves_what_was_there(tmp_path, run_script, strace, call, nth):
    home = tmp_path / "home"
    Vault(home).put("a", "value of a")
    done = run_script("vault_steps.py", home, "rotate", under=strace(call, "error=ENOSPC", nth))
    assert done.returncode == 1
    assert "free some space" in done.stderr or "No space left" in done.stderr
    assert Vault(home).get("a") == "value of a"
    assert Vault(home).rotate().names == ("a",)
    assert len(keys_of(home)) == 1


def test_p02_racing_writers_lose_nothing_and_readers_are_never_refused(home):
    Vault(home).put("first", "value")
    writers = [
        subprocess.Popen(
            [sys.executable, str(SCRIPT), str(home), "race", who, "12"],
            stdout=subprocess.PIPE,
            text=True,
        )
        for who in "abcd"
    ]
    vault, read = Vault(home), 0
    while any(writer.poll() is None for writer in writers):
        assert vault.get("first") == "value"
        read += 1
    told = [int(line) for writer in writers for line in writer.communicate()[0].split()]
    assert [writer.returncode for writer in writers] == [0] * 4
    assert len(set(told)) == 48, "no two changes had the same revision"
    report = vault.check()
    assert (len(report.names), report.problems) == (49, ())
    assert report.revision == 1 + 48 + 12
    assert all(vault.get(f"{who}/11") == f"value 11 of {who}" for who in "abcd")
    assert read
