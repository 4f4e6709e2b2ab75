"""Which agent CLIs this machine has, how they are called, and what carries their login."""

import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from amiral.agents.driver import Driver
from amiral.base.errors import AmiralError, Invalid, NotFound
from amiral.base.settings import DriverSettings
from amiral.processes.spawn import Spawner, base_environment

_VERSION_TIMEOUT_S = 20.0
_SCRIPTED = (sys.executable, "-m", "amiral.testbench.scripted_cli")
_VAULT = "vault:"


@dataclass(frozen=True)
class Cli:
    """One driver's CLI: `command` begins with a whole path; `env` is all it is given of ours."""

    driver: str
    command: tuple[str, ...]
    env: Mapping[str, str]
    is_logged_in: bool


@dataclass(frozen=True)
class CliState:
    """What a person is told of one CLI; `problem` is "" when it can be used."""

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
    return CliState(driver.name, version, found.is_logged_in, driver.warning_for(version))


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


def find_cli(driver: Driver[Any], settings: DriverSettings, environ: Mapping[str, str]) -> Cli:
    """Find the program of a driver; NotFound says how to get it."""
    env = dict(settings.env)
    for name, value in env.items():
        if value.startswith(_VAULT):
            raise Invalid(
                f"[drivers.{driver.name}] env {name}: the vault is not available in this version",
                "put the value into the environment of `amiral up` instead",
            )
    login = {
        name: environ[name]
        for name in driver.login_variables
        if name not in env and name in environ
    }
    command = settings.command
    if driver.name == "scripted" and command == (driver.name,):
        command = (*_SCRIPTED, *(("--scenario", settings.scenario) if settings.scenario else ()))
    program = _find(driver.name, command[0], environ)
    is_logged_in = not driver.login_variables or bool({*env, *login} & {*driver.login_variables})
    return Cli(driver.name, (program, *command[1:]), {**login, **env}, is_logged_in)


def _find(driver: str, program: str, environ: Mapping[str, str]) -> str:
    for folder in (*program_folders(environ), environ.get("PATH")):
        found = shutil.which(program, path=folder)
        if found:
            return str(Path(found).absolute())
    raise NotFound(
        f"driver {driver}: no program `{program}` on this machine",
        f"install it, or set [drivers.{driver}] command in amiral.toml",
    )
