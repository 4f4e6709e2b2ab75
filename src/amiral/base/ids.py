"""Pure: identifiers made of lowercase letters and digits."""

import hashlib
import re
import secrets
import unicodedata

_ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789"
_SLUG_LENGTH = 24
_HASH_LENGTH = 12
_WORD = re.compile(r"[a-z0-9]+")


def new_id(length: int = 16) -> str:
    """Random id over `[a-z0-9]`: 16 characters, 8 for specs (spec/layout.md)."""
    return "".join(secrets.choice(_ALPHABET) for _ in range(length))


def digest(text: str, length: int = _HASH_LENGTH) -> str:
    """Stable lowercase hexadecimal digest of `text`, for short file names."""
    data = text.encode("utf-8", "surrogateescape")
    return hashlib.sha256(data).hexdigest()[:length]


def folder_name(label: str, unique: str) -> str:
    """A safe folder name of at most 40 characters for any label (R57): slug, dash, digest."""
    plain = unicodedata.normalize("NFKD", label).encode("ascii", "ignore").decode().lower()
    slug = "-".join(_WORD.findall(plain))[:_SLUG_LENGTH].strip("-")
    return f"{slug or 'x'}-{digest(unique)}"
