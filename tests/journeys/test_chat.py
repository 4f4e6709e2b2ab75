"""The journeys of one project: talk, wait, interrupt, limits, trust, down and up again."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from amiral.base.ids import digest
from amiral.testbench.rig import is_running, until

SLOW = "turns: [{match: slow, hang: 60, say: Late.}]\ndefault: {say: ok}\n"
LIMITED = (
    "turns: [{match: first, limit: {window: five_hour, resets_in_s: 3600}}]\ndefault: {say: ok}\n"
)


def status(rig, worker="consultant"):
    (project,) = rig.ask("status").json()["projects"]
    return next(row for row in project["workers"] if row["id"] == worker)


def said(rig, text):
    return rig.ask("say", text).json()


# ------------------------------------------------------------------ starting


def test_the_first_start_tells_what_a_newcomer_needs(yard):
    rig = yard.scripted()
    rig.launch(as_json=False)
    until(lambda: "\nchat " in rig.log(), "the banner")
    lines = [line.split(None, 1) for line in rig.log().rstrip("\n").split("\n")]
    told = {line[0]: line[1] for line in lines}
    assert set(told) - {"open"} == {"amiral", "found", "project", "notice", "socket", "chat"}
    assert told["project"] == f"shop ({rig.project})"
    assert str(rig.home) in told["amiral"]
    assert "scripted 1.0.0" in told["found"]
    assert "notice  no agent CLI found: the scripted worker answers\n" in rig.log()
    assert 'say -p shop "/c what does this project do?"' in told["chat"]
    assert rig.run("say", "-p", "shop", "/c what does this project do?", cwd=Path("/")).code == 0


def test_a_start_for_programs_is_one_document(yard):
    rig = yard.scripted().start()
    rig.ask("down")
    assert rig.wait_dead() == 0
    (line,) = rig.log().rstrip("\n").split("\n")
    told = json.loads(line)
    assert told["socket"] == str(rig.socket_path)
    assert told["projects"][0]["path"] == str(rig.project)
    usable = [cli["driver"] for cli in told["clis"] if not cli["problem"]]
    assert usable == ["scripted"]
    assert told["notices"]


def test_the_background_start_answers_when_it_serves(yard):
    rig = yard.scripted()
    started = rig.run("up", str(rig.project), "--detach", "--json")
    assert started.code == 0, started
    pid = started.json()["pid"]
    assert said(rig, "/c hello")["outcome"] == "done"
    assert rig.run("down").code == 0
    until(lambda: not is_running(pid), "the end of the process")
    assert rig.run("status").code == 3


def test_a_second_start_is_refused_and_says_who_serves(yard):
    """Exit 6, the process named; the first one does not notice."""
    rig = yard.scripted().start()
    second = rig.run("child", str(rig.project), "--json")
    assert second.code == 6, second
    assert second.json()["error"]["kind"] == "conflict"
    assert str(rig.pid) in second.json()["error"]["message"]
    plain = rig.run("child", str(rig.project))
    assert (plain.code, plain.out) == (6, "")
    assert str(rig.pid) in plain.err
    assert rig.run("say", "/c are you there?").code == 0


def test_a_socket_left_by_a_killed_process_is_replaced(yard):
    rig = yard.scripted().start()
    rig.kill()
    assert rig.socket_path.exists()
    gone = rig.run("status", "--json")
    assert (gone.code, gone.json()["error"]["kind"]) == (3, "unreachable")
    assert rig.start().run("status").code == 0


def test_two_projects_of_one_home_are_served_side_by_side(yard):
    one = yard.scripted().start()
    other = yard.rig(project="bakery").start()
    assert said(one, "/c hello")["outcome"] == said(other, "/c hello")["outcome"] == "done"
    assert len(one.told("MessageQueued")) == 1
    assert one.run("say", "-p", "bakery", "/c and here?", cwd=Path("/")).code == 0
    assert len(other.told("MessageQueued")) == 2


# ------------------------------------------------------------------ talking


def test_a_question_is_answered_and_stands_in_the_conversation(yard):
    rig = yard.scripted("turns: [{say: It sells books.}]").start()
    answer = rig.run("say", "/c what is this?", "--json")
    told = answer.json()
    assert (answer.code, told["accepted"], told["outcome"]) == (0, True, "done")
    assert told["route"] == {"kind": "message", "worker": "consultant", "args": "what is this?"}
    assert [reply["text"] for reply in told["replies"]] == ["It sells books."]
    assert rig.run("say", "/c again").out == "ok\n"

    (conversation,) = rig.ask("conversations").json()["conversations"]
    assert conversation["count"] == 4
    shown = rig.ask("conversation", "show", conversation["id"]).json()["messages"]
    words = [(one["speaker"], one["text"]) for one in shown]
    assert words[:2] == [("owner", "what is this?"), ("consultant", "It sells books.")]
    assert words[2:] == [("owner", "again"), ("consultant", "ok")]
    assert "consultant: It sells books." in rig.run("conversation", "show", conversation["id"]).out
    assert "4 messages" in rig.run("conversations").out


def test_two_workers_work_at_once_and_each_in_order(yard):
    rig = yard.scripted("turns: [{match: one, hang: 1.5, say: one}]\ndefault: {say: two}").start()
    first = [rig.post(f"/{seat} one") for seat in "cd"]
    second = [rig.post(f"/{seat} two") for seat in "cd"]
    both = ("consultant", "developer")
    until(lambda: all(status(rig, who)["state"] == "working" for who in both), "both at work")
    assert [status(rig, who)["waiting"] for who in both] == [1, 1]
    answers = [rig.answer(message)["text"] for message in (*first, *second)]
    assert answers == ["one", "one", "two", "two"]
    order = [turn["message"] for turn in rig.told("TurnStarted")]
    for one, two in zip(first, second, strict=True):
        assert order.index(one) < order.index(two)


def test_plain_text_goes_to_the_active_worker_which_is_kept(yard):
    rig = yard.scripted().start()
    assert said(rig, "hello")["worker"] == rig.ask("role").json()["role"] == "developer"
    assert rig.run("say", "/role consultant").out == "active worker: consultant\n"
    assert said(rig, "hello")["worker"] == "consultant"
    rig.kill()
    rig.start()
    assert said(rig, "hello")["worker"] == "consultant"
    unknown = rig.run("role", "consultat", "--json")
    assert (unknown.code, unknown.json()["error"]["kind"]) == (4, "not_found")
    assert "consultant" in unknown.json()["error"]["message"]


def test_a_slip_of_the_pen_starts_nothing_and_is_answered_by_a_hint(yard):
    """The issue's `/aprove x`: with and without a process the router says the same."""
    rig = yard.scripted().start()
    wrong = rig.run("say", "/aprove x", "--json")
    assert wrong.code == 1
    assert "Did you mean /approve x?" in wrong.json()["error"]["message"]
    with_process = rig.run("route", "/aprove x", "--json")
    assert with_process.code == 0
    assert with_process.json()["kind"] == "error"
    assert with_process.json()["suggestion"] == "/approve"
    assert rig.run("say", "/w:nobody hello").code == 1
    assert rig.told("MessageQueued") == []
    rig.kill()
    assert rig.run("route", "/aprove x", "--json") == with_process


