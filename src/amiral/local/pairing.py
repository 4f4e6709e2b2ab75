"""`amiral pair` without a project's process: a code, or who is paired, from the home alone."""

import asyncio
import os

from amiral.base.clock import SystemClock
from amiral.chats.pairing import PairCommands
from amiral.chats.people import People
from amiral.commands.registry import Caller, Commands, Parsed, Reply, Role
from amiral.commands.table import TABLE
from amiral.config import find_home
from amiral.local.owner import refuse_agents
from amiral.projects.project import Project


def pair(parsed: Parsed, project: Project | None) -> Reply:
    """Carry it out for the owner; Denied for who is below a shim."""
    home = find_home(os.environ)
    refuse_agents(home, "say who may do what")
    pairing = PairCommands(People(home, SystemClock()), project.name if project else "")
    owner = Caller("owner", Role.OWNER, "console")
    commands = Commands(TABLE, pairing)
    return asyncio.run(commands.dispatch(owner, parsed))
