"""Pure: fold the signals of one turn into its progress and the events worth telling."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from amiral.agents.driver import (
    Asked,
    Driver,
    Finished,
    Input,
    Limited,
    Nearing,
    Noise,
    Opened,
    Refused,
    Retrying,
    Said,
    Seen,
    Signal,
    Used,
)
from amiral.agents.framing import Oversized
from amiral.agents.worker import ALL_TOOLS, Worker
from amiral.base import events as ev

_LONGEST_NOISE = 500


@dataclass(frozen=True)
class Now:
    """Which turn of whom is being folded, in which session."""

    turn: str
    message: str
    worker: str
    session: str
    conversation: str
    driver: str
    cwd: str
    resume_key: str


@dataclass(frozen=True)
class Folded:
    """One line of output, folded; not `is_new` when its events are committed already."""

    position: ev.Position
    signals: tuple[Signal, ...]
    inputs: tuple[Input, ...]
    is_new: bool
    oversized: Oversized | None = None


@dataclass(frozen=True)
class Progress:
    """What a turn has shown so far; rebuilt by folding the same output again."""

    said: tuple[str, ...] = ()
    limited: Limited | None = None
    finished: Finished | None = None


def advance(progress: Progress, signals: Iterable[Signal]) -> Progress:
    """Take the signals of one line into account."""
    for signal in signals:
        match signal:
            case Said(text):
                progress = replace(progress, said=(*progress.said, text))
            case Limited():
                progress = replace(progress, limited=signal)
            case Finished():
                progress = replace(progress, finished=signal)
            case _:
                pass
    return progress


def tell(signal: Signal, now: Now, position: ev.Position) -> ev.Event | None:
    """Name the event of one signal, None when the journal needs none.

    Limited and Finished decide how a turn ends: `ending.end` tells them.
    """
    return _tell_of_session(signal, now, position) or _tell_of_turn(signal, now, position)


def _tell_of_session(signal: Signal, now: Now, position: ev.Position) -> ev.Event | None:
    worker, session = now.worker, now.session
    match signal:
        case Opened(observed) if observed:
            return ev.SessionIdObserved(session, worker, position, observed)
        case Nearing(window, utilization, resets_at_ms):
            return ev.LimitNoted(worker, session, position, window, utilization, resets_at_ms)
        case Retrying(error, delay_ms):
            return ev.ServiceRetried(worker, session, position, error, delay_ms)
        case Noise(text):
            return ev.NoiseRead(session, worker, position, text[:_LONGEST_NOISE])
        case _:
            return None


def _tell_of_turn(signal: Signal, now: Now, position: ev.Position) -> ev.Event | None:
    turn, worker, session = now.turn, now.worker, now.session
    match signal:
        case Seen():
            return ev.MessageSeen(turn, now.message, worker, session, position)
        case Said(text):
            return ev.WorkerSaid(turn, worker, session, position, text)
        case Used(tool, summary):
            return ev.ToolUsed(turn, worker, session, position, tool, summary)
        case Refused(tool, reason):
            return ev.ToolRefused(turn, worker, session, position, tool, reason)
        case Asked(ask, tool, summary):
            return ev.PermissionAsked(turn, worker, session, position, ask, tool, summary)
        case _:
            return None


@dataclass(frozen=True)
class Answer:
    """How one permission question is answered, with the lines that say so."""

    asked: Asked
    allowed: bool
    reason: str
    inputs: tuple[Input, ...]


def answer(driver: Driver[Any], state: object, line: Folded, worker: Worker) -> tuple[Answer, ...]:
    """Answer the permission questions of one line from the worker's tools alone."""
    answers = []
    for signal in line.signals:
        if isinstance(signal, Asked):
            allowed = _may_use(worker, signal.tool)
            reason = "" if allowed else f"worker {worker.id} may not use {signal.tool}"
            inputs = driver.answer(state, signal, allow=allowed, reason=reason)
            answers.append(Answer(signal, allowed, reason, inputs))
    return tuple(answers)


def told(line: Folded, now: Now, answers: Iterable[Answer]) -> Iterator[ev.Event]:
    """Name the events of one line, in order, the answers of its questions last."""
    if line.oversized is not None:
        size, sha256 = line.oversized.size, line.oversized.sha256
        yield ev.OutputOversized(now.session, now.worker, line.position, size, sha256)
    for signal in line.signals:
        event = tell(signal, now, line.position)
        if event is not None:
            yield event
    for given in answers:
        yield ev.PermissionAnswered(
            turn=now.turn,
            worker=now.worker,
            session=now.session,
            position=line.position,
            ask=given.asked.ask,
            allowed=given.allowed,
            reason=given.reason,
        )


def _may_use(worker: Worker, tool: str) -> bool:
    """A rule such as `Bash(git *)` is not judged here, so it allows nothing."""
    return worker.tools == ALL_TOOLS or tool in worker.tools
