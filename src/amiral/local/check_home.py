"""What `amiral doctor` looks at in the home: its folder, disk, settings, brake, leftovers."""

import os
import shutil
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from amiral.base.clock import iso_utc
from amiral.base.errors import AmiralError
from amiral.base.ids import digest
from amiral.config import FILE, find_home, load_settings
from amiral.local.check import Check
from amiral.local.check_machine import nearest_folder
from amiral.processes.proc import read_whole
from amiral.processes.session_files import read_exit, read_meta
from amiral.processes.tree import is_alive, tag_of, tagged
from amiral.projects.store import Projects
from amiral.projects.trust import Trust
from amiral.safety.pulse import pulse_of
from amiral.store.brake import Brake
from amiral.store.latch import ALL, UNKNOWN

_LEAST_MB, _GOOD_MB = 200, 1024
_LONGEST_HOME = 100 - len("/run/") - len("0123456789abcdef.sock")
_PRIVATE = 0o077
_IN_MEMORY = frozenset({"tmpfs", "ramfs"})
_REMOTE = frozenset({"nfs", "nfs4", "cifs", "smb3", "9p", "ceph", "fuse.sshfs", "virtiofs"})


def look_at_home(environ: Mapping[str, str]) -> Iterator[Check]:
    """See whether the home may lie where it does, is ours, and private."""
    try:
        home = find_home(environ)
    except AmiralError as error:
        yield Check("home", ok=False, detail=error.message, fix=error.next_step, needed=True)
        return
    why, fix = _why_not_home(home)
    is_new = not home.exists()
    detail = why or f"{home}{', which `amiral up` will make' if is_new else ', private'}"
    yield Check("home", not why, detail, fix, needed=True)


def look_at_disk(home: Path) -> Iterator[Check]:
    """See whether the home lies on a real disk with room left."""
    folder = nearest_folder(home)
    free_mb = shutil.disk_usage(folder).free >> 20
    ok = free_mb >= _GOOD_MB
    fix = "" if ok else "free some space: on a full disk messages are refused"
    yield Check("disk", ok, f"{free_mb} MB free", fix, needed=free_mb < _LEAST_MB)
    system = filesystem_of(str(folder), _mounts())
    if system in _IN_MEMORY:
        detail = f"the home lies in memory ({system}): a restart takes stops and messages along"
        yield Check("disk", ok=False, detail=detail, fix="set AMIRAL_HOME to a folder on a disk")
    elif system in _REMOTE:
        detail = f"the home lies on another machine ({system}): its locks and syncs may not hold"
        yield Check("disk", ok=False, detail=detail, fix="set AMIRAL_HOME to a local folder")


def look_at_settings(home: Path, environ: Mapping[str, str]) -> Iterator[Check]:
    """See whether `amiral.toml` and the variables over it can be read."""
    try:
        load_settings(home, environ)
    except AmiralError as error:
        mistakes = error.message.split("\n")
        yield from (
            Check("settings", ok=False, detail=one, fix=error.next_step, needed=True)
            for one in mistakes
        )
        return
    state = "read" if (home / FILE).exists() else "absent, every default holds"
    yield Check("settings", ok=True, detail=f"{home / FILE}: {state}")


def look_at_brake(home: Path) -> Iterator[Check]:
    """Tell which stops and freezes are on."""
    folder = home / "brake"
    if not folder.exists():
        yield Check("brake", ok=True, detail="off (no home yet)")
        return
    there = Brake(folder).every()
    if not there:
        yield Check("brake", ok=True, detail="off")
    for one in there:
        if one.stop_id == UNKNOWN:
            detail = f"on: {one.reason}"
            yield Check("brake", ok=False, detail=detail, fix=one.way_out, needed=True)
        else:
            of = "" if one.scope == ALL else f" of {one.scope}"
            detail = f"on since {iso_utc(one.since_ms)}: {one.name}{of}, {one.reason}"
            yield Check("brake", ok=False, detail=f"{detail}; nothing starts", fix=one.way_out)


