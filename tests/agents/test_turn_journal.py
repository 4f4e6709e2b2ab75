"""The journal refuses at any moment of a turn: nothing is lost, told twice or done twice (R38)."""

from amiral.base import events as ev
from amiral.base.errors import Broken
from amiral.testbench.fake_clock import FakeClock


class Refusing:
    """A journal that refuses what `refuses` says, as one on a failing disk does."""

    def __init__(self, journal, refuses):
        self._journal, self._refuses = journal, refuses

    def __getattr__(self, name):
        return getattr(self._journal, name)

    async def append(self, *events, by="amiral"):
        if self._refuses(events):
            raise Broken("the disk is full")
        return await self._journal.append(*events, by=by)

    async def decide(self, decision, by="amiral"):
        def decide(read):
            events, value = decision(read)
            if self._refuses(events):
                raise Broken("the disk is full")
            return events, value

        return await self._journal.decide(decide, by=by)


class Nth:
    """Refuses the nth thing to be stored, and the next ones for as long as it is told to."""

    def __init__(self, nth, times=1):
        self.left, self.times, self.refused = nth, times, []

    def __call__(self, events):
        if any(isinstance(one, ev.MessageQueued | ev.WarningRaised) for one in events):
            return False
        self.left -= 1
        is_refused = -self.times <= self.left < 0
        if is_refused:
            self.refused.append(events)
        return is_refused


SCENARIO = """
turns:
  - use: {tool: bash, args: {command: "true"}}
  - say: done
default: {say: ok}
"""


async def test_r38_a_refusal_anywhere_in_a_turn_loses_nothing(works):
    """The nth commit is refused twice, for every n in a turn and the end of its session."""
    works.plan.clock = FakeClock()
    works.scenario(SCENARIO)
    executed = told = 0
    for nth in range(40):
        refuses = Nth(nth, times=2)
        works.plan.wrap = lambda journal, refuses=refuses: Refusing(journal, refuses)
        await works.open()
        message = await works.post(f"n={nth}")
        end = await works.ended_in_time(message)
        assert end.outcome == "done", (nth, refuses.refused, end)
        await works.close()
        works.plan.wrap = lambda journal: journal
        await works.open()
        assert len(works.events(ev.TurnEnded, message)) == 1
        assert len(works.events(ev.MessageSeen, message)) == 1
        executed, told = executed + 1, told + 1
        assert works.executed().count(message) == 1
        await works.close()
        if not refuses.refused:
            break
    assert nth > 5
    await works.open()
    texts = [one.text for one in works.events(ev.WorkerSaid)]
    assert texts == ["done", *["ok"] * (executed - 1)]


async def test_an_answer_to_a_question_is_not_given_before_it_is_stored(works):
    full = [True]

    def refuses(events):
        return full[0] and any(isinstance(one, ev.PermissionAnswered) for one in events)

    clock = works.plan.clock = FakeClock()
    works.plan.wrap = lambda journal: Refusing(journal, refuses)
    asked = {"type": "asked", "ask": "a1", "tool": "Write", "summary": "", "input": {}}
    works.stub("message", "seen", ["show", asked], "answer", "final")
    await works.open()
    message = await works.post()
    await works.until(lambda: works.events(ev.WarningRaised))
    for _ in range(3):
        await clock.until_sleeping(1)
        await clock.advance(30)
    assert works.inputs() == {message: "written"}
    full[0] = False
    assert (await works.ended_in_time(message)).outcome == "done"
    answers = [one for one in works.records("read") if one["type"] == "answer"]
    assert [one["ask"] for one in answers] == ["a1"]
    assert len(works.events(ev.PermissionAsked)) == len(works.events(ev.PermissionAnswered)) == 1


async def test_a_message_is_not_written_before_its_turn_is_on_record(works):
    full = [True]
    works.plan.wrap = lambda journal: Refusing(
        journal, lambda events: full[0] and any(isinstance(one, ev.TurnStarted) for one in events)
    )
    clock = works.plan.clock = FakeClock()
    works.scenario("default: {say: ok}")
    await works.open()
    message = await works.post()
    await works.until(lambda: works.events(ev.WarningRaised))
    await clock.until_sleeping(1)
    await clock.advance(60)
    assert works.inputs() == {}
    full[0] = False
    assert (await works.ended_in_time(message)).outcome == "done"
    assert len(works.events(ev.SessionOpened)) == 1


class Slow(Refusing):
    """A journal that answers a decision only after the turn it is about has ended."""

    def __init__(self, journal, works, messages):
        super().__init__(journal, lambda events: False)
        self._works, self._messages = works, messages

    async def decide(self, decision, by="amiral"):
        found = await super().decide(decision, by)
        if self._messages:
            following = self._messages.pop()
            session = await self._works.sessions.find(self._works.row())
            await session.write([self._works.input("interrupt")])
            await self._works.state(following, "seen")
        return found


async def test_p07_a_cancel_that_comes_too_late_hits_no_other_message(works):
    """While the disk is asked about the first message its turn ends and the next one begins."""
    works.stub("message", "seen", "interrupt", "final", "message", "seen", "hold")
    works.plan.grace_s = 0.1
    slow: list[str] = []
    works.plan.wrap = lambda journal: Slow(journal, works, slow)
    await works.open()
    first, second = await works.post("a"), await works.post("b")
    await works.state(first, "seen")
    slow.append(second)
    assert await works.inbox.cancel(first, "owner", "too late") == "seen"
    assert (await works.ended(first)).outcome == "done"
    assert works.state_of(second) == "seen"
