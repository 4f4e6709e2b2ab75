"""Pure: how a turn ends: by its final event, by a wish, or by what files prove after a crash."""

import re
from dataclasses import dataclass, replace

from amiral.agents.driver import Finished, Settlement
from amiral.agents.fold import Now, Progress
from amiral.agents.wish import Wish
from amiral.base import events as ev

MOST_RETURNS = 3

_REQUEST_ERROR = re.compile(r"\b(?:API Error|status)[: (]{1,3}(400|413|422)\b")
"""A request refused for what it says; a login (401, 403), a model (404), a limit (429) is not."""


def end(
    progress: Progress, now: Now, position: ev.Position, wish: Wish | None
) -> tuple[ev.Event, ...]:
    """Tell how a turn whose final event was read has ended, or that it is parked (decision 11)."""
    finished = progress.finished
    if finished is None:
        return ()
    if is_context_lost(finished, now):
        return _begin_anew(progress, finished, now, position, wish)
    proved = _proved(finished, now)
    is_limited = finished.how == "limited" or (
        progress.limited is not None and finished.how == "failed"
    )
    if wish is not None and (is_limited or finished.how == "interrupted"):
        finished = replace(finished, how=wish.outcome, reason=wish.reason)
    elif is_limited:
        return (*proved, parked(progress, now, position, finished.text))
    return (*proved, _finished(progress, finished, now, position))


def is_context_lost(finished: Finished, now: Now) -> bool:
    """Tell whether this session is of no more use (R17, R20).

    The CLI says so itself; or a conversation that has worked is refused twice in a row with the
    same permanent error of its request, as one is whose tool call was never answered.
    """
    if finished.how == "context_lost":
        return True
    refused = _request_error(finished.reason)
    return finished.how == "failed" and refused == _request_error(now.failure) != ""


@dataclass(frozen=True)
class Evidence:
    """What the files tell after a crash.

    `line`: the input's state in the shim's record (unknown, recorded, written). `settlement`: what
    the CLI's own transcript proves. `why`: how the CLI ended, with its last words.
    """

    line: str
    settlement: Settlement
    why: str


def verdict(evidence: Evidence, progress: Progress, now: Now, position: ev.Position) -> ev.Event:
    """Decide the fate of a message whose CLI is gone (R41).

    Answered in the transcript: done. Limited before the end: parked (R06). Read but not finished:
    interrupted. Never written, or proved absent from the transcript: back to its queue, a few
    times. No proof: unsure, and told.
    """
    proof, why = evidence.settlement.proof, evidence.why
    if proof == "answered":
        return _ended(now, position, "done", evidence.settlement.text)
    if progress.limited is not None:
        return parked(progress, now, position, why)
    if proof == "received" or progress.seen:
        return _ended(now, position, "interrupted", progress.said, why)
    if evidence.line == "unknown" or proof == "absent":
        return _again(now, position, why)
    reason = f"{why}; nothing proves whether the message was read"
    return _ended(now, position, "unsure", progress.said, reason)


def wished(wish: Wish, progress: Progress, now: Now, position: ev.Position) -> ev.TurnEnded:
    """End a turn whose CLI was ended on purpose."""
    return _ended(now, position, wish.outcome, progress.said, wish.reason)


def parked(progress: Progress, now: Now, position: ev.Position, text: str) -> ev.TurnParked:
    """Park a limited turn."""
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
        text=text,
    )


def _request_error(reason: str) -> str:
    found = _REQUEST_ERROR.search(reason)
    return found[1] if found else ""


def _begin_anew(
    progress: Progress, finished: Finished, now: Now, position: ev.Position, wish: Wish | None
) -> tuple[ev.Event, ...]:
    """The session is lost: said aloud, and the message waits for a new one, with the history."""
    reason = finished.reason or finished.text
    if finished.how != "context_lost":
        reason = f"refused twice in a row: {reason}"
    lost = ev.ContextLost(now.conversation, now.worker, now.driver, now.resume_key, reason)
    if wish is not None:
        return (lost, wished(wish, progress, now, position))
    return (lost, _again(now, position, "context lost"))


def _again(now: Now, position: ev.Position, why: str) -> ev.Event:
    """Send the message back to its queue, a few times."""
    if now.returns < MOST_RETURNS:
        return ev.MessageReturned(now.message, now.worker, why)
    return _ended(now, position, "failed", reason=f"tried {now.returns + 1} times: {why}")


def _proved(finished: Finished, now: Now) -> tuple[ev.Event, ...]:
    if not finished.resume_key:
        return ()
    key = finished.resume_key
    return (ev.ResumeKeyProved(now.conversation, now.driver, key, now.session, now.cwd),)


def _finished(
    progress: Progress, finished: Finished, now: Now, position: ev.Position
) -> ev.TurnEnded:
    text = finished.text or progress.said
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
