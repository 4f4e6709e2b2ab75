"""What a stop came to, as people and programs read it. Standard library only."""

from amiral.safety.scope import Scope
from amiral.store.latch import ALL, Stop


class Ended:
    """One worker that was stopped: its last act ("" when unknown), and by which level it ended."""

    __slots__ = ("act", "level", "worker")

    def __init__(self, worker: str, act: str, level: int) -> None:
        self.worker = worker
        self.act = act
        self.level = level

    @property
    def text(self) -> str:
        """Name it with what it was doing."""
        return f"{self.worker} ({self.act})" if self.act else self.worker


class Report:
    """`killed` holds process numbers, `survivors` counts processes; `notice` is for the person."""

    __slots__ = ("ended", "killed", "ms", "notice", "scope", "stop", "strangers", "survivors")

    def __init__(self, stop: Stop, scope: Scope, notice: str = "") -> None:
        self.stop = stop
        self.scope = scope
        self.notice = notice
        self.ended: tuple[Ended, ...] = ()
        self.strangers: tuple[str, ...] = ()
        self.killed: tuple[int, ...] = ()
        self.survivors = 0
        self.ms = 0

    @property
    def was_doing(self) -> tuple[str, ...]:
        """Name all that was stopped with what it was doing."""
        return (*(one.text for one in self.ended), *self.strangers)


def mark_line(mark: Stop, project: str = "") -> str:
    """Say what is in force and how it is lifted; `project` is the name of the one it is said to."""
    sign = "⏸" if mark.is_freeze else "⛔"
    _, _, worker = mark.scope.partition("/")
    whose = f"{project}/{worker}" if project and worker else project or mark.scope
    about = "" if mark.scope == ALL else f" for {whose}"
    return f"{sign} {mark.name} is on{about}: {mark.way_out}"


class Paused:
    """What a freeze or a thaw came to: `count` processes of `workers`, `running` not yet at rest.

    `mark` is the freeze, None when none was found.
    """

    __slots__ = ("count", "mark", "running", "scope", "workers")

    def __init__(
        self, mark: Stop | None, scope: Scope, workers: tuple[str, ...], count: int, running: int
    ) -> None:
        self.mark = mark
        self.scope = scope
        self.workers = workers
        self.count = count
        self.running = running


class Released:
    """A stop that was lifted, and what is `still_on`; `names` are those of projects by their id."""

    __slots__ = ("names", "still_on", "stop_id")

    def __init__(self, stop_id: str, still_on: tuple[Stop, ...], names: dict[str, str]) -> None:
        self.stop_id = stop_id
        self.still_on = still_on
        self.names = names


def released_data(released: Released) -> dict[str, object]:
    """Give the JSON of a release."""
    still_on = [
        {"stop_id": one.stop_id, "kind": one.kind, "scope": one.scope} for one in released.still_on
    ]
    return {"stop_id": released.stop_id, "released": True, "still_on": still_on}


def released_text(released: Released) -> str:
    """Write a release for people: with all that is on as before, and how it is lifted."""
    lines = [f"✓ released stop {released.stop_id}"]
    for one in released.still_on:
        project, _, _ = one.scope.partition("/")
        lines.append(f"  {mark_line(one, released.names.get(project, ''))}")
    return "\n".join(lines)


def paused_data(paused: Paused) -> dict[str, object]:
    """Give the JSON of a freeze or a thaw."""
    return {
        "freeze_id": paused.mark.stop_id if paused.mark else "",
        "scope": paused.scope.shown,
        "processes": paused.count,
        "running": paused.running,
        "workers": list(paused.workers),
    }


def frozen_text(paused: Paused) -> str:
    """Write a freeze for people."""
    what = "everything" if paused.scope.key == ALL else paused.scope.shown
    workers = ", ".join(paused.workers) or "nothing was running"
    thaw = "amiral thaw" if paused.scope.key == ALL else f"amiral thaw {paused.scope.shown}"
    left = f" · {paused.running} do not come to rest" if paused.running else ""
    return f"⏸ frozen {what}: {workers} · {paused.count} processes paused{left}\n  {thaw}"


def thawed_text(paused: Paused) -> str:
    """Write a thaw for people."""
    what = "everything" if paused.scope.key == ALL else paused.scope.shown
    return f"✓ thawed {what} · {paused.count} processes go on"


def stopping_text(stop: Stop, scope: Scope) -> str:
    """Say that a stop is on and being carried out."""
    what = "everything" if scope.key == ALL else scope.shown
    return f"⛔ stopping {what} (stop {stop.stop_id})"


def report_data(report: Report) -> dict[str, object]:
    """Give the JSON of a stop (docs/reference/stop.md)."""
    return {
        "stop_id": report.stop.stop_id,
        "scope": report.scope.shown,
        "killed": list(report.killed),
        "survivors": report.survivors,
        "was_doing": list(report.was_doing),
        "workers": [
            {"worker": one.worker, "act": one.act, "level": one.level} for one in report.ended
        ],
        "notice": report.notice,
        "ms": report.ms,
    }


def report_text(report: Report) -> str:
    """Write a stop for people: who worked at what, and the proof that nothing is left."""
    workers = ", ".join(report.was_doing) or "nothing was running"
    count = len(report.ended)
    many = f"{count} worker{'s' if count > 1 else ''}: {workers}" if count else workers
    what = "" if report.scope.key == ALL else f" {report.scope.shown}"
    head = "⛔ stopped" if report.survivors == 0 else "✗ NOT stopped"
    stop_id = report.stop.stop_id
    took = f"{report.survivors} processes left · {report.ms / 1000:.1f} s"
    lines = [
        f"{head}{what} (stop {stop_id}): {many} · {took}",
        *([f"  {report.notice}"] if report.notice else []),
        f"  amiral release {stop_id}",
    ]
    return "\n".join(lines)
