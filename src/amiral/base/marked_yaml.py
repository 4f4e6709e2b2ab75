"""Pure: YAML as texts: read with line numbers, no value guessed, and written quoted (R56)."""

import re
from collections.abc import Callable, Mapping, Sequence

import yaml

from amiral.base.errors import Invalid
from amiral.base.nearest import did_you_mean
from amiral.base.plain import one_line

_WHOLE = re.compile(r"-?[0-9]{1,12}", re.ASCII)
_NUMBER = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?", re.ASCII)
_SURROGATE = re.compile("[\ud800-\udfff]")
_LONGEST_REASON = 200
_UNFOLDED = 1 << 30
_TEXT = "tag:yaml.org,2002:str"

Node = yaml.Node
MappingNode = yaml.MappingNode

Place = Callable[[int], str]
"""Writes a line number as people find it: `shop.yaml:3`."""


def in_file(file_name: str) -> Place:
    """Name the lines of a file: `file:line`."""
    return lambda line: f"{file_name}:{line}"


def compose(text: str, place: Place) -> Node | None:
    """Read one document into nodes, None when it is empty. Raises Invalid: `place: message`."""
    try:
        return yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        reason = error.problem or error.context or "not YAML"
    except yaml.reader.ReaderError as error:
        # Its position counts characters read, which for a text are characters of the text.
        line = text.count("\n", 0, error.position) + 1
        reason = f"character #x{error.character:04x} is not allowed here"
    except RecursionError:
        line, reason = 1, "nested too deeply"
    except (ValueError, OverflowError, yaml.YAMLError) as error:
        line, reason = 1, f"not YAML: {error}"
    raise Invalid(
        f"{place(line)}: {one_line(reason, _LONGEST_REASON)}", "Correct it and try again."
    )


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as blocks, which people read easily."""


def _represent_text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    # What is not printable reads back exactly in double quotes alone.
    is_readable = all(line.isprintable() for line in text.split("\n"))
    style = ("|" if "\n" in text else None) if is_readable else '"'
    return dumper.represent_scalar(_TEXT, text, style=style)


_Dumper.add_representer(str, _represent_text)


def write(document: Mapping[str, str | Sequence[str]]) -> str:
    """Write a mapping of texts and lists of texts, which read back as they are."""
    plain = {
        key: value if isinstance(value, str) else list(value) for key, value in document.items()
    }
    return yaml.dump(plain, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=_UNFOLDED)


class Checker:
    """Takes nodes apart by their expected types; collects mistakes as `place: message`.

    After a mistake a value of the right type is returned, so that the rest is checked too.
    """

    def __init__(self, place: Place) -> None:
        self._place = place
        self._errors: list[tuple[int, str]] = []

    def errors(self) -> list[str]:
        """Give all mistakes in the order of their lines."""
        return [f"{self._place(line)}: {message}" for line, message in sorted(self._errors)]

    def fail(self, node: Node | None, message: str) -> None:
        """Note a mistake at a node (None: the first line)."""
        line = node.start_mark.line + 1 if node is not None and node.start_mark else 1
        self._errors.append((line, message))

    def fields(self, node: Node, what: str, known: Sequence[str]) -> dict[str, Node]:
        """Read a mapping with known keys, each at most once."""
        if not isinstance(node, MappingNode):
            self.fail(node, f"{what} must be a mapping of {', '.join(known)}")
            return {}
        found: dict[str, Node] = {}
        for key_node, value in node.value:
            key = str(key_node.value) if isinstance(key_node, yaml.ScalarNode) else "(no word)"
            if key not in known:
                hint = did_you_mean(key, known) or f"; known are {', '.join(known)}"
                self.fail(key_node, f"{what}: unknown key {one_line(key)}{hint}")
            elif key in found:
                self.fail(key_node, f"{what}: {key} is given twice")
            else:
                found[key] = value
        return found

    def items(self, node: Node, what: str) -> list[Node]:
        """Read a list."""
        if not isinstance(node, yaml.SequenceNode):
            self.fail(node, f"{what} must be a list")
            return []
        return list(node.value)

    def text(self, node: Node, what: str, *, may_be_empty: bool = False) -> str:
        """Read a text. Nothing after the colon is a mistake; quotes make an empty text."""
        if not isinstance(node, yaml.ScalarNode):
            self.fail(node, f"{what} must be a text")
            return "x"
        value = str(node.value)
        if _SURROGATE.search(value):
            self.fail(node, f"{what} holds half a surrogate pair, which is no character")
            return "x"
        if not value and not (may_be_empty and node.style):
            self.fail(node, f"{what} must not be empty")
        return value

    def whole(self, node: Node, what: str, low: int, high: int) -> int:
        """Read a whole number from `low` to `high`."""
        value = node.value if isinstance(node, yaml.ScalarNode) else ""
        if _WHOLE.fullmatch(value) and low <= int(value) <= high:
            return int(value)
        self.fail(node, f"{what} must be a whole number from {low} to {high}")
        return low

    def number(self, node: Node, what: str, high: float) -> float:
        """Read a number from 0 to `high`, fractions allowed."""
        value = node.value if isinstance(node, yaml.ScalarNode) else ""
        if _NUMBER.fullmatch(value) and float(value) <= high:
            return float(value)
        self.fail(node, f"{what} must be a number from 0 to {high:g}")
        return 0.0

    def choice(self, node: Node, what: str, options: Sequence[str]) -> str:
        """Read one of a few words."""
        value = node.value if isinstance(node, yaml.ScalarNode) else None
        if value in options:
            return str(value)
        self.fail(node, f"{what} must be one of {', '.join(options)}")
        return options[0]

    def need(self, node: Node, found: dict[str, Node], what: str, keys: Sequence[str]) -> bool:
        """Note each key that is missing; tell whether none is."""
        missing = [key for key in keys if key not in found]
        for key in missing:
            self.fail(node, f"{what}: {key} is missing")
        return not missing
