"""Pure: skills, texts that help with one kind of work, and which of them fit a project (S1.31)."""

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase

from amiral.base.errors import Invalid
from amiral.base.marked_yaml import Checker, compose, in_file
from amiral.base.plain import one_line

_FENCE = "---\n"
_FIELDS = ("name", "description", "matches", "keywords")
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
_LONGEST_DESCRIPTION = 200
_WORDS = re.compile(r"[^\W_]+(?:[-+#.][^\W_]+)*[+#]*")


@dataclass(frozen=True)
class Skill:
    """One skill file. `matches` are languages, frameworks or globs of files; `keywords` are words
    of a purpose. `text` is the whole file, as it is copied.
    """

    name: str
    description: str
    matches: tuple[str, ...]
    keywords: tuple[str, ...]
    text: str

    @property
    def file(self) -> str:
        """Where it lies in a project, below `.amiral`."""
        return f"skills/{self.name}.md"


@dataclass(frozen=True)
class Matched:
    """A skill that fits, and the sentence that says why."""

    skill: Skill
    reason: str


def read_skill(text: str, file_name: str) -> Skill:
    """Read one file: front matter between two lines `---`, then Markdown.

    Raises Invalid with every mistake, each `file:line: message`.
    """
    head, fence, _ = text.removeprefix(_FENCE).partition(f"\n{_FENCE}")
    if not text.startswith(_FENCE) or not fence:
        message = f"{file_name}:1: a skill begins with front matter between two lines ---"
        raise Invalid(message, f"repair {file_name}")
    # The fence stands on line 1, so a line of the head is one further down in the file.
    place = in_file(file_name)
    node = compose(f"\n{head}", place)
    check = Checker(place)
    if node is None:
        raise Invalid(f"{file_name}:1: the front matter is empty", f"repair {file_name}")
    found = check.fields(node, "the front matter", _FIELDS)
    check.need(node, found, "the front matter", ("name", "description"))
    texts = {name: check.text(found[name], name) for name in _FIELDS[:2] if name in found}
    lists = {
        name: tuple(check.text(item, name) for item in check.items(found[name], name))
        for name in _FIELDS[2:]
        if name in found
    }
    name = texts.get("name", "")
    if name and not _NAME.fullmatch(name):
        check.fail(found["name"], "name must be lowercase letters, digits and -, 40 at most")
    if check.errors():
        raise Invalid("\n".join(check.errors()), f"repair {file_name}")
    description = one_line(texts["description"], _LONGEST_DESCRIPTION)
    return Skill(name, description, lists.get("matches", ()), lists.get("keywords", ()), text)


def matching(
    skills: Iterable[Skill], stack: Collection[str], files: Collection[str], purpose: str
) -> tuple[Matched, ...]:
    """Choose the skills that fit, in their order; of two with one name the later one is meant.

    `stack` are the language and the framework; `purpose` is what the owner wrote.
    """
    known = {skill.name: skill for skill in skills}
    folded = {part.casefold() for part in stack if part}
    words = {word.casefold() for word in _WORDS.findall(purpose)}
    found = ((skill, next(_reasons(skill, folded, files, words), "")) for skill in known.values())
    return tuple(Matched(skill, reason) for skill, reason in found if reason)


def _reasons(
    skill: Skill, stack: Collection[str], files: Collection[str], words: Collection[str]
) -> Iterator[str]:
    for wanted in skill.matches:
        if wanted.casefold() in stack:
            yield f"the stack is {wanted}"
        file = next((name for name in sorted(files) if fnmatchcase(name, wanted)), "")
        if file:
            yield f"{file} is there"
    for keyword in skill.keywords:
        if keyword.casefold() in words:
            yield f"the purpose says {keyword}"
