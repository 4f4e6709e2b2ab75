"""What `amiral doctor` looks at on the machine itself: Python, SQLite, git, kernel, clock."""

import asyncio
import platform
import sys
import tempfile
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from amiral.base.clock import MS_PER_S, iso_utc
from amiral.base.errors import AmiralError
from amiral.local.check import Check
from amiral.processes.probe import probe
from amiral.processes.spawn import Spawner, base_environment
from amiral.processes.tmux import tmux_program
from amiral.store.brake import Brake
from amiral.store.database import Database, SqlError

_OLDEST_PYTHON = (3, 11)
_GIT_TIMEOUT_S = 20.0
_LEAST_FILES, _GOOD_FILES = 128, 1024
_EARLIEST_MS = int(datetime(2026, 1, 1, tzinfo=UTC).timestamp()) * MS_PER_S
_TOLERATED_MS = 60 * MS_PER_S
_ON_MACOS = (
    "macOS: written for it, not tried on it yet",
    "macOS: a shim does not adopt what its CLI leaves behind, so that survives the CLI",
    "macOS: what was acknowledged is with the drive, which may still hold it in its cache",
)


def look_at_python() -> Iterator[Check]:
    """Look at the Python that runs this."""
    ok = sys.version_info[:2] >= _OLDEST_PYTHON
    fix = "" if ok else "make setup PYTHON=… with Python 3.11 or later"
    detail = f"{platform.python_version()} ({sys.executable})"
    yield Check("python", ok, detail, fix, needed=True)


def look_at_platform(system: str, lacking: Sequence[str]) -> Iterator[Check]:
    """Say in words what this system cannot give; `system` as in `sys.platform`."""
    name = f"{platform.system()} {platform.release()} on {platform.machine()}"
    is_known = system in ("linux", "darwin")
    fix = "" if is_known else "use Linux, or macOS with what it lacks"
    yield Check("platform", is_known, name, fix, needed=True)
    words = [*(_ON_MACOS if system == "darwin" else ()), *lacking]
    yield from (Check("platform", ok=False, detail=sentence) for sentence in words)
    if not words:
        yield Check("process trees", ok=True, detail="/proc, pidfd, a cgroup v2 for each session")


def look_at_fence(home: Path, enforcer: str) -> Iterator[Check]:
    """Try out what the kernel holds of an agent's permissions (R49), unless that is off."""
    if enforcer == "none":
        detail = '[sandbox] enforcer is "none": no fence is put up'
        yield Check("sandbox", ok=False, detail=detail, fix='set it to "auto" in amiral.toml')
        return
    with tempfile.TemporaryDirectory(prefix=".amiral-doctor-", dir=nearest_folder(home)) as place:
        spawner = Spawner(Brake(Path(place) / "brake"), "")
        found = asyncio.run(probe(spawner, Path(place), enforcer))
    where = " in a box of bwrap" if found.enforcer == "bwrap" else ""
    told = f"{found.status}, Landlock ABI {found.abi}{where}"
    detail = "; ".join((told, *found.reasons))
    needs = "Linux 6.12 or later" + (" and bubblewrap" if found.enforcer == "bwrap" else "")
    fix = "" if found.status == "enforced" else f"{needs}; see docs/reference/fence.md"
    yield Check("sandbox", found.status != "none", detail, fix)


def look_at_sqlite(home: Path) -> Iterator[Check]:
    """See whether SQLite can keep a write-ahead log where the journals lie."""
    folder = nearest_folder(home)
    try:
        with tempfile.TemporaryDirectory(prefix=".amiral-doctor-", dir=folder) as place:
            version, mode = _try_wal(Path(place, "probe.db"))
    except (SqlError, OSError) as error:
        fix = "put AMIRAL_HOME on a local disk that you can write to"
        yield Check("sqlite", ok=False, detail=f"in {folder}: {error}", fix=fix, needed=True)
        return
    ok = mode == "wal"
    fix = "" if ok else "put AMIRAL_HOME on a local disk"
    yield Check("sqlite", ok, f"{version}, journal mode {mode} in {folder}", fix, needed=True)


def look_at_git(home: Path) -> Iterator[Check]:
    """See whether git is there; without it the sample project is a plain folder."""
    try:
        told = asyncio.run(_ask_git(home))
        yield Check("git", ok=True, detail=told)
    except AmiralError as error:
        yield Check("git", ok=False, detail=error.message, fix="install git")


def look_at_tmux() -> Iterator[Check]:
    """See whether tmux is there; only `amiral terminal` needs it."""
    try:
        yield Check("tmux", ok=True, detail=tmux_program())
    except AmiralError as error:
        yield Check("tmux", ok=False, detail=error.message, fix=error.next_step)


def look_at_clock(now_ms: int, written: Path) -> Iterator[Check]:
    """See whether the clock is plausible, and not behind the last write of the file `written`."""
    newest_ms = _EARLIEST_MS
    if written.exists():
        newest_ms = max(newest_ms, written.stat().st_mtime_ns // 1_000_000)
    ok = now_ms + _TOLERATED_MS >= newest_ms
    detail, fix = iso_utc(now_ms), ""
    if not ok:
        detail += f" is before {iso_utc(newest_ms)}, which is past already"
        fix = "set the clock of this machine"
    yield Check("clock", ok, detail, fix)


def look_at_open_files(allowed: int) -> Iterator[Check]:
    """See how many files and connections one process may hold open; negative = no limit."""
    ok = allowed < 0 or allowed >= _GOOD_FILES
    fix = "" if ok else f"ulimit -n {_GOOD_FILES}"
    detail = f"{allowed if allowed >= 0 else 'any number'} a process"
    yield Check("open files", ok, detail, fix, needed=0 <= allowed < _LEAST_FILES)


def nearest_folder(path: Path) -> Path:
    """Give `path`, or the folder above it that exists."""
    return next(folder for folder in (path, *path.parents) if folder.is_dir())


def _try_wal(path: Path) -> tuple[str, str]:
    database = Database(path, writes=True)
    try:
        version = str(database.rows("select sqlite_version()")[0][0])
        mode = str(database.rows("pragma journal_mode = wal")[0][0])
        database.run("create table probe (one)")
    finally:
        database.close()
    return version, mode


async def _ask_git(home: Path) -> str:
    ran = await Spawner(Brake(home / "brake"), "").run(
        ("git", "--version"),
        kind="own",
        env=base_environment(),
        cwd="/",
        timeout_s=_GIT_TIMEOUT_S,
    )
    return ran.out.decode("utf-8", "replace").strip().removeprefix("git version ") or "no answer"
