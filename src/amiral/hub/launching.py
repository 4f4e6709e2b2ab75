"""Starts a project's process so that it outlives the hub."""

import os
from collections.abc import Sequence
from pathlib import Path

from amiral.hub.output import Output
from amiral.processes.spawn import Child, Spawner, Stdio
from amiral.processes.tree import TAG_VARIABLE
from amiral.projects.project import Project

NAME_VARIABLE = "BOT_NAME"


def launch(
    spawner: Spawner, home: Path, project: Project, argv: Sequence[str], output: Output
) -> Child:
    """Start it in a session of its own; raises what keeps it from starting.

    It is ours, so a stop does not forbid it: what it starts itself reads the brake.
    """
    inherited = {name: text for name, text in os.environ.items() if name != TAG_VARIABLE}
    env = {**inherited, "AMIRAL_HOME": str(home), NAME_VARIABLE: project.name}
    descriptor = output.open()
    try:
        stdio = Stdio(stdout=descriptor, stderr=descriptor)
        return spawner.start(argv, kind="own", env=env, cwd="/", stdio=stdio)
    finally:
        os.close(descriptor)
