"""`amiral login CLI`: become the CLI's own login, in the one folder amiral keeps for it."""

import os
import sys
from pathlib import Path

from amiral.agents.clis import Cli
from amiral.agents.driver import Launch
from amiral.base.errors import AmiralError, Broken, Invalid, NotFound
from amiral.commands.registry import Parsed, Reply
from amiral.config import find_home, load_settings
from amiral.installed import installed_clis
from amiral.local.terminal import answer
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
    ensure_private_folder(place.parent)
    ensure_private_folder(place)
    launch = cli.login.entry(cli.command, str(place), sys.stdin.isatty())
    for file in launch.files:
        write_atomic(place / file.path, file.text)
    _become(launch)
    return Reply()


def _cli(home: Path, name: str) -> Cli:
    clis = installed_clis(load_settings(home, os.environ), os.environ, home)
    found = clis.get(name, NotFound(f"no CLI `{name}`; known: {', '.join(clis)}"))
    if isinstance(found, AmiralError):
        raise found
    return found


def _become(launch: Launch) -> None:
    """Take this process's place, so that terminal, browser and interrupt are the login's own."""
    sys.stdout.flush()
    try:
        os.chdir(launch.cwd)
        os.execve(launch.argv[0], launch.argv, {**os.environ, **launch.env})  # noqa: S606
    except OSError as error:
        raise Broken(f"{launch.argv[0]}: {error.strerror}", "install it again") from error
