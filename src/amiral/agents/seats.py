"""Where and as whom a worker's CLI is started: its command, its folders, its login."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from amiral.agents.driver import Driver, Seat
from amiral.agents.worker import Worker
from amiral.base.errors import NotFound
from amiral.base.ids import digest
from amiral.processes.spawn import Spawner, base_environment
from amiral.store.files import ensure_private_folder

_VERSION_TIMEOUT_S = 20.0


@dataclass(frozen=True)
class CliSettings:
    """The owner's settings of one driver: command line and the variables its CLI is given."""

    command: tuple[str, ...]
    env: Mapping[str, str]


@dataclass(frozen=True)
class Places:
    """`root`: the project's checkout; `workers`: folder of `<worker>/{home,tmp}`; `programs`: folders
    searched for CLIs before PATH."""

    root: Path
    workers: Path
    programs: tuple[Path, ...]


class Seats:
    """Makes seats, and knows which version of a CLI is installed."""

    def __init__(
        self, spawner: Spawner, clis: Mapping[str, CliSettings], places: Places
    ) -> None:
        self._spawner, self._clis, self._places = spawner, clis, places
        self._versions: dict[tuple[str, int], str] = {}

    def take(self, worker: Worker, identity: str, resume_key: str, fresh_key: str) -> Seat:
        """Prepare the worker's own folders and give its seat; a missing CLI is NotFound."""
        cli = self._clis[worker.driver]
        folder = self._places.workers / worker.id
        for name in ("", "home", "tmp"):
            ensure_private_folder(folder / name)
        return Seat(
            worker=worker.id,
            command=(self._find(worker.driver, cli.command[0]), *cli.command[1:]),
            cwd=str(self._places.root),
            config_home=str(folder / "home"),
            tmp=str(folder / "tmp"),
            model=worker.model,
            tools=worker.tools,
            max_turns=worker.max_turns,
            identity=identity,
            login=cli.env,
            resume_key=resume_key,
            fresh_key=fresh_key,
        )

    async def version(self, driver: Driver[Any], seat: Seat) -> str:
        """Ask the CLI for its version; once for each installed file."""
        program = Path(seat.command[0])
        known = (driver.name, program.stat().st_mtime_ns)
        if known not in self._versions:
            ran = await self._spawner.run(
                driver.version_command(seat.command),
                kind="own",
                env={**base_environment(), "HOME": seat.config_home},
                cwd=seat.tmp,
                timeout_s=_VERSION_TIMEOUT_S,
            )
            self._versions[known] = driver.version_of(ran.out.decode("utf-8", "replace"))
        return self._versions[known]

    def _find(self, driver: str, program: str) -> str:
        folders = [str(folder) for folder in self._places.programs]
        found = shutil.which(program, path=":".join(folders)) if folders else None
        found = found or shutil.which(program)
        if found is None:
            raise NotFound(
                f"driver {driver}: no program `{program}` on this machine",
                f"install it, or set [drivers.{driver}] command in amiral.toml",
            )
        return found


def seat_digest(seat: Seat) -> str:
    """Tell seats apart by what matters to a running CLI; logins and keys are left out."""
    parts = (*seat.command, seat.cwd, seat.model, repr(seat.tools), str(seat.max_turns))
    return digest("\0".join((*parts, seat.identity)))
