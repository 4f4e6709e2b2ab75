"""Pure: fold the signals of one turn into its progress and the events worth telling."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from amiral.agents.approval import digest_of
from amiral.agents.driver import (
    Asked,
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
from amiral.base import events as ev

MOST_NOISE = 20
"""Lines of noise that one turn puts into the journal; the next one says that there is more."""

MOST_SAID = 16_384
"""Characters of what was said that are kept for a turn whose end carries no text."""

_LONGEST_NOISE = 500
_MORE_NOISE = "… there is more of this; the rest of this turn's is in the session's output alone"


@dataclass(frozen=True)
class Now:
    """Which turn of whom is being folded, in which session.

    `line` is the input id the message was written under, `resume_key` the key that continues its
    conversation, `returns` how often it went back to its queue. `failure`: why the conversation's
    last turn failed, "" when it did not or when this context has never worked.
    """

    turn: str
    message: str
    line: str
    worker: str
    session: str
    conversation: str
    driver: str
    cwd: str
    resume_key: str
    returns: int = 0
    failure: str = ""


@dataclass(frozen=True)
class Folded:
    """One line of output, folded; not `is_new` when its events are committed already.

    `state` is the driver's, just after this line.
    """

    position: ev.Position
    state: object
    signals: tuple[Signal, ...] = ()
    inputs: tuple[Input, ...] = ()
    is_new: bool = True
    oversized: Oversized | None = None


@dataclass(frozen=True)
class Progress:
    """What a turn has shown so far, of bounded size; rebuilt by folding the same output again."""

    said: str = ""
    seen: bool = False
    noise: int = 0
    limited: Limited | None = None
    finished: Finished | None = None


def advance(progress: Progress, signals: Iterable[Signal], now: Now) -> Progress:
    """Take the signals of one line into account."""
    for signal in signals:
        match signal:
            case Said(text):
                progress = replace(progress, said=_append(progress.said, text))
            case Seen() if _is_ours(signal, now):
                progress = replace(progress, seen=True)
            case Noise():
                progress = replace(progress, noise=progress.noise + 1)
            case Limited():
                progress = replace(progress, limited=signal)
            case Finished():
                progress = replace(progress, finished=signal)
            case _:
                pass
    return progress


def _append(said: str, text: str) -> str:
    joined = f"{said}\n\n{text}" if said else text
    return joined if len(joined) <= MOST_SAID else "…" + joined[1 - MOST_SAID :]


def _is_ours(seen: Seen, now: Now) -> bool:
    """A CLI may start turns by itself; a driver that names no message means the one there is."""
    return seen.message in ("", now.line)


def tell(signal: Signal, now: Now, position: ev.Position) -> ev.Event | None:
    """Name the event of one signal, None when the journal needs none.

    Limited and Finished decide how a turn ends: `ending.end` tells them. `told` counts the noise.
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
        case _:
            return None


def _tell_of_turn(signal: Signal, now: Now, position: ev.Position) -> ev.Event | None:
    turn, worker, session = now.turn, now.worker, now.session
    match signal:
        case Seen() if _is_ours(signal, now):
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
class Question:
    """A permission question, with the driver's state it was asked in.

    One that `is_withdrawn` waits for no answer any more.
    """

    state: object
    asked: Asked
    is_withdrawn: bool = False


@dataclass(frozen=True)
class Answer:
    """How one permission question is answered, with the lines that say so."""

    asked: Asked
    allowed: bool
    reason: str
    inputs: tuple[Input, ...]


def told(line: Folded, now: Now, answers: Iterable[Answer], noise: int) -> Iterator[ev.Event]:
    """Name the events of one line, in order, the answers of its questions last.

    `noise` counts the lines of noise the turn had before this one: a flood of it is told once.
    """
    if line.oversized is not None:
        size, sha256 = line.oversized.size, line.oversized.sha256
        yield ev.OutputOversized(now.session, now.worker, line.position, size, sha256)
    for signal in line.signals:
        if isinstance(signal, Noise):
            noise += 1
            yield from _noise(signal, now, line.position, noise)
            continue
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
            digest=digest_of(given.asked.tool, given.asked.arguments),
        )


def _noise(noise: Noise, now: Now, position: ev.Position, number: int) -> Iterator[ev.Event]:
    if number <= MOST_NOISE + 1:
        text = noise.text[:_LONGEST_NOISE] if number <= MOST_NOISE else _MORE_NOISE
        yield ev.NoiseRead(now.session, now.worker, position, text)
