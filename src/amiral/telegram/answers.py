"""Pure: an answer of the Bot API, as its result or as the failure that it tells."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from amiral.base.plain import one_line
from amiral.telegram.failures import (
    Blocked,
    Conflict409,
    Flood,
    Reason,
    Refused,
    Revoked,
    Unreachable,
)

_SERVER_FAULT = 500
_LONGEST = 300
_PATIENCE_S = 5
_LONGEST_WAIT_S = 1_000_000
# Begins of descriptions in small letters, behind "bad request: ". The first that fits counts.
_REASONS = (
    ("message is not modified", Reason.NOT_MODIFIED),
    ("can't parse entities", Reason.BAD_ENTITIES),
    ("can't parse messageentity", Reason.BAD_ENTITIES),
    ("entity ", Reason.BAD_ENTITIES),
    ("receive an entity", Reason.BAD_ENTITIES),
    ("message thread not found", Reason.THREAD_GONE),
    ("topic_deleted", Reason.THREAD_GONE),
    ("topic_id_invalid", Reason.THREAD_GONE),
    ("message to be replied not found", Reason.REPLIED_GONE),
    ("message to ", Reason.MESSAGE_GONE),
    ("message can't be ", Reason.MESSAGE_GONE),
    ("message_id_invalid", Reason.MESSAGE_GONE),
    ("chat not found", Reason.CHAT_GONE),
    ("message is too long", Reason.TOO_LONG),
    ("message_too_long", Reason.TOO_LONG),
    ("message caption is too long", Reason.TOO_LONG),
    ("media_caption_too_long", Reason.TOO_LONG),
    ("text is too long", Reason.TOO_LONG),
    ("file is too big", Reason.TOO_BIG),
    ("file of size", Reason.TOO_BIG),
    ("query is too old", Reason.QUERY_OLD),
)
_NO_RIGHT = ("not enough rights", "have no rights", "chat_write_forbidden", "need administrator")


@dataclass(frozen=True)
class RawUpdate:
    """One update as JSON text (ASCII alone), read no further than its number."""

    number: int
    raw: str


class _Parameters(msgspec.Struct):
    migrate_to_chat_id: int = 0
    retry_after: float = 0


class _Answer(msgspec.Struct):
    ok: bool
    result: object = None
    error_code: int = 0
    description: str = ""
    parameters: _Parameters = msgspec.field(default_factory=_Parameters)


def read_answer(method: str, status: int, body: bytes | bytearray) -> object:
    """Give the result, or raise what `amiral.telegram.failures` names."""
    answer = _decoded(method, status, body)
    if answer.ok:
        return answer.result
    raise _failure(method, status, answer)


def raw_update(update: Mapping[str, object]) -> RawUpdate:
    """Give one of the updates; raises Unreachable for one without a number."""
    number = update.get("update_id")
    if not isinstance(number, int):
        raise Unreachable("getUpdates", "an update without a number")
    return RawUpdate(number, json.dumps(update))


def _decoded(method: str, status: int, body: bytes | bytearray) -> _Answer:
    """Read leniently: one odd character must not make all that came with it unreadable."""
    what = f"{status}, not JSON"
    try:
        return msgspec.convert(json.loads(body.decode("utf-8", "replace")), _Answer)
    except msgspec.ValidationError:
        what = f"{status}, not an answer of the Bot API"
    except (ValueError, RecursionError):
        pass
    raise Unreachable(method, what)


def _failure(method: str, status: int, answer: _Answer) -> Exception:
    code = answer.error_code or status
    description = one_line(answer.description, _LONGEST)
    if code >= _SERVER_FAULT:
        return Unreachable(method, f"{code}")
    match code:
        case 429:
            asked = answer.parameters.retry_after
            return Flood(method, asked if 0 < asked < _LONGEST_WAIT_S else _PATIENCE_S)
        case 409:
            return Conflict409(method, description)
        case 403:
            return Blocked(method, description)
        case 413:
            return Refused(method, description, Reason.TOO_BIG)
        case 401 | 421:
            return Revoked(method)
        case 404 if "method" not in description:
            return Revoked(method)
        case _:
            return _refusal(method, description, answer.parameters.migrate_to_chat_id)


def _refusal(method: str, description: str, to: int) -> Exception:
    if to:
        return Refused(method, description, Reason.MIGRATED, to)
    plain = description.lower().removeprefix("bad request: ")
    if plain.startswith(_NO_RIGHT):
        return Blocked(method, description)
    found = (reason for begin, reason in _REASONS if plain.startswith(begin))
    return Refused(method, description, next(found, Reason.OTHER))
