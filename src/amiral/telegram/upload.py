"""A file that goes along with a call: opened without following links, its name made harmless."""

import io
import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from amiral.telegram.failures import Reason, Refused

_UNSAFE = re.compile(r'[\x00-\x1f\x7f"/\\]')
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(frozen=True)
class Upload:
    """`field` is a parameter of the call, or the name behind `attach://`; `name` is shown."""

    field: str
    name: str
    content: Path | bytes

    @property
    def shown(self) -> str:
        """Its name without what would break out of a header."""
        return _UNSAFE.sub("_", self.name)

    def open(self, method: str) -> tuple[BinaryIO, int]:
        """Open it for reading, and tell its size in bytes; raises Refused when that cannot be.

        Of a path only a regular file is taken, no link to one.
        """
        if isinstance(self.content, bytes):
            return io.BytesIO(self.content), len(self.content)
        name = self.content.name
        try:
            file = os.fdopen(os.open(self.content, _READ), "rb")
        except OSError as error:
            what = f"{name} cannot be read: {os.strerror(error.errno or 0)}"
            raise Refused(method, what, Reason.OTHER) from error
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            file.close()
            raise Refused(method, f"{name} is no regular file", Reason.OTHER)
        return file, status.st_size
