"""Renew logins in time: a CLI's own processes would all do it, each with the same token."""

import asyncio
import os
from collections.abc import Callable, Iterable
from pathlib import Path

from amiral.agents.clis import Cli
from amiral.agents.driver import Launch
from amiral.base import events as ev
from amiral.base.clock import Clock
from amiral.base.errors import AmiralError, Conflict
from amiral.processes.spawn import Child, Spawner, Stdio, base_environment
from amiral.store.claim import Claim
from amiral.store.files import write_atomic
from amiral.store.journal import Journal

_REST_S = 60.0
_LOOK_S = 0.1
_SETTLED_S = 1.0


class Renewals:
    """Looks every minute; of all amiral's processes in a home one at a time renews a login."""

    def __init__(
        self,
        journal: Journal,
        clock: Clock,
        spawner: Spawner,
        clis: Iterable[Cli | AmiralError],
        patience_s: float = 20.0,
        *,
        with_secrets: Callable[[Cli], Cli] = lambda cli: cli,
    ) -> None:
        """`with_secrets` gives a CLI whose variables hold their values."""
        self._journal, self._clock, self._spawner = journal, clock, spawner
        self._patience_s, self._with_secrets = patience_s, with_secrets
        self._clis = [one for one in clis if isinstance(one, Cli) and one.login.renewal]
        self._told: dict[str, str] = {}

    async def run(self) -> None:
        """Look again and again."""
        while True:
            await self._clock.sleep(_REST_S)
            await self.renew()

    async def renew(self) -> None:
        """Renew what ends soon; a trouble is told once."""
        for cli in self._clis:
            trouble = await self._renewed(cli)
            if trouble and self._told.get(cli.driver) != trouble:
                await self._journal.append(ev.WarningRaised(f"driver {cli.driver}", trouble))
            self._told[cli.driver] = trouble

    async def _renewed(self, cli: Cli) -> str:
        """Give the trouble, "" when all is well, another process does it, or a stop forbids it."""
        place = cli.login_place
        if self._due(cli, place) is None:
            return ""
        try:
            claim = Claim(place / "renewal.lock", f"the login of {cli.driver}")
        except Conflict:
            return ""
        try:
            launch = self._due(cli, place)
            if launch is None or await self._carried_out(launch, cli, place):
                return ""
        except Conflict:
            return ""
        except AmiralError as error:
            return error.message
        finally:
            claim.release()
        return f"the login ends soon and could not be renewed; if it stays so: {cli.how_to_log_in}"

    def _due(self, cli: Cli, place: Path) -> Launch | None:
        content = _content(cli, place)
        if cli.login.renewal is None or not content:
            return None
        return cli.login.renewal(cli.command, str(place), content, self._clock.now_ms())

    async def _carried_out(self, launch: Launch, cli: Cli, place: Path) -> bool:
        """Start the process and wait until the login's file has changed."""
        for file in launch.files:
            write_atomic(place / file.path, file.text)
        before = _content(cli, place)
        env = {**base_environment(), **self._with_secrets(cli).env, **launch.env}
        stdin, ours = os.pipe()
        child: Child | None = None
        try:
            given = Stdio(stdin=stdin)
            argv, cwd = launch.argv, launch.cwd
            child = self._spawner.start(argv, kind="agent", env=env, cwd=cwd, stdio=given)
            os.write(ours, "".join(line.data for line in launch.inputs).encode())
            until_s = self._clock.monotonic_s() + self._patience_s
            while _content(cli, place) == before and not child.has_ended:
                if self._clock.monotonic_s() > until_s:
                    break
                await self._clock.sleep(_LOOK_S)
            # Killed in the middle of writing, it would leave no login at all.
            await self._clock.sleep(_SETTLED_S)
        finally:
            if child is not None:
                await asyncio.to_thread(child.kill)
                await child.exited()
            os.close(stdin)
            os.close(ours)
        return _content(cli, place) != before


def _content(cli: Cli, place: Path) -> bytes:
    try:
        return (place / cli.login.files[0]).read_bytes()
    except OSError:
        return b""
