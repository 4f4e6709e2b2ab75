# ruff: noqa: PTH103, PTH110, TID251
"""What a shim is asked: the requests of docs/reference/sessions.md, who may make them, the answers.

Standard library only.
"""

import os
import signal
import time
from collections.abc import Callable

from amiral.processes import tree
from amiral.processes.failpoint import reach
from amiral.processes.fence import Fence
from amiral.processes.shim import launch
from amiral.processes.shim.durable import remove, write_json
from amiral.processes.shim.feed import Answer
from amiral.processes.shim.program import Files, Program
from amiral.processes.shim.wire import Connection, Refusal, number_of, parse, text_of, texts_of

PROTOCOL = 1
_HOLD_AFTER_S = 0.05
_SIGNALS = {name: getattr(signal, "SIG" + name) for name in ("INT", "TERM", "KILL", "STOP", "CONT")}
_FILES = ("meta.json", "in.jsonl", "out.000001", "err")

Request = dict[str, object]


class Requests:
    """All connections, the largest token seen and the CLI once it is launched."""

    def __init__(self, socket_path: str) -> None:
        self.connections: list[Connection] = []
        self.program: Program | None = None
        self.is_unwanted = False
        self._socket_path = socket_path
        self._token = -1
        self._had_owner = False
        self._tag = os.environ.get(tree.TAG_VARIABLE, "")
        self._held: launch.Held | None = None
        self._hold_at: float | None = None
        self._readers: dict[str, Callable[[Request], Request]] = {"input_state": self._input_state}
        self._writers: dict[str, Callable[[Request], Request]] = {
            "launch": self._launch,
            "close": self._close,
            "signal": self._signal,
            "kill": self._kill,
            "drop": self._drop,
            "retire": self._retire,
        }

    def serve(self, one: Connection) -> None:
        """Send what waits, read what came, answer it."""
        one.flush()
        for line in one.receive() if one.is_open else ():
            request: Request = {}
            try:
                request = parse(line)
                self._dispatch(one, request)
            except Refusal as refusal:
                _respond(one, request, refusal)
            except OSError as error:
                _respond(one, request, Refusal("failed", str(error)))

    def turn_away(self, one: Connection, reason: str) -> None:
        """Refuse a connection as a whole."""
        _respond(one, {}, Refusal("denied", reason))
        one.close()

    def tell(self, notice: Request) -> None:
        """Give a notice to everybody who has said hello."""
        for one in self.connections:
            if one.token is not None:
                one.send(notice)

    def hold_at(self) -> float | None:
        """Tell when an idle shim should fork its child ahead (monotonic seconds), if at all."""
        return self._hold_at

    def let_go(self) -> None:
        """End a child that was forked ahead and is not wanted."""
        held, self._held, self._hold_at = self._held, None, None
        if held is not None:
            launch.abandon(held)

    def tend(self) -> None:
        """Forget who left and tell the others how far the output is; have a child ready."""
        self._hold_ahead()
        self.connections = [one for one in self.connections if one.is_open]
        if self._had_owner and not self.connections:
            self.is_unwanted = True
        if self.program is None:
            return
        position = self.program.out.position
        for one in self.connections:
            if one.token is not None and one.told != position and not one.has_unsent:
                one.told = position
                one.send({"notice": "out", "at": position})

    def _dispatch(self, one: Connection, request: Request) -> None:
        op = text_of(request, "op")
        if op == "hello":
            _respond(one, request, self._hello(one, request))
            return
        if one.token is None:
            raise Refusal("denied", "say hello first")
        if op in self._readers:
            _respond(one, request, self._readers[op](request))
            return
        if op != "input" and op not in self._writers:
            raise Refusal("invalid", f"{op} is no request; known: {', '.join(self._known())}")
        if one.token < self._token:
            raise Refusal("denied", f"fenced: the owner with token {self._token} took over")
        if op == "input":
            self._input(request, lambda result: _respond(one, request, result))
        else:
            _respond(one, request, self._writers[op](request))

    def _known(self) -> list[str]:
        return ["hello", "input", *self._readers, *self._writers]

    def _hello(self, one: Connection, request: Request) -> Request:
        if number_of(request, "protocol") != PROTOCOL:
            raise Refusal("invalid", f"this shim speaks protocol {PROTOCOL}")
        one.token = number_of(request, "token")
        if not self._had_owner and self._tag:
            self._hold_at = time.monotonic() + _HOLD_AFTER_S
        self._had_owner = True
        if one.token > self._token:
            self._fence(one.token)
        program = self.program
        one.told = program.out.position if program else (1, 0)
        return {
            "protocol": PROTOCOL,
            "pid": os.getpid(),
            "session": program.session if program else None,
            "state": "idle" if program is None else "ended" if program.is_over else "running",
            "writer": one.token == self._token,
            "token": self._token,
            "out": one.told if program else None,
            "exit": program.exit if program else None,
        }

    def _fence(self, token: int) -> None:
        fenced = [one for one in self.connections if one.token == self._token]
        self._token = token
        for one in fenced:
            one.send({"notice": "fenced", "token": token})

    def _hold_ahead(self) -> None:
        if self._hold_at is None or time.monotonic() < self._hold_at:
            return
        self._hold_at = None
        if self.program is None:
            try:
                self._held = launch.hold(f"{self._tag}:{os.getpid()}")
            except OSError:
                # Whoever launches is told when there is still no room.
                return

    def _take_held(self, tag: str) -> launch.Held:
        """Give the child that was forked ahead, when there is one and it lives."""
        if self._held is not None and not tree.is_alive(self._held.identity):
            self.let_go()
        held, self._held, self._hold_at = self._held, None, None
        return held or launch.hold(tag)

    def _launch(self, request: Request) -> Request:
        if self.program is not None:
            raise Refusal("conflict", f"session {self.program.session} was launched here already")
        session, folder = text_of(request, "session"), text_of(request, "dir")
        plan = launch.Plan(
            texts_of(request, "argv"),
            _environment(request),
            text_of(request, "cwd"),
            text_of(request, "tag"),
            _fence(request),
        )
        files = _create_files(folder)
        try:
            held = self._take_held(plan.tag)
            self._record(session, folder, plan, held)
            launch.release(held, plan)
        except (OSError, Refusal):
            _discard(files)
            raise
        reach("shim.launched")
        self.program = Program(held, files, session, plan.tag, self.tell)
        return {"pid": held.identity.pid, "start": held.identity.start, "cgroup": held.cgroup}

    def _record(self, session: str, folder: str, plan: launch.Plan, held: launch.Held) -> None:
        shim = tree.identify(os.getpid())
        meta: Request = {
            "protocol": PROTOCOL,
            "session": session,
            "tag": plan.tag,
            "socket": self._socket_path,
            "boot_id": held.identity.boot_id,
            "shim": {"pid": os.getpid(), "start": shim.start if shim else 0},
            "cli": {"pid": held.identity.pid, "start": held.identity.start},
            "cgroup": held.cgroup,
            "argv0": plan.argv[0],
            "cwd": plan.cwd,
            "launched_ms": time.time_ns() // 1_000_000,
        }
        try:
            write_json(folder, "meta.json", meta)
        except OSError:
            launch.abandon(held)
            raise
        reach("shim.recorded")

    def _input(self, request: Request, answer: Answer) -> None:
        self._running().feed.accept(text_of(request, "id"), text_of(request, "data"), answer)

    def _input_state(self, request: Request) -> Request:
        key = text_of(request, "id")
        state = self.program.feed.state_of(key) if self.program else "unknown"
        return {"id": key, "state": state}

    def _close(self, _request: Request) -> Request:
        self._running().feed.close()
        return {}

    def _signal(self, request: Request) -> Request:
        name, target = text_of(request, "name"), text_of(request, "target")
        if name not in _SIGNALS or target not in ("cli", "tree"):
            raise Refusal("invalid", f"name is one of {', '.join(_SIGNALS)}, target cli or tree")
        self._running().signal(_SIGNALS[name], is_for_tree=target == "tree")
        return {}

    def _kill(self, _request: Request) -> Request:
        return {"survivors": self.program.kill() if self.program else 0}

    def _drop(self, request: Request) -> Request:
        self._running().out.drop(number_of(request, "segment"))
        return {}

    def _retire(self, _request: Request) -> Request:
        if self.program is not None:
            raise Refusal("conflict", "a launched shim ends with its CLI: kill or close it")
        self.is_unwanted = True
        return {}

    def _running(self) -> Program:
        if self.program is None:
            raise Refusal("conflict", "nothing was launched yet")
        return self.program


