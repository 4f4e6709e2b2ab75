"""One program in a terminal: a private tmux server under a shim, found again and ended.

The server is amiral's alone: its socket lies in a private folder, it reads no configuration, and
clients name exactly one session (R27). Nothing of ours types in there: a person does, attached.
Behind a fence there are two stages (S4): the server may have terminals and its own socket beside
what the fence grants, and whatever it starts goes behind the whole fence before it begins.
"""

import asyncio
import contextlib
import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from amiral.base.clock import Clock
from amiral.base.errors import AmiralError, Broken, NotFound
from amiral.base.ids import digest, folder_name
from amiral.base.plain import one_line
from amiral.processes.answers import Order
from amiral.processes.box import LAUNCHER, launcher
from amiral.processes.fence import DELETE, DEVICE, EXECUTE, READ, WRITE, Fence
from amiral.processes.pool import ShimPool
from amiral.processes.session_files import Meta, read_exit, read_meta
from amiral.processes.spawn import Spawner, base_environment
from amiral.processes.tree import is_alive, tagged
from amiral.store.files import ensure_private_folder, write_atomic

INSTALL = "install the package `tmux` (apt-get install tmux, brew install tmux)"

_ANSWER_S = 10.0
_GRACE_S = 2.0
_KILL_DEADLINE_S = 10.0
_LOOK_S = 0.01
_LONGEST_WHY = 200
_SHELL = "/bin/sh"
_ENTER = 'unset TMUX TMUX_PANE; export HOME="$0"; exec "$@"'
_SIZE = ("-x", "200", "-y", "50")
_UTF_8 = re.compile(r"utf-?8", re.IGNORECASE)
_NOT_THE_SERVER_S = ("TMUX", "TERMINFO")
_TERMINALS = ("/dev/ptmx", "/dev/pts")
_SOURCES = str(Path(LAUNCHER).parents[2])


@dataclass(frozen=True)
class Host:
    """What all terminals of a project use; `run` is the private folder of its sockets."""

    spawner: Spawner
    shims: ShimPool
    clock: Clock
    run: Path


