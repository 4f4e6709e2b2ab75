"""Run a project's own tests on a worker's tree, bounded in time and output."""

from dataclasses import dataclass
from pathlib import Path

from amiral.base.errors import AmiralError
from amiral.base.plain import plain
from amiral.processes.spawn import Spawner, base_environment
from amiral.projects.own_tests import LOOKED_AT, configured, detect

_TIMEOUT_S = 1800.0
_TAIL = 1500
_LARGEST = 1 << 20


@dataclass(frozen=True)
class Tested:
    """`command` is "" when the project has no tests that we know of; then nothing failed."""

    passed: bool
    command: str
    summary: str


class OwnTests:
    """`command` is the owner's setting, "" to look at the project's files."""

    def __init__(self, spawner: Spawner, command: str) -> None:
        self._spawner, self._command = spawner, command

    async def run(self, folder: Path) -> Tested:
        """Run them in `folder`; Conflict when a stop is in force."""
        argv = configured(self._command) if self._command else _look(folder)
        if not argv:
            return Tested(passed=True, command="", summary="no tests found")
        shown = self._command or " ".join(argv)
        try:
            ran = await self._spawner.run(
                argv, kind="test", env=base_environment(), cwd=str(folder), timeout_s=_TIMEOUT_S
            )
        except AmiralError as error:
            if error.kind == "conflict":
                raise
            return Tested(passed=False, command=shown, summary=error.message)
        said = plain((ran.out + b"\n" + ran.err).decode("utf-8", "replace")).strip()
        how = f"stopped after {_TIMEOUT_S:.0f} s" if ran.timed_out else f"exit code {ran.code}"
        passed = ran.code == 0 and not ran.timed_out
        return Tested(passed, shown, said[-_TAIL:] if passed else f"{how}\n{said[-_TAIL:]}")


def _look(folder: Path) -> tuple[str, ...]:
    names = {path.name for path in folder.iterdir()}
    contents = {
        name: (folder / name).read_text("utf-8", "replace")
        for name in LOOKED_AT
        if name in names and (folder / name).is_file() and _is_small(folder / name)
    }
    return detect(names, contents)


def _is_small(path: Path) -> bool:
    return path.stat().st_size <= _LARGEST
