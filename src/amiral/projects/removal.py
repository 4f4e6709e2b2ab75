"""Takes a project out: its state archived first, then deleted; its folder left as it is (S1.30)."""

import contextlib
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from amiral.base.clock import Clock, utc_day
from amiral.base.errors import AmiralError, Broken, Conflict
from amiral.base.failpoint import failpoint
from amiral.processes.heartbeat import heartbeat_path
from amiral.projects.archive import holds, keep
from amiral.projects.deed import MADE, Made, read_deed
from amiral.projects.git import Git
from amiral.projects.home_settings import FILE, HomeSettings
from amiral.projects.planting import remove_empty, uproot
from amiral.projects.project import Project
from amiral.projects.project_files import FOLDER
from amiral.projects.served import served_by
from amiral.projects.settings_table import without_table
from amiral.projects.setup_plan import IGNORED
from amiral.projects.store import Projects
from amiral.projects.trust import Trust
from amiral.projects.worktrees import Worktrees
from amiral.store.claim import Claim, exclusive
from amiral.store.files import cannot, ensure_private_folder, write_atomic

_ENDING = ".state"


@dataclass(frozen=True)
class _Leaving:
    """A removal that was decided: its archive is whole. `folder` tells whether that goes too."""

    id: str
    name: str
    path: str
    archive: str
    folder: bool


