"""What there is to see: status, workers, conversations, events, health."""

import os
from collections.abc import AsyncIterator, Callable
from dataclasses import asdict, dataclass

import msgspec

from amiral.agents import approval_rows, rows
from amiral.agents.roster import Roster
from amiral.agents.worker import Worker
from amiral.base.clock import iso_utc
from amiral.base.errors import NotFound
from amiral.base.plain import one_line
from amiral.commands.registry import Caller, Reply, command
from amiral.conversations import store
from amiral.conversations.thread import Utterance
from amiral.projects.project import Project
from amiral.safety import approval
from amiral.safety.report import mark_line
from amiral.specs import rows as specs
from amiral.specs.card import call, needs_owner
from amiral.store.brake import Brake
from amiral.store.journal import Journal, Stamped
from amiral.store.latch import Stop

_LATEST = 50


@dataclass(frozen=True)
class WorkerState:
    """One worker in `status`: idle, working, waiting, limited, or used in a terminal."""

    id: str
    state: str
    waiting: int
    turn_id: str = ""
    limited_until: str = ""


@dataclass(frozen=True)
class Elsewhere:
    """What no table holds; `notices` tells what is wrong, for `status` and `health`."""

    beat_age_s: Callable[[], int]
    has_terminal: Callable[[str], bool]
    notices: Callable[[], tuple[str, ...]] = tuple


class Looking:
    """Reads; changes nothing."""

    def __init__(
        self,
        project: Project,
        journal: Journal,
        brake: Brake,
        roster: Roster,
        elsewhere: Elsewhere,
    ) -> None:
        self._project, self._journal, self._brake = project, journal, brake
        self._roster, self._elsewhere = roster, elsewhere

    @command("status")
    async def status(self, caller: Caller) -> Reply:
        """What needs the person, what runs, what waits."""
        del caller
        workers = [self._state(worker) for worker in self._roster.workers()]
        waiting = [spec for spec in specs.every(self._journal.rows) if needs_owner(spec)]
        asked = approval_rows.waiting(self._journal.rows)
        stop = self._brake.state()
        needs = [approval.call(one, iso_utc(one.expires_ms)) for one in asked]
        needs += [f"? {notice}" for notice in self._notices()]
        needs += [call(spec) for spec in waiting]
        project = {
            "name": self._project.name,
            "state": "running" if stop is None else "frozen" if stop.is_freeze else "stopped",
            "pid": os.getpid(),
            "heartbeat_age_s": self._elsewhere.beat_age_s(),
            "stop_id": stop.stop_id if stop else "",
            "stops": [_mark(one) for one in self._brake.here()],
            "active_worker": self._roster.active(),
            "notices": list(self._notices()),
            "needs": needs,
            "approvals": [one.id for one in asked],
            "specs": [spec.id for spec in waiting],
            "workers": [asdict(worker) for worker in workers],
        }
        lines = [mark_line(one, self._project.name) for one in self._brake.here()]
        lines += [*needs, f"{self._project.name} · pid {os.getpid()}"]
        lines += [_state_line(worker, self._roster.active()) for worker in workers]
        return Reply("\n".join(lines), {"projects": [project]})

    def _notices(self) -> tuple[str, ...]:
        return (*self._roster.notices(), *self._elsewhere.notices())

    @command("list")
    async def list(self, caller: Caller) -> Reply:
        """The projects this process serves: one."""
        del caller
        data = {"name": self._project.name, "id": self._project.id, "path": self._project.path}
        return Reply(f"{self._project.name}  {self._project.path}", {"projects": [data]})

    @command("health")
    async def health(self, caller: Caller) -> Reply:
        """What is well and what is not."""
        del caller
        stop = self._brake.state()
        notices = self._notices()
        is_well = stop is None and not notices
        data = {
            "ok": is_well,
            "last_seq": self._journal.last_seq,
            "stop_id": stop.stop_id if stop else "",
            "notices": list(notices),
        }
        told = [f"✗ {notice}" for notice in notices]
        told += [mark_line(stop, self._project.name)] if stop else []
        return Reply("\n".join(told) or f"✓ {self._project.name} is well", data)

    @command("workers")
    async def workers(self, caller: Caller) -> Reply:
        """The workers one can talk to."""
        del caller
        found = self._roster.workers()
        lines = [f"{one.icon} {one.id:<16} {one.driver:<9} {one.label}" for one in found]
        lines += [f"✗ {notice}" for notice in self._roster.notices()]
        return Reply("\n".join(lines), {"workers": [_shown(worker) for worker in found]})

    @command("workers show")
    async def worker(self, caller: Caller, id: str) -> Reply:  # noqa: A002 - the table's name
        """One worker in full."""
        del caller
        found = _shown(self._roster.find(id))
        text = "\n".join(f"{name:<20} {value}" for name, value in found.items())
        return Reply(text, found)

    @command("conversations")
    async def conversations(self, caller: Caller) -> Reply:
        """All conversations, the one last used first."""
        del caller
        found = store.conversations(self._journal.rows)
        lines = [f"{one.id}  {one.count} messages, last {iso_utc(one.last_ms)}" for one in found]
        data = [
            {"id": one.id, "count": one.count, "last_at": iso_utc(one.last_ms)} for one in found
        ]
        return Reply("\n".join(lines) or "no conversation yet", {"conversations": data})

    @command("conversation show")
    async def conversation(self, caller: Caller, id: str) -> Reply:  # noqa: A002
        """The last things said in one conversation."""
        del caller
        said = store.latest(self._journal.rows, id, _LATEST)
        if not said:
            raise NotFound(f"no conversation {one_line(id)}", "`amiral conversations` lists them")
        lines = [f"{iso_utc(one.ts_ms)} {one.speaker}: {_words(one)}" for one in said]
        return Reply("\n".join(lines), {"id": id, "messages": said})

    @command("events")
    async def events(
        self,
        caller: Caller,
        *,
        follow: bool = False,
        since: int = 0,
    ) -> Reply:
        """The journal after an event number, then live with `--follow`."""
        del caller
        return Reply(items=self._told(since, is_followed=follow))

    async def _told(self, since: int, *, is_followed: bool) -> AsyncIterator[Reply]:
        newest = self._journal.last_seq
        if since >= newest and not is_followed:
            return
        async for stamped in self._journal.subscribe(since):
            yield _event(stamped)
            if stamped.seq >= newest and not is_followed:
                return

    def _state(self, worker: Worker) -> WorkerState:
        waiting = rows.waiting(self._journal.rows, worker.id)
        held = rows.parked(self._journal.rows, worker.id)
        if held:
            resets_at_ms = held[0].resets_at_ms
            until = iso_utc(resets_at_ms) if resets_at_ms else "unknown"
            return WorkerState(worker.id, "limited", len(waiting) - 1, held[0].turn, until)
        if waiting and waiting[0].state in ("injected", "seen"):
            return WorkerState(worker.id, "working", len(waiting) - 1, waiting[0].turn)
        if self._elsewhere.has_terminal(worker.id):
            return WorkerState(worker.id, "terminal", len(waiting))
        return WorkerState(worker.id, "waiting" if waiting else "idle", len(waiting))


