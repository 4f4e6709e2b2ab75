"""`amiral guard`: run the independent stopper in the foreground."""

import os
import sys

from amiral import guard
from amiral.base.errors import Broken, Conflict, Denied, Invalid
from amiral.base.home import home_folder, home_tag
from amiral.commands.registry import Parsed, Reply
from amiral.local.terminal import answer
from amiral.processes.lineage import is_below_shim
from amiral.safety.pulse import pulse_of


def run(argv: list[str]) -> int:
    """Become the guard: a process of the standard library alone takes the place of this one."""
    return answer(argv, _become)


def _become(parsed: Parsed) -> Reply:
    del parsed
    home = home_folder()
    if is_below_shim(os.getpid(), home_tag(home)):
        raise Denied("an agent cannot guard", "ask the owner")
    if not os.path.isdir(home):
        raise Invalid(f"there is no home at {home}", "set AMIRAL_HOME, or run `amiral up` first")
    pulse = pulse_of(home)
    if pulse.is_held:
        raise Conflict(pulse.text, "one is enough")
    sys.stdout.flush()
    command = guard.guard_command()
    try:
        os.execv(command[0], command)  # noqa: S606 the same interpreter, our own code
    except OSError as error:
        raise Broken(f"the guard cannot be started: {error.strerror}", "") from error
