"""`amiral sandbox run`: become a program behind the fence that a policy compiles to."""

import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from amiral.agents.needs import program_folder
from amiral.agents.rights import Footing
from amiral.base.errors import AmiralError, Denied, Invalid, NotFound
from amiral.commands.registry import Parsed, Reply
from amiral.local.permissions import Place, place_of
from amiral.local.terminal import answer
from amiral.permissions.projection import Enforcement
from amiral.processes.fence import Fence, FenceError, apply
from amiral.processes.spawn import base_environment
from amiral.store.files import ensure_private_folder


class CannotFence(AmiralError):
    """The fence cannot be built, so nothing was run (exit code as of `env` and `timeout`)."""

    kind = "denied"
    exit_code = 126


def run(argv: Sequence[str]) -> int:
    """Become the program; comes back only when it cannot be started, or fenced (126)."""
    return answer(argv, _run)


def _run(parsed: Parsed) -> Reply:
    words = parsed.arguments["cmd"]
    argv = [str(word) for word in words] if isinstance(words, tuple) else [str(words)]
    program = shutil.which(argv[0])
    if program is None:
        raise NotFound(f"there is no program {argv[0]}")
    try:
        place = place_of(parsed.arguments, parsed.project)
        tmp = _tmp(place.home)
        fence = _fence(place, tmp, program)
        os.chdir(place.root)
        _become(program, argv, {**base_environment(), "TMPDIR": str(tmp)}, fence)
    except (Denied, FenceError) as error:
        raise CannotFence(
            f"the fence cannot be built: {error}", "amiral permissions probe"
        ) from error
    return Reply()


def _tmp(home: Path) -> Path:
    folder = home / "run" / "sandbox"
    for one in (home, home / "run", folder):
        ensure_private_folder(one)
    return folder


def _fence(place: Place, tmp: Path, program: str) -> Fence:
    right = place.right()
    if right.permissions is None:
        raise Invalid("nothing is configured, so there is nothing to hold", "name a --policy FILE")
    if right.enforcement is Enforcement.NONE:
        raise Denied("nothing can hold a program on this machine")
    footing = Footing(
        place.root,
        own=(tmp,),
        programs=_programs(place.root, os.path.realpath(program)),
        # There is no proxy without the project's process: a network that is closed is so whole.
        ports=None if place.sandbox.network == "open" else (),
    )
    fence = place.rights.fence(right, footing)
    if fence is None:
        raise Denied("nothing can hold a program on this machine")
    return fence


def _programs(root: Path, program: str) -> tuple[str, ...]:
    """One of the project's own is read as the policy says, which may deny what lies beside it."""
    return () if Path(program).is_relative_to(root) else (program_folder(program), program)


def _become(program: str, argv: list[str], env: dict[str, str], fence: Fence) -> None:
    """Take this process's place, so that terminal, signals and exit code are the program's own."""
    sys.stdout.flush()
    try:
        apply(fence)
        os.execve(program, argv, env)  # noqa: S606
    except OSError as error:
        raise CannotFence(f"{program}: {error.strerror}") from error
