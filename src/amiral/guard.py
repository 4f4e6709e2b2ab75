"""The independent stopper: what a stop says, it enforces, whatever else of amiral is dead or hangs.

`python -m amiral.guard` or `amiral guard`. Standard library only, no asyncio. Every
two seconds it reads the brake and kills, again and again, what lives in the scope of a stop, pauses
what lives in that of a freeze, and turns a flag file into a stop. A project's process is no agent:
it is not touched. A hub that is wanted and gone is started again.
"""

import contextlib
import os
import signal
import sys
import time

from amiral.base.home import home_folder, home_tag
from amiral.safety.ending import end, living
from amiral.safety.flag import Flag, flag_path, look_for_flag
from amiral.safety.freeze import let_go, pause
from amiral.safety.pulse import beat, pulse_of, take
from amiral.safety.reviving import Reviving
from amiral.safety.scope import Place, scope_at
from amiral.store.brake import Brake
from amiral.store.latch import ALL, Stop

LOOK_S = 2.0

_LONGEST_GRACE_S = 60.0
_SOURCES = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_CODE = "import sys; sys.path.append(sys.argv[1]); from amiral.guard import main; sys.exit(main())"


def guard_command() -> list[str]:
    """Give the argument list of a guard; its home and flag come by the environment.

    Whoever starts it must not give it a tag: what carries one is an agent.
    """
    return [sys.executable, "-I", "-S", "-X", "utf8", "-c", _CODE, _SOURCES]


class Guard:
    """One guard of one home; it keeps in memory only what it can do without."""

    def __init__(self, place: Place, flag: str) -> None:
        self.place = place
        self.told = "looks"
        self._brake = Brake(place.brake)
        self._flag = flag
        self._first_seen: dict[str, float] = {}
        self._planted: tuple[int, int, int] | None = None
        self._complained: tuple[int, int, int] | None = None
        self._reviving = Reviving(place.home)
        self._beats = 0

    def show(self) -> None:
        """Show that we live and look; a disk that refuses it keeps us from nothing."""
        self._beats += 1
        with contextlib.suppress(OSError):
            beat(self.place.home, self._beats, self.told)

    def look(self) -> None:
        """Look once at flag and brake, and do what they say."""
        flag = look_for_flag(self._flag)
        if flag is not None and flag.identity != self._planted:
            self._heed(flag)
        marks = self._brake.every()
        for mark in marks:
            self._obey(mark)
            # One that takes long must not make us look like one that hangs.
            self.show()
        known = {one.stop_id for one in marks}
        self._first_seen = {key: at for key, at in self._first_seen.items() if key in known}
        revived = self._reviving.look()
        if revived:
            self._tell(revived)

    def _heed(self, flag: Flag) -> None:
        if flag.why_not:
            if flag.identity != self._complained:
                self._complained = flag.identity
                self._tell(f"the flag {flag.path} does not count: {flag.why_not}")
            return
        try:
            stop = self._brake.engage(f"flag {flag.path}", "flag", time.time_ns() // 1_000_000)
        except OSError as error:
            # Nothing is kept, so at least nothing lives on; the flag stays, to be heeded again.
            self._tell(f"the flag is there and the brake cannot be latched: {error}")
            end(self.place, scope_at(self.place, ALL), self.show)
            return
        self._planted = flag.identity
        flag.remove()
        self._tell(f"⛔ the flag {flag.path} made {stop.name}: {stop.way_out}")

    def _obey(self, mark: Stop) -> None:
        """Enforce one; a fault about it must not save what another one is about."""
        try:
            if mark.is_freeze:
                self._keep(mark)
            elif self._is_due(mark):
                self._enforce(mark)
        except Exception as fault:  # noqa: BLE001 - the next look comes
            self._tell(f"✗ {mark.name}: {fault!r}")

    def _keep(self, freeze: Stop) -> None:
        """Pause what a freeze is about, and undo it when that was thawed meanwhile."""
        scope = scope_at(self.place, freeze.scope)
        pause(self.place, scope)
        if not self._holds(freeze):
            let_go(self.place, scope)

    def _holds(self, mark: Stop) -> bool:
        """Read the brake again: a person may have lifted it since this look began."""
        return any(one.stop_id == mark.stop_id for one in self._brake.every())

    def _is_due(self, stop: Stop) -> bool:
        """A stop may give its gentle levels some time, counted from when it was first seen."""
        since_s = self._first_seen.setdefault(stop.stop_id, time.monotonic())
        return time.monotonic() - since_s >= min(stop.grace_ms / 1000, _LONGEST_GRACE_S)

    def _enforce(self, stop: Stop) -> None:
        scope = scope_at(self.place, stop.scope)
        if not living(self.place, scope) or not self._holds(stop):
            return
        done = end(self.place, scope, self.show)
        if done.killed or done.survivors:
            count, left = len(done.killed), len(done.survivors)
            self._tell(f"⛔ {stop.name}: killed {count} processes, {left} processes left")

    def _tell(self, text: str) -> None:
        self.told = text
        print(text, flush=True)


def main() -> int:
    """Run until ended; 6 when another guard runs already."""
    home = home_folder()
    place = Place(home, home_tag(home))
    lock = take(home)
    if lock is None:
        print(f"✗ {pulse_of(home).text}", file=sys.stderr)
        return 6
    guard = Guard(place, os.path.abspath(flag_path()))
    # What was the beat of the one before us is no sign of ours.
    guard.show()
    # What we start lies in no folder of anybody's, and finds the same home from there.
    os.environ["AMIRAL_HOME"] = home
    os.chdir("/")
    ended: list[int] = []
    # What it starts outlives it or is reaped by the kernel.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for ending in (signal.SIGTERM, signal.SIGINT):
        signal.signal(ending, lambda number, _frame: ended.append(number))
    try:
        Brake(place.brake).prepare()
    except OSError as error:
        print(f"the brake cannot be prepared: {error}", file=sys.stderr)
    print(f"guard of {home}: looks every {LOOK_S:.0f} s", flush=True)
    while not ended:
        _round(guard)
        _rest(ended)
    os.close(lock)
    return 0


def _round(guard: Guard) -> None:
    try:
        guard.look()
        guard.show()
    except Exception as fault:  # noqa: BLE001 - whatever it was, the next look comes
        print(f"✗ {fault!r}", file=sys.stderr, flush=True)


def _rest(ended: list[int]) -> None:
    """Sleep in short pieces: a signal must not wait."""
    until = time.monotonic() + LOOK_S
    while not ended and (left_s := until - time.monotonic()) > 0:
        time.sleep(min(left_s, LOOK_S / 10))


if __name__ == "__main__":
    sys.exit(main())
