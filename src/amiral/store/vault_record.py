"""The vault's file: secrets encrypted one by one, and the sealed list of what it must hold.

A record is bound by its key and its additional data to this vault, this key, its name and the
revision it was written at: one that was swapped, moved, changed or brought back is refused.
"""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from amiral.base.errors import Broken
from amiral.base.secret_names import is_name

VERSION = 1
KEY_BYTES = 32

_NONCE_BYTES = 12
_LIST = ""
"""The list of all records is sealed as one without a name, which no secret can have."""


@dataclass(frozen=True)
class Sealed:
    """One encrypted text; `rev` is the vault's revision it was written at."""

    rev: int
    nonce: bytes
    data: bytes


@dataclass(frozen=True)
class Content:
    """What the file holds: `kid` names the key, `rev` counts every change from 1 on."""

    version: int
    id: str
    kid: str
    rev: int
    list: Sealed
    records: dict[str, Sealed]


@dataclass(frozen=True)
class Opened:
    """A vault with its key: `listed` are the names it must hold, each with its revision."""

    id: str
    kid: str
    master: bytes
    rev: int
    records: Mapping[str, Sealed]
    listed: Mapping[str, int]

    @property
    def names(self) -> tuple[str, ...]:
        """Every name, also of what only the list or only the file holds."""
        return tuple(sorted({*self.records, *self.listed}))

    def value(self, name: str) -> str:
        """Decrypt one secret; Broken naming it when it is not what was put there last."""
        record, rev = self.records.get(name), self.listed.get(name)
        if record is None:
            raise _refused(name, "was taken out of the file")
        if rev is None:
            raise _refused(name, "was put into the file by something else than amiral")
        if record.rev != rev:
            raise _refused(name, f"is of revision {record.rev}, where {rev} was written last")
        return self.unseal(name, record)

    def holding(self, rev: int, texts: Mapping[str, str]) -> "Opened":
        """Give the vault at revision `rev` with these texts encrypted, all others as they are."""
        sealed = {name: self._seal(name, rev, text) for name, text in texts.items()}
        listed = {**self.listed, **dict.fromkeys(texts, rev)}
        return replace(self, rev=rev, records={**self.records, **sealed}, listed=listed)

    def without(self, rev: int, name: str) -> "Opened":
        """Give the vault at revision `rev` without one secret."""
        records = {one: record for one, record in self.records.items() if one != name}
        listed = {one: at for one, at in self.listed.items() if one != name}
        return replace(self, rev=rev, records=records, listed=listed)

    def encoded(self) -> bytes:
        """Give the bytes of the file."""
        listed = msgspec.json.encode(self.listed, order="deterministic").decode()
        seal = self._seal(_LIST, self.rev, listed)
        content = Content(VERSION, self.id, self.kid, self.rev, seal, dict(self.records))
        return _encoded(content)

    def _seal(self, name: str, rev: int, text: str) -> Sealed:
        nonce, aad = secrets.token_bytes(_NONCE_BYTES), self._aad(name, rev)
        return Sealed(rev, nonce, self._cipher(name).encrypt(nonce, text.encode(), aad))

    def unseal(self, name: str, record: Sealed) -> str:
        """Decrypt one record as what it claims to be; Broken naming it when it is not."""
        try:
            aad = self._aad(name, record.rev)
            return self._cipher(name).decrypt(record.nonce, record.data, aad).decode()
        except (InvalidTag, ValueError):
            raise _refused(name, "was changed or damaged") from None

    def _cipher(self, name: str) -> AESGCM:
        info = f"vault|v{VERSION}|{name}".encode()
        return AESGCM(HKDF(SHA256(), KEY_BYTES, self.id.encode(), info).derive(self.master))

    def _aad(self, name: str, rev: int) -> bytes:
        return msgspec.json.encode([VERSION, self.id, self.kid, name, rev])


def decode(data: bytes) -> Content:
    """Read the file's bytes; ValueError when they are not exactly what amiral writes."""
    content = msgspec.json.decode(data, type=Content)
    if content.version != VERSION:
        raise ValueError(f"its version is {content.version}, this amiral knows {VERSION}")
    if _encoded(content) != data or not all(map(is_name, content.records)):
        raise ValueError("it was written by something else than amiral")
    return content


def unlock(content: Content, master: bytes) -> Opened:
    """Prove the list with the vault's key; Broken when it is not what was written last."""
    opened = Opened(content.id, content.kid, master, content.rev, content.records, {})
    if content.list.rev != content.rev:
        raise _refused(_LIST, f"is of revision {content.list.rev}, not {content.rev}")
    listed = opened.unseal(_LIST, content.list)
    return replace(opened, listed=msgspec.json.decode(listed, type=dict[str, int]))


def _encoded(content: Content) -> bytes:
    return msgspec.json.encode(content, order="sorted") + b"\n"


def _refused(name: str, what: str) -> Broken:
    if not name:
        return Broken(
            f"the vault's list of its secrets {what}, or the key is another one's",
            "restore vault/ whole from a backup",
        )
    return Broken(
        f"secret {name} {what}: it is not used",
        f"put it in again, `amiral vault set {name}`, or `amiral vault remove {name}`",
    )
