"""Which agent CLIs this machine has, how they are called, and what carries their login."""

import os
import shutil
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from amiral.agents.driver import NO_LOGIN, Driver, Login
from amiral.agents.grants import bits
from amiral.agents.logins import has_login, how_to_log_in, lend_login
from amiral.agents.needs import program_folder
from amiral.agents.ways_out import hosts_in
from amiral.base.errors import AmiralError, NotFound
from amiral.base.settings import DriverSettings, Settings
from amiral.permissions.sandbox import Access
from amiral.processes.spawn import Spawner, base_environment
from amiral.store.references import Secrets

_PACKAGES = Path(__file__).parents[2]
_VERSION_TIMEOUT_S = 20.0
_SCRIPTED = (sys.executable, "-m", "amiral.testbench.scripted_cli")


@dataclass(frozen=True)
class Cli:
    """One driver's CLI, as it was found.

    `command` begins with a whole path; `env` is all it is given of ours, `vault:NAME` for a secret
    until `with_secrets` has read it; `options` are the owner's;
    `login_place` is the folder of the login's files, `services` are the hosts it speaks to.
    """

    driver: str
    command: tuple[str, ...]
    env: Mapping[str, str]
    is_logged_in: bool
    login: Login = NO_LOGIN
    options: Mapping[str, object] = field(default_factory=dict)
    login_place: Path = Path()
    services: tuple[str, ...] = ()

    @property
    def how_to_log_in(self) -> str:
        """Say what a person can do."""
        return how_to_log_in(self.driver, self.login)

    def programs(self) -> tuple[str, ...]:
        """Name what is read and run when it starts: the owner's command may name files too."""
        program, *words = self.command
        own = (sys.prefix, sys.base_prefix, str(_PACKAGES)) if program == sys.executable else ()
        named = (word for word in words if word.startswith("/"))
        real = os.path.realpath(program)
        return (program_folder(real), real, *own, *named)

    def hosts(self) -> tuple[str, ...]:
        """Name the services it must reach: its own, or those it was told of instead."""
        return hosts_in(self.env) + hosts_in(self.options) or self.services

    def login_grants(self, needed: Iterable[Access]) -> tuple[tuple[str, int], ...]:
        """Give what it may do in the folder its login lies in, behind a fence."""
        if not self.login.files:
            return ()
        return ((os.path.realpath(self.login_place), bits({Access.READ, *needed})),)

    def with_secrets(self, secrets: Secrets) -> "Cli":
        """Give it with the secrets its variables name; an error names the variable."""
        env = {name: secrets.value(self.key(name), text) for name, text in self.env.items()}
        return replace(self, env=env)

    def key(self, variable: str) -> str:
        """Name the setting that gives it a variable."""
        return f"[drivers.{self.driver}] env {variable}"

    def lend_login(self, home: Path) -> None:
        """Link the login into a worker's config home; Denied when a needed one is missing."""
        lend_login(self.driver, self.login_place, self.login, self.env, home)


@dataclass(frozen=True)
class CliState:
    """What a person is told of one CLI; `problem` is "" when it can be used.

    `fix` mends the problem, or says how to log in.
    """

    driver: str
    version: str = ""
    is_logged_in: bool = False
    warning: str = ""
    problem: str = ""
    fix: str = ""


async def look_at(
    driver: Driver[Any], found: Cli | AmiralError, spawner: Spawner, home: Path
) -> CliState:
    """Ask a CLI for its version; `home` is the only folder it is told of."""
    if isinstance(found, AmiralError):
        return CliState(driver.name, problem=found.message, fix=found.next_step)
    version = await ask_version(driver, found.command, spawner, home)
    if not version:
        problem = f"{found.command[0]} does not tell its version"
        return CliState(driver.name, problem=problem, fix="install it again")
    warning, is_logged_in = driver.warning_for(version), found.is_logged_in
    fix = "" if is_logged_in else found.how_to_log_in
    return CliState(driver.name, version, is_logged_in, warning, fix=fix)


async def ask_version(
    driver: Driver[Any], command: tuple[str, ...], spawner: Spawner, home: Path
) -> str:
    """Run the CLI for its version alone, "" when it does not tell."""
    ran = await spawner.run(
        driver.version_command(command),
        kind="own",
        env={**base_environment(), "HOME": str(home), "TMPDIR": str(home)},
        cwd=str(home),
        timeout_s=_VERSION_TIMEOUT_S,
    )
    return driver.version_of(ran.out.decode("utf-8", "replace"))


def program_folders(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Give the folders searched before PATH: `$AMIRAL_CLIS/node_modules/.bin`."""
    clis = environ.get("AMIRAL_CLIS")
    return (str(Path(clis) / "node_modules" / ".bin"),) if clis else ()


def find_clis(
    drivers: Mapping[str, Driver[Any]],
    settings: Settings,
    environ: Mapping[str, str],
    logins: Path,
) -> dict[str, Cli | AmiralError]:
    """Look for the CLI of every driver; an error says what is missing.

    `logins` is the folder of `<driver>/` with the files of its login.
    """
    found: dict[str, Cli | AmiralError] = {}
    for name, driver in drivers.items():
        try:
            found[name] = find_cli(driver, settings.driver(name), environ, logins)
        except AmiralError as error:
            found[name] = error
    return found


def find_cli(
    driver: Driver[Any], settings: DriverSettings, environ: Mapping[str, str], logins: Path
) -> Cli:
    """Find the program of a driver; NotFound says how to get it."""
    env, login = dict(settings.env), driver.login(settings.config)
    env = {name: environ[name] for name in login.variables if name in environ} | env
    command = settings.command
    if driver.name == "scripted" and command == (driver.name,):
        command = (*_SCRIPTED, *(("--scenario", settings.scenario) if settings.scenario else ()))
    program = _find(driver.name, command[0], environ)
    full, place = (program, *command[1:]), logins / driver.name
    is_logged_in = has_login(place, login, env)
    services = driver.needs.services
    return Cli(driver.name, full, env, is_logged_in, login, settings.config, place, services)


def _find(driver: str, program: str, environ: Mapping[str, str]) -> str:
    for folder in (*program_folders(environ), environ.get("PATH")):
        found = shutil.which(program, path=folder)
        if found:
            return str(Path(found).absolute())
    raise NotFound(
        f"driver {driver}: no program `{program}` on this machine",
        f"install it, or set [drivers.{driver}] command in amiral.toml",
    )
