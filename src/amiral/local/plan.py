"""`amiral permissions plan`: all that the kernel grants a worker's CLI, were it started now."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from amiral.agents.fencing import Footing
from amiral.agents.grants import Grants, words
from amiral.agents.seats import footing_of, seat_in
from amiral.base.errors import AmiralError, NotFound
from amiral.commands.registry import Parsed, Reply
from amiral.installed import Installed
from amiral.local.inquiry import ANYONE, Inquiry, Standing, inquire
from amiral.local.terminal import answer
from amiral.permissions.projection import Enforcement

_ELSEWHERE = "  everything but amiral's home and what holds logins  read"
_TITLES = {
    "project": "project",
    "elsewhere": "elsewhere",
    "own": "its own folders",
    "login": "its login",
    "git": "git's folders",
    "system": "system",
}


@dataclass(frozen=True)
class Granted:
    """A path, and what may be done at and below it."""

    path: str
    access: tuple[str, ...]

    def __str__(self) -> str:
        return f"  {self.path}  {' '.join(self.access)}"


def run(argv: Sequence[str]) -> int:
    """Print the plan."""
    return answer(argv, _plan)


def _plan(parsed: Parsed) -> Reply:
    inquiry = inquire(parsed.arguments, parsed.project)
    right, who = inquiry.right(), inquiry.worker.id
    if right.permissions is None:
        raise NotFound(f"{who}: nothing is configured, so no files are fenced")
    standing = inquiry.standing(here=bool(parsed.arguments.get("here")))
    footing, told = _footing(inquiry, standing)
    # What would be granted is told where nothing can hold it, too.
    bounds = inquiry.rights.compile(replace(right, enforcement=Enforcement.ENFORCED), footing)
    plan = bounds.plan
    if plan is None:
        raise NotFound(f"{who}: nothing is configured, so no files are fenced")
    notices = (*plan.diagnostics, *standing.notices, *told, *inquiry.notices)
    network = inquiry.settings.sandbox.network
    granted = {name: _granted(grants) for name, grants in bounds.grants.items()}
    data = {
        "status": right.enforcement,
        "posture": plan.posture,
        "folder": str(standing.folder),
        "worktree": standing.is_worktree,
        "fenced": sorted(plan.fenced),
        "grants": granted.pop("project"),
        **granted,
        "covers": plan.covers,
        "network": network,
        "diagnostics": notices,
    }
    where = f"{standing.folder}{' (a worktree)' if standing.is_worktree else ''}"
    shown = network if isinstance(network, str) else ", ".join(network)
    lines = [f"{right.enforcement} · {plan.posture} by default · network {shown} · {where}"]
    for name, grants in bounds.grants.items():
        lines += _titled(name, grants)
    lines += ["covered", *map(str, plan.covers)] if plan.covers else []
    return Reply("\n".join((*lines, *(f"? {notice}" for notice in notices))), data)


def _footing(inquiry: Inquiry, standing: Standing) -> tuple[Footing, tuple[str, ...]]:
    """Say where the worker's CLI would stand, and what of that cannot be told."""
    ports = None if inquiry.settings.sandbox.network == "open" else ()
    bare = Footing(standing.folder, (), is_worktree=standing.is_worktree, can_ask=True, ports=ports)
    if inquiry.worker is ANYONE or inquiry.state is None:
        what = "a worker's own folders and its CLI's login and programs"
        return bare, (f"{what} come on top: name a --worker of a project that is served",)
    worker = inquiry.worker
    installed = Installed(inquiry.settings, os.environ, inquiry.home)
    name = worker.driver or installed.default()
    seat = seat_in(inquiry.state / "workers" / worker.id, worker.id, str(standing.folder))
    own = (Path(seat.config_home), Path(seat.tmp))
    try:
        cli = installed.cli(name)
    except AmiralError as error:
        return replace(bare, own=own), (error.message,)
    seat = replace(seat, git_folders=standing.git)
    footing = footing_of(cli, installed.drivers[name].needs, seat, ports)
    return replace(footing, is_worktree=standing.is_worktree), ()


def _granted(grants: Grants) -> tuple[Granted, ...]:
    return tuple(Granted(path, words(bits)) for path, bits in grants)


def _titled(name: str, grants: Grants) -> list[str]:
    """What may be read elsewhere is the rest of the disk, around what is private."""
    if name == "elsewhere":
        listed = [_ELSEWHERE] if len(grants) > 1 else []
        return [_TITLES[name], *listed, "  everywhere  list"]
    return [_TITLES[name], *map(str, _granted(grants))] if grants else []
