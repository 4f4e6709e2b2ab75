"""What processes print is kept within bounds, and of a death only what may be told is told."""

import asyncio
import contextlib
import os

import pytest

from amiral.hub.output import Output, keep_bounded
from amiral.testbench.fake_clock import FakeClock

LARGE = b"x" * (5 << 20) + b"\nthe last line\n"


@pytest.fixture
def output(tmp_path):
    return Output(tmp_path / "logs" / "process.log")


def written(output, *lines):
    descriptor = output.open()
    os.write(descriptor, "".join(f"{line}\n" for line in lines).encode())
    os.close(descriptor)


def test_it_is_ours_alone_and_written_on(output):
    written(output, "one")
    written(output, "two")
    assert output.path.read_text() == "one\ntwo\n"
    assert output.path.stat().st_mode & 0o077 == 0
    assert output.last_line(str) == "two"


def test_a_complaint_is_told_before_what_follows_it(output):
    written(output, "✗ the disk is full", "  free some space", "")
    assert output.last_line(str) == "✗ the disk is full"


def test_what_was_printed_before_the_start_is_no_last_line(output):
    written(output, "of the one before")
    os.close(output.open())
    assert output.last_line(str) == ""
    assert Output(output.path.with_name("none")).last_line(str) == ""


def test_what_is_told_was_redacted_before_it_was_cut(output):
    secret = "s3cret-" * 100
    written(output, f"token {secret}")
    assert output.last_line(lambda text: text.replace(secret, "[redacted]")) == "token [redacted]"


def test_a_line_whose_beginning_is_not_read_is_not_told(output):
    written(output, "x" * 10_000)
    assert output.last_line(str) == ""
    written(output, "y" * 10_000, "the last line")
    assert output.last_line(str) == "the last line"


async def test_a_log_under_its_writer_is_bounded_every_minute(output, tmp_path):
    broken = Output(tmp_path / "folder")
    broken.path.mkdir()
    clock = FakeClock()
    keeping = asyncio.create_task(keep_bounded(lambda: (broken, output), clock))
    await clock.until_sleeping(1)
    descriptor = output.open()
    os.write(descriptor, LARGE)
    await clock.advance(60)
    os.write(descriptor, b"more\n")
    os.close(descriptor)
    assert output.path.read_bytes() == b"more\n"
    kept = output.path.with_suffix(".log.1").read_bytes()
    assert (len(kept), kept.endswith(b"the last line\n")) == (1 << 20, True)
    keeping.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await keeping
