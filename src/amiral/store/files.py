"""Files that are whole or absent: atomic writes, read-back of JSON that is never quietly wrong."""

import contextlib
import os
import secrets
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from amiral.base.errors import AmiralError, Broken, Denied

T = TypeVar("T")

_PRIVATE = 0o700
_WIDER_THAN_PRIVATE = 0o077
_TEMP_ENDING = ".tmp"
_UNREADABLE = (ValueError, TypeError, LookupError, RecursionError, AmiralError)


@dataclass(frozen=True)
class Absent:
    """There is no such file, and there never was a good one."""


@dataclass(frozen=True)
class Intact(Generic[T]):
    """The file as it stands."""

    value: T


@dataclass(frozen=True)
class Salvaged(Generic[T]):
    """The file is unusable: `value` is its last good version, and a person must be told `warning`.

    `kept` is the copy of the unusable bytes; None when the file is simply gone.
    """

    value: T
    warning: str
    kept: Path | None


def write_atomic(path: Path, data: bytes | str, *, mode: int = 0o600) -> None:
    """Replace `path` so that every reader, at any moment, finds the old or the new bytes whole.

    Returns once the new version is on disk (P02, R37). Broken when the disk refuses: a full disk
    leaves the old file intact and nothing beside it.
    """
    content = data.encode("utf-8") if isinstance(data, str) else data
    # The writer's number lets `remove_leftovers` tell a dead writer's file from a live one's.
    temp = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}{_TEMP_ENDING}")
    try:
        _write_synced(temp, content, mode)
        os.replace(temp, path)
        sync_folder(path.parent)
    except OSError as error:
        raise cannot("write", path, error) from error
    finally:
        with contextlib.suppress(OSError):
            os.unlink(temp)


def write_json(path: Path, value: object) -> None:
    """Write `value` as JSON, and once more as `NAME.good`, which `read_json` falls back to."""
    data = msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"
    write_atomic(path, data)
    _keep_good(path, data)


def read_json(path: Path, check: Callable[[object], T]) -> Intact[T] | Salvaged[T] | Absent:
    """Read a JSON file; `check` makes the value of what was decoded, or raises ValueError, say.

    An unusable file stays where it is and is copied to `NAME.corrupt-N`, never over another copy
    (R37). Broken when there is no usable last good copy either, or when the disk cannot be read.
    """
    data = _read(path)
    if data is None:
        return _salvage(path, check, "is gone", None) if _good(path).exists() else Absent()
    try:
        value = check(msgspec.json.decode(data))
    except _UNREADABLE as error:
        return _salvage(path, check, f"cannot be used ({error})", _keep_aside(path, data))
    _keep_good(path, data)
    return Intact(value)


def ensure_private_folder(path: Path) -> None:
    """Make `path` (and missing parents) a folder that only we can enter.

    One of ours with wider rights is tightened; Denied when it is somebody else's or no folder.
    """
    try:
        _make_folders(path)
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except NotADirectoryError as error:
        raise Denied(f"{path} is not a folder", "choose another path or move it away") from error
    except PermissionError as error:
        raise Denied(f"{path} is not ours to use", f"choose another path than {path}") from error
    except OSError as error:
        raise cannot("make the folder", path, error) from error
    try:
        _tighten(path, descriptor)
    finally:
        os.close(descriptor)


def remove_leftovers(folder: Path) -> None:
    """Remove the half-written files of writers that were killed; those of live writers stay."""
    for temp in folder.glob(f".*{_TEMP_ENDING}"):
        writer = temp.name.removesuffix(_TEMP_ENDING).rpartition(".")[2].partition("-")[0]
        if writer.isascii() and writer.isdigit() and not Path("/proc", writer).exists():
            temp.unlink(missing_ok=True)


def sync_folder(path: Path) -> None:
    """Bring the names in a folder to disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def cannot(verb: str, path: Path, error: OSError) -> Broken:
    """What a refusal of the disk means for a person."""
    return Broken(
        f"cannot {verb} {path}: {os.strerror(error.errno or 0)}",
        "free some space on its disk, or check its rights, then repeat",
    )


def _write_synced(path: Path, content: bytes, mode: int) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(path, flags, mode)
    try:
        os.fchmod(descriptor, mode)
        view = memoryview(content)
        while view:
            view = view[os.write(descriptor, view) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise cannot("read", path, error) from error


def _salvage(path: Path, check: Callable[[object], T], what: str, kept: Path | None) -> Salvaged[T]:
    good = _good(path)
    where = f"; its bytes are kept in {kept.name}" if kept else ""
    try:
        value = check(msgspec.json.decode(good.read_bytes()))
    except (*_UNREADABLE, OSError) as error:
        raise Broken(
            f"{path} {what}{where}, and there is no good copy of it",
            f"mend {path}, or remove it to start without it",
        ) from error
    advice = f"mend {path}, or remove it and {good.name} to start without it"
    return Salvaged(value, f"{path} {what}{where}; the last good version is in use: {advice}", kept)


def _good(path: Path) -> Path:
    return path.with_name(f"{path.name}.good")


def _keep_good(path: Path, data: bytes) -> None:
    good = _good(path)
    # An older good copy is still a good copy: a full disk must not make a file unreadable.
    with contextlib.suppress(AmiralError):
        if _read(good) != data:
            write_atomic(good, data)


def _keep_aside(path: Path, data: bytes) -> Path:
    number = 1
    while True:
        aside = path.with_name(f"{path.name}.corrupt-{number}")
        there = _read(aside)
        if there == data:
            return aside
        if there is None and _write_new(aside, data):
            return aside
        number += 1


def _write_new(path: Path, data: bytes) -> bool:
    """False when somebody else took the name meanwhile."""
    try:
        _write_synced(path, data, 0o600)
    except FileExistsError:
        return False
    except OSError as error:
        path.unlink(missing_ok=True)
        raise cannot("keep a copy in", path, error) from error
    return True


def _make_folders(path: Path) -> None:
    missing = [path, *path.parents]
    for folder in reversed([one for one in missing if not one.exists()]):
        folder.mkdir(mode=_PRIVATE, exist_ok=True)


def _tighten(path: Path, descriptor: int) -> None:
    status = os.fstat(descriptor)
    if status.st_uid != os.geteuid():
        raise Denied(
            f"{path} belongs to user {status.st_uid}, not to us (user {os.geteuid()})",
            "choose another path, or let its owner run amiral",
        )
    if stat.S_IMODE(status.st_mode) & _WIDER_THAN_PRIVATE:
        os.fchmod(descriptor, _PRIVATE)
