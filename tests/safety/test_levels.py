"""The gentle levels: interrupt, then close, through the shims alone; the rest is killed."""

import json
import os
import signal
import threading
import time

import pytest

from amiral.safety.report import report_data
from amiral.safety.stop import Order, stop_agents

GRACE_S = 0.6
INTERRUPT = {"id": "interrupt-t1", "data": "interrupt\n"}


@pytest.fixture
def home(homes):
    return homes().start("shop-1", ("polite", "plain"))


def note(home, kind, *interrupt, act="Edit: cart.py"):
    told = {"act": act, "interrupt": list(interrupt)}
    (home.session("shop-1", kind) / "turn.json").write_text(json.dumps(told))


def inputs(home, kind) -> list[dict]:
    text = (home.session("shop-1", kind) / "in.jsonl").read_text()
    return [json.loads(line) for line in text.split("\n") if line]


def levels(report) -> dict[str, int]:
    return {one.worker.partition("worker-")[2]: one.level for one in report.ended}


@pytest.mark.parametrize("state", [signal.SIGSTOP, signal.SIGKILL])
def test_p03_a_turn_is_interrupted_its_session_closed_and_the_rest_killed(home, state):
    """With the project's process stopped or dead; each ends by the gentlest level that works."""
    home.signal(state)
    for kind in ("polite", "plain"):
        note(home, kind, INTERRUPT)
    began = time.monotonic()
    report = stop_agents(home.place, Order("", "enough", "owner", level=1, grace_s=GRACE_S))
    took_s = time.monotonic() - began
    assert (levels(report), report.survivors) == ({"polite": 2, "plain": 3}, 0)
    assert 2 * GRACE_S <= took_s < 2 * GRACE_S + 2
    assert home.alive(home.pids()) == set()
    assert home.out("shop-1", "polite").endswith(b" on interrupt\n")
    assert json.loads((home.session("shop-1", "polite") / "exit.json").read_text())["code"] == 0
    assert report_data(report)["was_doing"] == [
        "shop-1/worker-plain (Edit: cart.py)",
        "shop-1/worker-polite (Edit: cart.py)",
    ]


def test_s02_nothing_is_ever_sent_but_the_prepared_lines_each_once(home):
    """No Enter after an interrupt: it might submit what is half typed."""
    note(home, "polite", INTERRUPT, INTERRUPT)
    note(home, "plain")
    stop_agents(home.place, Order("", "enough", "owner", level=1, grace_s=GRACE_S))
    assert inputs(home, "polite") == [INTERRUPT, {"written": "interrupt-t1"}]
    assert inputs(home, "plain") == []


def test_a_turn_whose_end_is_told_has_ended_by_the_interrupt(home):
    """The project's process takes the turn's file away when it has read the turn's end."""
    note(home, "polite", INTERRUPT)
    session = home.session("shop-1", "polite")

    def watch() -> None:
        home.until(lambda: b"interrupt" in home.out("shop-1", "polite"))
        (session / "turn.json").unlink()

    reader = threading.Thread(target=watch)
    reader.start()
    order = Order("shop-1/worker-polite", "enough", "owner", level=1, grace_s=30.0)
    report = stop_agents(home.place, order)
    reader.join()
    assert (levels(report), report.survivors) == ({"polite": 1}, 0)
    assert report.ms < 10_000
    assert json.loads((session / "exit.json").read_text())["code"] == 0


def test_level_2_interrupts_nothing(home):
    note(home, "polite", INTERRUPT)
    report = stop_agents(home.place, Order("", "enough", "owner", level=2, grace_s=GRACE_S))
    assert (levels(report), report.survivors) == ({"polite": 2, "plain": 3}, 0)
    assert inputs(home, "polite") == []


def test_p03_a_shim_that_hangs_delays_no_other_and_saves_nobody(home):
    meta = json.loads((home.session("shop-1", "plain") / "meta.json").read_text())
    os.kill(meta["shim"]["pid"], signal.SIGSTOP)
    report = stop_agents(home.place, Order("", "enough", "owner", level=1, grace_s=GRACE_S))
    assert (levels(report), report.survivors) == ({"polite": 2, "plain": 3}, 0)
    assert report.ms < 5000
