"""`amiral config`: the settings in force and where each comes from."""

import os
from collections.abc import Iterator, Sequence

import msgspec

from amiral.base.setting_keys import PLAIN, SECRET
from amiral.base.settings import Settings
from amiral.commands.registry import Parsed, Reply
from amiral.config import DEFAULT, FILE, find_home, load_settings
from amiral.local.terminal import answer

_DRIVERS = ("claude", "codex", "scripted")


def run(argv: Sequence[str]) -> int:
    """Print every setting; values that may hold a secret are not shown."""
    return answer(argv, _config)


def _config(_: Parsed) -> Reply:
    home = find_home(os.environ)
    settings = load_settings(home, os.environ)
    rows = {
        name: {"value": value, "source": settings.sources.get(name, DEFAULT)}
        for name, value in _values(settings)
    }
    lines = [f"home  {home}", f"file  {home / FILE}"]
    lines += [f"{name} = {row['value']}  ({row['source']})" for name, row in rows.items()]
    data = {"home": str(home), "file": str(home / FILE), "settings": rows}
    return Reply("\n".join(lines), data)


def _values(settings: Settings) -> Iterator[tuple[str, object]]:
    for section in PLAIN:
        yield from _fields(section, getattr(settings, section))
    for name in dict.fromkeys((*_DRIVERS, *settings.drivers)):
        yield from _fields(f"drivers.{name}", settings.driver(name))
    for name, project in settings.projects.items():
        yield from _fields(f"projects.{name}", project)


def _fields(section: str, values: object) -> Iterator[tuple[str, object]]:
    for name, value in msgspec.to_builtins(values).items():
        is_hidden = name in SECRET and value and not str(value).startswith("vault:")
        yield f"{section}.{name}", "(set)" if is_hidden else value
