"""The vault of a home: secrets by name, each change whole, each reading proved.

`vault/vault.json` holds them encrypted, `vault/keys/` the one key; beside the folder
`vault_revision.json` tells the highest revision seen, so that an older vault is not taken for the
present one. Read without a lock, changed under one.
"""

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from amiral.base.errors import AmiralError, Broken, Invalid, NotFound
from amiral.base.failpoint import failpoint
from amiral.base.ids import new_id
from amiral.base.nearest import did_you_mean
from amiral.base.secret_names import check_name
from amiral.store.claim import exclusive
from amiral.store.files import cannot, ensure_private_folder, remove_leftovers, write_atomic
from amiral.store.vault_keys import KeyGone, forget_other_keys, make_key, read_key
from amiral.store.vault_record import Content, Opened, decode, unlock

FOLDER = "vault"
LONGEST_VALUE = 64 << 10
"""Bytes of a value: a private key is a twentieth of it."""


@dataclass(frozen=True)
class Seen:
    """The highest revision seen of one vault."""

    id: str
    revision: int


@dataclass(frozen=True)
class Report:
    """What a proof of everything found: `problems` is empty when all is well."""

    revision: int
    names: tuple[str, ...]
    problems: tuple[str, ...]


class Vault:
    """The vault in `home`, which may not be there yet: the first secret makes it.

    Whatever cannot be proved is an error that names it, Broken or Denied, and nothing is mended
    quietly.
    """

    def __init__(self, home: Path) -> None:
        self._home, self._folder = home, home / FOLDER
        self._path, self._keys = self._folder / "vault.json", self._folder / "keys"
        self._seen_path = home / "vault_revision.json"

    def names(self) -> Mapping[str, int]:
        """Give the names with the revision each was put in at."""
        opened = self._open()
        return dict(sorted(opened.listed.items())) if opened else {}

    def get(self, name: str) -> str:
        """Give a secret; NotFound with the nearest name."""
        check_name(name)
        return self._holding(name).value(name)

    def put(self, name: str, value: str) -> int:
        """Keep a secret in place of the one of that name; gives the new revision."""
        check_name(name)
        _check_value(value)
        with self._changing() as opened:
            return self._commit(opened.holding(opened.rev + 1, {name: value}))

    def remove(self, name: str) -> int:
        """Forget a secret, a damaged one too; gives the new revision."""
        check_name(name)
        self._holding(name)
        with self._changing() as opened:
            return self._commit(opened.without(opened.rev + 1, name))

    def rotate(self) -> Report:
        """Encrypt everything with a new key and remove the old one; Broken for a damaged secret."""
        if self._open() is None:
            raise NotFound("there is no vault yet", "amiral vault set NAME makes it")
        with self._changing() as opened:
            values = {name: opened.value(name) for name in opened.names}
            kid, master = make_key(self._keys)
            failpoint("vault.key_made")
            fresh = replace(opened, kid=kid, master=master)
            revision = self._commit(fresh.holding(opened.rev + 1, values))
            return Report(revision, tuple(values), ())

    def check(self) -> Report:
        """Prove that every secret can be read; what is wrong with the whole is raised."""
        opened = self._open()
        if opened is None:
            return Report(0, (), ())
        problems = tuple(filter(None, (_problem(opened, name) for name in opened.names)))
        return Report(opened.rev, opened.names, problems)

    def _holding(self, name: str) -> Opened:
        opened = self._open()
        names = opened.names if opened else ()
        if opened is None or name not in names:
            hint = did_you_mean(name, names)
            raise NotFound(f"the vault has no secret {name}{hint}", f"amiral vault set {name}")
        return opened

    @contextlib.contextmanager
    def _changing(self) -> Iterator[Opened]:
        """Hold the lock around one change; a vault that is not there yet is begun."""
        for folder in (self._home, self._folder, self._keys):
            if not folder.exists():
                ensure_private_folder(folder)
        with exclusive(self._path):
            remove_leftovers(self._folder)
            yield self._open() or self._begin()

    def _begin(self) -> Opened:
        """Make the first key; what an earlier beginning left was never used for anything."""
        if self._read_seen() is None and any(self._keys.iterdir()):
            raise Broken(
                f"{self._keys} holds keys, and the vault they belong to is gone",
                f"restore {self._path} from a backup, or remove the keys to begin anew",
            )
        vault_id = new_id()
        self._note(Seen(vault_id, 0))
        failpoint("vault.begun")
        kid, master = make_key(self._keys)
        failpoint("vault.key_made")
        return Opened(vault_id, kid, master, 0, {}, {})

    def _open(self) -> Opened | None:
        """Read and prove the vault, None when there was never one.

        The revision seen is read first: a change that comes meanwhile can only raise the other.
        """
        while True:
            seen, data = self._read_seen(), _read(self._path)
            if data is None:
                self._check_absent(seen)
                return None
            content = self._decoded(data)
            self._check_age(content, seen)
            try:
                master = read_key(self._keys, content.kid)
            except KeyGone:
                # Rotated in between: the new file names another key.
                if _read(self._path) == data:
                    raise
                continue
            return unlock(content, master)

    def _decoded(self, data: bytes) -> Content:
        try:
            return decode(data)
        except (ValueError, RecursionError, OverflowError) as error:
            raise Broken(
                f"{self._path} is damaged: {error}",
                "restore it from a backup; amiral changes nothing in it",
            ) from error

    def _check_absent(self, seen: Seen | None) -> None:
        if seen is not None and seen.revision:
            raise Broken(
                f"{self._path} is gone, it was there at revision {seen.revision}",
                f"restore it from a backup, or remove {self._seen_path} and {self._keys} "
                "to begin anew",
            )

    def _check_age(self, content: Content, seen: Seen | None) -> None:
        """Refuse an older vault, or another one, in place of the one seen last (K2)."""
        if seen is None or not seen.revision:
            return
        if content.id == seen.id and content.rev >= seen.revision:
            return
        what = f"is of revision {content.rev}, and {seen.revision} was seen here already"
        if content.id != seen.id:
            what = "is not the vault that was seen here last"
        raise Broken(
            f"{self._path} {what}",
            f"restore the newest one; if this one is meant, remove {self._seen_path}",
        )

    def _commit(self, opened: Opened) -> int:
        """Bring a change to disk: the file, then its revision; then older keys may go."""
        write_atomic(self._path, opened.encoded())
        failpoint("vault.written")
        self._note(Seen(opened.id, opened.rev))
        failpoint("vault.noted")
        forget_other_keys(self._keys, opened.kid)
        failpoint("vault.key_removed")
        return opened.rev

    def _read_seen(self) -> Seen | None:
        data = _read(self._seen_path)
        try:
            return None if data is None else msgspec.json.decode(data, type=Seen)
        except ValueError as error:
            raise Broken(
                f"{self._seen_path} is damaged: {error}",
                "remove it if the vault was not tampered with: then it is taken as it is",
            ) from error

    def _note(self, seen: Seen) -> None:
        write_atomic(self._seen_path, msgspec.json.encode(seen) + b"\n")


def _problem(opened: Opened, name: str) -> str:
    try:
        opened.value(name)
    except AmiralError as error:
        return error.message
    return ""


def _check_value(value: str) -> None:
    if not value.strip():
        raise Invalid("the value is empty", "nothing was changed")
    if "\0" in value:
        raise Invalid("the value has a NUL in it, which no variable can hold")
    try:
        size = len(value.encode())
    except UnicodeEncodeError:
        raise Invalid("the value is no text in UTF-8") from None
    if size > LONGEST_VALUE:
        raise Invalid(f"the value is longer than {LONGEST_VALUE >> 10} KiB")


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise cannot("read", path, error) from error
