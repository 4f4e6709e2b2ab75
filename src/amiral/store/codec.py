"""Events to bytes and back: what a table sees is what is stored, never the object handed in."""

from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from amiral.base import events
from amiral.base.errors import Broken, Invalid
from amiral.base.events import Event
from amiral.store.redact import Redactor, map_texts

Row = tuple[int, int, str, str, int, bytes]
"""seq, ts_ms, by, name, version, payload: a row of the table `event`."""


class Stamped(NamedTuple):
    """An event as the journal holds it; a tuple, since one is made for every event ever read.

    `seq` counts from 1 without a gap; `ts_ms` is epoch milliseconds UTC; `payload` is JSON of the
    fields. `event` is None when a newer amiral wrote it: such a one is kept and skipped.
    """

    seq: int
    ts_ms: int
    by: str
    name: str
    version: int
    event: Event | None
    payload: bytes


Draft = tuple[Event, bytes]
"""An event ready to be stored, and its payload; it has no place in the journal yet."""


_KNOWN = {kind.__name__: kind for kind in events.ALL}
_DECODERS = {name: msgspec.json.Decoder(kind) for name, kind in _KNOWN.items()}
_ENCODER = msgspec.json.Encoder()


def known_events() -> list[tuple[str, int]]:
    """Name and version of every event this amiral can read, in order of name."""
    return sorted((name, kind.version) for name, kind in _KNOWN.items())


def encode(event: Event, redact: Redactor | None) -> Draft:
    """Redact an event and turn it into bytes; the draft holds the event as these bytes read back.

    Invalid when they would not read back: a field of a wrong type, a number JSON cannot hold.
    """
    name = type(event).__name__
    if _KNOWN.get(name) is not type(event):
        raise Invalid(f"{name} is no event of amiral.base.events", "declare it there")
    try:
        payload = _redacted(_bytes(event), redact)
        return _DECODERS[name].decode(payload), payload
    except (ValueError, TypeError, OverflowError) as error:
        raise Invalid(
            f"{name} cannot be stored: {error}", "give the field a fitting value"
        ) from error


def stamp(drafts: Iterable[Draft], first_seq: int, ts_ms: int, by: str) -> list[Stamped]:
    """Give drafts their places from `first_seq` on."""
    return [
        Stamped(seq, ts_ms, by, type(event).__name__, event.version, event, payload)
        for seq, (event, payload) in enumerate(drafts, first_seq)
    ]


def read_row(row: Row) -> Stamped:
    """Read one stored event; Broken when one of a kind we know cannot be read: it is damaged."""
    seq, ts_ms, by, name, version, payload = row
    kind = _KNOWN.get(name)
    if kind is None or version > kind.version:
        return Stamped(seq, ts_ms, by, name, version, None, payload)
    try:
        event = _DECODERS[name].decode(payload)
    except ValueError as error:
        raise Broken(
            f"event {seq} of the journal ({name}) is damaged: {error}",
            "stop amiral, keep a copy of the journal and restore it from a backup",
        ) from error
    return Stamped(seq, ts_ms, by, name, version, event, payload)


def to_row(stamped: Stamped) -> Row:
    """The row that `read_row` reads."""
    seq, ts_ms, by, name, version, _, payload = stamped
    return seq, ts_ms, by, name, version, payload


def _bytes(event: Event) -> bytes:
    try:
        return _ENCODER.encode(event)
    except UnicodeEncodeError:
        # Half a surrogate pair is no character, and no reason to lose the rest of the text (R03).
        return _ENCODER.encode(map_texts(msgspec.to_builtins(event), _without_surrogates))


def _without_surrogates(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


MACHINE_FIELDS = frozenset(
    (
        *("message", "turn", "session", "line", "worker", "conversation", "driver", "spec", "ask"),
        *("cwd", "socket", "seat", "resume_key", "fresh_key", "key", "observed", "state", "place"),
        *("position", "branch", "base", "commit", "sha256", "boot_id", "outcome", "reply_to"),
        *("account", "number", "lane", "chat", "thread", "id", "tap", "buttons"),
    )
)
"""Fields that machines read back: were a part of them redacted, nothing would be found again."""


def _redacted(payload: bytes, redact: Redactor | None) -> bytes:
    if redact is None:
        return payload
    text = payload.decode()
    if redact.text(text) is text:
        return payload
    # Redacted text by text, so that the payload stays JSON whatever the secret looks like.
    fields = msgspec.json.decode(payload)
    return _ENCODER.encode(
        {
            name: field if name in MACHINE_FIELDS else redact.value(field)
            for name, field in fields.items()
        }
    )
