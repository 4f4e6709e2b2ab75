"""Pure: an approval, one question of a worker put before the owner, and what it is bound to."""

import hashlib
from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    """What has become of it. Only a waiting one can be answered, and only once."""

    WAITING = "waiting"
    ALLOWED = "allowed"
    DENIED = "denied"
    EXPIRED = "expired"
    WITHDRAWN = "withdrawn"
    VOID = "void"


@dataclass(frozen=True)
class Approval:
    """One request. `ask` is the CLI's own name for the question, within its session.

    `preview` is what would be done, every character visible; `digest` the SHA-256 of tool and
    arguments; `why` the rule that asks. `by`, `reason` and `ended_ms` tell how it ended: who did
    it, what they said, when.
    """

    id: str
    message: str
    turn: str
    worker: str
    session: str
    ask: str
    tool: str
    summary: str
    preview: str
    digest: str
    why: str
    asked_ms: int
    expires_ms: int
    state: State = State.WAITING
    by: str = ""
    reason: str = ""
    ended_ms: int = 0

    @property
    def is_waiting(self) -> bool:
        """Tell whether nothing has become of it yet."""
        return self.state is State.WAITING


@dataclass(frozen=True)
class Verdict:
    """What a CLI is told: whether the worker may, and if not, why not."""

    allowed: bool
    reason: str


CHANGED = "the request was changed after it was asked"


def digest_of(tool: str, arguments: str) -> str:
    """Give the SHA-256 of exactly what would be done."""
    return hashlib.sha256(f"{tool}\n{arguments}".encode("utf-8", "surrogatepass")).hexdigest()


def verdict(approval: Approval, digest: str) -> Verdict:
    """Tell what the worker is told once its approval has ended, for the content it asks now."""
    if approval.digest != digest:
        return Verdict(allowed=False, reason=CHANGED)
    match approval.state:
        case State.ALLOWED:
            return Verdict(allowed=True, reason="")
        case State.DENIED:
            said = f": {approval.reason}" if approval.reason else ""
            return Verdict(allowed=False, reason=f"denied by the {approval.by}{said}")
        case State.EXPIRED:
            return Verdict(allowed=False, reason="denied: nobody answered in time")
        case State.WITHDRAWN:
            return Verdict(allowed=False, reason="denied: the request had been withdrawn")
        case _:
            return Verdict(allowed=False, reason=approval.reason or "nobody has answered")


def expiry_ms(now_ms: int, ttl_s: float, left_s: float) -> int:
    """Tell when a request asked now expires: before its turn has run too long, so with an answer.

    `left_s` is what is left of the turn's longest time.
    """
    wait_s = min(ttl_s, left_s * _SHARE)
    return now_ms + max(0, round(wait_s * _MS_PER_S))


_SHARE = 0.9
_MS_PER_S = 1000
