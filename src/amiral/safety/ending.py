"""End, or pause, every agent of a scope, found by tag, cgroup and shim. Standard library only.

Never by a list of who should be there (S04): what is registered nowhere carries the tag all the
same.
"""

from collections.abc import Callable, Iterable

from amiral.processes import cgroup
from amiral.processes.grove import Grove
from amiral.processes.tree import Identity
from amiral.safety.scope import Place, Scope
from amiral.safety.working import Working, plain, working

_DEADLINE_S = 10.0
_ROUNDS = 3
_COLONS = 2


class Ending:
    """What an end came to: `killed` by pid, who survived, and by pid the tag and program `met`."""

    __slots__ = ("killed", "met", "survivors")

    def __init__(self) -> None:
        self.killed: set[int] = set()
        self.survivors: set[Identity] = set()
        self.met: dict[int, tuple[str, bytes]] = {}


def grove_of(
    place: Place, scope: Scope, sessions: Iterable[Working], spared: Iterable[Identity] = ()
) -> Grove:
    """Say what belongs to a scope whose sessions are these.

    A worker's are its sessions alone: their shims are roots too, for what lost its tag hangs below
    them. What a project runs beside (tests, deploys) is the project's.
    """
    if not scope.worker:
        tag = f"{place.tag}:{scope.project}" if scope.project else place.tag
        return Grove([tag], (), cgroup.cgroups_under(tag), spared)
    sessions = list(sessions)
    tags = [one.tag for one in sessions]
    both = [root for one in sessions for root in (one.shim, one.cli) if root is not None]
    groups = {*cgroup.cgroups_under(*tags), *(one.cgroup for one in sessions if one.cgroup)}
    return Grove(tags, both, sorted(groups), spared)


def end(place: Place, scope: Scope, after_round: Callable[[], None] | None = None) -> Ending:
    """Kill all of a scope, again when something was just being started.

    A round takes some 10 s at the most; `after_round` is called after each.
    """
    ending = Ending()
    for _ in range(_ROUNDS):
        grove = _now(place, scope)
        done = grove.kill(_DEADLINE_S)
        ending.killed |= {process.pid for process in done.killed}
        ending.survivors = set(done.survivors)
        ending.met |= grove.met
        if after_round is not None:
            after_round()
        if ending.survivors or not scope.worker or not living(place, scope):
            break
    return ending


def living(place: Place, scope: Scope) -> set[Identity]:
    """Look whether anything of a scope lives."""
    return _now(place, scope).living()


def strangers(met: dict[int, tuple[str, bytes]], known: Iterable[str]) -> list[str]:
    """Name what carried our tag (`met`, by pid) and is no session with one of the `known` tags."""
    tags, found = set(known), dict[str, str]()
    for _, (tag, name) in sorted(met.items()):
        if tag.count(":") >= _COLONS and tag not in tags:
            program = plain(name.decode("utf-8", "replace"))
            found.setdefault(
                tag, f"{plain('/'.join(tag.split(':')[1:]))} ({program}, not registered)"
            )
    return list(found.values())


def _now(place: Place, scope: Scope) -> Grove:
    return grove_of(place, scope, working(place, scope) if scope.worker else ())