class Removal:
    """One home. Nobody may serve the project meanwhile: who calls holds its journal."""

    def __init__(
        self,
        home: Path,
        user_home: Path,
        settings: HomeSettings,
        git: Git,
        clock: Clock,
        logs: Path,
    ) -> None:
        self._home, self._settings, self._git, self._clock = home, settings, git, clock
        self._log_folder = logs
        self._projects, self._trust = Projects(home, user_home), Trust(home)
        self._note = home / "config" / "removal.json"

    async def unmerged(self, project: Project) -> tuple[str, ...]:
        """Name the worktrees that hold what no branch of the user has; of a folder that is gone
        there are none, and what lies in the home is archived.
        """
        worktrees = self._worktrees(project)
        if not Path(project.path).is_dir() or not await worktrees.is_git():
            return ()
        found = []
        for name in self._named(project):
            worktree = await worktrees.find(name)
            if worktree is not None and await worktrees.work.is_touched(worktree):
                found.append(name)
        return tuple(found)

    def may_take_folder(self, project: Project) -> bool:
        """Tell whether a setup of ours has made the project's folder."""
        deed = read_deed(self._state(project) / MADE)
        return deed is not None and project.path in deed.folders

    async def carry_out(
        self, project: Project, *, with_folder: bool
    ) -> tuple[Path, tuple[str, ...]]:
        """Archive, then delete; what is killed meanwhile, `recover` ends.

        Gives the archive, and what could not be taken away.
        """
        with self._alone():
            archive = keep(
                self._home / "archive",
                f"{project.id}-{utc_day(self._clock.now_ms())}",
                self._parts(project, with_folder=with_folder),
                self._record(project),
            )
            failpoint("removal.archived")
            await self._drop_worktrees(project)
            leaving = _Leaving(
                project.id, project.name, project.path, str(archive), folder=with_folder
            )
            write_atomic(self._note, msgspec.json.encode(leaving))
            failpoint("removal.noted")
            return archive, self._delete(leaving)

    def recover(self) -> tuple[str, ...]:
        """End a removal that was killed after its archive was whole, and tell of it.

        Only what is in the archive as it lies there is deleted: one that somebody went on with
        since is given up, and all stays that is there.
        """
        if not self._note.exists():
            return ()
        with self._alone():
            leaving = self._read_note()
            project = Project(leaving.id, leaving.name, leaving.path)
            begun = f"the removal of {leaving.name}, killed before,"
            ensure_private_folder(self._state(project))
            try:
                claim = Claim(served_by(self._home, project).lock, leaving.name, serves=False)
            except Conflict:
                return (self._give_up(f"{begun} is given up: it is served", leaving),)
            try:
                if not holds(
                    Path(leaving.archive), self._parts(project, with_folder=leaving.folder)
                ):
                    return (self._give_up(f"{begun} is given up: it was used since", leaving),)
                return (f"{begun} is done: {leaving.archive}", *self._delete(leaving))
            finally:
                claim.release()

    def _read_note(self) -> _Leaving:
        try:
            return msgspec.json.decode(self._note.read_bytes(), type=_Leaving)
        except (OSError, msgspec.MsgspecError) as error:
            raise Broken(f"{self._note} cannot be used ({error})", "remove it") from error

    def _give_up(self, why: str, leaving: _Leaving) -> str:
        self._note.unlink()
        return f"{why}; what is there stays, what was is in {leaving.archive}"

    def _delete(self, leaving: _Leaving) -> tuple[str, ...]:
        """Delete what the archive holds, however often killed and begun again; tell what stays."""
        project = Project(leaving.id, leaving.name, leaving.path)
        with contextlib.suppress(AmiralError):
            self._projects.remove(project.id)
        failpoint("removal.unregistered")
        try:
            if leaving.folder:
                _remove_all(Path(project.path))
                deed = read_deed(self._state(project) / MADE)
                for folder in reversed(deed.folders if deed else ()):
                    remove_empty(Path(folder))
            else:
                self._clear_folder(project)
            failpoint("removal.cleared")
            cut = self._settings.cut(project.name)
            self._trust.forget_project(project)
            failpoint("removal.forgotten")
            beat = heartbeat_path(self._home, project.name, project.id)
            for path in (self._state(project), *self._logs(project), beat):
                _remove_all(path)
            remove_empty(self._log_folder / project.name)
        except OSError as error:
            raise cannot("delete", Path(error.filename or project.path), error) from error
        except RecursionError as error:
            raise Broken(
                f"{project.path} is too deep to be deleted", "remove it by hand"
            ) from error
        failpoint("removal.deleted")
        self._note.unlink()
        stays = f"{FILE} still speaks of {project.name}, in a line with other things: edit it"
        return () if cut.is_whole else (stays,)

    def _clear_folder(self, project: Project) -> None:
        """Remove from the project what we made and nobody has changed, below `.amiral` alone."""
        root = Path(project.path)
        inner = root / FOLDER
        if not inner.is_dir() or inner.is_symlink():
            return
        deed = read_deed(self._state(project) / MADE)
        made = [one for one in (deed.files if deed else ()) if one.file.startswith(f"{FOLDER}/")]
        for one in (*made, Made(f"{FOLDER}/.gitignore", IGNORED)):
            with contextlib.suppress(OSError):
                uproot(root, one.file, one.text)
        _remove_all(inner / "state")
        for name in ("config", "skills", ""):
            remove_empty(inner / name)

    async def _drop_worktrees(self, project: Project) -> None:
        """Have git forget our worktrees and branches; none of them holds anything."""
        worktrees = self._worktrees(project)
        if not Path(project.path).is_dir() or not await worktrees.is_git():
            return
        for name in self._named(project):
            worktree = await worktrees.find(name)
            if worktree is not None:
                if await worktrees.work.is_touched(worktree):
                    raise Conflict(f"{name} has work that is not merged", f"amiral diff {name}")
                await worktrees.discard(worktree)

    def _parts(self, project: Project, *, with_folder: bool) -> dict[str, Path]:
        root = Path(project.path)
        folder = {"project": root} if with_folder else {f"project/{FOLDER}": root / FOLDER}
        logs = {f"logs/{path.name}": path for path in self._logs(project)}
        beat = heartbeat_path(self._home, project.name, project.id)
        return {"state": self._state(project), **folder, **logs, beat.name: beat}

    def _record(self, project: Project) -> bytes:
        """Write down what stands in files that other projects share."""
        table = without_table(self._settings.text(), project.name, FILE).taken
        row = {"name": project.name, "id": project.id, "path": project.path}
        states = {
            file: self._trust.in_force(project, file).state for file in self._trusted(project)
        }
        told = {"registry": row, "settings": table, "trust": states}
        return msgspec.json.format(msgspec.json.encode(told), indent=2) + b"\n"

    def _trusted(self, project: Project) -> tuple[str, ...]:
        return self._trust.files(project) if Path(project.path).is_dir() else ()

    def _worktrees(self, project: Project) -> Worktrees:
        return Worktrees(self._git, Path(project.path), self._state(project) / "worktrees")

    def _named(self, project: Project) -> list[str]:
        folder = self._state(project) / "worktrees"
        return sorted(path.name.removesuffix(_ENDING) for path in folder.glob(f"*{_ENDING}"))

    def _logs(self, project: Project) -> list[Path]:
        return sorted(self._log_folder.rglob(f"{project.id}-*.jsonl"))

    def _state(self, project: Project) -> Path:
        return self._home / "projects" / project.id

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        ensure_private_folder(self._note.parent)
        with exclusive(self._note.parent / MADE):
            yield


def _remove_all(path: Path) -> None:
    """Remove a file or a folder with all below it, a link as a link, even if it locked us out."""
    if path.is_symlink() or path.is_file():
        path.unlink()
        return
    for folder, _, _ in os.walk(path):
        with contextlib.suppress(OSError):
            Path(folder).chmod(0o700)
    if path.exists():
        shutil.rmtree(path)
