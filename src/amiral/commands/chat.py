"""Messages to workers: say, route, role, interrupt, cancel."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from amiral.agents.answers import PENDING, Answer, Answers
from amiral.agents.inbox import Inbox
from amiral.agents.roster import Roster
from amiral.agents.wish import Wish
from amiral.agents.worker import Worker
from amiral.base import events as ev
from amiral.base.errors import AmiralError, Denied
from amiral.base.ids import new_id
from amiral.commands import refusals
from amiral.commands.grammar import Route, Routed, as_data, describe, parse_chat, route
from amiral.commands.registry import Caller, Parsed, Reply, Role, command
from amiral.commands.table import TABLE
from amiral.conversations.thread import OWNER, pair
from amiral.specs import rows
from amiral.specs.card import cards
from amiral.specs.reader import until_read
from amiral.store.journal import Journal

Dispatch = Callable[[Caller, Parsed], Awaitable[Reply]]
BranchOf = Callable[[Worker], Awaitable[str]]
"""Names the branch that holds work of a worker, "" when none does."""

_PATIENCE_S = 3600.0
_READING_S = 5.0


class Refused(AmiralError):
    """A message that asks for nothing there is; nothing was done and nothing is guessed."""

    kind = "refused"


@dataclass(frozen=True)
class Said:
    """The JSON of `say` (spec/cli.md)."""

    accepted: bool
    message_id: str
    route: dict[str, str]
    worker: str
    turn_id: str
    replies: tuple[dict[str, str], ...]
    outcome: str
    reason: str = ""
    specs: tuple[str, ...] = ()
    branch: str = ""
    request: str = ""
    refused: tuple[str, ...] = ()


class Chat:
    """The one router of every surface: what a message asks for, then doing it."""

    def __init__(
        self,
        inbox: Inbox,
        roster: Roster,
        answers: Answers,
        journal: Journal,
        dispatch: Dispatch,
        branch_of: BranchOf,
    ) -> None:
        self._inbox, self._roster, self._answers = inbox, roster, answers
        self._journal, self._dispatch, self._branch_of = journal, dispatch, branch_of

    @command("say")
    async def say(
        self,
        caller: Caller,
        text: str,
        as_: str = "",
        wait: float = _PATIENCE_S,
        reply_to: str = "",
    ) -> Reply:
        """Route one chat message and wait for the first reply."""
        if as_ and caller.role is not Role.OWNER:
            raise Denied("`--as` is the owner's, for tests", "leave it out")
        routed = self._route(text)
        match routed.kind:
            case Route.MESSAGE:
                return await self._talk(caller, routed, as_ or caller.id, wait, reply_to)
            case Route.COMMAND | Route.STOP:
                return await self._dispatch(caller, parse_chat(routed, TABLE))
            case _:
                raise Refused(routed.error, routed.suggestion)

    @command("route")
    async def route(self, caller: Caller, text: str) -> Reply:
        """Tell what `say` would do."""
        del caller
        routed = self._route(text)
        return Reply(describe(routed), as_data(routed))

    @command("role")
    async def role(self, caller: Caller, worker: str = "") -> Reply:
        """Show or choose the active worker, who gets plain text."""
        if worker:
            chosen = self._roster.find(worker)
            await self._journal.append(ev.RoleChosen(chosen.id), by=caller.id)
        active = self._roster.active()
        return Reply(f"active worker: {active}", {"role": active})

    @command("interrupt")
    async def interrupt(self, caller: Caller, worker: str) -> Reply:
        """End the running turn of a worker; its session stays."""
        found = self._roster.find(worker)
        wish = Wish("interrupted", f"interrupted by {caller.id}")
        await self._inbox.interrupt(found.id, wish, caller.id)
        return Reply(f"⏸ interrupting {found.id}", {"worker": found.id})

    @command("cancel")
    async def cancel(self, caller: Caller, id: str) -> Reply:  # noqa: A002 - the table's name
        """Take a message back."""
        state = await self._inbox.cancel(id, caller.id, f"cancelled by {caller.id}")
        is_running = state in ("injected", "seen")
        said = f"⏸ cancelling {id} (it runs)" if is_running else f"✓ cancelled {id} (was {state})"
        return Reply(said, {"message_id": id, "was": state})

    def _route(self, text: str) -> Routed:
        spellings = TABLE.by_chat_name()
        return route(text, self._roster.ids(), spellings, self._roster.active())

    async def _talk(
        self, caller: Caller, routed: Routed, sender: str, wait: float, reply_to: str
    ) -> Reply:
        worker = self._roster.find(routed.worker)
        message = new_id()
        await self._inbox.post(
            ev.MessageQueued(
                message=message,
                worker=worker.id,
                conversation=pair(OWNER, worker.id),
                text=routed.args,
                sender=sender,
                surface=caller.surface,
                reply_to=reply_to,
            )
        )
        answer = await self._answer(message, wait, worker.id)
        return await self._reply(caller, worker, message, answer, as_data(routed))

    async def told(self, caller: Caller, message: str, worker: str) -> Reply | None:
        """Give the newest thing to tell about a message as `say` does, None when there is none.

        Its data is a `Said`: it may be one of an answer that is still to come.
        """
        answer = self._answers.known(message)
        if answer is None:
            return None
        return await self._reply(caller, self._roster.find(worker), message, answer, {})

    def text_of(self, message: str) -> str:
        """Give a worker's own words in answer to a message, "" while there are none."""
        answer = self._answers.known(message)
        return answer.text if answer else ""

    async def _reply(
        self, caller: Caller, worker: Worker, message: str, answer: Answer, route: dict[str, str]
    ) -> Reply:
        cards, specs = await self._specs(message, answer, caller)
        refused = refusals.refusals_of(self._journal, message, answer.turn)
        said = Said(
            accepted=True,
            message_id=message,
            route=route,
            worker=worker.id,
            turn_id=answer.turn,
            replies=({"id": answer.id, "text": answer.text},) if answer.text else (),
            outcome=answer.outcome,
            reason=answer.reason,
            specs=specs,
            branch=await self._branch_of(worker) if answer.turn else "",
            request=answer.request,
            refused=refused,
        )
        request = await self._request(answer, caller)
        told = refusals.shown(refused)
        parts = (request, _shown(said, answer.text), told, cards, _where(said))
        shown = "\n\n".join(part for part in parts if part)
        return Reply(shown, said, 0 if said.outcome in _FINE else 1)

    async def _answer(self, message: str, wait: float, worker: str) -> Answer:
        """Wait so long for the first answer; none comes while the worker's terminal is open."""
        if self._inbox.has_terminal(worker):
            reason = f"its terminal is open; to go on: amiral terminal close {worker}"
            return replace(PENDING, reason=reason)
        if wait > 0:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(wait):
                    return await self._answers.wait_for(message)
        return PENDING

    async def _request(self, answer: Answer, caller: Caller) -> str:
        """Show the permission a turn waits for to who may give it; the answer comes later."""
        if not answer.request or caller.role is not Role.OWNER:
            return ""
        shown = Parsed("approve-request", {"id": answer.request})
        return (await self._dispatch(caller, shown)).text

    async def _specs(
        self, message: str, answer: Answer, caller: Caller
    ) -> tuple[str, tuple[str, ...]]:
        """Give the cards and ids of the specs that an answer held, once it was read for them."""
        if answer.outcome != "done":
            return "", ()
        read = self._journal.rows
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_READING_S):
                await until_read(self._journal, int(answer.id))
        found = rows.answered(read, message)
        told = cards(found, rows.refusals(read, message), is_chat=caller.is_chatting)
        return told, tuple(spec.id for spec in found)


_FINE = frozenset({"done", "pending", "limited"})
_MARKS = {"done": "✓", "pending": "⏳", "limited": "⏸", "stopped": "⛔", "unsure": "?"}


def _shown(said: Said, text: str) -> str:
    """Write an answer for people: the text alone when all is well, else what happened."""
    if said.outcome == "done":
        return text or f"✓ {said.worker} · done"
    mark = _MARKS.get(said.outcome, "✗")
    head = f"{mark} {said.worker} · {said.outcome}"
    reason = f": {said.reason}" if said.reason else ""
    way = f"amiral conversation show {pair(OWNER, said.worker)}   amiral cancel {said.message_id}"
    hint = f"\n  {way}" if mark == "⏳" else ""
    return f"{text}\n{head}{reason}".lstrip("\n") + hint


def _where(said: Said) -> str:
    """Tell where the work of a worker is, and what can be done with it."""
    ways = f"amiral diff {said.worker}   amiral merge {said.worker}"
    is_there = said.branch and said.outcome != "pending"
    return f"  {ways}   (branch {said.branch})" if is_there else ""
