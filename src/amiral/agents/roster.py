"""The workers of a project as they are now: reloaded on change, the last good ones kept."""

import contextlib
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from amiral.agents.declared import Declared, Rules, shipped
from amiral.agents.worker import Roles, Worker
from amiral.base import events as ev
from amiral.base.clock import Clock
from amiral.base.errors import AmiralError
from amiral.store.journal import Journal, Stamped, Table, Write

_REFRESH_S: Final = 2.0
_DDL: Final = "create table if not exists role(one integer primary key, worker text not null);"


def _apply(write: Write, stamped: Stamped) -> None:
    match stamped.event:
        case ev.RoleChosen(worker):
            write("insert or replace into role values (1, ?)", (worker,))
        case _:
            pass


ROLE: Final = Table("role", _DDL, _apply)


class Roster:
    """`load` reads what the owner's trust allows; `driver` is for workers that name none."""

    def __init__(self, journal: Journal, load: Callable[[], Declared], driver: str) -> None:
        self._journal, self._load, self._driver = journal, load, driver
        self._declared = shipped()
        self._mistakes: tuple[str, ...] = ()

    async def refresh(self) -> None:
        """Read the files again; what is wrong with them is told once and changes nothing else."""
        found = self._load()
        if found.errors:
            if found.errors != self._mistakes:
                await self._journal.append(ev.WorkersRefused("project", found.errors))
        elif found != self._declared or self._mistakes:
            names = tuple(worker.id for worker in found.workers)
            await self._journal.append(ev.WorkersLoaded(names, "project"))
            self._declared = found
        self._mistakes = found.errors

    async def keep_up(self, clock: Clock) -> None:
        """Look every few seconds at what changes outside, for ever."""
        while True:
            await clock.sleep(_REFRESH_S)
            # On a full disk nothing can be told; what was not is told when there is room again.
            with contextlib.suppress(AmiralError):
                await self.refresh()

    def workers(self) -> list[Worker]:
        """List the workers, each with its driver."""
        return [self._seated(worker) for worker in self._declared.workers]

    def ids(self) -> list[str]:
        """Name the workers."""
        return [worker.id for worker in self._declared.workers]

    def find(self, worker: str) -> Worker:
        """Find a worker; NotFound names the known ones."""
        return self._seated(self._declared.worker(worker))

    def identity(self, worker: Worker) -> str:
        """Give a worker's system prompt."""
        return self._declared.identities.get(worker.id, "")

    def rules(self) -> Rules:
        """Give the permissions as far as the owner trusts them; denies of others count at once."""
        return self._declared.rules

    def roles(self) -> Roles:
        """Give the project's defaults as far as the owner trusts them (S0.35)."""
        return self._declared.roles

    def active(self) -> str:
        """Name the worker who gets plain text: the one chosen last, else the project's default."""
        found = self._journal.rows("select worker from role")
        chosen = str(found[0][0]) if found else ""
        return chosen if chosen in self.ids() else self._declared.roles.active_role

    def notices(self) -> tuple[str, ...]:
        """Tell what a person should know: files without effect, mistakes in trusted ones."""
        return (*self._declared.notices, *self._mistakes)

    def _seated(self, worker: Worker) -> Worker:
        return worker if worker.driver else replace(worker, driver=self._driver)