@dataclass(frozen=True)
class Stage:
    """A program for a terminal: nothing is looked up or guessed after this."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: str
    fence: Fence | None = None


class Terminal:
    """The terminal of one worker, open or not: `folder` is its session's, `tag` all it starts has.

    It outlives the process that opened it: whether it is there is told by files and the kernel.
    """

    def __init__(self, host: Host, worker: str, folder: Path, tag: str) -> None:
        self._host, self._worker, self._folder, self._tag = host, worker, folder, tag
        self.name = folder_name(folder.name, tag)
        self._place = host.run / digest(tag)
        self._socket = str(self._place / "s")

    @property
    def is_open(self) -> bool:
        """Whether its server lives."""
        try:
            meta = read_meta(self._folder)
            return meta is not None and read_exit(self._folder) is None and is_alive(meta.cli)
        except Broken:
            return bool(tagged(self._tag))

    @property
    def attach(self) -> str:
        """Give the command by which a person gets to see it, from another tmux too."""
        return f"TMUX= tmux -N -u -S {shlex.quote(self._socket)} attach -t '={self.name}'"

    async def open(self, stage: Stage) -> None:
        """Start the program in a new terminal; nothing is left of it when that fails.

        NotFound without tmux, Conflict while a stop or a freeze is on, Denied when the fence cannot
        be put up.
        """
        program = tmux_program()
        self._host.spawner.check("agent", self._worker)
        await self.close()
        try:
            entered = self._prepare(stage)
            await self._serve(program, stage)
            await self._configure(shlex.join((*entered, _SHELL)))
            words = [*_SIZE, "--", *map(_word, (*entered, *stage.argv))]
            await self._tell("new-session", "-d", "-E", "-s", self.name, *words, stage=stage)
            await self._tell("has-session", "-t", f"={self.name}")
            await self._tell("set-option", "-s", "exit-empty", "on")
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """End it with all that was started there; Broken while anything of it survives."""
        if self.is_open:
            with contextlib.suppress(AmiralError):
                await self._tell("kill-server")
                await self._until(lambda: not self.is_open, _GRACE_S)
        if not (self._folder.exists() or self._place.exists()):
            return
        meta = self._meta()
        roots, cgroup = ([meta.shim, meta.cli], meta.cgroup) if meta else ([], None)
        kill = self._host.shims.kill_tree
        killed = await kill(self._tag, roots, cgroup, _KILL_DEADLINE_S)
        if killed.survivors:
            pids = ", ".join(str(one.pid) for one in killed.survivors)
            raise Broken(f"processes {pids} of {self._worker}'s terminal survive being killed")
        for folder in (self._folder, self._place):
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)

    def _meta(self) -> Meta | None:
        try:
            return read_meta(self._folder)
        except Broken:
            return None

    def _prepare(self, stage: Stage) -> tuple[str, ...]:
        """Make the private folders; gives the words before a program that is to run in there."""
        for folder in (self._folder, self._place):
            ensure_private_folder(folder)
        write_atomic(self._folder / "worker", self._worker)
        words = (_SHELL, "-c", _ENTER, stage.env.get("HOME", "/"))
        if stage.fence is None:
            return words
        file = self._place / "fence"
        write_atomic(file, json.dumps(stage.fence.as_json()))
        return tuple(launcher(str(file), words))

    async def _serve(self, program: str, stage: Stage) -> None:
        """Start the server, as a CLI is started; it lives on without us."""
        kept = {k: v for k, v in stage.env.items() if not k.startswith(_NOT_THE_SERVER_S)}
        # Else it would read what describes the person's terminal where the worker can write.
        env = {**kept, **_speaking_utf_8(kept), "HOME": str(self._place)}
        order = Order(
            self._folder.name,
            str(self._folder),
            (program, "-D", "-u", "-f", os.devnull, "-S", self._socket),
            env,
            stage.cwd,
            self._tag,
            stage.fence and _around(stage.fence, self._place, program),
        )
        link = await self._host.shims.take()
        try:
            await self._host.shims.launch(link, order, self._worker)
        finally:
            link.close()

    async def _configure(self, shell: str) -> None:
        """Wait for the server; what a person opens there begins with `shell`, as the first does."""
        by_s = self._host.clock.monotonic_s() + _ANSWER_S
        while True:
            try:
                await self._tell("set-option", "-g", "default-command", shell)
                break
            except Broken:
                if not self.is_open or self._host.clock.monotonic_s() > by_s:
                    raise
                await self._host.clock.sleep(_LOOK_S)
        await self._tell("set-option", "-g", "update-environment", "")

    async def _tell(self, *words: str, stage: Stage | None = None) -> None:
        """Be a client of the server, never its beginning."""
        path = {"PATH": stage.env["PATH"]} if stage and "PATH" in stage.env else {}
        ran = await self._host.spawner.run(
            (tmux_program(), "-N", "-u", "-S", self._socket, *words),
            kind="own",
            env={**base_environment(), **path},
            cwd=stage.cwd if stage else "/",
            timeout_s=_ANSWER_S,
        )
        if ran.code != 0 or ran.timed_out:
            said = one_line(ran.err.decode("utf-8", "replace"), _LONGEST_WHY)
            why = said or "it does not answer"
            raise Broken(f"the terminal of {self._worker} ({words[0]}): {why}", "amiral status")

    async def _until(self, holds: Callable[[], bool], seconds: float) -> None:
        by_s = self._host.clock.monotonic_s() + seconds
        while not holds() and self._host.clock.monotonic_s() < by_s:
            await self._host.clock.sleep(_LOOK_S)


def tmux_program() -> str:
    """Find tmux; NotFound names the package."""
    found = shutil.which("tmux")
    if found is None:
        raise NotFound("terminals of workers need tmux, and there is none here", INSTALL)
    return str(Path(found).absolute())


def _around(fence: Fence, place: Path, program: str) -> Fence:
    """Give the fence of a server: what the program's grants, and what it takes to start that."""
    run = READ | EXECUTE
    python = (sys.prefix, sys.base_prefix, str(Path(sys.executable).parent), _SOURCES)
    mine = [(path, run) for path in (*python, program)]
    mine += [(path, READ | WRITE | DEVICE) for path in _TERMINALS]
    mine += [(str(place), READ | WRITE | DELETE)]
    more = tuple((os.path.realpath(path), bits) for path, bits in mine)
    return Fence(
        (*fence.grants, *more),
        fence.fenced,
        fence.ports,
        fence.root,
        fence.covers,
        has_unix=True,
    )


def _word(text: str) -> str:
    """Keep tmux from taking a last `;` for the end of its command (R27)."""
    return f"{text[:-1]}\\;" if text.endswith(";") else text


def _speaking_utf_8(env: Mapping[str, str]) -> Mapping[str, str]:
    """Force UTF-8 where the language of the environment has another encoding, or none."""
    spoken = next((env[name] for name in ("LC_ALL", "LC_CTYPE", "LANG") if env.get(name)), "")
    return {} if _UTF_8.search(spoken) else {"LC_ALL": "C.UTF-8"}
