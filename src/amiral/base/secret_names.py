"""Pure: how secrets are named, and how settings name one in place of its value."""

import re

from amiral.base.errors import Invalid
from amiral.base.plain import one_line

LONGEST = 100

_NAME = re.compile(rf"[a-z0-9][a-z0-9_./-]{{0,{LONGEST - 1}}}")
_MARK = "vault:"
_SECRET = re.compile("KEY|TOKEN|SECRET|PASSW", re.IGNORECASE)


def is_name(name: str) -> bool:
    """Tell whether a secret may be called so."""
    return _NAME.fullmatch(name) is not None


def check_name(name: str) -> None:
    """Raise Invalid for what can be no name of a secret."""
    if not is_name(name):
        raise Invalid(
            f"`{one_line(name, 40)}` cannot be the name of a secret",
            f"up to {LONGEST} of a-z, 0-9, _ . / -, a letter or digit first: telegram/master",
        )


def sounds_secret(variable: str) -> bool:
    """Tell by the name of a variable that what it holds is nobody else's business."""
    return _SECRET.search(variable) is not None


def is_reference(value: str) -> bool:
    """Tell whether a setting names a secret, rightly or wrongly."""
    return value.startswith(_MARK)


def referred(value: str) -> str:
    """Give the name in `vault:NAME`, "" for any other value."""
    name = value.removeprefix(_MARK)
    return name if is_reference(value) and is_name(name) else ""
