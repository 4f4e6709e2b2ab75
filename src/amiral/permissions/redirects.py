"""Pure: what a policy says about the files that the shell itself opens: `> file`, `< file` (C4)."""

from collections.abc import Iterator

from amiral.base.plain import one_line
from amiral.permissions.protected import lies_protected
from amiral.permissions.rules import (
    Capability,
    Decision,
    Permissions,
    Posture,
    decide_file,
    path_of,
    rules_for,
    worse,
)
from amiral.permissions.shell_line import UNKNOWN, Line, Redirection

_STREAMS = ("/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/tty")
_MOVES = frozenset({"cd", "pushd", "popd"})
_GLOB = frozenset(f"*?[{UNKNOWN}")


def judge_redirections(permissions: Permissions, line: Line, root: str) -> Iterator[Decision]:
    """Judge each file that is written or read by redirection; streams and /dev/null are none."""
    is_moved = any(_MOVES.intersection(words[:3]) for words in line.commands)
    for redirection in line.redirections:
        target = redirection.target
        if target in _STREAMS or target.startswith("/dev/fd/"):
            continue
        decision = _judge(permissions, redirection, root, is_moved=is_moved)
        verb = "writes to" if redirection.capability is Capability.WRITE else "reads"
        shown = one_line(target.replace(UNKNOWN, "…"))
        reason = f"the line {verb} {shown}: {decision.reason}"
        yield Decision(decision.posture, decision.rule, reason, advisory=True)


def _judge(
    permissions: Permissions, redirection: Redirection, root: str, *, is_moved: bool
) -> Decision:
    capability, target = redirection.capability, redirection.target
    if _GLOB.intersection(target):
        return _unknown(permissions, capability, "which file that is is not known")
    path = None if target.startswith("~") else path_of(root, target)
    decision = decide_file(permissions, capability, path)
    names = tuple(name for name in target.split("/") if name)
    is_allowed = decision.posture is Posture.ALLOW
    if is_allowed and capability is Capability.WRITE and lies_protected(names):
        return Decision(Posture.ASK, None, "what stands there runs later", advisory=True)
    if is_allowed and is_moved and not target.startswith("/"):
        return _unknown(permissions, capability, "the folder was changed before")
    return decision


def _unknown(permissions: Permissions, capability: Capability, why: str) -> Decision:
    """The default at best, and an answer where a rule could mean the file."""
    rules = [r for r in rules_for(permissions, capability) if r.posture is not Posture.ALLOW]
    posture = worse(permissions.default, Posture.ASK if rules else Posture.ALLOW)
    return Decision(posture, None, f"{why}; the default is {permissions.default}", advisory=True)
