"""Makes a new project: all of it or nothing, whatever is killed, and nothing of others' touched."""

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from amiral.base.clock import Clock
from amiral.base.errors import AmiralError, Broken, Conflict, Invalid
from amiral.base.failpoint import failpoint
from amiral.base.ids import new_id
from amiral.base.plain import one_line
from amiral.projects import first_commit
from amiral.projects.deed import MADE, Deed, Made, read_deed, write_deed
from amiral.projects.git import Git
from amiral.projects.home_settings import FILE, HomeSettings
from amiral.projects.planting import holds, is_free, plant, remove_empty, uproot
from amiral.projects.project import Project, project_at, why_not_name, why_not_root
from amiral.projects.project_files import FOLDER, Found, read_file
from amiral.projects.settings_table import has_table, table_block
from amiral.projects.setup_plan import Plan
from amiral.projects.store import Projects
from amiral.projects.trust import State, Trust
from amiral.store.claim import exclusive
from amiral.store.files import ensure_private_folder


@dataclass(frozen=True)
class Outcome:
    """What was made, what was there already with other content and stays, what to know."""

    made: tuple[str, ...]
    kept: tuple[str, ...]
    notices: tuple[str, ...]


class Setup:
    """One home; two setups never run at once, so the second sees what the first has made."""

    def __init__(
        self, home: Path, user_home: Path, settings: HomeSettings, git: Git, clock: Clock
    ) -> None:
        self._home, self._user_home = home, user_home
        self._settings, self._git, self._clock = settings, git, clock
        self._projects, self._trust = Projects(home, user_home), Trust(home)
        self._deed = home / "config" / MADE

    def check(self, name: str, root: Path) -> None:
        """Raise Invalid or Conflict for a name or a real path that cannot be the project's."""
        why = why_not_name(name)
        if why:
            raise Invalid(f"a project cannot be called {one_line(name)!r}: {why}", "choose another")
        shown = one_line(str(root), 200)
        why = why_not_root(str(root), str(self._user_home.resolve()), str(self._home.resolve()))
        if why:
            raise Invalid(f"{shown} can be no project: {why}", "use a folder of its own")
        if not root.as_posix().isprintable():
            raise Invalid(f"{shown} can be no project: its path cannot be read", "rename it")
        in_the_way = next((one for one in (root, *root.parents) if os.path.lexists(one)), root)
        if not in_the_way.is_dir():
            raise Invalid(f"{one_line(str(in_the_way), 200)} is no folder", "choose another path")
        self._check_taken(name, str(root))

    async def carry_out(self, plan: Plan) -> Outcome:
        """Make what is not there yet; on any failure all that was made is taken away again."""
        with self._alone():
            notices = list(self._recover())
            project = plan.project
            self.check(project.name, Path(project.path))
            deed = self._intended(plan)
            kept = tuple(self._kept(plan, deed))
            if deed.is_empty:
                return Outcome((), kept, tuple(notices))
            write_deed(self._deed, deed)
            try:
                failpoint("setup.noted")
                await self._make(plan, deed)
            except BaseException:
                self._undo(read_deed(self._deed) or deed)
                raise
            self._deed.unlink()
        if deed.repository and project.path not in deed.folders:
            notices += await first_commit.left_out(self._git, Path(project.path))
        return Outcome(_shown(deed), kept, tuple(notices))

    def recover(self) -> tuple[str, ...]:
        """Settle what a killed setup has left, and tell what became of it."""
        if not self._deed.exists():
            return ()
        with self._alone():
            return self._recover()

    def _recover(self) -> tuple[str, ...]:
        deed = read_deed(self._deed)
        if deed is None:
            return ()
        if not deed.was_registered and self._registered(deed.path) is not None:
            # Its row is written last: all before it is there.
            self._deed.unlink()
            return (f"an earlier setup of {deed.name} was killed after its last step: it is whole",)
        self._undo(deed)
        return (f"an earlier setup of {deed.name} was killed: what it had made is taken back",)

    def _intended(self, plan: Plan) -> Deed:
        """Look at what is not there yet."""
        project, root = plan.project, Path(plan.project.path)
        files = tuple(Made(one.file, one.text) for one in plan.files if is_free(root, one.file))
        text = self._settings.text()
        block = (
            ""
            if has_table(text, project.name, FILE)
            else table_block(text, project.name, plan.settings)
        )
        wants = plan.makes_repository and not os.path.lexists(root / ".git")
        ours = [one for one in files if one.file.startswith(f"{FOLDER}/")]
        ours += [Made(one.file, one.text) for one in plan.files if holds(root, one.file, one.text)]
        return Deed(
            project.name,
            project.path,
            was_registered=self._registered(project.path) is not None,
            folders=tuple(_missing_folders(root, files)),
            files=files,
            repository=new_id(8) if wants else "",
            settings=block,
            trusted=tuple(self._untrusted(project, [one.file for one in ours])),
        )

    def _untrusted(self, project: Project, files: list[str]) -> Iterator[str]:
        """Name those of our files that need trust and have none; `.gitignore` is none of them."""
        for file in (name.removeprefix(f"{FOLDER}/") for name in dict.fromkeys(files)):
            needs = file.startswith(("config/", "skills/"))
            if needs and self._trust.in_force(project, file).state is not State.TRUSTED:
                yield file

    def _kept(self, plan: Plan, deed: Deed) -> Iterator[str]:
        root, new = Path(plan.project.path), {one.file for one in deed.files}
        for one in plan.files:
            if one.file not in new and not holds(root, one.file, one.text):
                yield one.file
        if not deed.settings and not self._says(plan):
            yield f"[projects.{plan.project.name}] of {FILE}"

    def _says(self, plan: Plan) -> bool:
        """Tell whether the settings say what this plan would have them say."""
        block = table_block("", plan.project.name, plan.settings)
        return block in self._settings.text()

    async def _make(self, plan: Plan, deed: Deed) -> None:
        root = Path(deed.path)
        try:
            for folder in deed.folders:
                Path(folder).mkdir(exist_ok=True)
            failpoint("setup.folders")
            for one in deed.files:
                plant(root, one.file, one.text)
                failpoint("setup.file")
        except OSError as error:
            what = f"{error.filename or root}: {os.strerror(error.errno or 0)}"
            raise Broken(f"{deed.name} cannot be set up: {what}", "nothing was changed") from error
        if deed.repository:
            deed = await self._make_repository(root, deed)
        if deed.settings:
            self._settings.add(deed.settings)
        failpoint("setup.settings")
        self._trust_files(plan.project, deed)
        failpoint("setup.trusted")
        made = self._state(plan.project) / MADE
        earlier = read_deed(made)
        write_deed(made, earlier.added(deed) if earlier else deed)
        failpoint("setup.kept")
        registered = self._projects.register(root, deed.name)
        if registered != plan.project:
            raise Conflict(f"{root} became the project {registered.name} meanwhile", "try again")
        failpoint("setup.registered")

    async def _make_repository(self, root: Path, deed: Deed) -> Deed:
        files = [one.file for one in deed.files]
        aside = await first_commit.make_aside(self._git, root, deed.repository, files)
        deed = replace(deed, contents=first_commit.contents(aside))
        write_deed(self._deed, deed)
        failpoint("setup.committed")
        first_commit.move_in(root, deed.repository)
        failpoint("setup.repository")
        return deed

    def _trust_files(self, project: Project, deed: Deed) -> None:
        for file in deed.trusted:
            found = read_file(Path(project.path), file)
            if isinstance(found, Found):
                self._trust.trust(project, file, found.sha256, self._clock.now_ms())

    def _undo(self, deed: Deed) -> None:
        """Take away what a setup made; what somebody has changed since stays theirs."""
        try:
            self._take_back(deed)
        except (OSError, AmiralError) as error:
            raise Broken(
                f"what was made of {deed.name} could not all be taken back: {error}",
                "the next `amiral project new` tries again",
            ) from error
        self._deed.unlink(missing_ok=True)

    def _take_back(self, deed: Deed) -> None:
        root, project = Path(deed.path), self._projects_own(deed)
        if not deed.was_registered:
            self._forget(deed, project)
        else:
            for file in deed.trusted:
                with contextlib.suppress(AmiralError):
                    self._trust.forget(project, file)
        self._settings.take(deed.settings)
        if root.is_dir():
            if deed.repository:
                first_commit.take_back(root, deed.repository, deed.contents)
            for one in reversed(deed.files):
                uproot(root, one.file, one.text)
        for folder in reversed(deed.folders):
            remove_empty(Path(folder))

    def _forget(self, deed: Deed, project: Project) -> None:
        if self._registered(deed.path) == project:
            self._projects.remove(project.id)
        self._trust.forget_project(project)
        state = self._state(project)
        (state / MADE).unlink(missing_ok=True)
        for copy in state.glob("trusted/*"):
            copy.unlink()
        remove_empty(state / "trusted")
        remove_empty(state)

    def _projects_own(self, deed: Deed) -> Project:
        return self._registered(deed.path) or _project_of(deed)

    def _registered(self, path: str) -> Project | None:
        return next((one for one in self._projects.all() if one.path == path), None)

    def _check_taken(self, name: str, path: str) -> None:
        there = self._registered(path)
        if there is not None and there.name != name:
            raise Conflict(f"{path} is the project {there.name} already", "use that name")
        taken = {one.name.casefold(): one for one in self._projects.all() if one.path != path}
        if name.casefold() in taken:
            other = taken[name.casefold()]
            raise Conflict(
                f"there is a project {other.name} at {other.path}", "choose another name"
            )

    def _state(self, project: Project) -> Path:
        return self._home / "projects" / project.id

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        for folder in (self._home, self._deed.parent):
            ensure_private_folder(folder)
        with exclusive(self._deed):
            yield


def _project_of(deed: Deed) -> Project:
    return project_at(deed.path, deed.name)


def _missing_folders(root: Path, files: tuple[Made, ...]) -> Iterator[str]:
    """Name the folders to make, outer ones first."""
    above = [one for one in (*reversed(root.parents), root) if not one.exists()]
    inner = {root / one.file.rpartition("/")[0] for one in files if "/" in one.file}
    wanted = {up for one in inner for up in (one, *one.parents) if root in up.parents}
    yield from (str(one) for one in above)
    yield from (str(one) for one in sorted(wanted) if not one.exists())


def _shown(deed: Deed) -> tuple[str, ...]:
    """Name what was made, for people."""
    folder = [f"{deed.path}/"] if deed.path in deed.folders else []
    repository = [".git/ with one commit"] if deed.repository else []
    settings = [f"[projects.{deed.name}] of {FILE}"] if deed.settings else []
    row = [] if deed.was_registered else ["the registry's row"]
    return (*folder, *(one.file for one in deed.files), *repository, *settings, *row)
