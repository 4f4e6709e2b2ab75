"""Asks the questions of a new project on a terminal; whoever leaves early leaves nothing behind."""

import sys
from collections.abc import Callable, Mapping

from amiral.base.errors import AmiralError, Invalid
from amiral.base.plain import one_line, plain
from amiral.projects.onboarding import STEPS, Answers, Question, Value, answers_of, read_typed

_LONGEST = 200
_HELP = "?"
_YES = ("", "y", "yes", "o", "oui")


def typed(prompt: str) -> str:
    """Ask for one line; Invalid when there is nobody to answer any more."""
    try:
        return input(plain(prompt))
    except EOFError:
        sys.stdout.write("\n")
        raise Invalid("the last question was not answered", "nothing was changed") from None


def interview(asked_for: Callable[[str], tuple[Question, ...]]) -> Answers:
    """Ask everything in order; the answer to the first question bears on what the others propose.

    `asked_for` takes the purpose of the project and gives all questions.
    """
    sys.stdout.write("Return takes what stands in brackets, ? explains, Ctrl-C leaves.\n")
    asked = asked_for("")
    given: dict[str, Value] = {}
    for number, step in enumerate(STEPS, 1):
        sys.stdout.write(f"\n{number}/{len(STEPS)} {step}\n")
        for question in (one for one in asked if one.step == step):
            given[question.name] = _answer(question)
        asked = asked_for(str(given["purpose.about"]))
    return answers_of(asked, given)


def agreed(what: str) -> bool:
    """Ask for a last yes."""
    return typed(f"{what} [yes] ").strip().casefold() in _YES


def _answer(question: Question) -> Value:
    """Ask until there is an answer that can be read."""
    while True:
        text = typed(f"  {question.ask} {_proposed(question)}")
        if text.strip() == _HELP:
            sys.stdout.write(f"    {question.help}{_choices(question)}\n")
            continue
        try:
            return read_typed(question, text)
        except AmiralError as error:
            sys.stdout.write(f"    ✗ {plain(error.message)}\n")


def _proposed(question: Question) -> str:
    shown = one_line(_shown(question.default), _LONGEST)
    reason = f" ({one_line(question.reason, _LONGEST)})" if question.reason else ""
    return f"[{shown}]{reason} "


def _shown(value: Value) -> str:
    match value:
        case bool():
            return "yes" if value else "no"
        case tuple():
            return ", ".join(value)
        case Mapping():
            return ", ".join(f"{name}={role}" for name, role in value.items())
        case _:
            return value


def _choices(question: Question) -> str:
    known = [option for option in question.options if option]
    return f" Known: {one_line(', '.join(known), _LONGEST)}." if known else ""