def test_a_wait_that_runs_out_is_no_failure_and_the_answer_comes(yard):
    rig = yard.scripted("turns: [{hang: 1, say: Late.}]").start()
    early = rig.run("say", "--wait", "0.2", "/c hello", "--json")
    assert (early.code, early.json()["outcome"], early.json()["replies"]) == (0, "pending", [])
    assert rig.answer(early.json()["message_id"])["text"] == "Late."
    shown = rig.run("conversation", "show", "consultant-owner").out
    assert shown.rstrip().endswith("consultant: Late.")
    pending = rig.run("say", "--wait", "0", "/c more").out
    assert "⏳ consultant · pending" in pending


# ------------------------------------------------------------------ limits


def test_a_limited_worker_waits_with_its_queue_until_it_is_resumed(yard):
    rig = yard.scripted(LIMITED).start()
    limited = rig.run("say", "/c first", "--json")
    assert (limited.code, limited.json()["outcome"]) == (0, "limited")
    behind = rig.post("/c second")
    assert said(rig, "/d other")["outcome"] == "done", "another worker goes on"
    assert status(rig)["state"] == "limited"
    assert status(rig)["waiting"] == 1
    assert "amiral limits resume consultant" in rig.run("status").out
    rig.kill()
    rig.start()
    (limit,) = rig.ask("limits").json()["limits"]
    assert (limit["worker"], limit["window"]) == ("consultant", "five_hour")
    assert (limit["state"], limit["source"]) == ("waiting", "cli")
    assert "⏸ consultant · five_hour · resets 20" in rig.run("limits").out
    assert rig.answers(behind) == []
    assert rig.run("limits", "resume", "consultant").code == 0
    assert rig.answer(limited.json()["message_id"])["text"] == "ok"
    assert rig.answer(behind)["outcome"] == "done"
    assert rig.run("limits").out == "no worker is limited\n"
    assert rig.run("limits", "resume", "consultant").code == 4


