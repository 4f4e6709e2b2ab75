"""Pure: the interview of a new project: four steps of questions, their defaults, their answers."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from amiral.base.errors import Invalid
from amiral.base.fields import Field, shown
from amiral.base.located_json import parse_json
from amiral.base.located_toml import line_of, lines_of_keys, parse_toml
from amiral.base.nearest import did_you_mean
from amiral.base.plain import one_line, plain
from amiral.base.setting_keys import NAMED
from amiral.projects.blueprint import Blueprint
from amiral.projects.skills import Matched

RESERVED = ("all",)
"""Names that mean more than one project, so that none may be called so."""

OPEN = "open"
"""The rights under which nothing is configured."""

_LONGEST_ABOUT = 400
_LONGEST_WORD = 60
_YES = ("y", "yes", "true", "o", "oui")
_NO = ("n", "no", "false", "non")
_NOTHING = "-"

Value = str | bool | tuple[str, ...] | Mapping[str, str]


@dataclass(frozen=True)
class Known:
    """The words that some answers must be taken from."""

    clis: tuple[str, ...]
    workers: tuple[str, ...]
    skills: tuple[str, ...]
    rights: tuple[str, ...]


@dataclass(frozen=True)
class Answers:
    """What the owner answered, one field a question."""

    about: str
    language: str
    framework: str
    ci: str
    test: str
    deploy: str
    git: bool
    skills: tuple[str, ...]
    cli: str
    active: str
    members: Mapping[str, str]
    rights: str


@dataclass(frozen=True)
class Question:
    """One question; `default` is taken where nothing is answered, `reason` says where it is from.

    `options` are the only words taken, and nothing else where there are some; of a list each.
    """

    step: str
    key: str
    ask: str
    help: str
    default: Value
    reason: str = ""
    options: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Its name in an answers file."""
        return f"{self.step}.{self.key}"


STEPS = ("purpose", "stack", "workers", "chat")


def questions(
    known: Known, found: Blueprint, skills: tuple[Matched, ...], *, may_init: bool
) -> tuple[Question, ...]:
    """Give every question in the order it is asked; what was found in the folder is proposed.

    `may_init`: the folder is empty and lies in no repository.
    """
    why = "; ".join(f"{one.skill.name}: {one.reason}" for one in skills)
    names = tuple(one.skill.name for one in skills)
    return (
        Question("purpose", "about", "What is it for?", "One line for every worker to read.", ""),
        *_stack(found),
        Question("stack", "git", "Make a git repository?", _GIT, default=may_init),
        Question("stack", "skills", "Which skills?", _SKILLS, names, why, known.skills),
        Question("workers", "cli", "Which CLI?", _CLI, "", "", ("", *known.clis)),
        Question("workers", "active", "Who takes plain text?", _ACTIVE, *_seat(known)),
        Question("chat", "members", "Who else may take part?", _MEMBERS, {}),
        Question("chat", "rights", "What may workers do?", _RIGHTS, *_right(known)),
    )


def answers_of(asked: tuple[Question, ...], given: Mapping[str, Value]) -> Answers:
    """Put the answers given (by the names of questions) over the defaults."""
    values = {one.key: given.get(one.name, one.default) for one in asked}
    return msgspec.convert(values, Answers)


def read_typed(question: Question, typed: str) -> Value:
    """Read what was typed at a question; "" is the default, `-` nothing. Invalid says why not."""
    text = typed.strip()
    if not text:
        return question.default
    value = _typed(question, "" if text == _NOTHING else text)
    why = _why_not(question, value)
    if why:
        raise Invalid(why)
    return value


def read_answers(text: str, file_name: str, asked: tuple[Question, ...]) -> Answers:
    """Read an answers file, TOML or (by its name) JSON; what it leaves out is the default.

    Raises Invalid with every mistake, each `file:line: message`.
    """
    document, at = _document(text, file_name)
    mistakes = [
        f"{file_name}:{at(path)}: {message}" for path, message in _mistakes(document, asked)
    ]
    if mistakes:
        raise Invalid("\n".join(mistakes), f"repair {file_name}")
    answers = document if isinstance(document, dict) else {}
    given = {one.name: _given(answers, one) for one in asked}
    return answers_of(asked, {name: value for name, value in given.items() if value is not None})


def _document(text: str, file_name: str) -> tuple[object, Callable[[tuple[str, ...]], int]]:
    if file_name.endswith(".json"):
        located = parse_json(text, file_name)
        return located.value, lambda path: located.line_of(*path)
    found, lines = parse_toml(text, file_name), lines_of_keys(text)
    return found, lambda path: line_of(lines, *path)


