"""What the SPEC blocks of an answer become: drafts, revisions, refusals, once for every answer."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from amiral.base import events as ev
from amiral.base.errors import Conflict, NotFound
from amiral.base.ids import new_id
from amiral.base.plain import one_line
from amiral.specs import rows
from amiral.specs.block import BlocksRead
from amiral.specs.rows import READER, Asked
from amiral.specs.spec import Draft, Rules, Spec
from amiral.specs.transition import Wish, may
from amiral.store.journal import Rows

OURSELVES = "amiral"
"""The sender of messages that no person wrote."""

_SPEC_ID_LENGTH = 8


@dataclass(frozen=True)
class Answer:
    """The end of a turn, event `seq`, and the blocks its text held."""

    seq: int
    message: str
    blocks: BlocksRead


def settle(read: Rows, answer: Answer, rules: Rules) -> list[ev.Event]:
    """Tell what follows from an answer, together with the note that it was read.

    Nothing follows from one that was read before, whatever was killed meanwhile.
    """
    if rows.position(read) >= answer.seq:
        return []
    asked = rows.asked(read, answer.message)
    taken = [] if asked is None else _Intake(read, asked, rules).take(answer.blocks)
    return [*taken, ev.AnswerRead(READER, answer.seq)]


@dataclass
class _Intake:
    """Takes the blocks of one answer: the rest of it is kept when one cannot be taken (S0.8)."""

    read: Rows
    asked: Asked
    rules: Rules
    events: list[ev.Event] = field(default_factory=list)
    waiting: int = 0
    used: set[str] = field(default_factory=set)

    def take(self, blocks: BlocksRead) -> list[ev.Event]:
        self.waiting = len(rows.drafts(self.read))
        mistakes, refusals = list(blocks.errors), []
        about = self._about() if len(blocks.specs) == 1 else None
        for draft in blocks.specs:
            try:
                self._take(draft, about)
            except _NoRoom as error:
                refusals.append(error.message)
            except Conflict as error:
                mistakes.append(error.message)
        self._refuse(mistakes, refusals)
        return self.events

    def _about(self) -> Spec | None:
        """Find the rejected spec that the question was about, if it was about one."""
        asked = self.asked
        if asked.sender == OURSELVES:
            asked = rows.asked(self.read, asked.reply_to) or asked
        spec = rows.find(self.read, asked.reply_to)
        return spec if spec is not None and self._may_revise(spec) else None

    def _take(self, draft: Draft, about: Spec | None) -> None:
        old = self._revised(draft) if draft.revises else about
        if not self.rules.auto_approve and self.waiting >= self.rules.most_drafts:
            raise _NoRoom(
                f'spec "{one_line(draft.title)}" is not kept: {self.waiting} drafts wait already;'
                " approve or reject some (/specs lists them), then ask for it again"
            )
        spec_id = self._new_id() if old is None else old.id
        self.used.add(spec_id)
        self.events.append(
            self._created(draft, spec_id) if old is None else self._again(draft, old)
        )
        if self.rules.auto_approve:
            self.events.append(ev.SpecApproved(spec_id))
        else:
            self.waiting += 1

    def _revised(self, draft: Draft) -> Spec:
        """Find the spec a block says it revises: a rejected one of the same conversation."""
        try:
            old = rows.named(self.read, draft.revises)
        except NotFound as error:
            raise _mistake(draft, error.message) from error
        if old.conversation != self.asked.conversation:
            raise _mistake(draft, f"{old.id} was written by {old.author} in another conversation")
        if not self._may_revise(old):
            state = "revised in this answer already" if old.id in self.used else old.status
            raise _mistake(draft, f"{old.id} is {state}, only a rejected spec is revised")
        return old

    def _may_revise(self, spec: Spec) -> bool:
        is_ours = spec.conversation == self.asked.conversation
        return is_ours and may(spec, Wish.REVISE) and spec.id not in self.used

    def _new_id(self) -> str:
        while True:
            spec_id = new_id(_SPEC_ID_LENGTH)
            if spec_id not in self.used and rows.find(self.read, spec_id) is None:
                return spec_id

    def _created(self, draft: Draft, spec_id: str) -> ev.SpecCreated:
        return ev.SpecCreated(
            spec=spec_id,
            title=draft.title,
            problem=draft.problem,
            approach=draft.approach,
            acceptance=draft.acceptance,
            files=draft.files,
            complexity=draft.complexity,
            worker=self.asked.worker,
            conversation=self.asked.conversation,
            message=self.asked.message,
        )

    def _again(self, draft: Draft, old: Spec) -> ev.SpecRevised:
        return ev.SpecRevised(
            spec=old.id,
            revision=old.revision + 1,
            title=draft.title,
            problem=draft.problem,
            approach=draft.approach,
            acceptance=draft.acceptance,
            files=draft.files,
            complexity=draft.complexity,
            message=self.asked.message,
        )

    def _refuse(self, mistakes: Sequence[str], refusals: Sequence[str]) -> None:
        """Tell what was not taken, and offer the worker once to mend what it can mend."""
        asked = self.asked
        if mistakes or refusals:
            errors = (*mistakes, *refusals)
            who = asked.worker, asked.conversation, asked.message
            self.events.append(ev.SpecBlocksRefused(*who, errors))
        if mistakes and asked.sender != OURSELVES:
            self.events.append(
                ev.MessageQueued(
                    message=new_id(),
                    worker=asked.worker,
                    conversation=asked.conversation,
                    text=_offer(mistakes),
                    sender=OURSELVES,
                    surface=asked.surface,
                    reply_to=asked.message,
                )
            )


class _NoRoom(Conflict):
    """There are as many drafts as the owner allows."""


def _mistake(draft: Draft, what: str) -> Conflict:
    way = "correct the line, or leave it out to write a new spec"
    return Conflict(f'spec "{one_line(draft.title)}": revises: {what}; {way}')


def _offer(mistakes: Sequence[str]) -> str:
    told = "\n".join(f"- {mistake}" for mistake in mistakes)
    return (
        "These SPEC blocks of your answer could not be taken; lines are counted within the block:\n"
        f"{told}\nSend each of these blocks again, corrected, and nothing else. The rest is kept."
    )
