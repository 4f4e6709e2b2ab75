"""`amiral deploy`: the owner's own command, confirmed, shown, bounded, and under the brake."""

import os
import signal
import subprocess
import sys
import time

import pytest

from amiral.testbench.rig import is_running, until


@pytest.fixture
def shop(yard):
    yard.settled()
    return yard


def ships(yard, name, command):
    yard.file("answers.toml", f"[stack]\ndeploy = {command!r}\ngit = false\n")
    assert yard.new(name).code == 0


def test_its_output_is_shown_and_its_end_told(shop):
    ships(shop, "tea", "echo one; echo two >&2; pwd")
    ran = shop.run("deploy", "tea", "--yes")
    lines = ran.out.split("\n")
    assert (ran.code, lines[:3]) == (0, ["one", "two", str(shop.code / "tea")])
    assert lines[3].startswith("✓ tea deployed")


def test_a_failure_has_its_code_and_the_last_words(shop):
    ships(shop, "tea", "echo no; exit 7")
    ran = shop.run("deploy", "tea", "--yes", "--json")
    (one,) = ran.json()["deploys"]
    assert (ran.code, one["ok"], one["code"], one["tail"]) == (1, False, 7, "no")
    assert "exit code 7" in shop.run("deploy", "tea", "--yes").out
    ships(shop, "gone", "no-such-program")
    assert shop.run("deploy", "gone", "--yes").code == 4
    ships(shop, "dead", "kill -9 $$")
    assert "ended by signal 9" in shop.run("deploy", "dead", "--yes").out


def test_all_are_deployed_one_by_one_whatever_becomes_of_each(shop):
    ships(shop, "a", "exit 1")
    ships(shop, "b", "no-such-program")
    ships(shop, "c", "echo c")
    shop.file("answers.toml", "")
    shop.new("silent")
    ran = shop.run("deploy", "all", "--yes", "--json")
    told = {one["project"]: one["ok"] for one in ran.json()["deploys"]}
    assert (ran.code, told) == (1, {"other": True, "a": False, "b": False, "c": True})
    assert shop.run("deploy", "silent", "--yes").code == 4


def test_the_command_of_the_home_counts_and_no_file_of_the_project(shop):
    ships(shop, "tea", "echo home")
    shop.file("code/tea/.amiral/config/amiral.toml", '[projects.tea]\ndeploy = "echo repo"\n')
    assert shop.run("deploy", "tea", "--yes").out.startswith("home\n")


def test_a_person_is_asked_and_no_is_the_default(shop):
    ships(shop, "tea", "echo shipped")
    code, shown = shop.at_terminal("deploy", "tea", typed="\n")
    assert (code, "nothing was deployed" in shown) == (6, True)
    assert f"tea: echo shipped   in {shop.code}/tea" in shown
    code, shown = shop.at_terminal("deploy", "tea", typed="yes\n")
    assert (code, "✓ tea deployed" in shown) == (0, True)
    assert shop.run("deploy", "tea").code == 2
    assert shop.run("deploy", "tae", "--yes").code == 4


def test_under_a_stop_nothing_is_deployed(shop):
    ships(shop, "tea", "touch shipped")
    stop_id = shop.run("emergency-stop", "--json").json()["stop_id"]
    ran = shop.run("deploy", "tea", "--yes", "--json")
    assert (ran.code, stop_id in ran.json()["error"]["message"]) == (6, True)
    assert shop.run("deploy", "all", "--yes").code == 1
    assert not (shop.code / "tea" / "shipped").exists()


def started(yard, name="tea"):
    argv = [sys.executable, "-m", "amiral", "deploy", name, "--yes"]
    return subprocess.Popen(argv, env=yard.environ, cwd=yard.code, stdout=subprocess.PIPE)


def pid_of(yard):
    file = yard.code / "tea" / "pid"
    return int(until(lambda: file.exists() and file.read_text().strip(), "the deploy"))


def test_a_stop_ends_one_that_runs(shop):
    ships(shop, "tea", "echo $$ >pid; sleep 60")
    with started(shop) as process:
        pid = pid_of(shop)
        assert shop.run("emergency-stop", "--json").json()["survivors"] == 0
        assert process.wait(30) == 1
    assert not is_running(pid)


def test_ctrl_c_ends_it_with_all_below(shop):
    ships(shop, "tea", "echo $$ >pid; sleep 60 & wait")
    with started(shop) as process:
        pid = pid_of(shop)
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130
    until(lambda: not is_running(pid), "the end of the deploy")


def test_what_it_leaves_behind_is_ended(shop):
    ships(shop, "tea", "sleep 60 & echo $! >pid")
    began = time.monotonic()
    assert shop.run("deploy", "tea", "--yes").code == 0
    assert time.monotonic() - began < 30
    assert not is_running(pid_of(shop))


def test_a_flood_is_cut_and_its_last_lines_are_kept(shop):
    ships(shop, "tea", "yes flood | head -c 6000000; printf 'the\\033[2Jend'")
    ran = shop.run("deploy", "tea", "--yes")
    assert ran.code == 0
    assert len(ran.out) < (1 << 20) + (1 << 18)
    assert "it prints more than is shown" in ran.out
    told = shop.run("deploy", "tea", "--yes", "--json").json()["deploys"][0]["tail"]
    assert told.endswith("theend") and "\x1b" not in told


def test_it_gets_no_secret_of_ours(shop):
    ships(shop, "tea", "env")
    ran = shop.run("deploy", "tea", "--yes", CLAUDE_CODE_OAUTH_TOKEN="s3cret", MY_TOKEN="x")
    assert "s3cret" not in ran.out and "MY_TOKEN" not in ran.out
    assert f"HOME={shop.environ['HOME']}" in ran.out
    assert os.environ["PATH"].split(":")[0] in ran.out
