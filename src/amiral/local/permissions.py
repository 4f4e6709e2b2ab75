"""`amiral permissions …`: what a worker may do, by which rule, and what holds it here."""

import asyncio
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from amiral.agents.driver import Seat
from amiral.base.errors import NotFound
from amiral.base.nearest import did_you_mean
from amiral.commands.registry import Parsed, Reply
from amiral.config import find_home, load_settings
from amiral.installed import known_drivers
from amiral.local.inquiry import Inquiry, inquire, probed
from amiral.local.terminal import answer
from amiral.permissions.protected import IN_PLACE, NAMED_IN_WORKTREE
from amiral.permissions.rules import Capability, Decision, Posture, decide_file, path_of
from amiral.permissions.shell import decide_command

_OF_A_WORKTREE = (
    "in a worktree that is part of the work, and reaches you by the diff; in your own folder it "
    "is protected, whatever the policy (--here)"
)
_MARKS = {Posture.ALLOW: "✓", Posture.ASK: "?", Posture.DENY: "✗"}


def run(argv: Sequence[str]) -> int:
    """Answer one of the `permissions` commands."""
    return answer(argv, _carry_out)


def _carry_out(parsed: Parsed) -> Reply:
    if parsed.command == "permissions probe":
        return _told(find_home(os.environ))
    inquiry = inquire(parsed.arguments, parsed.project)
    match parsed.command, parsed.arguments:
        case "permissions check", {"action": "command", "target": str() as line}:
            decision = decide_command(inquiry.permissions(), line, str(inquiry.root))
            return _decision(decision, inquiry.notices)
        case "permissions check", {"action": str() as action, "target": str() as target}:
            here = bool(parsed.arguments.get("here"))
            return _check(inquiry, Capability(action), target, here=here)
        case "permissions project", {"driver": str() as driver}:
            return _projection(inquiry, driver)
        case _:
            return _rules(inquiry)


def _check(inquiry: Inquiry, capability: Capability, target: str, *, here: bool) -> Reply:
    """Judge a path where the worker would work: in a worktree some names lose their protection."""
    permissions, path = inquiry.permissions(), path_of(str(inquiry.root), target)
    if capability is Capability.READ:
        return _decision(decide_file(permissions, capability, path), inquiry.notices)
    is_worktree = inquiry.standing(here=here).is_worktree
    inert = NAMED_IN_WORKTREE if is_worktree else IN_PLACE
    decision = decide_file(permissions, capability, path, inert)
    notices = inquiry.notices
    if is_worktree and decision != decide_file(permissions, capability, path, IN_PLACE):
        notices += (_OF_A_WORKTREE,)
    return _decision(decision, notices)


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
    sandbox = load_settings(home, os.environ).sandbox
    found = asyncio.run(probed(home, sandbox))
    if sandbox.enforcer == "none":
        why = f'[sandbox] enforcer is "none": no fence is put up (the kernel: {found.status})'
        found = replace(found, status="none", reasons=(why, *found.reasons))
    mark = {"enforced": "✓", "degraded": "?", "none": "✗"}[found.status]
    where = " in a box of bwrap" if found.enforcer == "bwrap" else ""
    lines = [f"{mark} {found.status} · Landlock ABI {found.abi}{where}", *found.reasons]
    if found.status == "enforced":
        lines.append(
            "a program behind the fence was kept from all it must not do, and did the rest"
        )
    return Reply("\n  ".join(lines), found, exit_code=0 if found.status != "none" else 1)


def _rules(inquiry: Inquiry) -> Reply:
    permissions = inquiry.permissions()
    who = inquiry.worker.id
    notices = inquiry.notices
    if permissions is None:
        text = "\n".join((f"{who}: nothing is configured", *_marked(notices)))
        return Reply(text, {"worker": who, "configured": False, "notices": notices})
    rules = [str(rule) for rule in permissions.rules]
    lines = [f"{who}: {_MARKS[permissions.default]} {permissions.default} by default", *rules]
    data = {"worker": who, "configured": True, "default": permissions.default, "rules": rules}
    text = "\n".join(("\n  ".join(lines), *_marked(notices)))
    return Reply(text, {**data, "notices": notices})


def _projection(inquiry: Inquiry, name: str) -> Reply:
    drivers = known_drivers()
    if name not in drivers:
        hint = did_you_mean(name, drivers)
        raise NotFound(f"no driver {name}{hint}", f"known: {', '.join(drivers)}")
    right, worker = inquiry.right(), inquiry.worker
    seat = Seat(
        worker=worker.id,
        command=(name,),
        cwd=str(inquiry.root),
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
