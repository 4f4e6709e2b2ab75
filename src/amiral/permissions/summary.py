"""Pure: what a worker reads about its own permissions, and how far they are enforced (S3.27-28)."""

from collections.abc import Iterable, Iterator

from amiral.base.plain import one_line
from amiral.permissions.projection import Enforcement
from amiral.permissions.rules import Capability, Permissions, Posture, Rule, rules_for
from amiral.permissions.sandbox import Access, SandboxPlan

_MOST_ITEMS = 12
_LONGEST_ITEM = 80
_LONGEST_SENTENCE = 400

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
    permissions: Permissions | None, plan: SandboxPlan | None, enforcement: Enforcement
) -> str:
    """Write the Markdown for a worker's context; "" when nothing is configured.

    `plan` None = no sandbox is compiled for it.
    """
    if permissions is None:
        return ""
    lines = [_HELD[enforcement]]
    lines.append(f"What no rule is about is {_BY_DEFAULT[permissions.default]}.")
    lines += _rules(permissions)
    if rules_for(permissions, Capability.EXECUTE):
        lines.append(_ADVISORY)
    if plan is not None and enforcement is not Enforcement.NONE:
        lines += _sandbox(plan)
    return _BEGINNING + "".join(f"\n- {line}" for line in lines) + "\n"


def _rules(permissions: Permissions) -> Iterator[str]:
    for capability, name in _NAMES.items():
        rules = rules_for(permissions, capability)
        parts = [_part(posture, rules) for posture in _WORDS]
        if any(parts):
            yield f"{name}: {'; '.join(part for part in parts if part)}."


def _part(posture: Posture, rules: Iterable[Rule]) -> str:
    found = list(dict.fromkeys(rule.match for rule in rules if rule.posture is posture))
    return f"{_WORDS[posture]} {_list(found)}" if found else ""


def _sandbox(plan: SandboxPlan) -> Iterator[str]:
    writable = [grant.path for grant in plan.grants if Access.WRITE in grant.access]
    if writable:
        yield f"Of the project only this can be written: {_list(writable)}."
    else:
        yield "Nothing of the project can be written."
    told = [one_line(sentence, _LONGEST_SENTENCE) for sentence in plan.diagnostics]
    yield from told[:_MOST_ITEMS]
    if len(told) > _MOST_ITEMS:
        yield f"and {len(told) - _MOST_ITEMS} more limits like these."


def _list(items: list[str]) -> str:
    shown = ", ".join(_code(item) for item in items[:_MOST_ITEMS])
    more = len(items) - _MOST_ITEMS
    return f"{shown} and {more} more" if more > 0 else shown


def _code(text: str) -> str:
    """A backtick would end the code; what stands in for it is near enough to read."""
    return f"`{one_line(text, _LONGEST_ITEM).replace('`', '’')}`"
