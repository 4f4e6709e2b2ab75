"""What `amiral doctor` looks at for workers: the CLIs, and the project of this folder."""

import asyncio
import tempfile
from collections.abc import Iterator, Mapping
from importlib.metadata import entry_points
from pathlib import Path

from amiral.agents.clis import Cli, CliState, look_at
from amiral.agents.declared import load_declared
from amiral.base.errors import AmiralError, NotFound
from amiral.base.settings import Settings
from amiral.config import FILE, narrow
from amiral.installed import installed_clis, known_drivers
from amiral.local.check import Check, guarded
from amiral.processes.spawn import Spawner
from amiral.projects.project import Project
from amiral.projects.project_files import FOLDER, Found, Unusable, read_file
from amiral.projects.served import served_by
from amiral.projects.store import Projects
from amiral.projects.trust import Trust
from amiral.store.brake import Brake
from amiral.store.database import Database, SqlError

_ANSWER_S = 2.0
_HEALTH = b'{"argv":["health","--json"]}\n'
_ANSWERS = "answers"
_IS_SILENT = "is there and does not answer"
_IS_GONE = "is gone, its socket was left behind"
_IS_ABSENT = "does not run"


def look_at_driver_packages() -> Iterator[Check]:
    """See whether the drivers that other packages bring can be loaded."""
    for point in entry_points(group="amiral.drivers"):
        try:
            point.load()
        except Exception as error:  # noqa: BLE001 another package's code
            detail = f"{point.value} cannot be loaded: {error!r}"
            fix = "mend or uninstall the package that brings it"
            yield Check(f"driver {point.name}", ok=False, detail=detail, fix=fix, needed=True)


def look_at_clis(settings: Settings, environ: Mapping[str, str], home: Path) -> Iterator[Check]:
    """Look at every CLI: where, which version, tested or not, what logs it in."""
    found = installed_clis(settings, environ, home)
    for state in asyncio.run(_ask_versions(found)):
        yield _judge(state, found[state.driver])


def project_here(home: Path, name: str) -> Project | None:
    """Find the project named, else the one of this folder; NotFound when there is no such thing."""
    projects = Projects(home, Path.home())
    try:
        return projects.named(name) if name else projects.find(Path.cwd())
    except FileNotFoundError:
        raise NotFound("the folder you are in is gone", "go to a folder that exists") from None


def served_projects(home: Path) -> frozenset[str]:
    """Name the projects whose process is there, by id."""
    known = Projects(home, Path.home()).all()
    states = asyncio.run(_ask_all([served_by(home, project).socket for project in known]))
    there = (_ANSWERS, _IS_SILENT)
    return frozenset(one.id for one, state in zip(known, states, strict=True) if state in there)


def look_at_project(home: Path, name: str, settings: Settings) -> Iterator[Check]:
    """See whether this folder is a project, who serves it, and what is in force there."""
    project = _project_here(home, name)
    if project is None:
        detail = f"{Path.cwd()} lies in no project"
        yield Check("project", ok=False, detail=detail, fix="`amiral up` here makes it one")
        return
    yield Check("project", ok=True, detail=f"{project.name} ({project.path})")
    state = home / "projects" / project.id
    yield from guarded("process", lambda: _look_at_process(served_by(home, project).socket, state))
    yield from guarded("journal", lambda: _look_at_journal(state / "journal.db"))
    own = read_file(Path(project.path), f"config/{FILE}")
    yield from guarded("own settings", lambda: _look_at_own_settings(settings, project, own))
    yield from guarded("workers", lambda: _look_at_workers(home, project))


def _project_here(home: Path, name: str) -> Project | None:
    """Find the project named, else the one of this folder; NotFound when there is no such thing."""
    projects = Projects(home, Path.home())
    try:
        return projects.named(name) if name else projects.find(Path.cwd())
    except FileNotFoundError:
        raise NotFound("the folder you are in is gone", "go to a folder that exists") from None


def _look_at_process(listening: Path, state: Path) -> Iterator[Check]:
    (answer,) = asyncio.run(_ask_all([listening]))
    holder = _holder_of(state / "journal.db.lock")
    fixes = {
        _IS_SILENT: f"end process {holder}, then `amiral up`: agents in mid turn go on meanwhile",
        _IS_GONE: "`amiral up` goes on where it was killed",
        _IS_ABSENT: "`amiral up` starts one",
    }
    fix = fixes.get(answer, "")
    detail = f"the project process {answer}" if fix else f"process {holder} {answer}"
    yield Check("process", not fix, detail, fix, needed=answer == _IS_SILENT)


