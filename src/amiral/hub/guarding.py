"""Keeps the guard running: it must be there when the hub is not."""

import os
import signal
from pathlib import Path

from amiral.base.clock import Clock
from amiral.base.home import home_tag
from amiral.guard import guard_command
from amiral.hub.output import Output
from amiral.processes.spawn import Spawner, Stdio
from amiral.processes.tree import TAG_VARIABLE, send, tagged
from amiral.safety.pulse import FOLDER, pulse_of

_LOOK_S = 2.0


class Guarding:
    """Starts a guard where none runs; one that hangs is ended, so that another takes its place."""

    def __init__(self, home: Path, spawner: Spawner, clock: Clock) -> None:
        self._home, self._spawner, self._clock = home, spawner, clock
        self.output = Output(home / FOLDER / "guard.log")

    def is_guarded(self) -> bool:
        """Whether a guard runs and looks."""
        return pulse_of(str(self._home)).is_running

    async def run(self) -> None:
        """Look every two seconds."""
        while True:
            self._see()
            await self._clock.sleep(_LOOK_S)

    def end(self) -> None:
        """End the guard, unless agents still run that somebody may want to stop."""
        pulse = pulse_of(str(self._home))
        guard = pulse.process if pulse.is_held else None
        if guard is not None and not tagged(home_tag(str(self._home))):
            send(guard, signal.SIGTERM)

    def _see(self) -> None:
        pulse = pulse_of(str(self._home))
        if not pulse.is_held:
            self._start()
        elif pulse.process is not None and pulse.age_s is not None and not pulse.is_running:
            # What it names may be one that is dead, when another has the lock and no beat yet.
            send(pulse.process, signal.SIGKILL)

    def _start(self) -> None:
        env = {name: text for name, text in os.environ.items() if name != TAG_VARIABLE}
        env["AMIRAL_HOME"] = str(self._home)
        descriptor = self.output.open()
        try:
            stdio = Stdio(stdout=descriptor, stderr=descriptor)
            self._spawner.start(guard_command(), kind="own", env=env, cwd="/", stdio=stdio)
        finally:
            os.close(descriptor)