def _respond(one: Connection, request: Request, result: Request | Refusal) -> None:
    n = request.get("n")
    if isinstance(result, Refusal):
        one.send({"n": n, "ok": False, "error": result.kind, "message": result.message})
    else:
        one.send({"n": n, "ok": True, **result})


def _environment(request: Request) -> dict[str, str]:
    env = request.get("env")
    if not isinstance(env, dict) or not all(isinstance(value, str) for value in env.values()):
        raise Refusal("invalid", "env must be an object of texts")
    return {**env, tree.TAG_VARIABLE: text_of(request, "tag")}


def _fence(request: Request) -> Fence | None:
    told = request.get("fence")
    try:
        return None if told is None else Fence.from_json(told)
    except ValueError as error:
        raise Refusal("invalid", f"fence: {error}") from error


def _create_files(folder: str) -> Files:
    os.makedirs(folder, 0o700, exist_ok=True)
    if os.path.exists(f"{folder}/meta.json"):
        raise Refusal("conflict", f"{folder} belongs to an earlier launch")
    _remove_files(folder)
    return Files(folder)


def _discard(files: Files) -> None:
    files.close()
    _remove_files(files.folder)


def _remove_files(folder: str) -> None:
    for name in _FILES:
        remove(f"{folder}/{name}")
