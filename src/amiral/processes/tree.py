"""Name, find and kill whole process trees, never signalling a stranger. Standard library only.

A process is named by boot id, pid and start time (R30). Below a root count its descendants and, as
long as the root itself is there, the members of its process group and session; what lost that link
is found by the `AMIRAL_TAG` of its environment and by its cgroup (R29). Without `/proc` (not Linux)
only process groups are left: `limits()` says what cannot be promised then.
"""

import os
import signal
import time
from collections.abc import Callable, Iterable
from functools import cache

from amiral.processes import cgroup as cgroups
from amiral.processes.proc import HAS_PROC, Seen, look, processes_now, read_whole

TAG_VARIABLE = "AMIRAL_TAG"
_TAG_ENTRY = b"\0AMIRAL_TAG="
HAS_PIDFD = hasattr(os, "pidfd_open")

_FREEZE_ROUNDS = 20
_EMPTY_LOOKS = 2
_PAUSE_S = 0.002


class Identity:
    """One process for ever: `start` is its start time in clock ticks since boot."""

    __slots__ = ("boot_id", "pid", "start")

    def __init__(self, boot_id: str, pid: int, start: int) -> None:
        self.boot_id = boot_id
        self.pid = pid
        self.start = start

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Identity) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return f"Identity{self._key()}"

    def _key(self) -> tuple[str, int, int]:
        return self.boot_id, self.pid, self.start


class Killed:
    """What a kill came to; `survivors` is empty when the tree is proved empty."""

    __slots__ = ("killed", "ms", "survivors")

    def __init__(self, killed: set[Identity], survivors: set[Identity], ms: int) -> None:
        self.killed = _in_order(killed)
        self.survivors = _in_order(survivors)
        self.ms = ms


@cache
def boot_id() -> str:
    """Name this run of the machine, "" where the system does not."""
    try:
        return read_whole("/proc/sys/kernel/random/boot_id").decode().strip()
    except OSError:
        return ""


def identify(pid: int) -> Identity | None:
    """Name the process that has this pid now, None when none has (a zombie still has it)."""
    if not HAS_PROC:
        return Identity("", pid, 0) if _is_there(pid) else None
    seen = look(pid)
    return Identity(boot_id(), pid, seen.start) if seen else None


def is_alive(identity: Identity) -> bool:
    """Tell whether exactly this process still runs; zombies do not."""
    if not HAS_PROC:
        return _is_there(identity.pid)
    seen = look(identity.pid)
    return seen is not None and not seen.is_dead and is_same(identity, seen)


def send(identity: Identity, number: int) -> bool:
    """Signal exactly this process; False when it is gone, another one by now, or not ours."""
    try:
        if not (HAS_PROC and HAS_PIDFD):
            if not is_alive(identity):
                return False
            os.kill(identity.pid, number)
            return True
        handle = os.pidfd_open(identity.pid)
    except OSError:
        return False
    try:
        # Looked at while the handle is held: who has this start time now is who the handle means.
        seen = look(identity.pid)
        if seen is None or not is_same(identity, seen):
            return False
        signal.pidfd_send_signal(handle, number)
    except OSError:
        return False
    finally:
        os.close(handle)
    return True


def parents(pid: int) -> list[int]:
    """List the pids above this one, nearest first."""
    above: list[int] = []
    seen = look(pid)
    while seen is not None and seen.parent > 0 and seen.parent not in above:
        above.append(seen.parent)
        seen = look(seen.parent)
    return above


def descendants(pid: int) -> list[Identity]:
    """List the living processes below this one."""
    processes = processes_now()
    return named(below({pid}, processes), processes)


def tag_of(pid: int) -> str:
    """Read the tag a process was started with, "" when it has none or is not ours to read."""
    try:
        environment = read_whole(f"/proc/{pid}/environ")
    except OSError:
        return ""
    _, found, after = (b"\0" + environment).partition(_TAG_ENTRY)
    return after.partition(b"\0")[0].decode(errors="replace") if found else ""


def is_under(tag: str, wanted: str) -> bool:
    """Tell whether a tag is `wanted` or one below it: `home` covers `home:project:session`."""
    return bool(wanted) and (tag == wanted or tag.startswith(wanted + ":"))


def tagged(tag_prefix: str) -> list[Identity]:
    """List the living processes with this tag or one below it."""
    processes = processes_now()
    return named(_carrying(tag_prefix, processes), processes)


def members(roots: Iterable[Identity], tag: str, cgroup: str | None) -> list[Identity]:
    """List what lives below the roots, carries the tag or is in the cgroup; never this process."""
    processes = processes_now()
    found = _carrying(tag, processes) | cgroups.cgroup_members(cgroup)
    for root in roots:
        seen = processes.get(root.pid)
        if seen is not None and is_same(root, seen):
            found.add(root.pid)
            found |= {p.pid for p in processes.values() if root.pid in (p.group, p.session)}
    found |= below(found, processes)
    return named(found - {os.getpid()}, processes)


