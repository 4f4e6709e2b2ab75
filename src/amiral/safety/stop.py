"""Emergency stop: latch the brake, kill every agent of a home, prove that none is left.

Works with every process of amiral dead or hung, a full disk and no network. It finds agents by the
tag of their environment, by their shims and by their cgroups, never by a list (S04).
"""

import json
import os
import time
from typing import NamedTuple

from amiral.base.errors import Conflict, Invalid
from amiral.processes import cgroup, tree
from amiral.store.brake import Brake, BrakeError, Stop

EVERYTHING = "all"
_DEADLINE_S = 10.0


class Place(NamedTuple):
    """The home folder, and the first part of the tag its processes carry."""

    home: str
    tag: str


class Report(NamedTuple):
    """What a stop came to: `killed` and `survivors` count processes, `was_doing` names sessions."""

    stop: Stop
    killed: tuple[int, ...]
    survivors: int
    was_doing: tuple[str, ...]
    ms: int


def stop_everything(place: Place, scope: str, reason: str, by: str) -> Report:
    """Stop all agents of a home; the brake is on before any signal is sent."""
    if scope not in ("", EVERYTHING):
        raise Invalid(
            f"this version stops everything at once, not {scope} alone", "amiral emergency-stop"
        )
    began = time.monotonic()
    stop = Brake(os.path.join(place.home, "brake")).engage(reason, by, time.time_ns() // 1_000_000)
    was_doing = tuple(_doing(place.home))
    killed, survivors = _kill(place.tag)
    took_ms = round((time.monotonic() - began) * 1000)
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


def _kill(tag: str) -> tuple[tuple[int, ...], int]:
    groups = _groups(tag)
    result = tree.kill_tree((), tag, None, _DEADLINE_S)
    killed, survivors = list(result.killed), len(result.survivors)
    for group in groups:
        left = tree.kill_tree((), "", group, _DEADLINE_S)
        killed += left.killed
        survivors += len(left.survivors)
        cgroup.remove_cgroup(group)
    return tuple(sorted({one.pid for one in killed})), survivors


def _groups(tag: str) -> list[str]:
    own = cgroup.own_cgroup_folder()
    if own is None:
        return []
    prefix = cgroup.cgroup_name(tag)
    return [os.path.join(own, name) for name in _names(own) if name.startswith(prefix)]


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