def test_a_limited_turn_can_be_given_up(yard):
    rig = yard.scripted(LIMITED).start()
    message = said(rig, "/c first")["message_id"]
    behind = rig.post("/c second")
    assert rig.run("limits", "cancel", "consultant").code == 0
    assert rig.answer(message)["outcome"] == "cancelled"
    assert rig.answer(behind)["outcome"] == "done"
    assert rig.run("limits", "cancel", "consultant").code == 4


def test_a_message_whose_turn_is_limited_can_be_taken_back(yard):
    rig = yard.scripted(LIMITED).start()
    message = said(rig, "/c first")["message_id"]
    assert rig.run("cancel", message).code == 0
    assert rig.answer(message)["outcome"] == "cancelled"
    assert rig.ask("limits").json() == {"limits": []}
    assert said(rig, "/c second")["outcome"] == "done"


# ------------------------------------------------------------------ taking back


def test_an_interrupt_ends_the_turn_and_keeps_the_session(yard):
    rig = yard.scripted(SLOW).start()
    idle = rig.run("interrupt", "consultant", "--json")
    assert (idle.code, idle.json()["error"]["kind"]) == (6, "conflict")
    message = rig.post("/c slow")
    rig.wait_told("MessageSeen")
    assert rig.run("say", "/interrupt consultant").code == 0
    assert rig.answer(message)["outcome"] == "interrupted"
    assert said(rig, "/c next")["outcome"] == "done"
    assert len(rig.told("SessionOpened")) == 1
    assert rig.run("interrupt", "nobody").code == 4


def test_messages_are_taken_back_waiting_or_running(yard):
    rig = yard.scripted(SLOW).start()
    running, waiting, last = rig.post("/c slow"), rig.post("/c two"), rig.post("/c three")
    rig.wait_told("MessageSeen")
    assert rig.ask("cancel", waiting).json()["was"] == "queued"
    assert rig.ask("cancel", running).code == 0
    assert rig.answer(running)["outcome"] == "cancelled"
    assert rig.answer(last)["outcome"] == "done"
    assert [turn["message"] for turn in rig.told("TurnStarted")] == [running, last]
    for gone in (waiting, running, last):
        assert rig.run("cancel", gone, "--json").code == 6
    assert rig.run("cancel", "nothing", "--json").code == 4


# ------------------------------------------------------------------ looking on


