"""`emergency-stop` and `release` on the terminal, without any process of ours."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from amiral.local import stop
from amiral.store.brake import Brake


@pytest.fixture
def home(monkeypatch):
    with tempfile.TemporaryDirectory(prefix="amiral-") as folder:
        home = Path(folder).resolve() / "home"
        home.mkdir(mode=0o700)
        monkeypatch.setenv("AMIRAL_HOME", str(home))
        yield home


def run(capsys, *argv):
    code = stop.run(list(argv))
    return code, *capsys.readouterr()


def told(capsys, *argv):
    code, out, err = run(capsys, *argv, "--json")
    assert (err, out.count("\n")) == ("", 1)
    return code, json.loads(out)


def in_force(home) -> str:
    stop = Brake(home / "brake").state()
    return stop.stop_id if stop else ""


def test_a_stop_is_on_from_now_and_lifted_by_its_name_alone(home, capsys):
    code, report = told(capsys, "emergency-stop")
    assert (code, report["survivors"], report["killed"], report["scope"]) == (0, 0, [], "all")
    assert in_force(home) == report["stop_id"]
    assert told(capsys, "emergency-stop", "all")[1]["stop_id"] == report["stop_id"]
    code, error = told(capsys, "release", "0a1b2c3d")
    assert (code, error["error"]["kind"]) == (6, "conflict")
    assert report["stop_id"] in error["error"]["message"]
    assert told(capsys, "release", report["stop_id"]) == (
        0,
        {"stop_id": report["stop_id"], "released": True, "still_on": []},
    )
    assert in_force(home) == ""
    assert told(capsys, "release", report["stop_id"])[0] == 6


def test_p03_a_release_of_an_unreadable_latch_says_what_is_still_on(home, capsys):
    brake = Brake(home / "brake")
    brake.prepare()
    kept = brake.engage("x", "owner", 1, "shop-1/dev")
    frozen = brake.freeze("x", "owner", 1)
    for as_json in (False, True):
        (home / "brake" / "latch").write_bytes(b"")
        if as_json:
            code, answer = told(capsys, "release", "unknown")
            assert (code, [one["stop_id"] for one in answer["still_on"]]) == (
                0,
                [kept.stop_id, frozen.stop_id],
            )
        else:
            code, out, _ = run(capsys, "release", "unknown")
            assert out.splitlines() == [
                "✓ released stop unknown",
                f"  ⛔ stop {kept.stop_id} is on for shop-1/dev: amiral release {kept.stop_id}",
                f"  ⏸ freeze {frozen.stop_id} is on: amiral thaw",
            ]


def test_people_are_told_in_two_lines(home, capsys):
    code, out, err = run(capsys, "emergency-stop")
    first, second = out.rstrip("\n").split("\n")
    assert (code, err.count("\n")) == (0, 1)
    assert err.startswith("⛔ stopping everything (stop ")
    assert first.startswith("⛔ stopped (stop ")
    assert "nothing was running · 0 processes left" in first
    assert second.startswith("  amiral release ")
    code, out, _ = run(capsys, *second.split()[1:])
    assert (code, out.startswith("✓ released stop ")) == (0, True)


@pytest.mark.parametrize(
    "words",
    [
        ["release"],
        ["release", "a", "b"],
        ["release", "--all"],
        ["emergency-stop", "shop", "more"],
        ["emergency-stop", "--now"],
        ["emergency-stop", "--level", "4"],
        ["emergency-stop", "--level=x"],
        ["emergency-stop", "--level"],
        ["freeze", "shop", "more"],
        ["thaw", "--now"],
    ],
)
def test_what_is_not_understood_is_refused_and_stops_or_releases_nothing(home, capsys, words):
    stop_id = told(capsys, "emergency-stop")[1]["stop_id"]
    code, error = told(capsys, *words)
    assert (code, error["error"]["kind"]) == (2, "usage")
    assert error["error"]["next"]
    assert in_force(home) == stop_id


def test_the_project_that_an_option_names_is_the_scope_and_never_everything(home, capsys):
    for words in (["-p", "nobody"], ["--project=nobody"], ["nobody", "-p", "other"]):
        code, error = told(capsys, "emergency-stop", *words)
        assert code != 0
        assert "nobody" in error["error"]["message"]
        assert in_force(home) == ""
    assert told(capsys, "emergency-stop", "--level=2", "--level", "3")[0] == 0


def test_a_home_that_is_not_there_is_not_made(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("AMIRAL_HOME", str(tmp_path / "none"))
    for words in (["emergency-stop"], ["release", "0a1b2c3d"], ["freeze"], ["thaw"]):
        code, _, err = run(capsys, *words)
        assert (code, err.count("✗")) == (2, 1)
    assert not (tmp_path / "none").exists()


def test_a_stop_of_a_new_home_is_not_lifted_by_its_first_start(home, capsys):
    stop_id = told(capsys, "emergency-stop")[1]["stop_id"]
    Brake(home / "brake").prepare()
    assert in_force(home) == stop_id != "unknown"


def test_a_lost_latch_is_a_stop_that_gets_a_name(home, capsys):
    told(capsys, "emergency-stop")
    (home / "brake" / "latch").unlink()
    stop_id = told(capsys, "emergency-stop")[1]["stop_id"]
    assert stop_id != "unknown"
    assert told(capsys, "release", stop_id)[0] == 0


def test_what_runs_below_an_agent_may_neither(home):
    """P09: the tag of the environment is enough, and so is one of a parent."""
    environ = {**os.environ, "AMIRAL_TAG": f"{stop._place().tag}:shop:s1"}
    inner = [sys.executable, "-m", "amiral"]
    bare = ["env", "-i", f"AMIRAL_HOME={home}", *inner]
    for command in (inner, bare):
        for words in (["emergency-stop"], ["release", "0a1b2c3d"], ["thaw"], ["guard"]):
            ran = subprocess.run(
                ["sh", "-c", '"$@"; exit $?', "sh", *command, *words, "--json"],
                env=environ,
                capture_output=True,
                text=True,
                check=False,
            )
            assert (ran.returncode, json.loads(ran.stdout)["error"]["kind"]) == (5, "denied")
    assert not (home / "brake").exists()
