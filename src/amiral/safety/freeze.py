"""Freeze: pause every agent of a scope where it is, start none until it is thawed by a person.

Standard library only. The shims run on: they pause nothing of their own, and whoever asks one gets
an answer. Where there is a cgroup the kernel holds it, so that no signal of an agent undoes it.
"""

import time

from amiral.base.errors import Broken, Conflict
from amiral.processes.grove import Grove
from amiral.processes.tree import Identity
from amiral.safety.ending import grove_of
from amiral.safety.report import Paused
from amiral.safety.scope import Place, Scope, scope_at, scope_named
from amiral.safety.working import working
from amiral.store.brake import Brake, BrakeError


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
    return Paused(mark, scope, _shown(place, scope), len(paused), len(grove.moving()))


def thaw(place: Place, text: str) -> Paused:
    """Lift the freeze of exactly this scope; what another mark holds stays where it is.

    What stands still there without any freeze, left by one that was lifted, goes on too. Conflict
    names what is frozen otherwise when there is nothing of either.
    """
    scope = scope_named(place, text)
    brake = Brake(place.brake)
    mark = next((one for one in brake.every() if one.is_freeze and one.scope == scope.key), None)
    try:
        brake.thaw(scope.key)
    except BrakeError as error:
        grove = _not_held(place, scope)
        if mark is not None or not grove.living() - grove.moving():
            raise Conflict(str(error), "amiral status names what is frozen") from error
    return Paused(mark, scope, _shown(place, scope), len(let_go(place, scope)), 0)


def let_go(place: Place, scope: Scope) -> set[Identity]:
    """Have go on, and return, what of a scope no mark holds now."""
    return _not_held(place, scope).resume()


def pause(place: Place, scope: Scope) -> set[Identity]:
    """Pause what lives of a scope now, and return it; again and again does no harm."""
    return _grove(place, scope).pause()


def _not_held(place: Place, scope: Scope) -> Grove:
    """Leave out what a freeze holds, and what a stop is about to end."""
    held = [_grove(place, scope_at(place, one.scope)) for one in Brake(place.brake).every()]
    spared = {process for one in held for process in one.living()}
    return _grove(place, scope, spared, {group for one in held for group in one.groups})


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


def _shown(place: Place, scope: Scope) -> tuple[str, ...]:
    return tuple(one.shown for one in working(place, scope) if one.is_running)