def kill_tree(roots: Iterable[Identity], tag: str, cgroup: str | None, deadline_s: float) -> Killed:
    """Kill the roots and all that `members` finds until nothing is left, or the deadline passes.

    Everything is frozen before it is killed, so that no child slips away between two looks. This
    process is never signalled, even as a root: that is how a shim kills all below itself. Zombies
    do not count.
    """
    roots = tuple(roots)
    groups = [cgroup] if cgroup else []
    return kill_found(lambda: _living(roots, tag, cgroup), groups, deadline_s)


def kill_found(
    find: Callable[[], set[Identity]], groups: Iterable[str], deadline_s: float
) -> Killed:
    """Kill what `find` gives, and what is in the cgroups, until it gives nothing twice."""
    began = time.monotonic()
    met, empty = set[Identity](), 0
    while empty < _EMPTY_LOOKS and time.monotonic() - began < deadline_s:
        found = _freeze(find)
        for group in groups:
            cgroups.kill_cgroup(group)
        for process in found:
            send(process, signal.SIGKILL)
        wait_dead(found, began + deadline_s)
        met |= found
        empty = 0 if found else empty + 1
    survivors = find() if empty < _EMPTY_LOOKS else set()
    took_ms = round((time.monotonic() - began) * 1000)
    return Killed(met - survivors, survivors, took_ms)


def _freeze(find: Callable[[], set[Identity]]) -> set[Identity]:
    """Stop what `find` gives by SIGSTOP until it gives nothing new, and return all of it."""
    frozen: set[Identity] = set()
    for _ in range(_FREEZE_ROUNDS):
        fresh = find() - frozen
        if not fresh:
            break
        for process in fresh:
            _stop(process)
        frozen |= fresh
    return frozen


def signal_tree(roots: Iterable[Identity], tag: str, cgroup: str | None, number: int) -> None:
    """Send one signal to every process of a tree, never to this one."""
    for process in members(roots, tag, cgroup):
        send(process, number)


def limits() -> list[str]:
    """Say what this system cannot promise about process trees, for `amiral doctor`."""
    lacking = []
    if not HAS_PROC:
        lacking.append(
            "no /proc: only process groups are killed; what calls setsid survives a stop, a later "
            "process of the same number looks the same, an agent's connection is not recognised"
        )
    if not HAS_PIDFD:
        lacking.append("no pidfd: a process that ends while it is signalled may be mistaken")
    own = cgroups.own_cgroup_folder()
    if own is None or not os.access(own, os.W_OK):
        lacking.append(
            "no cgroup v2 of our own: what drops its environment and outlives its shim is lost"
        )
    return lacking


def _in_order(processes: set[Identity]) -> tuple[Identity, ...]:
    return tuple(sorted(processes, key=lambda process: process.pid))


def _living(roots: tuple[Identity, ...], tag: str, cgroup: str | None) -> set[Identity]:
    if HAS_PROC:
        return set(members(roots, tag, cgroup))
    return {root for root in roots if is_alive(root) and root.pid != os.getpid()}


def _stop(process: Identity) -> None:
    if HAS_PROC:
        send(process, signal.SIGSTOP)
        return
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except OSError:
        send(process, signal.SIGKILL)


def wait_dead(processes: Iterable[Identity], until: float) -> None:
    """Wait until all of these are dead, or until then (monotonic seconds)."""
    waiting = [process for process in processes if is_alive(process)]
    while waiting and time.monotonic() < until:
        time.sleep(_PAUSE_S)
        waiting = [process for process in waiting if is_alive(process)]


def _carrying(tag: str, processes: Iterable[int]) -> set[int]:
    return {pid for pid in processes if tag and is_under(tag_of(pid), tag)}


def below(roots: set[int], processes: dict[int, Seen]) -> set[int]:
    """Give the pids below these, among the processes seen at one moment."""
    children: dict[int, list[int]] = {}
    for seen in processes.values():
        children.setdefault(seen.parent, []).append(seen.pid)
    found: set[int] = set()
    ahead = list(roots)
    while ahead:
        fresh = [child for child in children.get(ahead.pop(), ()) if child not in found]
        found.update(fresh)
        ahead += fresh
    return found


def named(pids: set[int], processes: dict[int, Seen]) -> list[Identity]:
    """Name those of these pids that live, by what was seen of them."""
    boot = boot_id()
    present = (processes[pid] for pid in sorted(pids) if pid in processes)
    return [Identity(boot, seen.pid, seen.start) for seen in present if not seen.is_dead]


def is_same(identity: Identity, seen: Seen) -> bool:
    """Tell whether what was seen is exactly this process."""
    return seen.start == identity.start and boot_id() == identity.boot_id


def _is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
