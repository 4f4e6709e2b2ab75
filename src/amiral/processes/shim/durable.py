# ruff: noqa: PTH105, PTH108
"""Small files written whole or not at all, by a program of the standard library alone."""

import json
import os


def write_json(folder: str, name: str, value: dict[str, object]) -> None:
    """Replace a file; it is durable when this returns, and untouched when OSError is raised."""
    path = f"{folder}/{name}"
    fresh = path + ".new"
    try:
        _write(fresh, json.dumps(value).encode() + b"\n")
        os.replace(fresh, path)
    except OSError:
        remove(fresh)
        raise
    sync_folder(folder)


def sync_folder(folder: str) -> None:
    """Make the names in a folder durable."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_all(file: int, data: bytes) -> None:
    """Write every byte to a file; OSError may leave a part of them there."""
    left = memoryview(data)
    while left:
        left = left[os.write(file, left) :]


def remove(path: str) -> None:
    """Delete a file, which may be gone already."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        return


def _write(path: str, data: bytes) -> None:
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        write_all(file, data)
        os.fsync(file)
    finally:
        os.close(file)
