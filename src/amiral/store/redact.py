"""The one sink that takes secrets out of all that reaches logs, journal and error replies (R50)."""

import base64
import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple
from urllib.parse import quote, quote_plus

REDACTED = "[redacted]"

SHORTEST_SECRET = 6
"""Shorter values are not looked for: they would take ordinary words out of every text."""


class _Shape(NamedTuple):
    """A pattern, tried only on texts that hold its hint: to look for that is cheap."""

    hint: str
    pattern: re.Pattern[str]
    replacement: str


def _shape(pattern: str, hint: str, replacement: str = REDACTED) -> _Shape:
    return _Shape(hint, re.compile(pattern), replacement)


# Linear time: repeats are possessive or end where the next match could start. Literals come first,
# the look behind them second, because the engine finds a leading literal as fast as `in` does.
_SHAPES = (
    _shape(r"sk-(?<![A-Za-z0-9]sk-)[A-Za-z0-9_-]{16,}+", "sk-"),
    _shape(r"(?<!\d)\d{6,16}:AA[A-Za-z0-9_-]{30,}+", ":AA"),
    _shape(r"gh[opsur]_[A-Za-z0-9]{30,}+", "gh"),
    _shape(r"github_pat_[A-Za-z0-9_]{22,}+", "github_pat_"),
    _shape(r"glpat-[A-Za-z0-9_-]{20,}+", "glpat-"),
    _shape(r"npm_(?<![A-Za-z0-9]npm_)[A-Za-z0-9]{36}", "npm_"),
    _shape(r"hf_(?<![A-Za-z0-9]hf_)[A-Za-z0-9]{30,}+", "hf_"),
    _shape(r"xox[abeoprs]-[A-Za-z0-9-]{10,}+", "xox"),
    _shape(r"AKIA(?<![A-Za-z0-9]AKIA)[0-9A-Z]{16}(?![0-9A-Z])", "AKIA"),
    _shape(r"ASIA(?<![A-Za-z0-9]ASIA)[0-9A-Z]{16}(?![0-9A-Z])", "ASIA"),
    _shape(r"AIza[A-Za-z0-9_-]{35}", "AIza"),
    _shape(
        r"eyJ(?<![A-Za-z0-9_-]eyJ)[A-Za-z0-9_-]{10,}+\.[A-Za-z0-9_-]{10,}+\.[A-Za-z0-9_-]*+", "eyJ"
    ),
    _shape(
        r"[Bb]earer {1,4}[A-Za-z0-9._~+/-]{16,}+=*+", "earer ", replacement=f"Bearer {REDACTED}"
    ),
    _shape(  # a password, or a user name as long as a token; `git@` is neither
        r"://(?:[^\s/:@\"'<>\\]*+:[^\s/@\"'<>\\]++|[^\s/:@\"'<>\\]{16,}+)@",
        "://",
        replacement=f"://{REDACTED}@",
    ),
    _shape(
        r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----[^-]*+(?:-----END [A-Z ]{0,30}PRIVATE KEY-----)?",
        "PRIVATE KEY-----",
    ),
)


class Redactor:
    """Replaces known secret values, in the forms they travel in, and whatever looks like a token.

    Time grows linearly with the text. `text` answers the very same object when it holds no secret.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._known: tuple[str, ...] = ()
        for secret in secrets:
            self.learn(secret)

    def learn(self, secret: str) -> None:
        """From now on this value is taken out; one under SHORTEST_SECRET characters is not."""
        if len(secret) >= SHORTEST_SECRET and secret not in self._known:
            forms = {*self._known, *_forms(secret)}
            # The longest first: a secret inside another one must not leave half of it behind.
            self._known = tuple(sorted(forms, key=lambda form: (-len(form), form)))

    def text(self, text: str) -> str:
        """The text with every secret replaced by "[redacted]"."""
        for known in self._known:
            if known in text:
                text = text.replace(known, REDACTED)
        for hint, pattern, replacement in _SHAPES:
            if hint in text:
                text = pattern.sub(replacement, text)
        return text

    def value(self, value: object) -> object:
        """A JSON-like value (mappings, lists, tuples) with every text in it redacted, keys too."""
        return map_texts(value, self.text)


def map_texts(value: object, change: Callable[[str], str]) -> object:
    """Rebuild a JSON-like value with every text in it changed."""
    match value:
        case str():
            return change(value)
        case Mapping():
            return {map_texts(key, change): map_texts(item, change) for key, item in value.items()}
        case list() | tuple():
            return [map_texts(item, change) for item in value]
        case _:
            return value


def _forms(secret: str) -> set[str]:
    """The value as it is, inside JSON, in a URL, in hexadecimal, in base64 at its three offsets."""
    inner = json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]
    quoted = {quote(secret, safe=""), quote(secret), quote_plus(secret)}
    lower = {re.sub("%[0-9A-F]{2}", lambda code: code[0].lower(), form) for form in quoted}
    data = secret.encode("utf-8", "surrogatepass")
    encoded = {form for offset in range(3) for form in _base64_forms(data, offset)}
    return {secret, *inner, *quoted, *lower, data.hex(), data.hex().upper(), *encoded}


def _base64_forms(data: bytes, offset: int) -> tuple[str, str]:
    """The characters of base64 that `data` alone decides when `offset` bytes stand before it."""
    before = bytes(offset)
    first = -(-offset * 8 // 6)
    last = (offset + len(data)) * 8 // 6
    plain = base64.b64encode(before + data).decode()[first:last]
    return plain, plain.replace("+", "-").replace("/", "_")
