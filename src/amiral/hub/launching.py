"""Starts a project's process so that it outlives the hub, and bounds what is kept of its output."""

import os
from collections.abc import Sequence
from pathlib import Path

from amiral.base.plain import one_line
from amiral.processes.spawn import Child, Spawner, Stdio
from amiral.processes.tree import TAG_VARIABLE
from amiral.projects.project import Project
from amiral.store.files import cannot, ensure_private_folder

NAME_VARIABLE = "BOT_NAME"

_LARGEST = 4 << 20
_KEPT = 1 << 20
_TAIL = 4096
_LONGEST_LINE = 160


class Output:
    """What one project's processes print: `projects/<id>/logs/process.log` and one older part."""

    def __init__(self, home: Path, project: Project) -> None:
        self.path = home / "projects" / project.id / "logs" / "process.log"
        self._began = 0

    def open(self) -> int:
        """Open it for a process that begins; the caller closes the descriptor."""
        try:
            ensure_private_folder(self.path.parent)
            self.bound()
            descriptor = os.open(
                self.path,
                os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW,
                0o600,
            )
        except OSError as error:
            raise cannot("write", self.path, error) from error
        self._began = os.fstat(descriptor).st_size
        return descriptor

    def bound(self) -> None:
        """Put the newest part of a log grown too large aside, and empty it under its writer."""
        try:
            with self.path.open("r+b") as log:
                if os.fstat(log.fileno()).st_size <= _LARGEST:
                    return
                log.seek(-_KEPT, os.SEEK_END)
                self.path.with_suffix(".log.1").write_bytes(log.read())
                log.truncate(0)
        except FileNotFoundError:
            return
        self._began = 0

    def last_line(self) -> str:
        """Give the last complaint, else the last line, printed since the start; "" without one."""
        try:
            with self.path.open("rb") as log:
                size = os.fstat(log.fileno()).st_size
                log.seek(max(self._began if self._began <= size else 0, size - _TAIL))
                lines = log.read(_TAIL).split(b"\n")
        except OSError:
            return ""
        texts = (one_line(line.decode("utf-8", "replace"), _LONGEST_LINE) for line in lines)
        said = [text for text in texts if text]
        return ([text for text in said if text.startswith("✗")] or said or [""])[-1]


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
