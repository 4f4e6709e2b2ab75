"""Gather what the files tell about a message whose CLI is gone before its final event."""

from collections.abc import Iterable
from pathlib import Path

from amiral.agents.ending import Evidence
from amiral.agents.rows import Queued
from amiral.agents.session import Session
from amiral.processes.session_files import read_inputs


def gather(
    session: Session, message: Queued, text: str, folder: Path, transcripts: Iterable[Path]
) -> Evidence:
    """Read the shim's input record and the CLI's own transcript."""
    inputs = read_inputs(folder)
    lines = [line for path in transcripts for line in path.read_bytes().split(b"\n")]
    settlement = session.driver.settle(lines, message.line, text)
    return Evidence(inputs.get(message.line, "unknown"), settlement, message.state == "seen")
