"""What is read back from the tables of specs, as values."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from amiral.base.errors import NotFound
from amiral.base.nearest import did_you_mean
from amiral.base.plain import one_line
from amiral.specs.spec import Spec, Status
from amiral.store.journal import Rows

READER: Final = "specs"
"""The reader of answers for SPEC blocks, in `AnswerRead`."""

_SELECT: Final = "select spec from specs"


@dataclass(frozen=True)
class Asked:
    """A message a worker was given: by whom, from where, in reply to what."""

    message: str
    worker: str
    conversation: str
    sender: str
    surface: str
    reply_to: str


def find(read: Rows, spec_id: str) -> Spec | None:
    """Read one spec."""
    found = read(f"{_SELECT} where id = ?", spec_id)
    return read_spec(found[0][0]) if found else None


def named(read: Rows, typed: str) -> Spec:
    """Find a spec by its id as a person typed it; NotFound names the nearest."""
    found = find(read, typed.strip().lower())
    if found is not None:
        return found
    hint = did_you_mean(typed, [row[0] for row in read("select id from specs")])
    raise NotFound(f"no spec {one_line(typed, 40)!r}{hint}", "`amiral specs` lists them")


def every(read: Rows) -> list[Spec]:
    """Read all specs, in the order they were written."""
    return _specs(read(f"{_SELECT} order by seq"))


def drafts(read: Rows) -> list[Spec]:
    """Read the specs that wait for the owner, the longest waiting first."""
    return _in_state(read, Status.DRAFT)


def approved(read: Rows) -> list[Spec]:
    """Read the specs that wait to be carried out, first come first served; failed ones do not."""
    return [spec for spec in _in_state(read, Status.APPROVED) if not spec.is_failed]


def executing(read: Rows) -> Spec | None:
    """Read the spec that is being carried out: one at a time in a project."""
    found = _in_state(read, Status.EXECUTING)
    return found[0] if found else None


def answered(read: Rows, message: str) -> list[Spec]:
    """Read the specs that the answer to a message held, in its order."""
    held = "from spec_answers where spec_answers.message = ?"
    clause = f"where id in (select spec {held}) order by (select seq {held} and spec = id)"
    return _specs(read(f"{_SELECT} {clause}", message, message))


def refusals(read: Rows, message: str) -> tuple[str, ...]:
    """Read what was wrong with SPEC blocks in the answer to a message."""
    found = read("select errors from spec_refusals where message = ?", message)
    return msgspec.json.decode(found[0][0], type=tuple[str, ...]) if found else ()


def asked(read: Rows, message: str) -> Asked | None:
    """Read who asked what is answered."""
    sql = (
        "select message, worker, conversation, sender, surface, reply_to from spec_messages"
        " where message = ?"
    )
    found = read(sql, message)
    return Asked(*found[0]) if found else None


def thread(read: Rows, conversation: str) -> tuple[int, int] | None:
    """Tell when a conversation began, in epoch milliseconds, and how many messages it has."""
    found = read("select started_ms, messages from threads where conversation = ?", conversation)
    return found[0] if found else None


def role_since_ms(read: Rows) -> int:
    """Tell since when the active worker is active: since it was chosen, else from the start on."""
    sql = "select coalesce((select since_ms from chosen_role), min(ts_ms)) from event where seq = 1"
    return int(read(sql)[0][0])


def position(read: Rows, reader: str = READER) -> int:
    """Tell up to which event a reader of answers has come."""
    found = read("select upto from answer_readers where reader = ?", reader)
    return int(found[0][0]) if found else 0


def _in_state(read: Rows, status: Status) -> list[Spec]:
    return _specs(read(f"{_SELECT} where status = ? order by since_seq", status))


def read_spec(told: bytes) -> Spec:
    """Read a spec as its row tells it."""
    return msgspec.json.decode(told, type=Spec)


def _specs(found: Iterable[tuple[Any, ...]]) -> list[Spec]:
    return [read_spec(told) for (told,) in found]
