# ruff: noqa: PTH112
"""Covers: paths that lie under read-only mounts before a fence is put up inside a box (ADR 0017).

Standard library only. Landlock cannot refuse a file in a folder that it allows; a cover does. A
fence that has covers is put up only where each of them lies.
"""

import errno
import os
from collections.abc import Iterable

from amiral.processes import landlock

KEPT, HIDDEN_FILE, HIDDEN_FOLDER = 1, 2, 3
"""Seen but never changed; a file that cannot be opened; a folder in which nothing is seen."""

Cover = tuple[str, int]

_SHARED = ("/tmp", "/var/tmp", "/run")  # noqa: S108 nothing is put there
_KINDS = (KEPT, HIDDEN_FILE, HIDDEN_FOLDER)
_GONE = (errno.ENOENT, errno.ENOTDIR)


def shared_folders() -> tuple[Cover, ...]:
    """Give the folders that programs of all users meet in, sockets and all, to be hidden."""
    there = (path for path in _SHARED if os.path.isdir(path) and os.path.realpath(path) == path)
    return tuple((path, HIDDEN_FOLDER) for path in there)


def uncovered(covers: Iterable[Cover]) -> str:
    """Name the first path that is there without its cover, "" when none is."""
    return next((path for path, _ in covers if not _is_covered(path)), "")


def cover_of(told: object) -> Cover:
    """Read a cover out of JSON; ValueError for anything else."""
    match told:
        case [str(path), int(kind)] if path.startswith("/") and kind in _KINDS:
            return path, int(kind)
        case _:
            raise ValueError("a cover is an absolute path and its kind")


def _is_covered(path: str) -> bool:
    try:
        handle = landlock.open_path(path)
    except OSError as error:
        # A link on the way counts as no cover: what it leads to may have got it instead.
        return error.errno in _GONE
    try:
        return bool(os.fstatvfs(handle).f_flag & os.ST_RDONLY)
    finally:
        os.close(handle)