def _look_at_journal(path: Path) -> Iterator[Check]:
    if not path.exists():
        yield Check("journal", ok=True, detail="none yet")
        return
    try:
        told, count = _check_journal(path)
    except SqlError as error:
        told, count = str(error), 0
    ok = told == "ok"
    fix = "" if ok else f"stop amiral, keep a copy of {path}, restore it from a backup"
    detail = f"{count} events, {path.stat().st_size >> 10} KB" if ok else f"{path}: {told}"
    yield Check("journal", ok, detail, fix, needed=True)


def _look_at_own_settings(
    settings: Settings, project: Project, own: Found | Unusable | None
) -> Iterator[Check]:
    """See whether the project's own amiral.toml can be read, and what of it is left out."""
    match own:
        case Found(text=text):
            notices = narrow(settings, project.name, text, FILE).notices
            yield from (Check("own settings", ok=False, detail=notice) for notice in notices)
            if not notices:
                yield Check("own settings", ok=True, detail=f"{FOLDER}/config/{FILE}: read")
        case Unusable(file, reason):
            detail, fix = f"{file} cannot be used: {reason}", "put a plain file there"
            yield Check("own settings", ok=False, detail=detail, fix=fix, needed=True)
        case None:
            pass


def _look_at_workers(home: Path, project: Project) -> Iterator[Check]:
    declared = load_declared(Trust(home), project)
    yield Check("workers", ok=True, detail=", ".join(worker.id for worker in declared.workers))
    fix = "mend it; until then a starting project has the shipped workers"
    yield from (Check("workers", ok=False, detail=one, fix=fix) for one in declared.errors)
    yield from (Check("workers", ok=False, detail=one) for one in declared.notices)


async def _ask_versions(found: Mapping[str, Cli | AmiralError]) -> list[CliState]:
    """Start nothing but each CLI for its version, in a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="amiral-doctor-") as folder:
        place = Path(folder)
        spawner = Spawner(Brake(place / "brake"), "")
        asked = (look_at(one, found[name], spawner, place) for name, one in known_drivers().items())
        states = await asyncio.gather(*asked, return_exceptions=True)
        return [_state_of(name, state) for name, state in zip(found, states, strict=True)]


def _state_of(driver: str, state: CliState | BaseException) -> CliState:
    if isinstance(state, AmiralError):
        return CliState(driver, problem=state.message, fix=state.next_step)
    if isinstance(state, BaseException):
        return CliState(driver, problem=repr(state))
    return state


def _judge(state: CliState, found: Cli | AmiralError) -> Check:
    """Put one CLI into words; of its login only the names of variables, never a value."""
    name = f"cli {state.driver}"
    if state.problem or isinstance(found, AmiralError):
        return Check(name, ok=False, detail=state.problem, fix=state.fix)
    detail = f"{state.version} ({found.command[0]}), {state.warning or 'tested'}"
    login = found.login
    if not login.variables and not login.files:
        return Check(name, not state.warning, f"{detail}, needs no login")
    if not state.is_logged_in:
        return Check(name, ok=False, detail=f"{detail}, no login here", fix=state.fix)
    given = [variable for variable in login.variables if found.env.get(variable)]
    by = " and ".join(given or login.files)
    return Check(name, not state.warning, f"{detail}, logged in by {by}")


def _check_journal(path: Path) -> tuple[str, int]:
    database = Database(path, writes=False)
    try:
        told = str(database.rows("pragma quick_check(1)")[0][0])
        return told, int(database.rows("select count(*) from event")[0][0])
    finally:
        database.close()


def _holder_of(lock: Path) -> str:
    """Name the process that has the journal, as it wrote it down."""
    try:
        return lock.read_text("ascii", "replace").strip() or "unknown"
    except OSError:
        return "unknown"


async def _ask_all(sockets: list[Path]) -> list[str]:
    return await asyncio.gather(*(_ask(path) for path in sockets))


async def _ask(path: Path) -> str:
    """Ask a project process whether it is well, and tell what came of it."""
    if not path.exists():
        return _IS_ABSENT
    try:
        async with asyncio.timeout(_ANSWER_S):
            reader, writer = await asyncio.open_unix_connection(path)
            try:
                writer.write(_HEALTH)
                return _ANSWERS if await reader.readline() else _IS_SILENT
            finally:
                writer.close()
    except TimeoutError:
        return _IS_SILENT
    except OSError:
        return _IS_GONE
