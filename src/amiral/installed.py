"""Which drivers there are and which of their CLIs this machine has; drivers are known here only."""

from collections.abc import Iterator, Mapping
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from amiral.agents.clis import Cli, CliState, find_clis, look_at
from amiral.agents.driver import Driver
from amiral.agents.drivers import scripted
from amiral.agents.drivers.claude import driver as claude
from amiral.agents.drivers.codex import driver as codex
from amiral.base.errors import AmiralError, Broken, NotFound
from amiral.base.secret_names import is_reference, sounds_secret
from amiral.base.settings import Settings
from amiral.processes.spawn import Spawner
from amiral.store.redact import Redactor
from amiral.store.references import Secrets

_PREFERRED = ("claude", "codex")
_LAST = "scripted"


def known_drivers() -> Mapping[str, Driver[Any]]:
    """Give the drivers by name: those shipped, then those of other packages (`amiral.drivers`)."""
    shipped: list[Driver[Any]] = [claude.DRIVER, codex.DRIVER, scripted.DRIVER]
    others = [_load(point) for point in entry_points(group="amiral.drivers")]
    return {driver.name: driver for driver in (*others, *shipped)}


def _load(point: EntryPoint) -> Driver[Any]:
    try:
        driver: Driver[Any] = point.load()
    except Exception as fault:
        raise Broken(
            f"the driver {point.name} ({point.value}) cannot be loaded: {fault!r}",
            "repair or uninstall the package that brings it",
        ) from fault
    return driver


def installed_clis(
    settings: Settings, environ: Mapping[str, str], home: Path
) -> dict[str, Cli | AmiralError]:
    """Look for the CLI of every driver; an error says what is missing."""
    return find_clis(known_drivers(), settings, environ, home / "logins")


class Installed:
    """The drivers and CLIs as they were found when amiral started.

    `redact` knows their secrets: no journal and no log may hold them.
    """

    def __init__(self, settings: Settings, environ: Mapping[str, str], home: Path) -> None:
        self._home = home
        self.drivers = known_drivers()
        self.found = installed_clis(settings, environ, home)
        self.redact = Redactor(self.secrets())
        self._secrets = Secrets(home, self.redact)
        self._missing = tuple(self._read_ahead())

    def cli(self, driver: str) -> Cli:
        """Give the CLI of a driver with its secrets as they are now, or raise why there is none."""
        found = self.found.get(driver)
        if found is None:
            known = ", ".join(sorted(self.found))
            raise NotFound(f"no driver `{driver}`; known: {known}", "see workers_registry.json")
        if isinstance(found, AmiralError):
            raise found
        return found.with_secrets(self._secrets)

    def secret(self, key: str, text: str) -> str:
        """Give a setting's text, or the secret it names; raises what keeps it from being had."""
        return self._secrets.value(key, text)

    def default(self) -> str:
        """Name the driver of workers that name none: the first CLI found, else the scripted one."""
        there = (name for name in _PREFERRED if isinstance(self.found.get(name), Cli))
        return next(there, _LAST)

    def secrets(self) -> list[str]:
        """Give the values of logins and of what is called a secret, those of the vault left out."""
        return [
            value
            for found in self._there()
            for name, value in found.env.items()
            if name in found.login.variables or sounds_secret(name)
            if not is_reference(value)
        ]

    def _there(self) -> Iterator[Cli]:
        return (found for found in self.found.values() if isinstance(found, Cli))

    def _read_ahead(self) -> Iterator[str]:
        """Learn the secrets before anything of an earlier session is read; give what is wrong."""
        for found in self._there():
            for name, text in found.env.items():
                try:
                    self._secrets.value(found.key(name), text)
                except AmiralError as error:
                    yield f"{error.message}: {error.next_step}"

    def notices(self) -> tuple[str, ...]:
        """Say when there is nobody but the scripted worker, and which secrets cannot be had."""
        is_alone = self.default() == _LAST
        alone = ("no agent CLI found: the scripted worker answers",) if is_alone else ()
        return (*alone, *self._missing)

    async def look(self, spawner: Spawner) -> list[CliState]:
        """Look at every CLI there may be."""
        return [await self._look_at(name, spawner) for name in self.found]

    async def _look_at(self, name: str, spawner: Spawner) -> CliState:
        """A program that cannot even be started is told of like one that is missing."""
        try:
            return await look_at(self.drivers[name], self.found[name], spawner, self._home / "run")
        except AmiralError as error:
            return CliState(name, problem=error.message, fix=error.next_step or "install it again")