def _state_line(worker: WorkerState, active: str) -> str:
    marks = {"working": "⏳", "limited": "⏸", "waiting": "⏳", "terminal": "⏸"}
    mark = marks.get(worker.state, "✓")
    parts = [worker.id + (" (active)" if worker.id == active else ""), worker.state]
    if worker.limited_until:
        parts.append(f"until {worker.limited_until}: amiral limits resume {worker.id}")
    if worker.state == "terminal":
        parts.append(f"amiral terminal close {worker.id}")
    if worker.waiting:
        parts.append(f"{worker.waiting} waiting")
    return f"{mark} " + " · ".join(parts)


def _words(one: Utterance) -> str:
    """What was said, and how a turn ended that was not carried out."""
    ended = f"({one.outcome})" if one.outcome not in ("", "done") else ""
    return " ".join(part for part in (one.text, ended) if part)


def _mark(mark: Stop) -> dict[str, str]:
    """A stop or a freeze in force; `scope` by ids."""
    told = {"stop_id": mark.stop_id, "kind": mark.kind, "scope": mark.scope, "by": mark.by}
    return {**told, "reason": mark.reason, "since": iso_utc(mark.since_ms)}


def _shown(worker: Worker) -> dict[str, object]:
    return dict(asdict(worker))


def _event(stamped: Stamped) -> Reply:
    payload = msgspec.json.decode(stamped.payload)
    data = {
        "seq": stamped.seq,
        "ts": iso_utc(stamped.ts_ms),
        "by": stamped.by,
        "name": stamped.name,
        "version": stamped.version,
        "payload": payload,
    }
    detail = one_line(stamped.payload.decode("utf-8", "replace"), 160)
    return Reply(f"{stamped.seq:>6} {iso_utc(stamped.ts_ms)} {stamped.name} {detail}", data)
