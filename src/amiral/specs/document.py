"""Specs as JSON: for commands, pages and mirrors, under the names of S0.16, S0.33 and S0.34."""

import msgspec

from amiral.base.clock import iso_utc
from amiral.base.plain import plain_json
from amiral.specs.spec import Spec

_OWNER = "owner"


class SpecDocument(msgspec.Struct, rename="camel", frozen=True):
    """One spec; instants are ISO 8601 UTC."""

    id: str
    title: str
    problem: str
    approach: str
    acceptance: tuple[str, ...]
    files: tuple[str, ...]
    complexity: str
    status: str
    created_at: str
    updated_at: str
    consultant_thread: str
    revision: int
    reason: str
    by: str
    failed: bool
    worker: str
    branch: str
    commit: str
    ticks: tuple[str, ...]
    tests: str
    merged: str


class Exchange(msgspec.Struct, frozen=True, omit_defaults=True):
    """One line of a worker's daily log."""

    ts: str
    role: str
    text: str
    specs: tuple[str, ...] = ()


class Transition(msgspec.Struct, rename="camel", frozen=True, omit_defaults=True):
    """One line of the daily log of specs."""

    ts: str
    event: str
    spec_id: str
    title: str = ""
    by: str = ""


class ActiveRole(msgspec.Struct, frozen=True):
    """Who gets plain text."""

    role: str
    since: str


class Thread(msgspec.Struct, rename="camel", frozen=True):
    """The conversation of the owner with one worker."""

    thread_id: str
    started_at: str
    message_count: int


def document(spec: Spec) -> SpecDocument:
    """Give a spec as it is shown in JSON."""
    return SpecDocument(
        id=spec.id,
        title=spec.title,
        problem=spec.problem,
        approach=spec.approach,
        acceptance=spec.acceptance,
        files=spec.files,
        complexity=spec.complexity,
        status=spec.status,
        created_at=iso_utc(spec.created_ms),
        updated_at=iso_utc(spec.updated_ms),
        consultant_thread=spec.conversation,
        revision=spec.revision,
        reason=spec.reason,
        by=spec.by,
        failed=spec.is_failed,
        worker=spec.worker,
        branch=spec.branch,
        commit=spec.commit,
        ticks=spec.ticks,
        tests=spec.tests,
        merged=spec.merged,
    )


def title_of(person: str) -> str:
    """Name who spoke or decided as the logs do: the owner is `ceo`, others go by their ids."""
    return "ceo" if person == _OWNER else person


def json_line(value: msgspec.Struct) -> bytes:
    """Write one line of a log, safe to print (R54)."""
    return plain_json(msgspec.json.encode(value).decode()).encode() + b"\n"


def json_file(value: object) -> bytes:
    """Write a whole file, safe to print (R54)."""
    text = msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    return plain_json(text).encode() + b"\n"
