"""Pure: every key of amiral.toml and what it takes; what a project's own file may narrow."""

import math
import re
import zoneinfo
from collections.abc import Callable, Mapping

from amiral.base.fields import Field
from amiral.base.secret_names import is_reference, referred

Keys = Mapping[str, Field]

SECRET = frozenset({"master_token", "bot_token", "env", "config"})
"""Keys whose values are never shown, not even in an error: a token may stand there."""

BUDGET = tuple(f"{per}_{unit}" for per in ("turn", "spec", "day") for unit in ("tokens", "usd"))

_PORTS = 65535
_LOOPBACK = re.compile(r"localhost|::1|127(\.[0-9]{1,3}){3}")
_HOUR = r"([01][0-9]|2[0-3]):[0-5][0-9]"
_QUIET = re.compile(rf"({_HOUR}-{_HOUR}(?: (?P<zone>\S+))?)?")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MEMBER = re.compile(r"[a-z]+:\S+")
_ADDRESS = re.compile(r"https?://[^\s@]+")
_HOST = re.compile(r"((\*\.)?[^\s:/@\[\]*]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?")


def _is_text(value: object) -> bool:
    return isinstance(value, str) and value.isprintable()


def _is_flag(value: object) -> bool:
    return isinstance(value, bool)


def _is_list(value: object) -> bool:
    return isinstance(value, list)


def _whole(least: int, most: int = 10**9) -> Callable[[object], bool]:
    return lambda value: type(value) is int and least <= value <= most


def _is_amount(value: object) -> bool:
    return type(value) in {int, float} and isinstance(value, int | float) and 0 <= value < math.inf


def _matches(pattern: re.Pattern[str]) -> Callable[[object], bool]:
    return lambda value: isinstance(value, str) and pattern.fullmatch(value) is not None


def _one_of(*words: str) -> Field:
    return Field(lambda value: value in words, " or ".join(f'"{word}"' for word in words))


def _is_map(
    is_name: Callable[[object], bool], is_value: Callable[[object], bool]
) -> Callable[[object], bool]:
    return lambda value: (
        isinstance(value, dict)
        and all(is_name(name) and is_value(inner) for name, inner in value.items())
    )


def _is_zone(value: object) -> bool:
    if value == "local":
        return True
    try:
        return isinstance(value, str) and bool(zoneinfo.ZoneInfo(value))
    except (ValueError, OSError, zoneinfo.ZoneInfoNotFoundError):
        return False


def _is_quiet(value: object) -> bool:
    found = _QUIET.fullmatch(value) if isinstance(value, str) else None
    return found is not None and (found["zone"] is None or _is_zone(found["zone"]))


def _is_network(value: object) -> bool:
    return value in ("open", "none") or (
        isinstance(value, list) and all(map(_matches(_HOST), value))
    )


def _is_secret(value: object) -> bool:
    return isinstance(value, str) and (not value or bool(referred(value)))


def _is_variable(value: object) -> bool:
    return _is_text(value) and (not is_reference(str(value)) or _is_secret(value))


_TEXT = Field(_is_text, "a text on one line")
_FLAG = Field(_is_flag, "true or false")
_SECONDS = Field(_is_amount, "seconds, 0 or more")
_COUNT = Field(_whole(0), "a whole number, 0 or more")
_ENV = Field(
    _is_map(_matches(_VARIABLE), _is_variable),
    'a table of variables and texts, "vault:NAME" for a secret',
)
_BUDGET_TABLE = Field(
    _is_map(lambda name: name in BUDGET, _is_amount), f"a table of amounts: {', '.join(BUDGET)}"
)
_LANGUAGE = _one_of("auto", "en", "fr")
_ZONE = Field(_is_zone, 'a zone such as "Europe/Paris", or "local"')
_MODE = _one_of("auto", "strict", "snapshot")
_NETWORK = Field(_is_network, '"open", "none" or a list of hosts')

PLAIN: Mapping[str, Keys] = {
    "hub": {
        "host": Field(_matches(_LOOPBACK), "a loopback address (no wider one without [web] auth)"),
        "port": Field(_whole(0, _PORTS), "a port from 0 to 65535"),
    },
    "web": {"control": _one_of("owner", "off")},
    "telegram": {
        "api_base": Field(_matches(_ADDRESS), "an http(s) address"),
        "master_token": Field(_is_secret, 'the name of a secret, "vault:NAME"'),
        "owners": Field(_is_list, "a list", Field(_whole(1, 10**15), "a numeric id")),
    },
    "sandbox": {
        "enforcer": _one_of("auto", "landlock", "bwrap", "none"),
        "mode": _MODE,
        "network": _NETWORK,
    },
    "limits": {
        "auto_resume": _FLAG,
        "quiet_hours": Field(_is_quiet, 'hours such as "23:00-07:00 Europe/Paris"'),
        "stagger_s": _SECONDS,
    },
    "safety": {"stop_grace_s": _SECONDS, "approval_ttl_s": _SECONDS},
    "logs": {"dir": _TEXT, "max_mb": Field(_whole(1), "a whole number, 1 or more")},
    "ui": {"language": _LANGUAGE, "zone": _ZONE},
    "fleet": {"heartbeat_s": Field(_whole(1), "whole seconds"), "max_concurrent_turns": _COUNT},
}

NAMED: Mapping[str, Keys] = {
    "drivers": {
        "command": Field(_is_list, "a list", Field(_is_text, "a word")),
        "env": _ENV,
        "login": _one_of("shared"),
        "config": Field(lambda value: isinstance(value, dict), "a table"),
        "scenario": _TEXT,
    },
    "projects": {
        "path": _TEXT,
        "test": _TEXT,
        "deploy": _TEXT,
        "members": Field(
            _is_map(_matches(_MEMBER), lambda value: value in ("member", "viewer")),
            'a table such as {"telegram:123" = "member"}, each member or viewer',
        ),
        "bot_token": Field(_is_secret, 'the name of a secret, "vault:NAME"'),
        "budget": _BUDGET_TABLE,
        "protected": _FLAG,
    },
}

NARROWING: Mapping[str, Keys] = {
    "ui": {"language": _LANGUAGE, "zone": _ZONE},
    "sandbox": {"mode": _MODE, "network": _NETWORK},
    "budget": {name: Field(_is_amount, "an amount, 0 or more") for name in BUDGET},
}
"""What a project's own amiral.toml may set: nothing here can give more power."""
