"""What `up`, `hub` and `child` share: they serve where they were typed, after a banner."""

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import Protocol

from amiral import __version__
from amiral.base.errors import Broken, Invalid
from amiral.base.home import home_folder
from amiral.base.plain import one_line
from amiral.commands.registry import Parsed, Reply
from amiral.local.terminal import answer
from amiral.processes.serving import Served
from amiral.projects.project import Project
from amiral.store.brake import Brake

_LONGEST_SOCKET = 100
_LONGEST_SHOWN = 300


class Serve(Protocol):
    """Serves until the end."""

    def __call__(self, parsed: Parsed, *, as_json: bool) -> Reply:
        """Do so, after a banner as text or as JSON."""
        ...


@dataclass(frozen=True)
class Banner:
    """What a newcomer reads: `found` are the CLIs, `url` and `socket` "" where there is none."""

    home: Path
    projects: Sequence[Project]
    found: Sequence[str]
    notices: Sequence[str]
    url: str = ""
    socket: str = ""

    @property
    def text(self) -> str:
        """Write it."""
        lines = [f"amiral {__version__} · home {self.home}"]
        lines += [f"found   {' · '.join(self.found)}"] if self.found else []
        lines += [f"project {p.name} ({one_line(p.path, _LONGEST_SHOWN)})" for p in self.projects]
        lines += [f"notice  {notice}" for notice in self.notices]
        lines += [f"open    {self.url}   (valid once, 10 minutes)"] if self.url else []
        lines += [f"socket  {self.socket}"] if self.socket else []
        lines += [f"chat    {_chat(project.name)}" for project in self.projects[:1]]
        return "\n".join(lines)


def run_in_foreground(argv: list[str], serve: Serve) -> int:
    """Start, print what a newcomer needs, and serve until the end."""
    return answer(argv, lambda parsed: _explained(serve, parsed, as_json="--json" in argv))


def check_socket(served: Served) -> None:
    """Raise Invalid for a path longer than the kernel takes: found out before anything starts."""
    if len(os.fsencode(served.socket)) > _LONGEST_SOCKET:
        raise Invalid(f"{served.socket} is too long for a socket", "choose a shorter AMIRAL_HOME")


def stop_notice(home: Path) -> Iterator[str]:
    """Name what is in force for everything, and how it is lifted; a new home has no brake yet."""
    stop = Brake(home / "brake").state() if (home / "brake").exists() else None
    if stop is not None:
        yield f"{stop.name} is on, nothing starts: {stop.way_out}"


def _explained(serve: Serve, parsed: Parsed, *, as_json: bool) -> Reply:
    """Say in one line what of the machine stands in the way: a disk, its rights, a network."""
    try:
        return serve(parsed, as_json=as_json)
    except OSError as error:
        why = error.strerror or str(error)
        what = f"{error.filename}: {why}" if error.filename else why
        fix = f"check the disk and the rights of {home_folder()}"
        raise Broken(f"amiral cannot run: {what}", fix) from error


def _chat(project: str) -> str:
    return f'{_command()} say -p {quote(project)} "/c what does this project do?"'


def _command() -> str:
    """Name the command as this person can type it."""
    program = Path(sys.argv[0])
    on_path = any(
        Path(folder, "amiral").exists() for folder in os.environ.get("PATH", "").split(":")
    )
    return "amiral" if on_path or program.name != "amiral" else os.path.relpath(program)
