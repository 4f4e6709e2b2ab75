"""Where and as whom a worker's CLI is started: its folders, its command, its version."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from amiral.agents.clis import Cli, ask_version
from amiral.agents.driver import Driver, Seat
from amiral.agents.fencing import Footing, Right
from amiral.agents.needs import Needs
from amiral.agents.places import Places
from amiral.agents.rights import Rights
from amiral.agents.ways_out import WaysOut
from amiral.agents.worker import Worker
from amiral.base.errors import NotFound
from amiral.base.ids import digest
from amiral.processes.fence import Fence
from amiral.processes.spawn import Spawner
from amiral.store.files import ensure_private_folder


@dataclass(frozen=True)
class Holds:
    """What keeps a worker within bounds."""

    rights: Rights
    ways_out: WaysOut


_LOOK = (
    "git can only look here: it neither stages nor commits, nor changes branches. "
    "Leave your work in the files: amiral commits it."
)


class Seats:
    """Makes seats; `workers` is the folder of `<worker>/{home,tmp}`."""

    def __init__(
        self,
        spawner: Spawner,
        find_cli: Callable[[str], Cli],
        identity: Callable[[Worker], str],
        places: Places,
        holds: Holds,
        workers: Path,
    ) -> None:
        self._spawner, self._find_cli, self._identity = spawner, find_cli, identity
        self.places, self._workers = places, workers
        self._rights, self._ways_out = holds.rights, holds.ways_out
        self._versions: dict[tuple[str, int], str] = {}

    async def take(self, worker: Worker, place: str, fresh_key: str) -> Seat:
        """Prepare the folders of a turn in `place` and give the seat.

        NotFound without a CLI, Denied without a login that the CLI needs, or when what it must be
        denied cannot be held here.
        """
        cli, folder = self._find_cli(worker.driver), self._workers / worker.id
        right = await self._rights.of(worker)
        for name in ("home", "tmp"):
            ensure_private_folder(folder / name)
        cli.lend_login(folder / "home")
        place_of_work = await self.places.prepare(worker, place)
        return replace(
            self.former(worker.id, str(place_of_work.folder)),
            command=cli.command,
            model=worker.model,
            tools=worker.tools,
            max_turns=worker.max_turns,
            identity=self._identity(worker),
            login=cli.env,
            options=cli.options,
            fresh_key=fresh_key,
            permissions=right.permissions,
            enforcement=right.enforcement,
            git_folders=tuple(map(str, place_of_work.git_folders)),
            way_out=await self._way_out(worker.id, cli),
        )

    async def _way_out(self, worker: str, cli: Cli) -> Mapping[str, str]:
        way = await self._ways_out.of(worker, cli.hosts())
        return way.env if way else {}

    async def enclose(self, driver: Driver[Any], seat: Seat) -> tuple[Seat, Fence | None]:
        """Compile what its CLI is started behind, None when nothing is configured, or can hold.

        The seat that is given back tells the worker of it: it is for this one launch, and tells no
        sessions apart.
        """
        cli = self._find_cli(driver.name)
        way = await self._ways_out.of(seat.worker, cli.hosts())
        footing = footing_of(cli, driver.needs, seat, (way.port,) if way else None)
        right = Right(seat.permissions, seat.enforcement)
        bounds = await asyncio.to_thread(self._rights.compile, right, footing)
        is_looking = seat.permissions is not None and seat.git_folders
        told = (seat.identity, bounds.summary.rstrip("\n"), _LOOK if is_looking else "")
        identity = "\n\n".join(part for part in told if part)
        return replace(seat, identity=identity), bounds.fence

    def former(self, worker: str, cwd: str) -> Seat:
        """Give as much of a seat as tells where an earlier CLI of the worker left its files."""
        return seat_in(self._workers / worker, worker, cwd)

    def _nobodys(self) -> Path:
        """Give a home in which no worker has left anything, for a start without a fence."""
        folder = self._workers.with_name("probes")
        ensure_private_folder(folder)
        return folder

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
                driver, seat.command, self._spawner, self._nobodys()
            )
        return self._versions[known]


def seat_in(folder: Path, worker: str, cwd: str) -> Seat:
    """Give as much of a seat as follows from the worker's folder and the one it works in."""
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


def footing_of(cli: Cli, needs: Needs, seat: Seat, ports: tuple[int, ...] | None) -> Footing:
    """Say where the CLI of a seat stands; while it runs its owner answers what it asks."""
    return Footing(
        root=Path(seat.cwd),
        own=(Path(seat.config_home), Path(seat.tmp)),
        programs=cli.programs(),
        login=cli.login_grants(needs.login),
        git=seat.git_folders,
        is_worktree=bool(seat.git_folders),
        can_ask=True,
        ports=ports,
    )


def seat_digest(seat: Seat) -> str:
    """Tell seats apart by what matters to a running CLI; logins and keys are left out."""
    parts = (*seat.command, seat.cwd, seat.model, repr(seat.tools), str(seat.max_turns))
    parts += (repr(seat.options),) if seat.options else ()
    parts += (repr(sorted(seat.way_out.items())),) if seat.way_out else ()
    if seat.permissions is not None:
        parts += (repr(seat.permissions), seat.enforcement)
    return digest("\0".join((*parts, seat.identity)))
