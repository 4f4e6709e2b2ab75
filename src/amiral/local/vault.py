"""`amiral vault …`: keep, give out and prove secrets, without any process of ours."""

import getpass
import os
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path

from amiral.base.errors import Invalid
from amiral.commands.arguments import wants_json
from amiral.commands.output import print_error
from amiral.commands.registry import Parsed, Reply
from amiral.config import find_home
from amiral.local.owner import refuse_agents
from amiral.local.terminal import answer, show
from amiral.store.redact import SHORTEST_SECRET
from amiral.store.vault import LONGEST_VALUE, Vault

_SHORT = (
    f"it is shorter than {SHORTEST_SECRET} characters: where it appears in what workers say, "
    "nobody recognises it, and it is not taken out"
)
_SET_WORDS = len(("vault", "set", "NAME"))
_IN_THE_OPEN = Invalid(
    "the value of a secret is read from stdin, never from the command line",
    "others see command lines and shells remember them: if it was typed, choose another value",
)


def run(argv: Sequence[str]) -> int:
    """Carry out one of the six; refused to agents."""
    as_json = wants_json(argv)
    if _names_a_value(argv):
        return show(print_error(_IN_THE_OPEN, as_json=as_json))
    return answer(argv, lambda parsed: _carry_out(parsed, is_raw=not as_json))


def _names_a_value(argv: Sequence[str]) -> bool:
    """Tell whether a value was typed behind the name: it is not even repeated in a complaint."""
    words = [word for word in argv if not word.startswith("-")]
    return words[:2] == ["vault", "set"] and len(words) > _SET_WORDS


def _carry_out(parsed: Parsed, *, is_raw: bool) -> Reply:
    vault, name = Vault(_home()), str(parsed.arguments.get("name", ""))
    match parsed.command:
        case "vault set":
            return _put(vault, name)
        case "vault get":
            return _give_out(name, vault.get(name), is_raw=is_raw)
        case "vault remove":
            data = {"name": name, "removed": True, "revision": vault.remove(name)}
            return Reply(f"✓ {name} is forgotten", data)
        case "vault list":
            rows = [{"name": one, "revision": at} for one, at in vault.names().items()]
            names = "\n".join(str(row["name"]) for row in rows)
            return Reply(names or "the vault holds nothing", {"secrets": rows})
        case "vault rotate":
            report = vault.rotate()
            text = f"✓ {_counted(len(report.names))} encrypted with a new key, the old one is gone"
            return Reply(text, {"secrets": len(report.names), "revision": report.revision})
        case _:
            return _check(vault)


def _home() -> Path:
    """Give the home; what runs below a shim is an agent, which has nothing to look for here."""
    home = find_home(os.environ)
    refuse_agents(home, "read or change the vault")
    return home


def _put(vault: Vault, name: str) -> Reply:
    value = _typed(name) if sys.stdin and sys.stdin.isatty() else _piped()
    revision = vault.put(name, value)
    is_short = len(value) < SHORTEST_SECRET
    text = f"✓ {name} is kept" + (f"\n? {_SHORT}" if is_short else "")
    return Reply(text, {"name": name, "revision": revision, "redacted": not is_short})


def _typed(name: str) -> str:
    """Ask for the value at the terminal, which does not show it; Invalid where it would."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", getpass.GetPassWarning)
        try:
            return getpass.getpass(f"value of {name}: ", sys.stderr)
        except (EOFError, getpass.GetPassWarning):
            raise Invalid("no value was given", f"amiral vault set {name} < FILE") from None


def _piped() -> str:
    """Read stdin to its end; one line end there belongs to whoever wrote it, not to the value."""
    if sys.stdin is None:
        raise Invalid("there is no stdin to read the value from")
    data = sys.stdin.buffer.read(LONGEST_VALUE + len("\r\n") + 1)
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise Invalid("the value is no text in UTF-8", "encode it first: base64 < FILE") from None
    return text.removesuffix("\n").removesuffix("\r")


def _give_out(name: str, value: str, *, is_raw: bool) -> Reply:
    """Write a value as it is where a program reads it; a terminal gets what cannot move it."""
    if is_raw and not sys.stdout.isatty():
        sys.stdout.write(f"{value}\n")
        return Reply()
    return Reply(value, {"name": name, "value": value})


def _check(vault: Vault) -> Reply:
    report = vault.check()
    data = {
        "ok": not report.problems,
        "secrets": len(report.names),
        "revision": report.revision,
        "problems": report.problems,
    }
    if report.problems:
        return Reply("\n".join(f"✗ {one}" for one in report.problems), data, exit_code=1)
    return Reply(f"✓ {_counted(len(report.names))}, each can be read", data)


def _counted(number: int) -> str:
    return f"{number} secret{'' if number == 1 else 's'}"
