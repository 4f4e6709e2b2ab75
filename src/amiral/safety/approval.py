"""Pure: how a permission request looks to its owner, and what is told to who comes too late."""

from amiral.agents.approval import Approval, State
from amiral.base.errors import Conflict
from amiral.base.plain import one_line

_LONGEST_REASON = 200
_MINUTE_MS = 60_000
_HOUR_MS = 60 * _MINUTE_MS


def card(approval: Approval, now_ms: int, *, is_chat: bool) -> str:
    """Write what one needs to judge a request, and the commands that answer it.

    What the worker wrote stands behind a bar, so that no line of it passes for one of ours.
    """
    asked, left = span(now_ms - approval.asked_ms), span(approval.expires_ms - now_ms)
    lines = [
        f"? {approval.id} · {approval.worker} wants to use {approval.tool}",
        *(f"  │ {line}" for line in approval.preview.split("\n")),
        f"  {one_line(approval.why, _LONGEST_REASON)}" if approval.why else "",
        f"  asked {asked} ago · expires in {left}",
        f"  {answers(approval, is_chat=is_chat)}",
    ]
    return "\n".join(line for line in lines if line)


def call(approval: Approval, until: str) -> str:
    """Write one that waits in two lines; to be judged it has to be looked at."""
    return f"? {what(approval)} · expires {until}\n  amiral approve-request {approval.id}"


def answers(approval: Approval, *, is_chat: bool) -> str:
    """Write the two commands that answer it."""
    name = "/approve_request" if is_chat else "amiral approve-request"
    return f"{name} {approval.id} allow   {name} {approval.id} deny"


def what(approval: Approval) -> str:
    """Name in one line who wants what."""
    summary = f": {one_line(approval.summary, 80)}" if approval.summary else ""
    return f"{approval.worker} wants to use {one_line(approval.tool, 40)}{summary}"


def span(milliseconds: int) -> str:
    """Write a length of time as people say it."""
    if milliseconds < _MINUTE_MS:
        return f"{max(0, milliseconds) // 1000} s"
    if milliseconds < _HOUR_MS:
        return f"{milliseconds // _MINUTE_MS} min"
    minutes = milliseconds % _HOUR_MS // _MINUTE_MS
    return f"{milliseconds // _HOUR_MS} h" + (f" {minutes} min" if minutes else "")


def ended(approval: Approval, when: str) -> str:
    """Say what has become of a request: by whom, when, and why."""
    said = f": {one_line(approval.reason, _LONGEST_REASON)}" if approval.reason else ""
    match approval.state:
        case State.EXPIRED:
            return f"request {approval.id} was denied at {when}: nobody had answered"
        case State.WITHDRAWN:
            return f"request {approval.id} was withdrawn by {approval.worker} itself at {when}"
        case State.VOID:
            return f"request {approval.id} ended without an answer at {when}{said}"
        case _:
            return f"request {approval.id} was {approval.state} by {approval.by} at {when}{said}"


def check(approval: Approval, digest: str, when: str) -> None:
    """Raise Conflict with the truth when a request cannot be answered, or not as it was seen.

    `when` is the instant it ended, as it is written for people; `digest` what the answer is to, ""
    when it does not say.
    """
    if not approval.is_waiting:
        raise Conflict(ended(approval, when), _SEE)
    if digest not in ("", approval.digest):
        raise Conflict(
            f"request {approval.id} is about something else than what you answer",
            f"look at it again: amiral approve-request {approval.id}",
        )


_SEE = "see what waits: amiral approvals"