def look_at_guard(home: Path) -> Iterator[Check]:
    """Tell whether the independent stopper runs."""
    if home.exists():
        pulse = pulse_of(str(home))
        fix = "" if pulse.is_running else "`amiral up` starts it, or `amiral guard`"
        yield Check("guard", pulse.is_running, pulse.text, fix)


def look_at_registries(home: Path) -> Iterator[Check]:
    """See whether the lists of projects and of trusted files can be read."""
    for name, warning_of in (
        ("projects", Projects(home, Path.home()).warning),
        ("trust", Trust(home).warning),
    ):
        try:
            warning = warning_of()
            yield Check(name, not warning, warning or "well", needed=False)
        except AmiralError as error:
            yield Check(name, ok=False, detail=error.message, fix=error.next_step, needed=True)


def look_at_leftovers(home: Path, served: frozenset[str]) -> Iterator[Check]:
    """Tell what runs or lies about for projects that no process serves; `served` are their ids."""
    resume = "`amiral up` in their project goes on with them, `amiral emergency-stop` ends them"
    tags = [tag_of(process.pid) for process in tagged(digest(str(home)))]
    alone = [tag for tag in tags if ":" in tag and tag.split(":")[1] not in served]
    for project in sorted({tag.split(":")[1] for tag in alone}):
        count = sum(tag.split(":")[1] == project for tag in alone)
        detail = f"{count} processes of {project} run without its project process"
        yield Check("leftovers", ok=False, detail=detail, fix=resume)
    lost = sorted(_lost_sessions(home, served))
    if lost:
        detail = f"sessions that ended unseen: {', '.join(lost[:3])}{' …' if lost[3:] else ''}"
        yield Check("leftovers", ok=False, detail=detail, fix="`amiral up` settles them")
    if not alone and not lost:
        yield Check("leftovers", ok=True, detail="none")


def filesystem_of(path: str, mounts: list[tuple[str, str]]) -> str:
    """Name the kind of file system a real path lies on, from (mount point, kind), "" if unknown."""
    found, longest = "", -1
    for point, kind in mounts:
        if f"{path}/".startswith(f"{point.rstrip('/')}/") and len(point) >= longest:
            found, longest = kind, len(point)
    return found


def _why_not_home(home: Path) -> tuple[str, str]:
    """Say why the home cannot be used and what to do, "" twice when it can."""
    if len(bytes(home)) > _LONGEST_HOME:
        return f"{home} is too long for sockets in it", "choose a shorter AMIRAL_HOME"
    if not home.exists():
        above = nearest_folder(home)
        can = os.access(above, os.W_OK | os.X_OK)
        return ("", "") if can else (f"{above} cannot be written to", "choose another AMIRAL_HOME")
    status = home.stat()
    if not stat.S_ISDIR(status.st_mode):
        return f"{home} is no folder", "move it away, or choose another AMIRAL_HOME"
    if status.st_uid != os.geteuid():
        return f"{home} belongs to user {status.st_uid}", "choose another AMIRAL_HOME"
    if stat.S_IMODE(status.st_mode) & _PRIVATE:
        return f"{home} can be entered by others", f"chmod 700 {home} (`amiral up` does it too)"
    if not os.access(home, os.W_OK | os.X_OK):
        return f"{home} cannot be written to", f"chmod 700 {home}"
    return "", ""


def _lost_sessions(home: Path, served: frozenset[str]) -> Iterator[str]:
    """Find sessions whose shim is dead and left no record of the end, or a damaged one."""
    for folder in (home / "projects").glob("*/sessions/*"):
        project = folder.parents[1].name
        if project not in served and _is_lost(folder):
            yield f"{project}/{folder.name}"


def _is_lost(session: Path) -> bool:
    try:
        meta = read_meta(session)
        return read_exit(session) is None and meta is not None and not is_alive(meta.shim)
    except AmiralError:
        return True


def _mounts() -> list[tuple[str, str]]:
    """List the mounts as the kernel tells them; later ones cover earlier ones."""
    try:
        text = read_whole("/proc/self/mountinfo").decode(errors="surrogateescape")
    except OSError:
        return []
    lines = (line.partition(" - ") for line in text.split("\n") if line)
    return [(before.split(" ")[4], after.split(" ")[0]) for before, _, after in lines]
