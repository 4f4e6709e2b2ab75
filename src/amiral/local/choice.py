"""Which project a command line means: the one named, the folder one stands in, else the sample."""

from dataclasses import replace
from pathlib import Path

from amiral.base.errors import Invalid
from amiral.base.settings import Settings
from amiral.commands.registry import Parsed
from amiral.local.sample import sample_project
from amiral.projects.project import Project
from amiral.projects.project_files import FOLDER
from amiral.projects.store import Projects

_LAST_PORT = 65535


def chosen_project(home: Path, path: str, *, is_sample: bool) -> Project:
    """Choose the project: PATH, the one we are in, the repository we are in, else the sample."""
    projects = Projects(home, Path.home())
    if is_sample:
        return projects.register(sample_project(home), "shop")
    if path:
        return projects.register(Path(path))
    here = Path.cwd()
    known = projects.find(here)
    if known is not None:
        return known
    for folder in (here, *here.parents):
        if (folder / ".git").exists() or (folder / FOLDER).is_dir():
            return projects.register(folder)
    return projects.register(sample_project(home), "shop")


def named_project(home: Path, name: str) -> Project:
    """Give a registered project by its name or id; what holds a slash is a path, and registered."""
    projects = Projects(home, Path.home())
    return projects.register(Path(name)) if "/" in name else projects.named(name)


def with_port(settings: Settings, parsed: Parsed) -> Settings:
    """Apply `--port`; Invalid for what is no port."""
    port = parsed.arguments.get("port")
    if not isinstance(port, int):
        return settings
    if not 0 <= port <= _LAST_PORT:
        raise Invalid(f"--port must be a port from 0 to {_LAST_PORT} (got {port})")
    sources = {**settings.sources, "hub.port": "--port"}
    return replace(settings, hub=replace(settings.hub, port=port), sources=sources)
