"""Start shims, and keep some ready: a fresh one costs the start of a Python interpreter."""

import asyncio
import signal
import socket
import sys
from collections.abc import Iterable
from pathlib import Path

import msgspec

from amiral.base.errors import AmiralError, Broken, Conflict, Invalid
from amiral.base.ids import new_id
from amiral.processes.answers import Launched, Order
from amiral.processes.cgroup import remove_cgroup
from amiral.processes.failpoint import inherited_failpoints
from amiral.processes.fence import Fence
from amiral.processes.link import ShimGone, ShimLink
from amiral.processes.shim.loop import SHIM_CODE
from amiral.processes.spawn import Spawner, Stdio
from amiral.processes.tree import Identity, Killed, identify, kill_tree, send

_SOURCES = Path(__file__).resolve().parents[2]
_LONGEST_PATH = 100
_BACKLOG = 512
_ANSWER_S = 20.0


def shim_command(socket_path: Path) -> list[str]:
    """Give the command of a shim; its stdin must be a socket listening at this path."""
    flags = ["-I", "-S", "-X", "utf8", "-c", SHIM_CODE]
    return [sys.executable, *flags, str(_SOURCES), str(socket_path)]


async def start_shim(spawner: Spawner, run_folder: Path, token: int) -> ShimLink:
    """Start a fresh shim with a socket of its own in the private `run_folder`, and connect.

    It outlives us once it has launched something. Conflict when a stop is in force.
    """
    path = run_folder.resolve() / f"{new_id()}.sock"
    if len(bytes(path)) > _LONGEST_PATH:
        raise Invalid(f"{path} is too long for a socket", "choose a shorter AMIRAL_HOME")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        try:
            path.chmod(0o600)
            listener.listen(_BACKLOG)
            return await _connected(spawner, listener, path, token)
        except BaseException:
            path.unlink(missing_ok=True)
            raise


def _request(order: Order) -> dict[str, object]:
    fields: dict[str, object] = msgspec.to_builtins(order, enc_hook=Fence.as_json)
    if order.fence is None:
        del fields["fence"]
    return fields


async def _connected(spawner: Spawner, listener: socket.socket, path: Path, token: int) -> ShimLink:
    shim = spawner.start(
        shim_command(path),
        kind="shim",
        env=inherited_failpoints(),
        cwd="/",
        stdio=Stdio(stdin=listener.fileno()),
    )
    # From here on the shim's is the only copy: if it dies, connecting fails instead of hanging.
    listener.close()
    try:
        async with asyncio.timeout(_ANSWER_S):
            return await ShimLink.connect(path, token)
    except TimeoutError:
        shim.kill()
        raise Broken("a fresh shim did not answer in time", "is the machine overloaded?") from None
    except BaseException:
        shim.kill()
        raise


class ShimPool:
    """Idle shims, ready to launch; they end with this process and obey the brake like agents.

    `patience_s`: how long one may take to launch.
    """

    def __init__(
        self,
        spawner: Spawner,
        run_folder: Path,
        token: int,
        size: int,
        patience_s: float = _ANSWER_S,
    ) -> None:
        self._spawner = spawner
        self._run_folder = run_folder
        self._token = token
        self._size = size
        self._patience_s = patience_s
        self._ready: list[ShimLink] = []
        self._filling: asyncio.Task[None] | None = None

    @property
    def spawner(self) -> Spawner:
        """What starts them."""
        return self._spawner

    @property
    def run_folder(self) -> Path:
        """The private folder of their sockets."""
        return self._run_folder

    @property
    def ready(self) -> int:
        """How many wait."""
        return sum(not link.is_lost for link in self._ready)

    async def take(self) -> ShimLink:
        """Take a ready shim, else start one; another is made ready once it has launched."""
        self._spawner.check("shim")
        self._ready = [link for link in self._ready if not link.is_lost]
        return self._ready.pop() if self._ready else await self._start()

    async def fill(self) -> None:
        """Make shims ready until there are as many as wanted."""
        while self.ready < self._size:
            self._ready.append(await self._start())

    async def launch(self, link: ShimLink, order: Order, worker: str = "") -> Launched:
        """Start a CLI of a worker under this shim, unless a stop forbids it (Conflict).

        NotFound, Denied or Broken when it cannot start; the shim can be asked again then. Denied
        also when its fence cannot be put up: it never ran then.
        """
        self._spawner.check("agent", worker)
        try:
            async with asyncio.timeout(self._patience_s):
                answer = await link.request("launch", **_request(order))
        except TimeoutError:
            # Let go, it might launch after all, when nobody expects that any more.
            if shim := identify(link.hello.pid):
                send(shim, signal.SIGKILL)
            link.close()
            raise ShimGone("a shim did not launch in time", "is the machine overloaded?") from None
        # A stop between the check and the launch may not have seen this CLI yet.
        try:
            self._spawner.check("agent", worker)
        except Conflict:
            await link.kill()
            raise
        if self._filling is None or self._filling.done():
            self._filling = asyncio.create_task(self._refill())
        return msgspec.convert(answer, Launched)

    async def kill_tree(
        self, tag: str, roots: Iterable[Identity], cgroup: str | None, deadline_s: float
    ) -> Killed:
        """Kill what a dead shim left and remove its cgroup, off the loop."""
        killed = await asyncio.to_thread(kill_tree, tuple(roots), tag, cgroup, deadline_s)
        remove_cgroup(cgroup)
        return killed

    async def close(self) -> None:
        """End those that wait."""
        if self._filling is not None:
            self._filling.cancel()
            await asyncio.wait([self._filling])
        ready, self._ready = self._ready, []
        for link in ready:
            link.close()

    async def _start(self) -> ShimLink:
        return await start_shim(self._spawner, self._run_folder, self._token)

    async def _refill(self) -> None:
        try:
            await self.fill()
        except AmiralError:
            # Whoever takes the next one is told why none can be started.
            return
