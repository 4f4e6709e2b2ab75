"""The logins amiral keeps: one folder for each CLI, lent to every worker by links, never copied."""

import os
from collections.abc import Mapping
from pathlib import Path

from amiral.agents.clearing import clear_away, opened
from amiral.agents.driver import Login
from amiral.base.errors import Denied
from amiral.store.files import ensure_private_folder


def has_login(place: Path, login: Login, env: Mapping[str, str]) -> bool:
    """Tell whether a variable or a file in `place` is there, or none is needed."""
    if not login.variables and not login.files:
        return True
    has_file = any((place / file).is_file() for file in login.files)
    return has_file or any(env.get(name) for name in login.variables)


def lend_login(driver: str, place: Path, login: Login, env: Mapping[str, str], home: Path) -> None:
    """Link the login in `place` into a worker's config home; Denied when a needed one is missing.

    Links are made before there is a login, so that one made later counts at once.
    """
    if login.is_needed and not has_login(place, login, env):
        raise Denied(f"driver {driver}: login needed", how_to_log_in(driver, login))
    if login.files:
        ensure_private_folder(place)
    with opened(str(home)) as folder:
        for file in login.files:
            if not _leads_to(place / file, file, folder):
                clear_away(file, folder)
                os.symlink(place / file, file, dir_fd=folder)


def _leads_to(place: Path, name: str, folder: int) -> bool:
    try:
        return os.readlink(name, dir_fd=folder) == str(place)
    except OSError:
        return False


def how_to_log_in(driver: str, login: Login) -> str:
    """Say what a person can do."""
    by_file = [f"run `amiral login {driver}`"] if login.entry else []
    names = " or ".join(login.variables)
    by_variable = [f"set {names} where `amiral up` is started"] if names else []
    return ", or ".join((*by_file, *by_variable))
