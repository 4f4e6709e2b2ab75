"""A project as its process serves it: by a socket and a lock."""

from pathlib import Path

from amiral.processes.serving import Served
from amiral.projects.project import Project


def served_by(home: Path, project: Project) -> Served:
    """Name where a project is served under one home."""
    return Served(home, project.id, project.name, project.path)
