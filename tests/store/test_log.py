"""Logs: one file a day, redacted, bounded, and never a reason to fail."""

import json
import stat

import pytest

from amiral.store.log import Log
from amiral.store.redact import REDACTED, Redactor
from amiral.testbench.fake_clock import FakeClock

DAY_MS = 24 * 3_600_000
NOON_MS = 1_800_014_400_000  # 2027-01-15T12:00:00Z


@pytest.fixture
def clock():
    return FakeClock(NOON_MS)


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "logs"


def open_log(folder, clock, **options):
    return Log(folder, "web", clock, Redactor(["open sesame"]), **options)


def lines(path):
    return [json.loads(line) for line in path.read_text().split("\n") if line]


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


def test_records_are_json_lines_with_their_instant_in_the_file_of_their_utc_day(folder, clock):
    log = open_log(folder, clock)
    log.write({"event": "started", "text": "é\n\u2028"})
    clock.jump(DAY_MS)
    log.write({"event": "ended"})
    log.close()
    assert names_in(folder) == ["web-2027-01-15.jsonl", "web-2027-01-16.jsonl"]
    assert lines(folder / "web-2027-01-15.jsonl") == [
        {"ts": "2027-01-15T12:00:00.000Z", "event": "started", "text": "é\n\u2028"}
    ]
    assert lines(folder / "web-2027-01-16.jsonl")[0]["event"] == "ended"


def test_the_folder_and_its_files_are_private(folder, clock):
    open_log(folder, clock).write({})
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (folder, *folder.iterdir())]
    assert modes == [0o700, 0o600]


def test_a_log_is_gone_on_with_after_a_restart_and_after_closing(folder, clock):
    for number in range(2):
        log = open_log(folder, clock)
        log.write({"n": number})
        log.close()
        log.write({"n": number + 10})
    assert [line["n"] for line in lines(folder / "web-2027-01-15.jsonl")] == [0, 10, 1, 11]


def test_r50_secrets_never_reach_a_log_and_the_line_stays_json(folder, clock):
    log = open_log(folder, clock)
    log.write({"text": "say open sesame", "deep": [{"k": "open sesame"}], "n": 5})
    (line,) = lines(folder / "web-2027-01-15.jsonl")
    assert line["text"] == f"say {REDACTED}"
    assert line["deep"] == [{"k": REDACTED}]
    assert "sesame" not in (folder / "web-2027-01-15.jsonl").read_text()


def test_what_json_cannot_hold_is_written_as_text(folder, clock):
    log = open_log(folder, clock)
    log.write({"path": folder, "half": "\ud800", "error": ValueError("x"), "set": {1}})
    (line,) = lines(folder / "web-2027-01-15.jsonl")
    assert line["path"] == str(folder)
    assert (line["half"], line["error"], line["set"]) == ("?", "x", "{1}")


def test_r38_the_oldest_days_of_a_folder_over_its_cap_go_whatever_their_name(folder, clock):
    folder.mkdir()
    for name in ("web-2027-01-11", "api-2027-01-12", "web-2027-01-13"):
        (folder / f"{name}.jsonl").write_bytes(b"x" * 400_000)
    (folder / "notes.jsonl").write_bytes(b"x" * 900_000)
    open_log(folder, clock, max_mb=1).write({})
    assert names_in(folder) == [
        "api-2027-01-12.jsonl",
        "notes.jsonl",
        "web-2027-01-13.jsonl",
        "web-2027-01-15.jsonl",
    ]


def test_r38_the_cap_is_kept_while_a_day_grows(folder, clock):
    folder.mkdir()
    (folder / "web-2027-01-14.jsonl").write_bytes(b"x" * 2_000_000)
    log = open_log(folder, clock, max_mb=3)
    for _ in range(22):
        log.write({"text": "x" * 100_000})
    assert names_in(folder) == ["web-2027-01-15.jsonl"]


def test_r38_the_current_day_stays_whatever_its_name(folder, clock):
    folder.mkdir()
    for name in ("api-2027-01-15", "old-2027-01-14"):
        (folder / f"{name}.jsonl").write_bytes(b"x" * 1_100_000)
    open_log(folder, clock, max_mb=1).write({})
    assert names_in(folder) == ["api-2027-01-15.jsonl", "web-2027-01-15.jsonl"]


def test_r38_a_flood_stops_at_the_cap_and_the_next_day_tells_what_was_lost(folder, clock):
    log = open_log(folder, clock, max_mb=1)
    for _ in range(15):
        log.write({"text": "x" * 100_000})
    today = folder / "web-2027-01-15.jsonl"
    assert 800_000 < today.stat().st_size <= 1_000_000
    assert log.dropped == 15 - len(lines(today))
    clock.jump(DAY_MS)
    log.write({"n": 1})
    log.write({"n": 2})
    first, second = lines(folder / "web-2027-01-16.jsonl")
    assert first["dropped"] == log.dropped
    assert "dropped" not in second


def test_a_record_cut_short_by_a_crash_does_not_spoil_the_next_one(folder, clock):
    open_log(folder, clock).write({"n": 1})
    path = folder / "web-2027-01-15.jsonl"
    path.write_bytes(path.read_bytes() + b'{"ts": "2027')
    open_log(folder, clock).write({"n": 2})
    last = path.read_text().strip().split("\n")[-1]
    assert json.loads(last)["n"] == 2


def test_a_log_that_cannot_be_written_counts_what_it_lost_and_goes_on(folder, clock):
    log = open_log(folder, clock)
    today = folder / "web-2027-01-15.jsonl"
    today.mkdir()
    log.write({"n": 1})
    assert log.dropped == 1
    today.rmdir()
    log.write({"n": 2})
    assert lines(today)[0]["dropped"] == 1
