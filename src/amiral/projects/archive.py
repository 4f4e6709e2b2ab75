"""A project's state as one .tar.gz that was read back and compared before anything is deleted."""

import contextlib
import hashlib
import io
import os
import stat
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from amiral.base.errors import Broken, Conflict
from amiral.base.failpoint import failpoint
from amiral.base.ids import new_id
from amiral.store.files import cannot, ensure_private_folder, remove_leftovers, sync_folder

_CHUNK = 1 << 20
_MOST_A_DAY = 1000


@dataclass(frozen=True)
class Look:
    """One thing to keep: where it lies, its name in the archive, and how it looked."""

    path: Path
    name: str
    mode: int
    size: int
    changed_ns: int


def look_at(path: Path, name: str) -> Iterator[Look]:
    """Give a file, or a folder with all below it, no link followed; sockets and pipes are left."""
    ahead = [(path, name)]
    while ahead:
        path, name = ahead.pop()
        try:
            found = path.lstat()
        except FileNotFoundError:
            continue
        if stat.S_ISDIR(found.st_mode):
            yield Look(path, name, found.st_mode, 0, 0)
            ahead += [(inner, f"{name}/{inner.name}") for inner in path.iterdir()]
        elif stat.S_ISREG(found.st_mode) or stat.S_ISLNK(found.st_mode):
            yield Look(path, name, found.st_mode, found.st_size, found.st_mtime_ns)


def keep(archives: Path, name: str, parts: Mapping[str, Path], record: bytes) -> Path:
    """Write an archive `name.tar.gz` (or `name-2`…) of the parts, by the names given, and a record.

    Gives its path once it is on disk and holds what lies there. Conflict when something changed
    meanwhile, Broken when it cannot be written or read back: nothing was deleted.
    """
    ensure_private_folder(archives)
    remove_leftovers(archives)
    temp = archives / f".{name}.{os.getpid()}-{new_id(8)}.tmp"
    try:
        before = _look_at_all(parts)
        _write(temp, before, record)
        failpoint("archive.written")
        _compare(temp, before)
        if _look_at_all(parts) != before:
            raise Conflict("something was written while it was archived", "try again")
        path = _named(archives, name, temp)
        sync_folder(archives)
    except (OSError, tarfile.TarError, EOFError) as error:
        told = error if isinstance(error, OSError) else OSError(0, str(error))
        raise cannot("archive into", archives, told) from error
    finally:
        with contextlib.suppress(OSError):
            temp.unlink(missing_ok=True)
    return path


def holds(archive: Path, parts: Mapping[str, Path]) -> bool:
    """Tell whether all that lies there (still) is in an archive, as it lies there."""
    try:
        _compare(archive, _look_at_all(parts))
    except (Broken, OSError, tarfile.TarError, EOFError):
        return False
    return True


def _look_at_all(parts: Mapping[str, Path]) -> tuple[Look, ...]:
    looks = (look for name, path in parts.items() for look in look_at(path, name))
    return tuple(sorted(looks, key=lambda look: look.name))


def _write(temp: Path, looks: tuple[Look, ...], record: bytes) -> None:
    descriptor = os.open(temp, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        with tarfile.open(fileobj=file, mode="w:gz", format=tarfile.PAX_FORMAT) as archive:
            told = tarfile.TarInfo("record.json")
            told.size = len(record)
            archive.addfile(told, io.BytesIO(record))
            for look in looks:
                archive.add(look.path, look.name, recursive=False)
        file.flush()
        os.fsync(file.fileno())


def _compare(temp: Path, looks: tuple[Look, ...]) -> None:
    """Read it back whole and hold each file against the one that lies there."""
    kept: dict[str, str] = {}
    with tarfile.open(temp, "r:gz") as archive:
        for member in archive:
            stream = archive.extractfile(member) if member.isreg() else None
            # A second name of a file is kept as a link to the first, which stands before it.
            linked = kept.get(member.linkname, "") if member.islnk() else member.linkname
            kept[member.name] = _digest(stream) if stream else linked
    for look in looks:
        if kept.get(look.name) != _expected(look):
            raise Broken(f"{look.path} is not in the archive as it lies there", "try again")


def _expected(look: Look) -> str:
    if stat.S_ISREG(look.mode):
        with look.path.open("rb") as stream:
            return _digest(stream)
    return str(look.path.readlink()) if stat.S_ISLNK(look.mode) else ""


def _digest(stream: IO[bytes]) -> str:
    found = hashlib.sha256()
    while chunk := stream.read(_CHUNK):
        found.update(chunk)
    return found.hexdigest()


def _named(archives: Path, name: str, temp: Path) -> Path:
    """Give it its name, never in the place of another archive."""
    for number in range(1, _MOST_A_DAY):
        path = archives / (f"{name}.tar.gz" if number == 1 else f"{name}-{number}.tar.gz")
        try:
            os.link(temp, path)
        except FileExistsError:
            continue
        return path
    raise Broken(f"{archives} has {_MOST_A_DAY} archives {name}", "move some of them away")