def test_events_are_read_from_a_place_and_followed(yard):
    rig = yard.scripted().start()
    said(rig, "/c hello")
    whole = rig.run("events", "--json").lines()
    assert [event["seq"] for event in whole] == list(range(1, len(whole) + 1))
    assert rig.run("events", "--since", "4", "--json").lines() == whole[4:]
    assert rig.run("events", "--since", str(len(whole))).out == ""
    assert "MessageQueued" in rig.run("events").out

    frames = rig.frames(["events", "--follow", "--since", str(len(whole)), "--json"])
    message = rig.post("/c more")
    first = json.loads(next(frames)["out"])
    assert (first["seq"], first["payload"]["message"]) == (len(whole) + 1, message)
    ended = next(frame for frame in frames if "TurnEnded" in frame["out"])
    assert json.loads(ended["out"])["payload"]["message"] == message
    rig.ask("down")
    assert list(frames)[-1] == {"exit": 0}


def test_whoever_waits_when_amiral_goes_down_is_told_that_the_message_is_kept(yard):
    rig = yard.scripted(SLOW).start()
    frames = rig.frames(["say", "/c slow", "--json"])
    with subprocess.Popen(
        [sys.executable, "-m", "amiral", "say", "/d slow", "--json"],
        cwd=rig.project,
        env=rig.environ,
        stdout=subprocess.PIPE,
    ) as waiting:
        rig.wait_told("MessageSeen")
        rig.ask("down")
        out, _ = waiting.communicate(timeout=30)
    assert (waiting.returncode, json.loads(out)["outcome"]) == (0, "pending")
    frames.close()


@pytest.mark.parametrize("is_hung", [True, False])
def test_whoever_waits_when_amiral_is_killed_is_told_and_the_message_is_kept(yard, is_hung):
    """A hung process has not read the request, and its end resets the connection."""
    rig = yard.scripted(SLOW).start()
    if is_hung:
        os.kill(rig.pid, signal.SIGSTOP)
    command = [sys.executable, "-m", "amiral", "say", "/d slow", "--json"]
    options = {"cwd": rig.project, "env": rig.environ}
    with subprocess.Popen(command, stdout=subprocess.PIPE, **options) as waiting:
        if is_hung:
            until(lambda: has_asked(rig), "the request")
        else:
            rig.wait_told("MessageSeen")
        rig.kill()
        out, _ = waiting.communicate(timeout=30)
    assert (waiting.returncode, json.loads(out)["error"]["kind"]) == (3, "unreachable")
    rig.start()
    assert len(rig.told("MessageQueued")) == (0 if is_hung else 1)


def has_asked(rig) -> bool:
    """The kernel shows a connection to the socket that nobody has taken yet."""
    rows = Path("/proc/net/unix").read_text().split("\n")
    return sum(row.endswith(str(rig.socket_path)) for row in rows) > 1


# ------------------------------------------------------------------ trust


def test_a_changed_registry_counts_when_it_is_trusted_and_at_once(yard, hire):
    rig = yard.scripted().start()
    hire(rig, {})
    until(lambda: rig.ask("health").json()["notices"], "a notice")
    assert rig.run("say", "/w:tester hello").code == 1, "untrusted, it has no effect"
    assert "amiral trust config/workers_registry.json" in rig.run("health").out
    (file,) = rig.ask("trust").json()["files"]
    assert file == {"file": "config/workers_registry.json", "state": "new"}

    trusted = rig.run("trust", "workers_registry.json")
    assert '+   "id": "tester",' in trusted.out
    until(lambda: "tester" in rig.run("workers").out, "the worker", 5)
    assert said(rig, "/w:tester hello")["outcome"] == "done"
    assert rig.ask("trust").json() == {"files": []}
    assert rig.told("WorkersLoaded")
    assert rig.ask("health").json() == {**rig.ask("health").json(), "ok": True, "notices": []}


