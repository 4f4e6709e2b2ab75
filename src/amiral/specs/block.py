"""Pure: SPEC blocks: read from a worker's answer with every mistake placed, and written (S0.8)."""

from dataclasses import dataclass

from amiral.base.errors import Invalid
from amiral.base.fences import Fence, fenced, read_fences
from amiral.base.marked_yaml import Checker, MappingNode, Node, Place, compose, write
from amiral.specs.spec import COMPLEXITIES, LONGEST_TITLE, Draft

_INFO = "spec"
_NEEDED = ("title", "problem", "approach", "acceptance")
_KEYS = (*_NEEDED, "files", "complexity", "revises")
_LONGEST_BLOCK = 32 * 1024
_MOST_BLOCKS = 50


@dataclass(frozen=True)
class BlocksRead:
    """The specs of one answer, and what is wrong with the blocks that are none.

    An error begins with its place, counted within the block: `spec block 2, line 5: title: …`.
    """

    specs: tuple[Draft, ...] = ()
    errors: tuple[str, ...] = ()


def read_blocks(answer: str) -> BlocksRead:
    """Read the SPEC blocks of an answer; total on any text.

    A block is a fenced code block whose info string is `spec`; one inside another fence, a quote,
    a diff or indented code is text (R55).
    """
    specs: list[Draft] = []
    errors: list[str] = []
    blocks = [fence for fence in read_fences(answer) if fence.info.casefold() == _INFO]
    for number, block in enumerate(blocks[:_MOST_BLOCKS], 1):
        draft, mistakes = _read(block, _place_in(number))
        specs += [] if draft is None else [draft]
        errors += mistakes
    if len(blocks) > _MOST_BLOCKS:
        errors.append(f"spec block {_MOST_BLOCKS + 1}: an answer has at most {_MOST_BLOCKS} blocks")
    return BlocksRead(tuple(specs), tuple(errors))


def render_block(draft: Draft) -> str:
    """Write a block that reads back as this draft."""
    body: dict[str, str | tuple[str, ...]] = {"revises": draft.revises} if draft.revises else {}
    body |= {
        "title": draft.title,
        "problem": draft.problem,
        "approach": draft.approach,
        "acceptance": draft.acceptance,
    }
    body |= {"files": draft.files} if draft.files else {}
    body["complexity"] = draft.complexity
    return fenced(_INFO, write(body))


def _place_in(number: int) -> Place:
    return lambda line: f"spec block {number}, line {line}"


def _read(block: Fence, place: Place) -> tuple[Draft | None, list[str]]:
    if not block.is_closed:
        return None, [f"{place(block.body.count(chr(10)) + 1)}: the block is not closed"]
    if len(block.body) > _LONGEST_BLOCK:
        return None, [f"{place(1)}: the block is longer than {_LONGEST_BLOCK // 1024} KiB"]
    try:
        root = compose(block.body, place)
    except Invalid as error:
        return None, [error.message]
    if root is None:
        return None, [f"{place(1)}: the block is empty; it needs {', '.join(_NEEDED)}"]
    check = Checker(place)
    draft = _draft(check, root)
    errors = check.errors()
    return (None if errors else draft), errors


def _draft(check: Checker, root: Node) -> Draft:
    found = check.fields(root, "a spec", _KEYS)
    for key in _NEEDED if isinstance(root, MappingNode) else ():
        if key not in found:
            check.fail(root, f"{key}: is missing")
    texts = {key: _text(check, found[key], key) for key in _texts_of(found)}
    complexity = Draft.complexity
    if "complexity" in found:
        complexity = check.choice(found["complexity"], "complexity:", COMPLEXITIES)
    draft = Draft(
        title=texts.get("title", ""),
        problem=texts.get("problem", ""),
        approach=texts.get("approach", ""),
        acceptance=_list(check, found, "acceptance"),
        files=_list(check, found, "files"),
        complexity=complexity,
        revises=texts.get("revises", ""),
    )
    if "\n" in draft.title or len(draft.title) > LONGEST_TITLE:
        check.fail(found["title"], f"title: must be one line of at most {LONGEST_TITLE} characters")
    if "acceptance" in found and found["acceptance"].value == []:
        check.fail(found["acceptance"], "acceptance: must hold at least one criterion")
    return draft


def _texts_of(found: dict[str, Node]) -> list[str]:
    return [key for key in ("title", "problem", "approach", "revises") if key in found]


def _text(check: Checker, node: Node, key: str) -> str:
    text = check.text(node, f"{key}:")
    if text and not text.strip():
        check.fail(node, f"{key}: must not be blank")
    return text.strip()


def _list(check: Checker, found: dict[str, Node], key: str) -> tuple[str, ...]:
    if key not in found:
        return ()
    return tuple(_text(check, item, key) for item in check.items(found[key], f"{key}:"))
