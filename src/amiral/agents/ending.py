"""Pure: how a turn ends: by its final event, by a wish, or by what files prove after a crash."""

from dataclasses import dataclass, replace

from amiral.agents.driver import Finished, Settlement
from amiral.agents.fold import Now, Progress
from amiral.agents.wish import Wish
from amiral.base import events as ev

_MOST_RETURNS = 3


def end(
    progress: Progress, now: Now, position: ev.Position, wish: Wish | None
) -> tuple[ev.Event, ...]:
    """Tell how a turn whose final event was read has ended, or that it is parked (decision 11)."""
    finished = progress.finished
    if finished is None:
        return ()
    if finished.how == "context_lost":
        return _begin_anew(finished, now)
    proved = _proved(finished, now)
    is_limited = progress.limited is not None and finished.how == "failed"
    if finished.how == "limited" or is_limited:
        return (*proved, _parked(progress, finished, now, position))
    if finished.how == "interrupted" and wish is not None:
        finished = replace(finished, how=wish.outcome, reason=wish.reason)
    return (*proved, _finished(progress, finished, now, position))


@dataclass(frozen=True)
class Evidence:
    """What the files tell after a crash.

    `line`: the input's state in the shim's record (unknown, recorded, written). `settlement`: what
    the CLI's own transcript proves. `seen`: whether the CLI had told that it read the message.
    """

    line: str
    settlement: Settlement
    seen: bool


def verdict(
    evidence: Evidence, now: Now, position: ev.Position, why: str, returns: int
) -> ev.Event:
    """Decide the fate of a message whose CLI is gone (R41).

    Answered in the transcript: done. Never written, or proved absent from the transcript: back to
    its queue, a few times. Read but not finished: interrupted. No proof: unsure, and told.
    """
    proof = evidence.settlement.proof
    if proof == "answered":
        return _ended(now, position, "done", evidence.settlement.text)
    if evidence.line == "unknown" or (proof == "absent" and not evidence.seen):
        if returns < _MOST_RETURNS:
            return ev.MessageReturned(now.message, now.worker, why)
        return _ended(now, position, "failed", reason=f"tried {returns + 1} times: {why}")
    if proof == "received" or evidence.seen:
        return _ended(now, position, "interrupted", reason=why)
    reason = f"{why}; nothing proves whether the message was read"
    return _ended(now, position, "unsure", reason=reason)


def wished(wish: Wish, now: Now, position: ev.Position) -> ev.TurnEnded:
    """End a turn whose CLI was ended on purpose."""
    return _ended(now, position, wish.outcome, reason=wish.reason)


def _begin_anew(finished: Finished, now: Now) -> tuple[ev.Event, ...]:
    """The CLI forgot the session: said aloud, and the message waits for a new one (R17)."""
    reason = finished.reason or finished.text
    lost = ev.ContextLost(now.conversation, now.worker, now.driver, now.resume_key, reason)
    return (lost, ev.MessageReturned(now.message, now.worker, "context lost"))


def _proved(finished: Finished, now: Now) -> tuple[ev.Event, ...]:
    if not finished.resume_key:
        return ()
    key = finished.resume_key
    return (ev.ResumeKeyProved(now.conversation, now.driver, key, now.session, now.cwd),)


def _parked(
    progress: Progress, finished: Finished, now: Now, position: ev.Position
) -> ev.TurnParked:
    limited = progress.limited
    return ev.TurnParked(
        turn=now.turn,
        message=now.message,
        worker=now.worker,
        session=now.session,
        position=position,
        window=limited.window if limited else "",
        resets_at_ms=limited.resets_at_ms if limited else None,
        source="cli",
        text=finished.text,
    )


def _finished(
    progress: Progress, finished: Finished, now: Now, position: ev.Position
) -> ev.TurnEnded:
    text = finished.text or "\n\n".join(progress.said)
    ended = _ended(now, position, finished.how, text, finished.reason)
    return replace(
        ended,
        input_tokens=finished.usage.input_tokens,
        output_tokens=finished.usage.output_tokens,
        cost_usd=finished.usage.cost_usd,
    )


def _ended(
    now: Now, position: ev.Position, outcome: str, text: str = "", reason: str = ""
) -> ev.TurnEnded:
    return ev.TurnEnded(
        turn=now.turn,
        message=now.message,
        worker=now.worker,
        session=now.session,
        position=position,
        outcome=outcome,
        text=text,
        reason=reason,
    )
