"""What a shim left in a session's folder, read by the next owner (docs/reference/sessions.md)."""

from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import msgspec

from amiral.base.errors import Broken
from amiral.processes.shim.inputs import states_of
from amiral.processes.tree import Identity

T = TypeVar("T")


@dataclass(frozen=True)
class Meta:
    """What was launched: enough to find it again, and to know it from a later process (R30)."""

    session: str
    tag: str
    socket: str
    shim: Identity
    cli: Identity
    cgroup: str | None
    argv0: str
    cwd: str
    launched_ms: int


@dataclass(frozen=True)
class Exit:
    """How the CLI ended: with a code or by a signal, and how much could not be killed."""

    code: int | None
    signal: int | None
    ended_ms: int
    survivors: int


class _Process(msgspec.Struct):
    pid: int
    start: int


class _MetaFile(msgspec.Struct):
    session: str
    tag: str
    socket: str
    boot_id: str
    shim: _Process
    cli: _Process
    cgroup: str | None
    argv0: str
    cwd: str
    launched_ms: int


def read_meta(folder: Path) -> Meta | None:
    """Read `meta.json`, None when nothing was launched; Broken when it is damaged."""
    found = _read(folder / "meta.json", _MetaFile)
    if found is None:
        return None
    shim, cli = (Identity(found.boot_id, one.pid, one.start) for one in (found.shim, found.cli))
    return Meta(
        found.session,
        found.tag,
        found.socket,
        shim,
        cli,
        found.cgroup,
        found.argv0,
        found.cwd,
        found.launched_ms,
    )


def read_exit(folder: Path) -> Exit | None:
    """Read `exit.json`, None when the end was not recorded; Broken when it is damaged."""
    return _read(folder / "exit.json", Exit)


def read_inputs(folder: Path) -> dict[str, str]:
    """Tell what became of each input: "written", or "recorded" when that is unsure; else absent.

    Broken when `in.jsonl` is damaged: then every input is unsure.
    """
    path = folder / "in.jsonl"
    try:
        return states_of(path.read_bytes())
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise Broken(f"{path}: {error}") from error


def _read(path: Path, kind: type[T]) -> T | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise Broken(f"{path} is damaged: {error}") from error
