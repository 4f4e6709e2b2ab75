"""`amiral permissions …`: what a worker may do, by which rule, and what holds it here."""

import asyncio
import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from amiral.agents.declared import POLICY, Declared, Rules, load_declared, shipped
from amiral.agents.driver import Seat
from amiral.agents.rights import Right, Rights
from amiral.agents.worker import ALL_TOOLS, Worker
from amiral.base.errors import Broken, Invalid, NotFound
from amiral.base.nearest import did_you_mean
from amiral.base.settings import Sandbox
from amiral.commands.parameter import Value
from amiral.commands.registry import Parsed, Reply
from amiral.config import find_home, load_settings
from amiral.installed import known_drivers
from amiral.local.terminal import answer
from amiral.permissions.policy import parse_policy
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
from amiral.projects.project_files import FOLDER
from amiral.projects.store import Projects
from amiral.projects.trust import Trust
from amiral.store.brake import Brake
from amiral.store.files import ensure_private_folder

_ANYONE = Worker(
    *("anyone", "anyone", "·", "terminal", "", 0, ALL_TOOLS, "", "history", "text", (), "anyone")
)
_LONGEST = 1 << 20
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
    sandbox: Sandbox
    notices: tuple[str, ...] = ()

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
    file = arguments.get("policy")
    rules = declared.rules if file is None else _read(Path(str(file)))
    sandbox = load_settings(home, os.environ).sandbox
    rights = Rights(lambda: rules, sandbox, lambda: _probed(home), home, _untold)
    return Place(home, root, worker, rights, sandbox, (*rules.notices, *_not_served(found, root)))


def _not_served(found: Project | None, root: Path) -> tuple[str, ...]:
    """Tell of a policy that lies where nobody has served a project yet."""
    if found is not None or not (root / FOLDER / POLICY).is_file():
        return ()
    return (
        f"{FOLDER}/{POLICY} is not in force: `amiral up`, then `amiral trust permissions.json`",
    )


def _project_of(home: Path, name: str) -> Project | None:
    projects = Projects(home, Path.home())
    return projects.named(name) if name else projects.find(Path.cwd())


def _worker(declared: Declared, name: str) -> Worker:
    return declared.worker(name) if name else _ANYONE


def _read(file: Path) -> Rules:
    """Read a policy that is named; Invalid with every mistake in it."""
    try:
        handle = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise NotFound(f"there is no file {file}") from None
    except OSError as error:
        raise Broken(f"cannot read {file}: {os.strerror(error.errno or 0)}") from None
    with os.fdopen(handle, "rb") as opened:
        seen = os.fstat(handle)
        if not stat.S_ISREG(seen.st_mode) or seen.st_size > _LONGEST:
            raise Invalid(f"{file} is no file of at most 1 MiB", "name a permissions.json")
        text = opened.read(_LONGEST).decode("utf-8", "replace")
    policy, notices = parse_policy(text, str(file))
    return Rules(policy, notices=notices)


async def _untold(_: str) -> None:
    """What holds is shown with every answer."""


async def _probed(home: Path) -> Probed:
    folder = home / "run"
    for one in (home, folder):
        ensure_private_folder(one)
    return await probe(Spawner(Brake(home / "brake"), ""), folder)


def _carry_out(parsed: Parsed) -> Reply:
    if parsed.command == "permissions probe":
        return _told(find_home(os.environ))
    place = place_of(parsed.arguments, parsed.project)
    match parsed.command, parsed.arguments:
        case "permissions check", {"action": "command", "target": str() as line}:
            decision = decide_command(place.permissions(), line, str(place.root))
            return _decision(decision, place.notices)
        case "permissions check", {"action": str() as action, "target": str() as target}:
            path = path_of(str(place.root), target)
            decision = decide_file(place.permissions(), Capability(action), path)
            return _decision(decision, place.notices)
        case "permissions project", {"driver": str() as driver}:
            return _projection(place, driver)
        case "permissions plan", _:
            return _plan(place)
        case _:
            return _rules(place)


def _decision(decision: Decision, notices: tuple[str, ...]) -> Reply:
    data: dict[str, object] = {"posture": decision.posture, "reason": decision.reason}
    if decision.rule is not None:
        data["rule"] = str(decision.rule)
    data["advisory"] = decision.advisory
    text = f"{_MARKS[decision.posture]} {decision.posture} · {decision.reason}"
    text += " · advisory" if decision.advisory else ""
    return Reply("\n".join((text, *_marked(notices))), data)


def _marked(notices: Iterable[str]) -> Iterator[str]:
    return (f"? {notice}" for notice in notices)


def _told(home: Path) -> Reply:
    """Tell what was tried and found; what the owner has switched off holds nothing."""
    found = asyncio.run(_probed(home))
    if load_settings(home, os.environ).sandbox.enforcer == "none":
        why = f'[sandbox] enforcer is "none": no fence is put up (the kernel: {found.status})'
        found = replace(found, status="none", reasons=(why, *found.reasons))
    mark = {"enforced": "✓", "degraded": "?", "none": "✗"}[found.status]
    lines = [f"{mark} {found.status} · Landlock ABI {found.abi}", *found.reasons]
    if found.status == "enforced":
        lines.append(
            "a program behind the fence was kept from all it must not do, and did the rest"
        )
    return Reply("\n  ".join(lines), found, exit_code=0 if found.status != "none" else 1)


def _rules(place: Place) -> Reply:
    permissions = place.permissions()
    who = place.worker.id
    notices = place.notices
    if permissions is None:
        text = "\n".join((f"{who}: nothing is configured", *_marked(notices)))
        return Reply(text, {"worker": who, "configured": False, "notices": notices})
    rules = [str(rule) for rule in permissions.rules]
    lines = [f"{who}: {_MARKS[permissions.default]} {permissions.default} by default", *rules]
    data = {"worker": who, "configured": True, "default": permissions.default, "rules": rules}
    text = "\n".join(("\n  ".join(lines), *_marked(notices)))
    return Reply(text, {**data, "notices": notices})


def _plan(place: Place) -> Reply:
    right = place.right()
    plan = place.rights.plan(right, place.root)
    if plan is None:
        raise NotFound(f"{place.worker.id}: nothing is configured, so nothing is fenced")
    own = [Granted(grant.path, tuple(sorted(grant.access))) for grant in plan.grants]
    system = [Granted(path, _words(bits)) for path, bits in place.rights.system()]
    network = place.sandbox.network
    shown = network if isinstance(network, str) else ", ".join(network)
    lines = [f"{right.enforcement} · {plan.posture} by default · network {shown}"]
    lines += ["project", *map(str, own)]
    lines += ["system", *map(str, system)]
    lines += _marked((*plan.diagnostics, *place.notices))
    data = {
        "status": right.enforcement,
        "posture": plan.posture,
        "fenced": sorted(plan.fenced),
        "grants": own,
        "system": system,
        "network": network,
        "diagnostics": (*plan.diagnostics, *place.notices),
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
