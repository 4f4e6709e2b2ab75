"""The owner's settings as they hold in one project, whose own file may only take power away."""

from pathlib import Path

from amiral.base.errors import Invalid
from amiral.base.settings import Settings
from amiral.config import FILE, Narrowed, narrow
from amiral.projects.project import Project
from amiral.projects.project_files import Found, Unusable, read_file


def narrowed_by(project: Project, settings: Settings) -> Narrowed:
    """Apply it; Invalid when something lies there that cannot be read."""
    found = read_file(Path(project.path), f"config/{FILE}")
    match found:
        case Found():
            return narrow(settings, project.name, found.text, FILE)
        case Unusable(file, reason):
            raise Invalid(f"{file} cannot be used: {reason}", "put a plain file there")
        case None:
            return Narrowed(settings, ())
