"""`amiral drivers`: which CLIs amiral can drive, and what of each is on this machine."""

import asyncio
import os
from collections.abc import Sequence

from amiral.agents.clis import CliState
from amiral.base.plain import one_line
from amiral.commands.registry import Parsed, Reply
from amiral.config import find_home, load_settings
from amiral.installed import Installed
from amiral.local.terminal import answer
from amiral.processes.spawn import Spawner
from amiral.store.brake import Brake


def run(argv: Sequence[str]) -> int:
    """Look at every CLI and tell."""
    return answer(argv, _drivers)


def described(cli: CliState) -> str:
    """Write a CLI in a few words: its version, and what is missing."""
    if cli.problem:
        why = "not installed" if "no program" in cli.problem else one_line(cli.problem, 120)
        return f"{cli.driver} ({why})"
    login = f" (login needed: {cli.fix})" if cli.fix else " (logged in)"
    return f"{cli.driver} {cli.version}{'' if cli.driver == 'scripted' else login}"


def _drivers(_: Parsed) -> Reply:
    home = find_home(os.environ)
    installed = Installed(load_settings(home, os.environ), os.environ, home)
    clis = asyncio.run(installed.look(Spawner(Brake(home / "brake"), "")))
    found, notices = [described(cli) for cli in clis], installed.notices()
    lines = [*found, *(f"notice  {notice}" for notice in notices)]
    return Reply("\n".join(lines), {"drivers": clis, "found": found, "notices": notices})
