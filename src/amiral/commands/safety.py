"""Stop and release, asked through a running project process (chat, page)."""

import asyncio

from amiral.commands.registry import Caller, Reply, command
from amiral.safety.stop import Place, release, report_data, report_text, stop_everything


class SafetyCommands:
    """The same stop as the terminal's, which needs no process of ours."""

    def __init__(self, place: Place) -> None:
        self._place = place

    @command("emergency-stop")
    async def emergency_stop(self, caller: Caller, scope: str = "", level: int = 3) -> Reply:
        """Stop every agent and start none until released."""
        del level
        report = await asyncio.to_thread(
            stop_everything, self._place, scope, f"asked on {caller.surface}", caller.id
        )
        code = 0 if report.survivors == 0 else 1
        return Reply(report_text(report), report_data(report), code)

    @command("release")
    async def release(self, caller: Caller, stop_id: str) -> Reply:
        """Lift a stop by naming it."""
        del caller
        release(self._place, stop_id)
        return Reply(f"✓ released stop {stop_id}", {"stop_id": stop_id, "released": True})
