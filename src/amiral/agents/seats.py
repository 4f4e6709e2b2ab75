"""Where and as whom a worker's CLI is started: its folders, its command, its version."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from amiral.agents.clis import Cli, ask_version
from amiral.agents.driver import Driver, Seat
from amiral.agents.places import Places
from amiral.agents.worker import Worker
from amiral.base.errors import NotFound
from amiral.base.ids import digest
from amiral.processes.spawn import Spawner
from amiral.store.files import ensure_private_folder


class Seats:
    """Makes seats; `workers` is the folder of `<worker>/{home,tmp}`."""

    def __init__(
        self,
        spawner: Spawner,
        find_cli: Callable[[str], Cli],
        identity: Callable[[Worker], str],
        places: Places,
        workers: Path,
    ) -> None:
        self._spawner, self._find_cli, self._identity = spawner, find_cli, identity
        self.places, self._workers = places, workers
        self._versions: dict[tuple[str, int], str] = {}

    async def take(self, worker: Worker, place: str, fresh_key: str) -> Seat:
        """Prepare the folders of a turn in `place` and give the seat.

        NotFound without a CLI, Denied without a login that the CLI needs.
        """
        cli, folder = self._find_cli(worker.driver), self._workers / worker.id
        for name in ("home", "tmp"):
            ensure_private_folder(folder / name)
        cli.lend_login(folder / "home")
        return replace(
            self.former(worker.id, str(await self.places.prepare(worker, place))),
            command=cli.command,
            model=worker.model,
            tools=worker.tools,
            max_turns=worker.max_turns,
            identity=self._identity(worker),
            login=cli.env,
            options=cli.options,
            fresh_key=fresh_key,
        )

    def former(self, worker: str, cwd: str) -> Seat:
        """Give as much of a seat as tells where an earlier CLI of the worker left its files."""
        folder = self._workers / worker
        return Seat(
            worker=worker,
            command=(),
            cwd=cwd,
            config_home=str(folder / "home"),
            tmp=str(folder / "tmp"),
            model="",
            tools=(),
            max_turns=0,
            identity="",
            login={},
        )

    async def version(self, driver: Driver[Any], seat: Seat) -> str:
        """Ask the CLI for its version, once for each installed file; NotFound when it is gone."""
        program = Path(seat.command[0])
        try:
            known = (driver.name, program.stat().st_mtime_ns)
        except OSError as error:
            message = f"driver {driver.name}: {program}: {error.strerror}"
            raise NotFound(message, "install it again, then start amiral again") from error
        if known not in self._versions:
            self._versions[known] = await ask_version(
                driver, seat.command, self._spawner, Path(seat.tmp)
            )
        return self._versions[known]


def seat_digest(seat: Seat) -> str:
    """Tell seats apart by what matters to a running CLI; logins and keys are left out."""
    parts = (*seat.command, seat.cwd, seat.model, repr(seat.tools), str(seat.max_turns))
    parts += (repr(seat.options),) if seat.options else ()
    return digest("\0".join((*parts, seat.identity)))
