"""Many process trees at once: found by their tags, roots and cgroups in one look, ended or paused.

Standard library only.
"""

import os
import signal
import time
from collections.abc import Iterable

from amiral.processes import cgroup, tree
from amiral.processes.proc import HAS_PROC, look, processes_now
from amiral.processes.tree import Identity, Killed

_ROUNDS = 20
_EMPTY_LOOKS = 2
# How long the kernel may take to bring to rest what was told to stop.
_SETTLE_S = 0.5
_LOOK_S = 0.005


class Grove:
    """What is below these roots, carries one of these tags or one below it, or is in these cgroups.

    `spared` are left alone, what is below them is not. `met` tells afterwards of each pid that
    carried a tag that tag, and the name of its program.
    """

    def __init__(
        self,
        wanted: Iterable[str],
        roots: Iterable[Identity] = (),
        groups: Iterable[str] = (),
        spared: Iterable[Identity] = (),
    ) -> None:
        self._wanted, self._roots = tuple(wanted), tuple(roots)
        self._spared = frozenset(spared)
        self.groups = tuple(groups)
        self.met: dict[int, tuple[str, bytes]] = {}
        self._enclosed: set[int] = set()

    def living(self) -> set[Identity]:
        """Look once; this process is never among them."""
        if not HAS_PROC:
            return {root for root in self._roots if tree.is_alive(root)} - self._spared
        processes = processes_now()
        found: set[int] = set()
        for pid, seen in processes.items():
            tag = tree.tag_of(pid)
            if any(tree.is_under(tag, one) for one in self._wanted):
                self.met[pid] = (tag, seen.name)
                found.add(pid)
        peopled = (one for one in self.groups if cgroup.is_populated(one))
        self._enclosed = {pid for one in peopled for pid in cgroup.cgroup_members(one)}
        found |= self._enclosed
        for root in self._roots:
            there = processes.get(root.pid)
            if there is not None and tree.is_same(root, there):
                found.add(root.pid)
                found |= {p.pid for p in processes.values() if root.pid in (p.group, p.session)}
        found |= tree.below(found, processes)
        return set(tree.named(found - {os.getpid()}, processes)) - self._spared

    def kill(self, deadline_s: float) -> Killed:
        """Kill all of it until it is proved empty, or the deadline (seconds) passes."""
        began, met, empty = time.monotonic(), set[Identity](), 0
        while empty < _EMPTY_LOOKS and time.monotonic() - began < deadline_s:
            found = self._strike()
            tree.wait_dead(found, began + deadline_s)
            met |= found
            empty = 0 if found else empty + 1
        survivors = self.living() if empty < _EMPTY_LOOKS else set()
        for group in self.groups:
            cgroup.remove_cgroup(group)
        took_ms = round((time.monotonic() - began) * 1000)
        return Killed(met - survivors, survivors, took_ms)

    def _strike(self) -> set[Identity]:
        """Kill what lives now: the cgroups by the kernel, at once; the rest when all is frozen."""
        frozen: set[Identity] = set()
        enclosed: set[Identity] = set()
        for _ in range(_ROUNDS):
            living = self.living()
            pids = self._enclosed if all(map(cgroup.can_kill, self.groups[:1])) else set()
            held = {one for one in living if one.pid in pids}
            fresh = living - held - enclosed - frozen
            for process in fresh:
                tree.send(process, signal.SIGSTOP)
            # Those above are frozen first: shims that see their trees die would be busy for long.
            for group in self.groups if held - enclosed else ():
                cgroup.kill_cgroup(group)
            enclosed |= held
            frozen |= fresh
            if not fresh:
                break
        for process in frozen:
            tree.send(process, signal.SIGKILL)
        return frozen | enclosed

    def pause(self) -> set[Identity]:
        """Stop all of it where it is, and return what is stopped; nothing slips away meanwhile.

        A parent may have a child go on that it saw stop (tmux does), so all must be seen at rest;
        what is not within half a second is told by `moving`.
        """
        paused: set[Identity] = set()
        until = time.monotonic() + _SETTLE_S
        while True:
            living = self.living()
            moving = self._moving(living)
            for process in moving:
                tree.send(process, signal.SIGSTOP)
            for group in self.groups:
                cgroup.freeze_cgroup(group)
            if not moving or time.monotonic() > until:
                return paused | living
            if moving <= paused:
                time.sleep(_LOOK_S)
            paused |= moving

    def moving(self) -> set[Identity]:
        """Look which of it are held neither by a signal nor by the kernel."""
        return self._moving(self.living())

    def _moving(self, living: set[Identity]) -> set[Identity]:
        frozen = (cgroup.cgroup_members(one) for one in self.groups if cgroup.is_frozen(one))
        held = {pid for members in frozen for pid in members}
        return {one for one in living if one.pid not in held and _is_moving(one)}

    def resume(self) -> set[Identity]:
        """Let all of it go on, and return what was let go."""
        for group in self.groups:
            cgroup.thaw_cgroup(group)
        found = self.living()
        for process in found:
            tree.send(process, signal.SIGCONT)
        return found


def _is_moving(process: Identity) -> bool:
    seen = look(process.pid)
    if seen is None or not tree.is_same(process, seen):
        return False
    return not seen.is_dead and not seen.is_paused
