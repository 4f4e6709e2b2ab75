"""Keeps one process a project: finds those that run, starts those that do not, tells what it saw.

A hub may be killed at any moment. What the next one needs is on disk before a process is started,
and who serves a project is asked of the kernel, so that there is never a second one (R30, R33).
"""

import asyncio
import contextlib
import secrets
import signal
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from amiral.base.clock import MS_PER_S, Clock
from amiral.base.errors import AmiralError, Broken, Conflict, NotFound
from amiral.hub import watchdog
from amiral.hub.answering import answers
from amiral.hub.child_state import ChildState, state_of
from amiral.hub.launching import launch
from amiral.hub.memory import Memory
from amiral.hub.output import Output
from amiral.hub.registry import Registry
from amiral.hub.telling import Tell, Telling
from amiral.hub.tended import Running, Tended, signature_of
from amiral.hub.watchdog import Look
from amiral.processes.serving import UNNAMED, server_of
from amiral.processes.spawn import Spawner
from amiral.processes.tree import is_alive, send
from amiral.projects.project import Project

__all__ = ["ChildState", "Supervisor"]

_LOOK_S = 2.0
_STARTING_LOOK_S = 0.1
_DEATH_S = 10.0
_JITTERS = 1000


class Supervisor:
    """Tends the processes of all registered projects of one home."""

    def __init__(  # noqa: PLR0913, PLR0917 each is one thing of the world outside
        self,
        home: Path,
        clock: Clock,
        spawner: Spawner,
        projects: Callable[[], Sequence[Project]],
        tell: Tell,
        heartbeat_s: float,
        argv: Callable[[Project], Sequence[str]],
        redact: Callable[[str], str],
    ) -> None:
        """`argv` is the command that serves a project; a beat of it is due every `heartbeat_s`.

        `redact` takes secrets out of the last words of a process that died.
        """
        self._home, self._clock, self._spawner = home, clock, spawner
        self._argv, self._redact, self._telling = argv, redact, Telling(tell)
        self._beat_ms = round(heartbeat_s * MS_PER_S)
        self._memory = Memory(home, clock)
        self._tended: dict[str, Tended] = {}
        self._asking: dict[str, asyncio.Task[None]] = {}
        self._turn, self._wake = asyncio.Lock(), asyncio.Event()
        self._registry = Registry(home, projects)
        self._looked, self._grace_ms = self._look(), 0
        self._has_begun = self._is_closed = False

    async def run(self) -> None:
        """Look every two seconds, and at once when a process ends, until closed."""
        while not self._is_closed:
            async with self._turn:
                if not self._is_closed:
                    await self._round()
            await self._pause()

    def states(self) -> tuple[ChildState, ...]:
        """Tell how every project's process stands, as last seen."""
        return tuple(state_of(one, self._clock) for one in self._tended.values())

    def outputs(self) -> tuple[Output, ...]:
        """Give the logs of what they print, to be kept within bounds."""
        return tuple(one.output for one in self._tended.values())

    async def restart(self, project_id: str) -> None:
        """End exactly the project's process at once and start it again, parked or not.

        Its agents go on meanwhile. NotFound, Conflict when it cannot be, Broken when it does not
        die.
        """
        async with self._turn:
            one = self._tended.get(project_id)
            if one is None:
                raise NotFound(f"no project {project_id!r}", "`amiral projects` lists them")
            if one.running is None:
                await self._find(one)
            if one.is_leaving or one.is_unnamed or self._is_closed:
                why = "the hub goes down" if self._is_closed else state_of(one, self._clock).reason
                raise Conflict(f"{one.project.name} cannot be restarted: {why}")
            if one.running is not None:
                await self._end(one, one.running)
            one.record = watchdog.released(one.record)
            await self._start(one)
        self._wake.set()

    async def close(self) -> None:
        """Let go of every process: they go on, and no end is noted any more."""
        self._is_closed = True
        self._wake.set()
        async with self._turn:
            for task in tuple(self._asking.values()):
                task.cancel()
            for one in self._tended.values():
                one.record = watchdog.left_behind(one.record, self._now_ms())
                if one.running is not None:
                    one.running.let_go()
            await self._save()

    async def _pause(self) -> None:
        """Wait for the next look: soon while one comes up, at once when one has ended."""
        now_ms = self._now_ms()
        is_soon = any(one.is_starting(now_ms) for one in self._tended.values())
        waits = (
            asyncio.ensure_future(self._clock.sleep(_STARTING_LOOK_S if is_soon else _LOOK_S)),
            asyncio.ensure_future(self._wake.wait()),
        )
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
        self._wake.clear()

    async def _round(self) -> None:
        looked = self._look()
        if watchdog.has_jumped(self._looked, looked):
            self._grace_ms = looked.mono_ms + self._beat_ms
        self._looked = looked
        if not self._has_begun:
            await self._recall()
        self._follow_registry()
        self._has_begun = True
        for one in tuple(self._tended.values()):
            await self._see(one)
        await self._start_due()
        await self._save()

    async def _recall(self) -> None:
        """Take up where the last hub was killed: what it started may not hold its lock yet."""
        for kept in self._memory.load():
            one = Tended(self._home, kept.project, kept.record)
            self._tended[kept.project.id] = one
            if not kept.pid or one.has_left(kept.identity, self._clock):
                # An end that no hub saw is no wish for this one: it is started again.
                continue
            one.takes(Running(kept.identity, self._wake.set), self._now_ms(), is_shown=False)
            if is_alive(kept.identity):
                await self._telling.adopted(one, kept.pid)

    def _follow_registry(self) -> None:
        rows = self._registry.changed()
        if rows is None:
            return
        for project in rows.values():
            one = self._tended.setdefault(project.id, Tended(self._home, project))
            one.rename(project)
        for gone in [one for one in self._tended.values() if one.project.id not in rows]:
            self._dismiss(gone)

    def _dismiss(self, one: Tended) -> None:
        if one.running is None:
            del self._tended[one.project.id]
        elif not one.is_leaving:
            one.is_leaving = True
            send(one.running.identity, signal.SIGTERM)

    async def _see(self, one: Tended) -> None:
        if one.running is None:
            await self._find(one)
        elif not one.running.is_alive:
            await self._bury(one, one.running)
        else:
            self._listen(one)

    async def _find(self, one: Tended) -> None:
        """Adopt the process that serves a project, if there is one; in doubt none is started."""
        try:
            server = await server_of(one.served, self._clock)
        except AmiralError:
            one.is_unnamed = True
            return
        one.is_unnamed = server is not None and server.identity == UNNAMED
        if server is None or one.is_unnamed:
            one.record = replace(one.record, since_ms=None)
            return
        now_ms, process = self._now_ms(), server.identity
        one.record = watchdog.adopted(one.record, now_ms)
        one.takes(Running(process, self._wake.set), now_ms, is_shown=server.is_listening)
        await self._telling.adopted(one, process.pid)

    async def _bury(self, one: Tended, running: Running) -> None:
        code, pid = await running.code(), running.identity.pid
        has_left = one.has_left(running.identity, self._clock) if code is None else code == 0
        one.drops()
        one.record = watchdog.rested(one.record, self._now_ms())
        await self._find(one)
        if one.running is not None or one.is_unnamed:
            # It made way for one that serves already: no death of the project.
            one.is_leaving = False
            self._registry.forget()
        elif one.is_leaving:
            del self._tended[one.project.id]
            self._registry.forget()
            await self._telling.ended(one, pid, "its row is gone from the registry")
        elif has_left:
            one.record = watchdog.ended(one.record, self._now_ms())
            await self._telling.ended(one, pid, "it was asked to")
        else:
            await self._fall(one, pid, signature_of(code, one.output.last_line(self._redact)))

    async def _fall(self, one: Tended, pid: int, signature: str) -> None:
        now_ms = self._now_ms()
        one.record = watchdog.died(
            one.record, now_ms, signature, secrets.randbelow(_JITTERS) / _JITTERS
        )
        # A death that is told is counted, whatever becomes of this hub.
        await self._save()
        await self._telling.died(one, pid, signature, now_ms)

    def _listen(self, one: Tended) -> None:
        now_ms = self._now_ms()
        one.listen(self._clock)
        one.record = watchdog.rested(one.record, now_ms)
        is_left_alone = one.is_leaving or now_ms < self._grace_ms or one.project.id in self._asking
        if not is_left_alone and one.is_to_ask(now_ms, self._beat_ms):
            one.asked_ms = now_ms
            self._asking[one.project.id] = asyncio.create_task(self._ask(one))

    async def _ask(self, one: Tended) -> None:
        """Ask a silent one; one that does not answer is told of, and never ended (R34)."""
        running = one.running
        try:
            has_answered = await answers(one.served.socket)
        finally:
            del self._asking[one.project.id]
        now_ms = self._now_ms()
        if one.running is not running or running is None or not running.is_alive:
            return
        if has_answered:
            one.hears(now_ms)
        elif not one.is_hung and watchdog.is_silent(one.heard_ms, now_ms, self._beat_ms):
            one.is_hung = True
            await self._telling.hung(one, running.identity.pid, one.silent_s(now_ms))

    async def _start_due(self) -> None:
        now_ms = self._now_ms()
        starting = sum(one.is_starting(now_ms) for one in self._tended.values())
        free = {
            name: one.record
            for name, one in self._tended.items()
            if one.running is None and not one.is_unnamed
        }
        for name in watchdog.next_starts(free, starting, now_ms):
            await self._start(self._tended[name])

    async def _start(self, one: Tended) -> None:
        project, now_ms = one.project, self._now_ms()
        one.record = watchdog.started(one.record, now_ms)
        await self._save()
        try:
            child = launch(self._spawner, self._home, project, self._argv(project), one.output)
        except AmiralError as error:
            await self._fall(one, 0, error.message)
            return
        one.takes(Running(child.identity, self._wake.set, child), now_ms, is_shown=False)
        await self._save()
        await self._telling.started(one, child.pid)

    async def _end(self, one: Tended, running: Running) -> None:
        send(running.identity, signal.SIGKILL)
        if not await running.gone(self._clock, _DEATH_S):
            told = f"process {running.identity.pid} of {one.project.name} does not die"
            raise Broken(told, "look at it: a disk that hangs may hold it")
        one.drops()
        await self._telling.ended(one, running.identity.pid, "it is started again")

    async def _save(self) -> None:
        kept = [one.remembered() for one in self._tended.values()]
        with contextlib.suppress(AmiralError):
            await asyncio.to_thread(self._memory.save, kept)

    def _look(self) -> Look:
        return Look(self._now_ms(), self._clock.now_ms())

    def _now_ms(self) -> int:
        return round(self._clock.monotonic_s() * MS_PER_S)
