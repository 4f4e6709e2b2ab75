"""Pure: which answers permissions can give at all, for a CLI that is told less than all of them."""

from amiral.permissions.globs import ANY_DEPTH, BadGlob, parse_glob
from amiral.permissions.rules import Capability, Permissions, Posture, Rule, rules_for


def outcomes(permissions: Permissions, capability: Capability) -> frozenset[Posture]:
    """Give every posture that a path in the project, or a command, can come to."""
    rules = rules_for(permissions, capability)
    least = unmatched(permissions, capability)
    if least is not None:
        return frozenset({least, *(rule.posture for rule in rules)})
    every = max(rule.posture.severity for rule in rules if is_about_everything(rule))
    return frozenset(rule.posture for rule in rules if rule.posture.severity >= every)


def unmatched(permissions: Permissions, capability: Capability) -> Posture | None:
    """Give what holds where no rule matches; None when a rule matches everything."""
    if any(map(is_about_everything, rules_for(permissions, capability))):
        return None
    return permissions.default


def is_about_everything(rule: Rule) -> bool:
    """Tell whether a rule matches every path in the project, or every command."""
    if rule.capability is Capability.EXECUTE:
        return not rule.match.strip("* ")
    try:
        return parse_glob(rule.match).segments == (ANY_DEPTH,)
    except BadGlob:
        # One that cannot be read is either everything or, as an allow, nothing.
        return rule.posture is not Posture.ALLOW
