"""One process at a time: locks held by the kernel, so that a dead holder holds nothing."""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from amiral.base.errors import Conflict
from amiral.store.files import cannot

_FLAGS = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW


class Claim:
    """A lock file held by this process until `release` or its death; it names the holder (R30).

    One that does not serve what it holds (`serves` false) leaves no number, so that nobody who
    looks for the server ends it.
    """

    def __init__(self, path: Path, thing: str, *, serves: bool = True) -> None:
        """Conflict, naming the holder's process number, when another one has `thing` already."""
        self._descriptor = _open(path)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = os.pread(self._descriptor, 32, 0).decode("ascii", "replace").strip()
            os.close(self._descriptor)
            raise Conflict(
                f"{thing} is in use by process {holder or 'unknown'}",
                "use that one, or end it first",
            ) from error
        # The lock holds whether or not a full disk lets us leave our number in it.
        with contextlib.suppress(OSError):
            number = os.getpid() if serves else ""
            os.pwrite(self._descriptor, f"{number:<11}\n".encode(), 0)

    def release(self) -> None:
        """Let the next one have it; the file stays, since removing it would part two holders."""
        os.close(self._descriptor)


def holder_of(path: Path) -> int | None:
    """Give the process number a claim's holder left, 0 when it left none, None when nobody holds.

    Looking takes a free lock for a moment, in which a claim is refused.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise cannot("look at", path, error) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        left = os.pread(descriptor, 32, 0).strip()
        return int(left) if left.isdigit() else 0
    finally:
        os.close(descriptor)
    return None


@contextlib.contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Hold `NAME.lock` while a file is read, changed and written, so that no update is lost (R37).

    Waits for the other process; never hold it across anything slow.
    """
    descriptor = _open(path.with_name(f"{path.name}.lock"))
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _open(path: Path) -> int:
    try:
        return os.open(path, _FLAGS, 0o600)
    except OSError as error:
        raise cannot("lock", path, error) from error
