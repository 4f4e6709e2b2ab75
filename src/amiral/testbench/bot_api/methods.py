"""All methods of the Bot API that there are here, by name in small letters."""

from collections.abc import Mapping

from amiral.testbench.bot_api import editing, media, membership, menus, polls, sending
from amiral.testbench.bot_api.method import Method
from amiral.testbench.bot_api.wire import Refusal

_METHODS: Mapping[str, Method] = {
    **polls.METHODS,
    **sending.METHODS,
    **editing.METHODS,
    **media.METHODS,
    **menus.METHODS,
    **membership.METHODS,
}


def method(name: str) -> Method:
    """Find one, in whatever letters; raises a Refusal."""
    found = _METHODS.get(name.lower())
    if found is None:
        raise Refusal(404, "Not Found: method not found")
    return found