def _mistakes(
    document: object, asked: tuple[Question, ...]
) -> Iterator[tuple[tuple[str, ...], str]]:
    if not isinstance(document, dict):
        yield (), f"the file must be an object (got {shown(document)})"
        return
    for step, answers in document.items():
        if step not in STEPS:
            hint = did_you_mean(step, STEPS)
            yield (step,), f"unknown section {one_line(step)}{hint}"
        elif not isinstance(answers, dict):
            yield (step,), f"{step} must be a table of answers (got {shown(answers)})"
        else:
            yield from _mistakes_of(step, answers, asked)


def _mistakes_of(
    step: str, answers: Mapping[str, object], asked: tuple[Question, ...]
) -> Iterator[tuple[tuple[str, ...], str]]:
    known = {one.key: one for one in asked if one.step == step}
    for key, value in answers.items():
        if key not in known:
            yield (step, key), f"unknown key {step}.{one_line(key)}{did_you_mean(key, known)}"
        elif why := _why_not(known[key], value):
            yield (step, key), why


def _given(answers: Mapping[str, Any], question: Question) -> Value | None:
    found: Value | list[str] | None = answers.get(question.step, {}).get(question.key)
    return tuple(found) if isinstance(found, list) else found


def _why_not(question: Question, value: object) -> str:
    """Say why a value answers a question not, "" when it does."""
    field = _FIELDS[question.key]
    found = list(value) if isinstance(value, tuple) else value
    if not field.is_good(found):
        return f"{question.name} must be {field.wanted} (got {shown(found)})"
    words = found if isinstance(found, list) else [found]
    for word in words if question.options or isinstance(found, list) else ():
        if word not in question.options:
            known = [option for option in question.options if option]
            hint = did_you_mean(str(word), known)
            return f"{question.name}: {shown(word)} is none of {', '.join(known) or 'none'}{hint}"
    return ""


def _typed(question: Question, text: str) -> Value:
    match question.default:
        case bool():
            word = text.casefold()
            return True if word in _YES else False if word in _NO else text
        case tuple():
            return tuple(word.strip() for word in text.split(",") if word.strip())
        case Mapping():
            pairs = (pair.partition("=") for pair in text.split(",") if pair.strip())
            return {name.strip(): value.strip() for name, _, value in pairs}
        case _:
            return text


def _stack(found: Blueprint) -> Iterator[Question]:
    for key, ask, help_, proposed in (
        ("language", "Which language?", "The main one.", found.language),
        ("framework", "Which framework?", "- for none.", found.framework),
        ("ci", "Which CI?", "- for none.", found.ci),
        ("test", "How are its tests run?", _TEST, found.test),
    ):
        yield Question("stack", key, ask, help_, proposed.value, proposed.reason)
    yield Question("stack", "deploy", "How is it deployed?", _DEPLOY, "")


def _seat(known: Known) -> tuple[Value, str, tuple[str, ...]]:
    default = "developer" if "developer" in known.workers else known.workers[0]
    return default, "", known.workers


def _right(known: Known) -> tuple[Value, str, tuple[str, ...]]:
    return known.rights[0], "", known.rights


def _is_line(longest: int) -> Callable[[object], bool]:
    return lambda value: (
        isinstance(value, str)
        and len(value) <= longest
        and plain(value) == value
        and value == " ".join(value.split())
    )


_GIT = "With a first commit of the files made here; workers that write need one."
_SKILLS = "Texts copied into the project for its workers; commas between them, - for none."
_CLI = "It drives every worker of this project; - for the first one found on the machine."
_ACTIVE = "The worker that a message without /c, /d or /w:NAME goes to."
_TEST = "A command, run on a worker's tree before its work counts; - for none."
_DEPLOY = "A command of yours for `amiral deploy`; it runs with all your rights. - for none."
_MEMBERS = "For chats to come, such as telegram:123=member, telegram:456=viewer; - for nobody."
_RIGHTS = (
    "guarded: the project's files but no .env, commands, git push on request; "
    "asking: every command on request; open: nothing is configured."
)
_WORD = Field(_is_line(_LONGEST_WORD), f"one line of at most {_LONGEST_WORD} visible characters")
_FLAG = Field(lambda value: isinstance(value, bool), "true or false")
_CHOICE = Field(lambda value: isinstance(value, str), "a word")
_FIELDS = {
    "about": Field(_is_line(_LONGEST_ABOUT), f"one line of at most {_LONGEST_ABOUT} characters"),
    **dict.fromkeys(("language", "framework", "ci"), _WORD),
    **dict.fromkeys(("test", "deploy"), NAMED["projects"]["test"]),
    "git": _FLAG,
    **dict.fromkeys(("cli", "active", "rights"), _CHOICE),
    "skills": Field(lambda value: isinstance(value, list), "a list of skills"),
    "members": NAMED["projects"]["members"],
}
