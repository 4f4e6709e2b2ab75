"""`amiral sandbox run`: become a program behind the fence that a policy compiles to."""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from amiral.agents.fencing import Footing
from amiral.agents.grants import places_of
from amiral.base.errors import AmiralError, Denied, Invalid, NotFound
from amiral.base.ids import digest, new_id
from amiral.commands.registry import Parsed, Reply
from amiral.local.inquiry import Inquiry, inquire
from amiral.local.terminal import answer
from amiral.permissions.projection import Enforcement
from amiral.processes.become import become, carry_tag
from amiral.processes.fence import Fence, FenceError
from amiral.processes.spawn import Spawner, base_environment
from amiral.store.brake import Brake
from amiral.store.files import ensure_private_folder


class CannotFence(AmiralError):
    """The fence cannot be built, so nothing was run (exit code as of `env` and `timeout`)."""

    kind = "denied"
    exit_code = 126


def run(argv: Sequence[str]) -> int:
    """Become the program; comes back only when it cannot be started, or fenced (126)."""
    return answer(argv, _run)


def _run(parsed: Parsed) -> Reply:
    if parsed.as_json:
        raise Invalid(
            "`sandbox run` has no --json: what it prints is the program's own",
            "put -- before the program when the option is meant for it",
        )
    words = parsed.arguments["cmd"]
    argv = [str(word) for word in words] if isinstance(words, tuple) else [str(words)]
    found = shutil.which(argv[0])
    if found is None:
        raise NotFound(f"there is no program {argv[0]}")
    program = str(Path(found).absolute())
    inquiry = inquire(parsed.arguments, parsed.project)
    tmp, spawner = _tmp(inquiry.home), _spawner(inquiry)
    try:
        carry_tag(spawner, digest(str(inquiry.home)))
        fence = _fence(inquiry, tmp, program)
        os.chdir(inquiry.root)
        env = {**base_environment(), "TMPDIR": str(tmp)}
        become(spawner, [program, *argv[1:]], env, fence)
    except (Denied, FenceError) as error:
        raise CannotFence(
            f"the fence cannot be built: {error}", "amiral permissions probe"
        ) from error
    except OSError as error:
        raise CannotFence(f"{error.filename or program}: {error.strerror}") from error


def _spawner(inquiry: Inquiry) -> Spawner:
    """Its tag is the project's, to be found by a stop, and no `run-`, which a start would end."""
    project = inquiry.project.id if inquiry.project else ""
    brake = Brake(inquiry.home / "brake", project)
    brake.prepare()
    return Spawner(brake, f"{digest(str(inquiry.home))}:{project}:sandbox-{new_id()}")


def _tmp(home: Path) -> Path:
    folder = home / "run" / "sandbox"
    for one in (home, home / "run", folder):
        ensure_private_folder(one)
    return folder


def _fence(inquiry: Inquiry, tmp: Path, program: str) -> Fence:
    right = inquiry.right()
    if right.permissions is None:
        raise Invalid("nothing is configured, so there is nothing to hold", "name a --policy FILE")
    if right.enforcement is Enforcement.NONE:
        raise Denied("nothing can hold a program on this machine")
    footing = Footing(
        inquiry.root,
        own=(tmp,),
        programs=_programs(inquiry.root, program),
        # There is no proxy without the project's process: a network that is closed is so whole.
        ports=None if inquiry.settings.sandbox.network == "open" else (),
    )
    fence = inquiry.rights.compile(right, footing).fence
    if fence is None:
        raise Denied("nothing can hold a program on this machine")
    return fence


def _programs(root: Path, program: str) -> tuple[str, ...]:
    """One of the project's own is read as the policy says, which may deny what lies beside it."""
    real = os.path.realpath(program)
    return () if Path(real).is_relative_to(root) else (*places_of(program), real)
