"""A file that comes in piece by piece: whole under its name on disk, or not there at all."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from amiral.store.files import cannot, sync_folder

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@contextlib.contextmanager
def arriving(path: Path) -> Iterator[BinaryIO]:
    """Give a file to write to; after the body it stands at `path`, replacing what was there.

    When the body raises, nothing changes at `path`. Broken when the disk refuses.
    """
    part = path.with_name(f".{path.name}.part")
    try:
        # Removed, not opened: the remains of a killed download may be anything by now.
        part.unlink(missing_ok=True)
        with os.fdopen(os.open(part, _NEW, 0o600), "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        raise cannot("write", path, error) from error
    finally:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
