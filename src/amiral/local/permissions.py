"""`amiral permissions …`: what a worker may do, by which rule, and what holds it here."""

import asyncio
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from amiral.agents.declared import Declared, Rules, load_declared, read_rules, shipped
from amiral.agents.driver import Seat
from amiral.agents.rights import Right, Rights
from amiral.agents.worker import ALL_TOOLS, Worker
from amiral.base.errors import Broken, NotFound
from amiral.base.nearest import did_you_mean
from amiral.commands.parameter import Value
from amiral.commands.registry import Parsed, Reply
from amiral.config import find_home, load_settings
from amiral.installed import known_drivers
from amiral.local.terminal import answer
from amiral.permissions.rules import (
    Capability,
    Decision,
    Permissions,
    Posture,
    decide_file,
    path_of,
)
from amiral.permissions.shell import decide_command
from amiral.processes import fence
from amiral.processes.probe import Probed, probe
from amiral.processes.spawn import Spawner
from amiral.projects.project import Project
from amiral.projects.store import Projects
from amiral.projects.trust import Trust
from amiral.store.brake import Brake
from amiral.store.files import ensure_private_folder

_ANYONE = Worker(
    *("anyone", "anyone", "·", "terminal", "", 0, ALL_TOOLS, "", "history", "text", (), "anyone")
)
_MARKS = {Posture.ALLOW: "✓", Posture.ASK: "?", Posture.DENY: "✗"}
_BITS = {
    fence.READ: "read",
    fence.WRITE: "write",
    fence.DELETE: "delete",
    fence.EXECUTE: "execute",
    fence.DEVICE: "device",
    fence.LIST: "list",
}


def run(argv: Sequence[str]) -> int:
    """Answer one of the `permissions` commands."""
    return answer(argv, _carry_out)


@dataclass(frozen=True)
class Place:
    """Whose rights are asked for, in which folder, under which policy."""

    home: Path
    root: Path
    worker: Worker
    rights: Rights

    def right(self) -> Right:
        """Decide, which tries out what this machine holds; Denied when it holds too little."""
        return asyncio.run(self.rights.of(self.worker))

    def permissions(self) -> Permissions | None:
        """Give the permissions alone."""
        return self.rights.permissions(self.worker)


@dataclass(frozen=True)
class Granted:
    """A path, and what may be done at and below it."""

    path: str
    access: tuple[str, ...]

    def __str__(self) -> str:
        return f"  {self.path}  {' '.join(self.access)}"


def place_of(arguments: Mapping[str, Value], project: str) -> Place:
    """Find the project, the worker (else anyone: with every tool) and the policy that are meant."""
    home = find_home(os.environ)
    found = _project_of(home, project)
    declared = load_declared(Trust(home), found) if found else shipped()
    root = Path(found.path) if found else Path.cwd()
    if folder := arguments.get("project_root"):
        root = Path(str(folder)).resolve()
    worker = _worker(declared, str(arguments.get("worker") or ""))
    file = str(arguments.get("policy") or "")
    rules = _read(Path(file)) if file else declared.rules
    sandbox = load_settings(home, os.environ).sandbox
    rights = Rights(lambda: rules, sandbox, lambda: _probed(home), home)
    return Place(home, root, worker, rights)


def _project_of(home: Path, name: str) -> Project | None:
    projects = Projects(home, Path.home())
    return projects.named(name) if name else projects.find(Path.cwd())


def _worker(declared: Declared, name: str) -> Worker:
    return declared.worker(name) if name else _ANYONE


def _read(file: Path) -> Rules:
    try:
        return read_rules(file.read_text("utf-8", "replace"), str(file))
    except FileNotFoundError:
        raise NotFound(f"there is no file {file}") from None
    except OSError as error:
        raise Broken(f"cannot read {file}: {os.strerror(error.errno or 0)}") from None


async def _probed(home: Path) -> Probed:
    folder = home / "run"
    for one in (home, folder):
        ensure_private_folder(one)
    return await probe(Spawner(Brake(home / "brake"), ""), folder)


