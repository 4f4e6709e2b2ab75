"""Freeze: pause every agent of a scope where it is, start none until it is thawed by a person.

Standard library only. The shims run on: they pause nothing of their own, and whoever asks one gets
an answer. Where there is a cgroup the kernel holds it, so that no signal of an agent undoes it.
"""

import time

from amiral.base.errors import Broken, Conflict
from amiral.processes import cgroup, tree
from amiral.processes.grove import Grove
from amiral.processes.proc import look
from amiral.processes.tree import Identity
from amiral.safety.ending import grove_of
from amiral.safety.report import Paused
from amiral.safety.scope import Place, Scope, scope_at, scope_named
from amiral.safety.working import working
from amiral.store.brake import Brake, BrakeError

_SETTLE_S = 0.5
_LOOK_S = 0.005


def freeze(place: Place, text: str, reason: str, by: str) -> Paused:
    """Pause all agents of a scope, durably. NotFound for a scope that is not there.

    Broken when the disk refuses to note it: nothing is paused then.
    """
    scope = scope_named(place, text)
    try:
        mark = Brake(place.brake).freeze(reason, by, time.time_ns() // 1_000_000, scope.key)
    except OSError as error:
        raise Broken(
            f"the freeze cannot be kept, so nothing was paused: {error}", "amiral emergency-stop"
        ) from error
    grove = _grove(place, scope)
    paused = grove.pause()
    running = _still_running(paused, grove.groups)
    return Paused(mark, scope, _shown(place, scope), len(paused), len(running))


def thaw(place: Place, text: str) -> Paused:
    """Lift the freeze of exactly this scope; Conflict names what is frozen otherwise.

    What another freeze holds stays where it is.
    """
    scope = scope_named(place, text)
    brake = Brake(place.brake)
    mark = next((one for one in brake.every() if one.is_freeze and one.scope == scope.key), None)
    try:
        brake.thaw(scope.key)
    except BrakeError as error:
        raise Conflict(str(error), "amiral status names what is frozen") from error
    held = [scope_at(place, one.scope) for one in brake.every() if one.is_freeze]
    groves = [_grove(place, one) for one in held]
    spared = {process for one in groves for process in one.living()}
    groups = {group for one in groves for group in one.groups}
    let_go = _grove(place, scope, spared, groups).resume()
    return Paused(mark, scope, _shown(place, scope), len(let_go), 0)


def pause(place: Place, scope: Scope) -> set[Identity]:
    """Pause what lives of a scope now, and return it; again and again does no harm."""
    return _grove(place, scope).pause()


def _grove(
    place: Place,
    scope: Scope,
    spared: set[Identity] | None = None,
    groups: set[str] | None = None,
) -> Grove:
    sessions = working(place, scope)
    shims = {one.shim for one in sessions if one.shim is not None}
    grove = grove_of(place, scope, sessions, shims | (spared or set()))
    grove.groups = tuple(one for one in grove.groups if one not in (groups or ()))
    return grove


def _still_running(paused: set[Identity], groups: tuple[str, ...]) -> set[Identity]:
    """Wait a moment until each has come to rest; gives those that have not."""
    until = time.monotonic() + _SETTLE_S
    while left := {one for one in paused if _runs(one)}:
        frozen = (cgroup.cgroup_members(one) for one in groups if cgroup.is_frozen(one))
        held = {pid for members in frozen for pid in members}
        left = {one for one in left if one.pid not in held}
        if not left or time.monotonic() > until:
            break
        time.sleep(_LOOK_S)
    return left


def _runs(process: Identity) -> bool:
    seen = look(process.pid)
    return seen is not None and not seen.is_paused and tree.is_alive(process)


def _shown(place: Place, scope: Scope) -> tuple[str, ...]:
    return tuple(one.shown for one in working(place, scope) if one.is_running)
