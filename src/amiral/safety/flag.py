"""The flag file by which any program of the owner's can plant a stop (S03). Standard library only.

A flag only plants: what holds is the latch, which has no age. It must be a plain file of our own
user, with one name, not writable by others, and fresh; it is taken away once the stop is on.
"""

import os
import stat
import time

PATH = "/tmp/emergency-stop.flag"  # noqa: S108 the name that existing scripts use
VARIABLE = "AMIRAL_STOP_FLAG"

_FRESH_S = 600.0
_AHEAD_S = 60.0


class Flag:
    """A file that lies where flags lie; `why_not` says why it does not count, "" when it does."""

    __slots__ = ("identity", "path", "why_not")

    def __init__(self, path: str, identity: tuple[int, int, int], why_not: str) -> None:
        self.path = path
        self.identity = identity
        self.why_not = why_not

    def remove(self) -> None:
        """Take it away; one that cannot be is known again by its `identity`."""
        try:
            os.unlink(self.path)
        except OSError:
            return


def flag_path() -> str:
    """Name where a flag is looked for: `$AMIRAL_STOP_FLAG`, or the usual place."""
    return os.environ.get(VARIABLE) or PATH


def look_for_flag(path: str) -> Flag | None:
    """Look once; None when there is nothing."""
    try:
        seen = os.lstat(path)
    except OSError:
        return None
    return Flag(path, (seen.st_dev, seen.st_ino, seen.st_mtime_ns), _why_not(seen))


def _why_not(seen: os.stat_result) -> str:
    age_s = time.time() - seen.st_mtime
    reasons = (
        (not stat.S_ISREG(seen.st_mode), "it is no plain file"),
        (seen.st_uid != os.geteuid(), f"it belongs to user {seen.st_uid}"),
        (bool(seen.st_mode & (stat.S_IWGRP | stat.S_IWOTH)), "others may write to it"),
        (seen.st_nlink != 1, "it has several names"),
        (age_s > _FRESH_S, "it is older than ten minutes"),
        (age_s < -_AHEAD_S, "it comes from the future"),
    )
    return next((reason for holds, reason in reasons if holds), "")