def _carry_out(parsed: Parsed) -> Reply:
    if parsed.command == "permissions probe":
        return _told(asyncio.run(_probed(find_home(os.environ))))
    place = place_of(parsed.arguments, parsed.project)
    match parsed.command, parsed.arguments:
        case "permissions check", {"action": "command", "target": str() as line}:
            return _decision(decide_command(place.permissions(), line, str(place.root)))
        case "permissions check", {"action": str() as action, "target": str() as target}:
            path = path_of(str(place.root), target)
            return _decision(decide_file(place.permissions(), Capability(action), path))
        case "permissions project", {"driver": str() as driver}:
            return _projection(place, driver)
        case "permissions plan", _:
            return _plan(place)
        case _:
            return _rules(place)


def _decision(decision: Decision) -> Reply:
    data: dict[str, object] = {"posture": decision.posture, "reason": decision.reason}
    if decision.rule is not None:
        data["rule"] = str(decision.rule)
    data["advisory"] = decision.advisory
    text = f"{_MARKS[decision.posture]} {decision.posture} · {decision.reason}"
    return Reply(f"{text} · advisory" if decision.advisory else text, data)


def _told(probed: Probed) -> Reply:
    mark = {"enforced": "✓", "degraded": "?", "none": "✗"}[probed.status]
    lines = [f"{mark} {probed.status} · Landlock ABI {probed.abi}", *probed.reasons]
    return Reply("\n  ".join(lines), probed, exit_code=0 if probed.status != "none" else 1)


def _rules(place: Place) -> Reply:
    permissions = place.permissions()
    who = place.worker.id
    if permissions is None:
        return Reply(f"{who}: nothing is configured", {"worker": who, "configured": False})
    rules = [str(rule) for rule in permissions.rules]
    lines = [f"{who}: {_MARKS[permissions.default]} {permissions.default} by default", *rules]
    data = {"worker": who, "configured": True, "default": permissions.default, "rules": rules}
    return Reply("\n  ".join(lines), data)


def _plan(place: Place) -> Reply:
    right = place.right()
    plan = place.rights.plan(right, place.root)
    if plan is None:
        raise NotFound(f"{place.worker.id}: nothing is configured, so nothing is fenced")
    own = [Granted(grant.path, tuple(sorted(grant.access))) for grant in plan.grants]
    system = [Granted(path, _words(bits)) for path, bits in place.rights.system()]
    lines = [f"{right.enforcement} · {plan.posture} by default", "project", *map(str, own)]
    lines += ["system", *map(str, system)]
    lines += [f"? {told}" for told in plan.diagnostics]
    data = {
        "status": right.enforcement,
        "posture": plan.posture,
        "fenced": sorted(plan.fenced),
        "grants": own,
        "system": system,
        "diagnostics": plan.diagnostics,
    }
    return Reply("\n".join(lines), data)


def _projection(place: Place, name: str) -> Reply:
    drivers = known_drivers()
    if name not in drivers:
        hint = did_you_mean(name, drivers)
        raise NotFound(f"no driver {name}{hint}", f"known: {', '.join(drivers)}")
    right, worker = place.right(), place.worker
    seat = Seat(
        worker=worker.id,
        command=(name,),
        cwd=str(place.root),
        config_home="",
        tmp="",
        model=worker.model,
        tools=worker.tools,
        max_turns=worker.max_turns,
        identity="",
        login={},
        permissions=right.permissions,
        enforcement=right.enforcement,
    )
    told = drivers[name].project(seat)
    lines = [f"{name} · {right.enforcement}", *(f"argument  {arg}" for arg in told.args)]
    lines += [f"variable  {variable}={value}" for variable, value in told.env.items()]
    for file in told.files:
        how = "merged into" if file.is_merged else "file"
        lines += [f"{how}  {file.path}", *(f"  {line}" for line in file.text.split("\n"))]
    lines += [f"? {one}" for one in told.diagnostics]
    return Reply("\n".join(lines), told)


def _words(bits: int) -> tuple[str, ...]:
    return tuple(word for bit, word in _BITS.items() if bits & bit)
