"""Pure: one argument or option of a command, and short ways to declare it."""

import keyword
from dataclasses import dataclass, replace
from enum import StrEnum

Value = str | int | float | bool | tuple[str, ...]


class Kind(StrEnum):
    """What a parameter takes; WORDS takes all that is left, joined by blanks."""

    TEXT = "text"
    WORDS = "words"
    NUMBER = "number"
    SECONDS = "seconds"
    SWITCH = "switch"


@dataclass(frozen=True)
class Parameter:
    """One argument (`ID`) or option (`--note`), as it is spelled.

    `many` gives a tuple; `choices` are the only words taken; `shown` is an option's value in help.
    """

    spelling: str
    kind: Kind = Kind.TEXT
    needed: bool = True
    many: bool = False
    choices: tuple[str, ...] = ()
    shown: str = ""

    @property
    def is_option(self) -> bool:
        return self.spelling.startswith("-")

    @property
    def name(self) -> str:
        """The name of the handler's parameter: `--reply-to` is `reply_to`, `--as` is `as_`."""
        name = self.spelling.lstrip("-").lower().replace("-", "_")
        return f"{name}_" if keyword.iskeyword(name) else name

    def usage(self) -> str:
        """Write it as help does: `ID`, `[PATH…]`, `[--wait SECONDS]`, `allow|deny`."""
        value = "|".join(self.choices) or self.shown
        written = f"{self.spelling} {value}".rstrip() if self.is_option else value or self.spelling
        dots = "…" if self.many or self.kind is Kind.WORDS else ""
        if self.needed:
            return written + dots
        return f"[{written}]{dots}" if self.is_option else f"[{written}{dots}]"


def text(spelling: str) -> Parameter:
    """One word."""
    return Parameter(spelling)


def words(spelling: str) -> Parameter:
    """All that is left, joined by blanks."""
    return Parameter(spelling, Kind.WORDS)


def many(spelling: str) -> Parameter:
    """Any number of words, at least one."""
    return Parameter(spelling, many=True)


def choice(spelling: str, *choices: str) -> Parameter:
    """One of the words given."""
    return Parameter(spelling, choices=choices)


def may(parameter: Parameter) -> Parameter:
    """The same parameter, which may be left out."""
    return replace(parameter, needed=False)


def switch(spelling: str) -> Parameter:
    """An option without a value."""
    return Parameter(spelling, Kind.SWITCH, needed=False)


def option(spelling: str, shown: str, kind: Kind = Kind.TEXT, *, many: bool = False) -> Parameter:
    """An option with a value; `many` = it may be given again."""
    return Parameter(spelling, kind, needed=False, many=many, shown=shown)
