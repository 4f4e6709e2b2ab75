"""The vault's key files: 32 random bytes each, used only when nobody else can reach them."""

import os
import secrets
import stat
from pathlib import Path

from amiral.base.errors import Broken, Denied
from amiral.base.ids import new_id
from amiral.store.files import cannot, sync_folder, write_atomic
from amiral.store.vault_record import KEY_BYTES

_OTHERS = 0o077
_OTHERS_WRITE = 0o022
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_NOFOLLOW | os.O_DIRECTORY | os.O_CLOEXEC
_SEEN = "who else had it may know the secrets: mend it, `amiral vault rotate`, renew them"


class KeyGone(Broken):
    """There is no such key."""


def make_key(folder: Path) -> tuple[str, bytes]:
    """Write a new key to disk and give its name and bytes."""
    kid, key = new_id(), secrets.token_bytes(KEY_BYTES)
    write_atomic(folder / kid, key)
    return kid, key


def read_key(folder: Path, kid: str) -> bytes:
    """Read a key; KeyGone when it is gone, Denied when somebody else could reach it (K2).

    Everything is asked of what was opened, so that nothing can be put in its place meanwhile.
    """
    path = folder / kid
    try:
        place = os.open(folder, _FOLDER)
        try:
            _check_folder(folder, os.fstat(place))
            handle = os.open(kid, _FILE, dir_fd=place)
        finally:
            os.close(place)
    except FileNotFoundError as error:
        raise KeyGone(
            f"the vault's key {path} is gone",
            "restore it from where you keep it: without it the secrets cannot be read",
        ) from error
    except OSError as error:
        raise Denied(
            f"the vault's key {path} cannot be opened: {os.strerror(error.errno or 0)}",
            "it must be a file of yours, no link, in a folder of yours",
        ) from error
    try:
        _check_file(path, os.fstat(handle))
        key = os.read(handle, KEY_BYTES + 1)
    finally:
        os.close(handle)
    if len(key) != KEY_BYTES:
        raise Broken(f"the vault's key {path} is damaged", "restore it from where you keep it")
    return key


def forget_other_keys(folder: Path, kid: str) -> None:
    """Remove every file but this key, half-written ones too; only whoever holds the lock may."""
    try:
        others = [path for path in folder.iterdir() if path.name != kid]
        for path in others:
            path.unlink()
        if others:
            sync_folder(folder)
    except OSError as error:
        raise cannot("remove an old key from", folder, error) from error


def _check_folder(path: Path, found: os.stat_result) -> None:
    if found.st_uid != os.geteuid() or found.st_mode & _OTHERS_WRITE:
        mode = stat.S_IMODE(found.st_mode)
        raise Denied(f"others could change {path} (user {found.st_uid}, mode {mode:04o})", _SEEN)


def _check_file(path: Path, found: os.stat_result) -> None:
    mode = stat.S_IMODE(found.st_mode)
    if not stat.S_ISREG(found.st_mode):
        raise Denied(f"the vault's key {path} is no file", "restore it from where you keep it")
    if found.st_uid != os.geteuid():
        raise Denied(f"the vault's key {path} belongs to user {found.st_uid}", _SEEN)
    if mode & _OTHERS:
        raise Denied(f"the vault's key {path} is open to others (mode {mode:04o})", _SEEN)
    if found.st_nlink != 1:
        raise Denied(f"the vault's key {path} has {found.st_nlink} names", _SEEN)
