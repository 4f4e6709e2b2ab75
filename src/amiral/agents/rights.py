"""What a worker may do, and how much of it the kernel holds: decided anew before each launch."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from amiral.agents.covers import BWRAP
from amiral.agents.declared import Rules
from amiral.agents.fencing import Bounds, Fencing, Footing, Right
from amiral.agents.grants import places_of
from amiral.agents.worker import Worker
from amiral.base.errors import Denied
from amiral.base.settings import Sandbox
from amiral.permissions.policy import parse_own
from amiral.permissions.projection import Enforcement
from amiral.permissions.rules import Permissions, Posture, Resolved, resolve
from amiral.processes import fence as kernel
from amiral.processes.probe import Probed


class Rights:
    """`rules` gives what is in force now; `probe` tries once what this machine holds.

    `home` is amiral's own: no agent's. `warn` tells the owner.
    """

    def __init__(
        self,
        rules: Callable[[], Rules],
        sandbox: Sandbox,
        probe: Callable[[], Awaitable[Probed]],
        home: Path,
        warn: Callable[[str], Awaitable[None]],
    ) -> None:
        self._rules, self._sandbox, self._probe = rules, sandbox, probe
        self._warn, self._warned = warn, ""
        self._fencing = Fencing(sandbox, home)
        self._probed: Probed | None = None

    def permissions(self, worker: Worker) -> Permissions | None:
        """Give a worker's permissions; Denied while the file in force is wrong."""
        return self._resolved(worker).permissions

    async def of(self, worker: Worker) -> Right:
        """Decide for a worker; Denied when what must be denied cannot be held here."""
        resolved = self._resolved(worker)
        permissions, is_closed = resolved.permissions, self._sandbox.network != "open"
        if permissions is None and not is_closed:
            return Right()
        held, why = await self._held()
        if held is Enforcement.NONE:
            self._refuse(worker, resolved, why)
            await self._tell(why)
        if permissions is None:
            return Right(enforcement=held)
        return Right(permissions, held)

    def compile(self, right: Right, footing: Footing) -> Bounds:
        """Compile what a program is started behind, of the project as it stands now."""
        return self._fencing.compile(right, footing)

    async def around(self, worker: Worker, root: Path, tmp: Path, program: str) -> Bounds:
        """Compile what a program of the project is started behind in a worker's worktree.

        Nobody can be asked while it runs.
        """
        right = await self.of(worker)
        programs = places_of(program) if program else ()
        ports = None if self._sandbox.network == "open" else ()
        footing = Footing(root, (tmp,), programs, is_worktree=True, ports=ports)
        return await asyncio.to_thread(self.compile, right, footing)

    def _resolved(self, worker: Worker) -> Resolved:
        rules = self._rules()
        if rules.errors:
            raise Denied(f"nobody may start: {rules.errors[0]}", rules.mend)
        text = worker.permissions
        own = parse_own(text, f"permissions of {worker.id}") if text else None
        return resolve(rules.policy, worker.id, worker.tools, own)

    async def _tell(self, why: str) -> None:
        """Tell once that permissions are in the hands of the CLIs alone (R49)."""
        if why != self._warned:
            self._warned = why
            await self._warn(f"only the CLIs themselves hold permissions here: {why}")

    def _refuse(self, worker: Worker, resolved: Resolved, why: str) -> None:
        """Start nobody whose limits only the kernel could hold, where it does not."""
        default = resolved.permissions.default if resolved.permissions else None
        if self._sandbox.network != "open":
            limit = f"{worker.id} has no open network"
        elif default is not None and self._sandbox.enforcer == BWRAP:
            limit = f'{worker.id} has permissions, and [sandbox] enforcer is "{BWRAP}"'
        elif default is Posture.DENY and resolved.is_configured:
            limit = f"{worker.id} is denied by default"
        else:
            return
        raise Denied(f"{limit}, which nothing can hold here: {why}", "amiral permissions probe")

    async def _held(self) -> tuple[Enforcement, str]:
        if self._sandbox.enforcer == "none":
            return Enforcement.NONE, '[sandbox] enforcer is "none"'
        found = self._probed or await self._probe()
        if found.status != "none" or found.abi < kernel.LEAST_ABI:
            # A trial that could not be made proves nothing: it is made again.
            self._probed = found
        return Enforcement(found.status), "; ".join(found.reasons)