def test_a_broken_registry_is_told_by_line_and_the_last_good_one_stays(yard, hire):
    rig = yard.scripted()
    hire(rig, {})
    rig.start()
    rig.ask("trust", "workers_registry.json")
    until(lambda: "tester" in rig.run("workers").out, "the worker", 5)
    hire(rig, {"tools": "read"}, {"id": "other", "max_turns": -1, "modle": "x"})
    rig.ask("trust", "workers_registry.json")
    errors = until(lambda: rig.told("WorkersRefused"), "the refusal", 5)[0]["errors"]
    assert errors[0].startswith('workers_registry.json:11: worker "tester": tools must be')
    assert len(errors) == 3
    assert all(error.startswith("workers_registry.json:") for error in errors)
    assert set(errors) <= set(rig.ask("health").json()["notices"])
    assert said(rig, "/w:tester hello")["outcome"] == "done"
    assert rig.run("say", "/w:other hello").code == 1

    checked = rig.run("workers", "check", ".amiral/config/workers_registry.json", "--json")
    assert checked.code == 1
    assert [error.partition(".json:")[2] for error in checked.json()["errors"]] == [
        error.partition(".json:")[2] for error in errors
    ]
    hire(rig, {"id": "other"})
    rig.ask("trust", "workers_registry.json")
    until(lambda: "other" in rig.run("workers").out, "the repaired registry", 5)


# ------------------------------------------------------------------ going down


def test_going_down_ends_what_is_idle_and_leaves_what_works(yard):
    """Written rule: a restart keeps agents (R29)."""
    rig = yard.scripted("turns: [{match: slow, hang: 3, say: Late.}]").start()
    said(rig, "/c hello")
    message = rig.post("/w:ui-designer slow")
    rig.wait_told("MessageSeen", 2)
    idle, busy = sorted(rig.running(), key=lambda one: one.worker)
    assert rig.run("down").code == 0
    assert rig.wait_dead() == 0
    assert not rig.socket_path.exists()
    until(lambda: not is_running(idle.shim), "the end of the idle shim")
    assert not is_running(idle.cli)
    assert is_running(busy.shim) and is_running(busy.cli)
    rig.start()
    assert (rig.answer(message)["outcome"], rig.answer(message)["text"]) == ("done", "Late.")
    assert said(rig, "/w:ui-designer hello")["outcome"] == "done"
    assert [turn["worker"] for turn in rig.told("SessionOpened")].count("ui-designer") == 1


def test_going_down_with_the_agents_ends_them_too(yard):
    rig = yard.scripted(SLOW).start()
    said(rig, "/c hello")
    message = rig.post("/d slow")
    rig.wait_told("MessageSeen", 2)
    sessions = rig.running()
    assert rig.run("down", "--agents").code == 0
    assert rig.wait_dead() == 0
    assert not [one for one in sessions if is_running(one.shim) or is_running(one.cli)]
    rig.start()
    assert rig.answer(message)["outcome"] == "interrupted"


def test_going_down_ends_the_idle_cli_of_an_earlier_process_too(yard):
    rig = yard.scripted().start()
    said(rig, "/c hello")
    (idle,) = rig.running()
    rig.kill()
    rig.start()
    assert rig.run("down").code == 0
    assert rig.wait_dead() == 0
    until(lambda: not is_running(idle.cli), "the end of the idle CLI", 5)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_polite_signal_is_a_going_down(yard, number):
    rig = yard.scripted(SLOW).start()
    message = rig.post("/c slow")
    rig.wait_told("MessageSeen")
    os.kill(rig.pid, number)
    assert rig.wait_dead() == 0
    (session,) = rig.running()
    rig.start()
    assert rig.ask("cancel", message).code == 0
    assert rig.answer(message)["outcome"] == "cancelled"
    assert is_running(session.cli)


def test_the_socket_has_the_name_the_client_looks_for(yard):
    rig = yard.scripted().start()
    assert rig.socket_path.name == f"{digest(os.path.realpath(rig.project), 16)}.sock"
    assert rig.socket_path.stat().st_mode & 0o777 == 0o600
    inner = rig.project / "src" / "deep"
    inner.mkdir(parents=True)
    assert rig.run("say", "/c from below", cwd=inner).code == 0
    shutil.rmtree(inner)
