"""Run a project's own tests on a worker's tree, bounded in time and output."""

import asyncio
import contextlib
import shutil
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from amiral.base.errors import AmiralError, Conflict
from amiral.base.plain import plain
from amiral.processes.fence import Fence
from amiral.processes.spawn import KILL_DEADLINE_S, Ran, Spawner, base_environment
from amiral.processes.tree import kill_tree, tag_of, tagged
from amiral.projects.own_tests import (
    LOOKED_AT,
    configured,
    detect,
    has_run_none,
    is_test_file,
    summarise,
)

LONGEST_S = 1800.0
_TAIL = 1500
_LARGEST = 1 << 20
_MOST_TESTS_READ = 50
_FOLDERS = ("", "tests", "test")
_NO_TESTS = "no tests found"


@dataclass(frozen=True)
class Tested:
    """`command` is "" when the project has no tests that we know of; then nothing failed.

    `summary` is one line, followed, after a failure, by the last that was said.
    """

    passed: bool
    command: str
    summary: str


@dataclass(frozen=True)
class Confines:
    """What the tests of a worker's tree are started behind, and with which variables more.

    `note` is told of tests that fail there.
    """

    fence: Fence | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    note: str = ""


Confine = Callable[[str, Path, str], Awaitable[Confines]]
"""Takes a worker, the folder and the installed program of the tests, "" when it is none: they may
do what that worker may without asking."""


async def unconfined(worker: str, folder: Path, program: str) -> Confines:
    """Hold nothing: where no permissions are configured."""
    del worker, folder, program
    return Confines()


class OwnTests:
    """`command` is the owner's setting, "" to look at the project's files."""

    def __init__(
        self,
        spawner: Spawner,
        command: str,
        confine: Confine = unconfined,
        longest_s: float = LONGEST_S,
    ) -> None:
        self._spawner, self._command, self._longest_s = spawner, command.strip(), longest_s
        self._confine = confine

    async def run(self, folder: Path, worker: str = "") -> Tested:
        """Run them in `folder` with a worker's rights; Conflict when a stop is in force."""
        argv = configured(self._command) or await asyncio.to_thread(_look, folder)
        if not argv:
            return Tested(passed=True, command="", summary=_NO_TESTS)
        shown = self._command or " ".join(argv)
        try:
            confines = await self._confine(worker, folder, _installed(argv[0]))
            ran = await self._spawner.run(
                argv,
                kind="test",
                env={**base_environment(), **confines.env},
                cwd=str(folder),
                timeout_s=self._longest_s,
                fence=confines.fence,
            )
        except Conflict:
            raise
        except AmiralError as error:
            return Tested(passed=False, command=shown, summary=error.message)
        return self._judge(argv, shown, ran, confines.note)

    async def end_leftovers(self) -> None:
        """End the tests that a killed process of ours has left running."""
        await asyncio.to_thread(_end_runs, self._spawner.tag)

    def _judge(self, argv: tuple[str, ...], shown: str, ran: Ran, note: str) -> Tested:
        said = plain((ran.out + b"\n" + ran.err).decode("utf-8", "replace")).strip()
        if not self._command and not ran.timed_out and has_run_none(argv, ran.code, said):
            return Tested(passed=True, command=shown, summary=_NO_TESTS)
        if ran.code == 0 and not ran.timed_out:
            return Tested(passed=True, command=shown, summary=summarise(said) or "passed")
        how = f"exit code {ran.code}" if ran.code >= 0 else f"ended by signal {-ran.code}"
        how = f"stopped after {self._longest_s:g} s" if ran.timed_out else how
        head = " · ".join(part for part in (summarise(said), how, note) if part)
        return Tested(passed=False, command=shown, summary=f"{head}\n{said[-_TAIL:]}".strip())


def _installed(program: str) -> str:
    """Find a program on PATH; "" for one of the tree itself, which its worker may read anyway."""
    return "" if "/" in program else shutil.which(program) or ""


def _look(folder: Path) -> tuple[str, ...]:
    names = {name for part in _FOLDERS for name in _names(folder, part)}
    tests = sorted(filter(is_test_file, names))[:_MOST_TESTS_READ]
    return detect(names, {name: _text(folder / name) for name in (*LOOKED_AT, *tests)})


def _names(folder: Path, part: str) -> Iterator[str]:
    with contextlib.suppress(OSError):
        for path in (folder / part).iterdir():
            yield f"{part}/{path.name}" if part else path.name


def _text(path: Path) -> str:
    """Read a small file; what cannot be read tells nothing."""
    try:
        is_small = path.is_file() and path.stat().st_size <= _LARGEST
        return path.read_text("utf-8", "replace") if is_small else ""
    except OSError:
        return ""


def _end_runs(tag: str) -> None:
    runs = {tag_of(process.pid) for process in tagged(tag)}
    for run in runs:
        if run.startswith(f"{tag}:run-"):
            kill_tree((), run, None, KILL_DEADLINE_S)
