"""`amiral doctor`: look at everything amiral needs, each with its fix; changes and starts nothing.

Whatever is broken, every other check is still made. Only version probes of git and the CLIs run.
"""

import os
import resource
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from amiral.base.clock import SystemClock
from amiral.base.errors import AmiralError
from amiral.base.home import home_folder
from amiral.base.settings import Sandbox, Settings
from amiral.commands.registry import Parsed, Reply
from amiral.config import load_settings
from amiral.local import check_home, check_machine, check_project
from amiral.local.check import Check, guarded
from amiral.local.check_vault import look_at_vault
from amiral.local.terminal import answer
from amiral.processes.tree import limits

Look = Callable[[], Iterable[Check]]


def run(argv: list[str]) -> int:
    """Print every check; the exit code is 1 when a needed one has failed."""
    return answer(argv, lambda parsed: _examine(parsed, os.environ))


def _examine(parsed: Parsed, environ: Mapping[str, str]) -> Reply:
    looks = _looks(Path(home_folder()), environ, parsed.project)
    checks = [check for name, look in looks.items() for check in guarded(name, look)]
    width = max(len(check.name) for check in checks)
    lines = [line for check in checks for line in check.lines(width)]
    failed = sum(check.has_failed for check in checks)
    data = {"checks": [check.data() for check in checks]}
    return Reply("\n".join(lines), data, exit_code=1 if failed else 0)


def _enforcer(home: Path, environ: Mapping[str, str]) -> str:
    """Settings with a mistake are told elsewhere; then the kernel is tried out as by default."""
    try:
        return load_settings(home, environ).sandbox.enforcer
    except AmiralError:
        return Sandbox().enforcer


def _looks(home: Path, environ: Mapping[str, str], project: str) -> Mapping[str, Look]:
    """Give every look in the order it is told, by the name it has when it fails itself."""
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    now_ms = SystemClock().now_ms()
    return {
        "python": check_machine.look_at_python,
        "platform": lambda: check_machine.look_at_platform(sys.platform, limits()),
        "sandbox": lambda: check_machine.look_at_fence(home, _enforcer(home, environ)),
        "sqlite": lambda: check_machine.look_at_sqlite(home),
        "git": lambda: check_machine.look_at_git(home),
        "tmux": check_machine.look_at_tmux,
        "open files": lambda: check_machine.look_at_open_files(files),
        "clock": lambda: check_machine.look_at_clock(now_ms, home / "brake" / "latch"),
        "home": lambda: check_home.look_at_home(environ),
        "disk": lambda: check_home.look_at_disk(home),
        "settings": lambda: check_home.look_at_settings(home, environ),
        "brake": lambda: check_home.look_at_brake(home),
        "guard": lambda: check_home.look_at_guard(home),
        "registries": lambda: check_home.look_at_registries(home),
        "drivers": check_project.look_at_driver_packages,
        "clis": lambda: check_project.look_at_clis(_settings(home, environ), environ, home),
        "vault": lambda: look_at_vault(_settings(home, environ), environ, home),
        "project": lambda: check_project.look_at_project(home, project, _settings(home, environ)),
        "leftovers": lambda: check_home.look_at_leftovers(
            home, check_project.served_projects(home)
        ),
    }


def _settings(home: Path, environ: Mapping[str, str]) -> Settings:
    """Give the settings, or the defaults when the file is broken: that is told elsewhere."""
    try:
        return load_settings(home, environ)
    except (AmiralError, OSError):
        return Settings()
