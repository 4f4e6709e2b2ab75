"""The other door of programs: this process becomes one, under the brake and with a tag like any.

So terminal, signals and exit code are the program's own. Whatever a stop does meanwhile, it is
either read here before the program begins, or finds the program by its tag.
"""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn

from amiral.processes.box import go_behind
from amiral.processes.fence import Fence
from amiral.processes.spawn import Spawner
from amiral.processes.tree import TAG_VARIABLE, is_under


def carry_tag(spawner: Spawner, home: str) -> None:
    """Be found by a stop from here on; `home` is the first part of our tags.

    What a process was started with cannot be changed, so this one is started anew, once. OSError
    when it cannot be.
    """
    if not is_under(os.environ.get(TAG_VARIABLE, ""), home):
        sys.stdout.flush()
        os.execve(sys.executable, sys.orig_argv, {**os.environ, TAG_VARIABLE: spawner.tag})


def become(
    spawner: Spawner, argv: list[str], env: Mapping[str, str], fence: Fence | None = None
) -> NoReturn:
    """Become a program, named by its whole path; `carry_tag` was called before.

    Conflict when a stop is in force, FenceError when the fence cannot be put up, OSError when the
    program cannot be started.
    """
    spawner.check("program")
    sys.stdout.flush()
    command = go_behind(fence, argv, str(Path.cwd())) if fence else argv
    os.execve(command[0], command, {**env, TAG_VARIABLE: os.environ[TAG_VARIABLE]})
