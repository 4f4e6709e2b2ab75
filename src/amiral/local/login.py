"""`amiral login CLI`: become the CLI's own login, in the one folder amiral keeps for it."""

import os
import sys
from pathlib import Path
from typing import NoReturn

from amiral.agents.clis import Cli
from amiral.agents.driver import Launch
from amiral.base.errors import AmiralError, Broken, Invalid, NotFound
from amiral.base.ids import digest, new_id
from amiral.commands.registry import Parsed, Reply
from amiral.config import find_home, load_settings
from amiral.installed import installed_clis
from amiral.local.terminal import answer
from amiral.processes.become import become, carry_tag
from amiral.processes.spawn import Spawner
from amiral.store.brake import Brake
from amiral.store.files import ensure_private_folder, write_atomic


def run(argv: list[str]) -> int:
    """Log in at a terminal, or with a key read from stdin; comes back only with a mistake."""
    return answer(argv, _log_in)


def _log_in(parsed: Parsed) -> Reply:
    home = find_home(os.environ)
    ensure_private_folder(home)
    cli = _cli(home, str(parsed.arguments["cli"]))
    place = cli.login_place
    if cli.login.entry is None:
        raise Invalid(f"{cli.driver} has no login that amiral keeps", cli.how_to_log_in)
    spawner = _spawner(home)
    carry_tag(spawner, digest(str(home)))
    ensure_private_folder(place.parent)
    ensure_private_folder(place)
    launch = cli.login.entry(cli.command, str(place), sys.stdin.isatty())
    for file in launch.files:
        write_atomic(place / file.path, file.text)
    _become(spawner, launch)


def _spawner(home: Path) -> Spawner:
    """Its tag is of no project, and no `run-`, which a start would end."""
    brake = Brake(home / "brake")
    brake.prepare()
    return Spawner(brake, f"{digest(str(home))}::login-{new_id()}")


def _cli(home: Path, name: str) -> Cli:
    clis = installed_clis(load_settings(home, os.environ), os.environ, home)
    found = clis.get(name, NotFound(f"no CLI `{name}`; known: {', '.join(clis)}"))
    if isinstance(found, AmiralError):
        raise found
    return found


def _become(spawner: Spawner, launch: Launch) -> NoReturn:
    """Take this process's place, so that terminal, browser and interrupt are the login's own."""
    try:
        os.chdir(launch.cwd)
        become(spawner, [*launch.argv], {**os.environ, **launch.env})
    except OSError as error:
        raise Broken(f"{launch.argv[0]}: {error.strerror}", "install it again") from error
