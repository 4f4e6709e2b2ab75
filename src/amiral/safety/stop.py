"""Emergency stop: latch the brake, kill every agent of a home, prove that none is left.

Works with every process of amiral dead or hung, a full disk and no network. It finds agents by the
tag of their environment, by their shims and by their cgroups, never by a list (S04). What it
imports is little: neither `typing` nor `contextlib`, which cost more than the stop.
"""

import json
import os
import time

from amiral.base.errors import Broken, Conflict, Invalid
from amiral.processes import cgroup, tree
from amiral.store.brake import UNKNOWN, Brake, BrakeError, Stop

EVERYTHING = "all"
_DEADLINE_S = 10.0


class Place:
    """The home folder, and the first part of the tag its processes carry."""

    __slots__ = ("home", "tag")

    def __init__(self, home: str, tag: str) -> None:
        self.home = home
        self.tag = tag


class Report:
    """What a stop came to: `killed` and `survivors` count processes, `was_doing` names sessions."""

    __slots__ = ("killed", "ms", "stop", "survivors", "was_doing")

    def __init__(
        self,
        stop: Stop,
        killed: tuple[int, ...],
        survivors: int,
        was_doing: tuple[str, ...],
        ms: int,
    ) -> None:
        self.stop = stop
        self.killed = killed
        self.survivors = survivors
        self.was_doing = was_doing
        self.ms = ms


def stop_everything(place: Place, scope: str, reason: str, by: str) -> Report:
    """Stop all agents of a home; the brake is on before any signal is sent."""
    if scope not in ("", EVERYTHING):
        raise Invalid(
            f"this version stops everything at once, not {scope} alone", "amiral emergency-stop"
        )
    began = time.monotonic()
    stop, trouble = _engage(place, reason, by)
    was_doing = tuple(_doing(place.home))
    killed, survivors = _kill(place.tag)
    if not trouble and Brake(os.path.join(place.home, "brake")).state() is None:
        # An older stop was released meanwhile: whoever pressed now still wants one.
        stop, trouble = _engage(place, reason, by)
    took_ms = round((time.monotonic() - began) * 1000)
    if trouble:
        raise Broken(
            f"{len(killed)} processes were killed and {survivors} are left, but {trouble}",
            "see to the disk, then stop again: until then agents may be started",
        )
    return Report(stop, killed, survivors, was_doing, took_ms)


def release(place: Place, stop_id: str) -> None:
    """Lift the stop with this id; Conflict names the one that is on, or says that none is."""
    try:
        Brake(os.path.join(place.home, "brake")).release(stop_id)
    except BrakeError as error:
        raise Conflict(str(error), "amiral status names the stop that is on") from error


def report_data(report: Report) -> dict[str, object]:
    """Give the JSON of a stop (spec/cli.md)."""
    return {
        "stop_id": report.stop.stop_id,
        "scope": EVERYTHING,
        "killed": list(report.killed),
        "survivors": report.survivors,
        "was_doing": list(report.was_doing),
        "ms": report.ms,
    }


def report_text(report: Report) -> str:
    """Write a stop for people: who worked, and the proof that nothing is left."""
    workers = ", ".join(report.was_doing) or "nothing was running"
    left = f"{report.survivors} processes left"
    head = "⛔ stopped" if report.survivors == 0 else "✗ NOT stopped"
    stop_id = report.stop.stop_id
    return (
        f"{head} (stop {stop_id}): {workers} · {left} · {report.ms / 1000:.1f} s\n"
        f"  amiral release {stop_id}"
    )


def _engage(place: Place, reason: str, by: str) -> tuple[Stop, str]:
    """Latch the brake; a disk that refuses even that must not keep anything alive."""
    brake, now_ms = Brake(os.path.join(place.home, "brake")), time.time_ns() // 1_000_000
    try:
        return brake.engage(reason, by, now_ms), ""
    except OSError as error:
        return Stop(
            UNKNOWN, reason, by, now_ms, EVERYTHING
        ), f"the brake cannot be latched: {error}"


def _kill(tag: str) -> tuple[tuple[int, ...], int]:
    """Kill by tag, then what dropped its environment and is left in a cgroup of ours."""
    groups = cgroup.cgroups_under(tag)
    results = [tree.kill_tree((), tag, None, _DEADLINE_S)]
    results += [tree.kill_tree((), "", group, _DEADLINE_S) for group in groups]
    for group in groups:
        cgroup.remove_cgroup(group)
    killed = {process.pid for result in results for process in result.killed}
    survivors = {process for result in results for process in result.survivors}
    return tuple(sorted(killed)), len(survivors)


def _doing(home: str) -> list[str]:
    """Name the workers whose CLI runs, from what their sessions left on disk: project/worker."""
    root = os.path.join(home, "projects")
    found = []
    for project in _names(root):
        sessions = os.path.join(root, project, "sessions")
        folders = [os.path.join(sessions, session) for session in _names(sessions)]
        found += [f"{project}/{_worker(folder)}" for folder in folders if _is_running(folder)]
    return found


def _worker(folder: str) -> str:
    try:
        with open(os.path.join(folder, "worker"), encoding="utf-8") as file:
            return file.read()
    except OSError:
        return os.path.basename(folder)


def _is_running(folder: str) -> bool:
    try:
        with open(os.path.join(folder, "meta.json"), encoding="utf-8") as file:
            cli = json.load(file)["cli"]
        return tree.is_alive(tree.Identity(tree.boot_id(), cli["pid"], cli["start"]))
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []
