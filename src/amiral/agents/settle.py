"""When a CLI is gone before its final event: end what is left of it, and ask the files."""

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from amiral.agents.driver import Settlement
from amiral.agents.ending import Evidence
from amiral.agents.session import EXITED, LINK_LOST, NEVER_LAUNCHED, SHIM_LOST, Session
from amiral.base.errors import Broken
from amiral.base.plain import one_line
from amiral.processes.pool import ShimPool
from amiral.processes.session_files import Exit, read_exit, read_inputs, read_meta
from amiral.processes.tree import boot_id
from amiral.store.redact import Redactor

T = TypeVar("T")

_LONGEST_WORDS = 300
_READ_BYTES = 8192
_KILL_DEADLINE_S = 10.0
_SHAPES = Redactor()


async def bury(session: Session, folder: Path, tag: str, shims: ShimPool) -> None:
    """Find out how a session whose shim is gone ended, and end what may be left of it.

    Only then do its files, and the CLI's own transcript, stay as they are. Broken while a process
    of it survives being killed: nothing may be concluded yet.
    """
    ended = _undamaged(read_exit, folder)
    is_known = session.why_over != LINK_LOST or ended is not None
    if ended is not None:
        session.end(EXITED, _code(ended))
    if is_known and (ended is None or not ended.survivors):
        return
    killed = await end_tree(folder, tag, shims)
    was_launched = bool(killed) or (folder / "meta.json").exists()
    session.end(SHIM_LOST if was_launched else NEVER_LAUNCHED)


async def end_tree(folder: Path, tag: str, shims: ShimPool) -> int:
    """Kill what is left of a session and tell how many that were; Broken while any survives."""
    meta = _undamaged(read_meta, folder)
    roots, cgroup = ([meta.shim, meta.cli], meta.cgroup) if meta else ([], None)
    killed = await shims.kill_tree(tag, roots, cgroup, _KILL_DEADLINE_S)
    if killed.survivors:
        pids = ", ".join(str(one.pid) for one in killed.survivors)
        raise Broken(f"processes {pids} of session {folder.name} survive being killed", "ps")
    return len(killed.killed)


def gather(
    session: Session, line: str, text: str, folder: Path, transcripts: Sequence[Path] | None
) -> Evidence:
    """Read the shim's input record, the CLI's own transcript and its last words.

    `line` and `text` are what was to be written; `transcripts` is None for a CLI that keeps none.
    Reads as much as there is: call it off the loop.
    """
    why = session.why_over
    if session.exit_code is not None:
        why = f"{why} ({_how(session.exit_code)})"
    words = last_words(folder)
    why = f"{why}; its last words: {words}" if words else why
    settlement = _settlement(session, line, text, transcripts)
    if settlement.proof == "absent" and _is_of_another_boot(folder):
        # The machine went down: what the CLI wrote last may never have reached the disk.
        settlement = Settlement("unknown")
    return Evidence(recorded(folder, line), settlement, why)


def last_words(folder: Path) -> str:
    """Give the end of what a CLI said on stderr, in one line, "" when it said nothing.

    Cut between two words, so that no half of a secret stays behind that nobody recognises.
    """
    said = _end_of(folder / "err")
    if len(said) < _READ_BYTES:
        said = _end_of(folder / "err.1")[len(said) - _READ_BYTES :] + said
    words = one_line(_SHAPES.text(said.decode("utf-8", "replace")), _READ_BYTES)
    if len(words) <= _LONGEST_WORDS:
        return words
    kept = words[-_LONGEST_WORDS:].partition(" ")[2]
    return f"… {kept}" if kept else ""


def recorded(folder: Path, line: str) -> str:
    """A damaged record proves nothing: then the input may have been written, in part or whole."""
    try:
        return read_inputs(folder).get(line, "unknown")
    except Broken:
        return "recorded"


def _is_of_another_boot(folder: Path) -> bool:
    try:
        meta = read_meta(folder)
    except Broken:
        return True
    return meta is not None and meta.cli.boot_id != boot_id()


def _settlement(
    session: Session, line: str, text: str, transcripts: Sequence[Path] | None
) -> Settlement:
    if transcripts is None:
        return Settlement("unknown")
    try:
        return session.driver.settle(_lines(transcripts), line, text)
    except OSError:
        return Settlement("unknown")


def _lines(files: Sequence[Path]) -> Iterator[bytes]:
    for path in files:
        with path.open("rb") as file:
            yield from file


def _end_of(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _READ_BYTES))
            return file.read(_READ_BYTES)
    except OSError:
        return b""


def _undamaged(read: Callable[[Path], T | None], folder: Path) -> T | None:
    """A damaged file tells nothing; the tag still finds the tree."""
    try:
        return read(folder)
    except Broken:
        return None


def _code(ended: Exit) -> int | None:
    return ended.code if ended.signal is None else -ended.signal


def _how(exit_code: int) -> str:
    return f"code {exit_code}" if exit_code >= 0 else f"signal {-exit_code}"
