"""The permission questions of running turns: judged, put before the owner, answered once."""

from dataclasses import dataclass, replace

from amiral.agents import approval_rows as rows
from amiral.agents.approval import CHANGED, Approval, Verdict, digest_of, expiry_ms, verdict
from amiral.agents.beginning import Running
from amiral.agents.driver import Asked, Withdrawn
from amiral.agents.fold import Answer, Folded, Question
from amiral.agents.judging import Judge, Judgement, by_tools
from amiral.agents.preview import preview, seen_from
from amiral.base import events as ev
from amiral.base.clock import Clock
from amiral.base.failpoint import failpoint
from amiral.base.ids import new_id
from amiral.base.plain import one_line, visible
from amiral.permissions.rules import Posture
from amiral.permissions.tools import FILE_TOOLS
from amiral.store.journal import Journal, Rows

_ID_LENGTH = 8
_DIGEST_LENGTH = 16
_LONGEST_LINE = 200


@dataclass(frozen=True)
class Asking:
    """How questions are judged, and how many seconds one waits for the owner."""

    judge: Judge = by_tools
    ttl_s: float = 3600.0


class Questions:
    """A question is answered at once by a rule, or waits for the owner while its turn goes on.

    An answer is committed before it is written to the CLI, under one input id for ever, and the
    question is read again after a crash: so no answer is lost, and none is given twice.
    """

    def __init__(self, journal: Journal, clock: Clock, asking: Asking) -> None:
        self._journal, self._clock, self._asking = journal, clock, asking

    def hear(self, turn: Running, line: Folded) -> tuple[list[Answer], list[ev.Event]]:
        """Take the questions of one line: the answers there are now, and what the owner is asked.

        A question read again, after a crash or since its CLI repeats it, keeps what became of it.
        """
        answers: list[Answer] = []
        requests: list[ev.Event] = []
        for signal in line.signals:
            if isinstance(signal, Withdrawn) and signal.ask in turn.asked:
                turn.asked[signal.ask] = replace(turn.asked[signal.ask], is_withdrawn=True)
            elif isinstance(signal, Asked):
                heard = self._hear(turn, Question(line.state, signal), is_new=line.is_new)
                if isinstance(heard, Answer):
                    answers.append(heard)
                elif heard is not None:
                    requests.append(heard)
        return answers, requests

    def _hear(self, turn: Running, question: Question, *, is_new: bool) -> Answer | ev.Event | None:
        """Give the answer of one question, or what the owner is asked; None when it waits."""
        asked = question.asked
        given = rows.given(self._journal.rows, turn.session.id, asked.ask, _digest(question))
        if given is not None:
            return _answer(turn, question, given)
        if self._is_known(turn, asked):
            turn.asked[asked.ask] = question
            return None
        if not is_new:
            return None
        judgement = self._judge(turn, asked)
        if judgement.posture is not Posture.ASK:
            told = Verdict(judgement.posture is Posture.ALLOW, judgement.reason)
            return _answer(turn, question, told)
        if turn.session.is_over:
            return None
        turn.asked[asked.ask] = question
        return self._request(turn, asked, judgement.reason)

    async def serve(self, turn: Running) -> None:
        """Write the answers there are by now, of the owner or of the clock, to the CLI."""
        if not turn.asked or turn.control.wish is not None:
            return
        now_ms = self._clock.now_ms()
        if _due(self._journal.rows, turn, now_ms):
            await self._journal.decide(lambda read: (_due(read, turn, now_ms), None))
        for ask, question in list(turn.asked.items()):
            approval = self._approval(turn, ask)
            if approval is None or approval.is_waiting:
                continue
            del turn.asked[ask]
            if not question.is_withdrawn:
                told = verdict(approval, _digest(question))
                await turn.session.write(_answer(turn, question, told).inputs)
                failpoint("approval.written")

    async def void(self, turn: Running, reason: str) -> None:
        """Take back what waits for the owner: the turn is about to end."""
        turn.asked.clear()
        if rows.waiting_in(self._journal.rows, turn.now.turn):
            await self._journal.decide(
                lambda read: (rows.voided(read, turn.now.turn, reason), None)
            )

    def _is_known(self, turn: Running, asked: Asked) -> bool:
        return asked.ask in turn.asked or self._approval(turn, asked.ask) is not None

    def _approval(self, turn: Running, ask: str) -> Approval | None:
        return rows.of_question(self._journal.rows, turn.session.id, turn.now.turn, ask)

    def _judge(self, turn: Running, asked: Asked) -> Judgement:
        """What a rule would ask is denied where nobody can answer it any more."""
        judgement = self._asking.judge(turn.worker, asked, turn.now.cwd)
        if judgement.posture is not Posture.ASK:
            return judgement
        if turn.control.wish is not None:
            return Judgement(Posture.DENY, turn.control.wish.reason)
        return judgement

    def _request(self, turn: Running, asked: Asked, why: str) -> ev.Event:
        left_s = turn.until_s - self._clock.monotonic_s()
        return ev.ApprovalAsked(
            approval=new_id(_ID_LENGTH),
            message=turn.now.message,
            turn=turn.now.turn,
            worker=turn.now.worker,
            session=turn.session.id,
            ask=asked.ask,
            tool=_line(asked.tool),
            summary=_summary(asked, turn.now.cwd),
            preview=preview(asked.arguments, turn.now.cwd),
            digest=digest_of(asked.tool, asked.arguments),
            why=_line(why),
            expires_ms=expiry_ms(self._clock.now_ms(), self._asking.ttl_s, left_s),
        )


def _due(read: Rows, turn: Running, now_ms: int) -> list[ev.Event]:
    """Tell which requests end by themselves now: their time is up, or they were changed (H4)."""
    due: list[ev.Event] = []
    for approval in rows.waiting_in(read, turn.now.turn):
        who = (approval.id, approval.turn, approval.worker)
        question = turn.asked.get(approval.ask)
        if question is not None and question.is_withdrawn:
            due.append(ev.ApprovalWithdrawn(*who))
        elif question is not None and _digest(question) != approval.digest:
            due.append(ev.ApprovalVoided(*who, CHANGED))
        elif now_ms >= approval.expires_ms:
            due.append(ev.ApprovalExpired(*who))
    return due


def _answer(turn: Running, question: Question, told: Verdict) -> Answer:
    """Answer one question of one turn with one content: its input id is of these three (H4)."""
    driver, asked = turn.session.driver, question.asked
    inputs = driver.answer(question.state, asked, allow=told.allowed, reason=told.reason)
    bound = f"{turn.now.turn}-{_digest(question)[:_DIGEST_LENGTH]}"
    lines = tuple(replace(line, id=f"{line.id}-{bound}") for line in inputs)
    return Answer(asked, told.allowed, told.reason, lines)


def _digest(question: Question) -> str:
    return digest_of(question.asked.tool, question.asked.arguments)


def _summary(asked: Asked, folder: str) -> str:
    is_path = asked.tool in FILE_TOOLS
    return _line(seen_from(folder, asked.summary) if is_path else asked.summary)


def _line(text: str) -> str:
    return one_line(visible(text), _LONGEST_LINE)
