"""Stop, release, freeze and thaw, asked through a running project process (chat, page)."""

import asyncio

from amiral.commands.registry import Caller, Reply, command
from amiral.safety.freeze import freeze, thaw
from amiral.safety.report import (
    frozen_text,
    paused_data,
    released_data,
    released_text,
    report_data,
    report_text,
    thawed_text,
)
from amiral.safety.scope import Place
from amiral.safety.stop import GRACE_S, KILL, Order, release, stop_agents


class SafetyCommands:
    """The same stop as the terminal's, which needs no process of ours.

    `grace_s` is given to each gentle level.
    """

    def __init__(self, place: Place, grace_s: float = GRACE_S) -> None:
        self._place, self._grace_s = place, grace_s

    @command("emergency-stop")
    async def emergency_stop(self, caller: Caller, scope: str = "", level: int = KILL) -> Reply:
        """Stop every agent, or those of a scope, and start none until released."""
        reason = f"asked on {caller.surface}"
        order = Order(scope, reason, caller.id, level=level, grace_s=self._grace_s)
        report = await asyncio.to_thread(stop_agents, self._place, order)
        code = 0 if report.survivors == 0 else 1
        return Reply(report_text(report), report_data(report), code)

    @command("release")
    async def release(self, caller: Caller, stop_id: str) -> Reply:
        """Lift a stop by naming it."""
        del caller
        released = release(self._place, stop_id)
        return Reply(released_text(released), released_data(released))

    @command("freeze")
    async def freeze(self, caller: Caller, scope: str = "") -> Reply:
        """Pause every agent, or those of a scope, and start none until thawed."""
        reason = f"asked on {caller.surface}"
        paused = await asyncio.to_thread(freeze, self._place, scope, reason, caller.id)
        return Reply(frozen_text(paused), paused_data(paused), 1 if paused.running else 0)

    @command("thaw")
    async def thaw(self, caller: Caller, scope: str = "") -> Reply:
        """Let what a freeze holds go on."""
        del caller
        paused = await asyncio.to_thread(thaw, self._place, scope)
        return Reply(thawed_text(paused), paused_data(paused))
