"""Pure: what a worker reads about its own permissions, and how far they are enforced (S3.27-28)."""

from collections.abc import Iterable, Iterator

from amiral.base.plain import one_line
from amiral.permissions.folders import Path
from amiral.permissions.projection import Enforcement
from amiral.permissions.rules import (
    Capability,
    Permissions,
    Posture,
    Rule,
    decide_file,
    path_of,
    rules_for,
)
from amiral.permissions.sandbox import Access, Closed, SandboxPlan
from amiral.permissions.scope import shown

_MOST_ITEMS = 12
_MOST_CLOSED = 5
_LONGEST_ITEM = 80
_LONGEST_REASON = 200

_BEGINNING = (
    "## Your permissions\n\n"
    "When something is refused (`permission denied`, `EACCES`, a denied tool), say so and go on "
    "with what you may do. Do not work around it.\n"
)
_HELD = {
    Enforcement.ENFORCED: "The kernel holds what is said here about files, for every program.",
    Enforcement.DEGRADED: "The kernel holds only part of this. All of it applies to you.",
    Enforcement.NONE: "The kernel does not hold this; your own tools do. All of it applies to you.",
}
_BY_DEFAULT = {
    Posture.ALLOW: "allowed",
    Posture.ASK: "for a person to answer first; refused when nobody can be asked",
    Posture.DENY: "refused",
}
_NAMES = {
    Capability.READ: "Read",
    Capability.WRITE: "Write",
    Capability.DELETE: "Delete",
    Capability.EXECUTE: "Run commands",
}
_WORDS = {Posture.DENY: "never", Posture.ASK: "ask first", Posture.ALLOW: "allowed"}
_ADVISORY = (
    "Rules about commands are advisory: they judge the text of a command line, and the sandbox is "
    "what counts. A line that cannot be read for sure is not allowed by any rule."
)


def summarise(
    permissions: Permissions | None,
    plan: SandboxPlan | None,
    network: tuple[str, ...] | str,
    enforcement: Enforcement,
) -> str:
    """Write the Markdown for a worker's context; "" when nothing is configured.

    `plan` is what the kernel holds now, None when it holds no files; `network` as in `[sandbox]`.
    """
    lines = [*_network(network)]
    if permissions is not None:
        lines = [*_whole(permissions, enforcement), *_limits(permissions, plan), *lines]
    return _BEGINNING + "".join(f"\n- {line}" for line in lines) + "\n" if lines else ""


def _whole(permissions: Permissions, enforcement: Enforcement) -> Iterator[str]:
    yield _HELD[enforcement]
    yield f"What no rule is about is {_BY_DEFAULT[permissions.default]}."
    for capability, name in _NAMES.items():
        rules = rules_for(permissions, capability)
        parts = [_part(posture, rules) for posture in _WORDS]
        if any(parts):
            yield f"{name}: {'; '.join(part for part in parts if part)}."
    if rules_for(permissions, Capability.EXECUTE):
        yield _ADVISORY


def _part(posture: Posture, rules: Iterable[Rule]) -> str:
    found = list(dict.fromkeys(rule.match for rule in rules if rule.posture is posture))
    return f"{_WORDS[posture]} {_list(found)}" if found else ""


def _limits(permissions: Permissions, plan: SandboxPlan | None) -> Iterator[str]:
    """Tell what was compiled; what may not be read is not named."""
    if plan is None:
        return
    written = (path_of(plan.root, g.path) for g in plan.grants if Access.WRITE in g.access)
    paths = [path for path in written if path is not None and not _is_secret(permissions, path)]
    if () in paths:
        yield "The whole folder you work in can be written, but for what is never to be."
    elif paths:
        yield f"Of the folder you work in only this can be written: {_list(map(shown, paths))}."
    else:
        yield "Nothing of the folder you work in can be written."
    told = [line for one in plan.closed if (line := _closed(permissions, one))]
    yield from told[:_MOST_CLOSED]
    if len(told) > _MOST_CLOSED:
        more = len(told) - _MOST_CLOSED
        yield f"No new file can be made in more folders, for {more} more reasons."


def _closed(permissions: Permissions, closed: Closed) -> str:
    paths = [path for path in closed.folders if not _is_secret(permissions, path)]
    if not paths:
        return ""
    is_secret = any(_is_secret(permissions, path) for path in closed.named)
    why = "" if is_secret else f" ({one_line(closed.why, _LONGEST_REASON)})"
    return f"No new file can be made right in {_list(map(shown, paths), _MOST_CLOSED)}{why}."


def _is_secret(permissions: Permissions, path: Path) -> bool:
    return decide_file(permissions, Capability.READ, path).posture is Posture.DENY


def _network(network: tuple[str, ...] | str) -> Iterator[str]:
    if network == "open":
        return
    hosts = f" and {_list(network)}" if isinstance(network, tuple) and network else ""
    yield f"The network is closed but for your own service{hosts}."


def _list(items: Iterable[str], most: int = _MOST_ITEMS) -> str:
    found = list(items)
    listed = ", ".join(_code(item) for item in found[:most])
    return f"{listed} and {len(found) - most} more" if len(found) > most else listed


def _code(text: str) -> str:
    """A backtick would end the code; what stands in for it is near enough to read."""
    return f"`{one_line(text, _LONGEST_ITEM).replace('`', '’')}`"
