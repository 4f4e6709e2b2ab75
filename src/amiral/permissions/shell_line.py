"""Pure: what a line of shell would run and where it would write, read with a real grammar (C1-C4).

Where tree-sitter's grammar and bash may differ on what is a comment, a word or a document, the
line counts as not readable: nothing in it is allowed then.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

from amiral.permissions.rules import Capability

UNKNOWN = "\0"  # stands in a word for what only running the line would tell

LONGEST_LINE = 100_000

Words = tuple[str, ...]

_PARSER = Parser(Language(tree_sitter_bash.language()))
# tree-sitter-bash 0.25.1 reads beyond a table of its C library at such a character, and may crash;
# to bash it is a letter of a word, though of no name. A byte is a character then, too.
_FOREIGN = re.compile(r"[^\x00-\x7f]")
_UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")
_ESCAPE = re.compile(r"\\(\n|.)", re.DOTALL)
_ESCAPE_IN_QUOTES = re.compile(r'\\([\n$`"\\])')
_BRACES = re.compile(r"\{.*(?:,|\.\.)", re.DOTALL)
# A line that goes on in the middle of what may be one word to bash, and two to the grammar.
_JOINT = re.compile(r"[^\s;&|(){}]\\\n")
_VERBATIM = {
    *("string_content", "raw_string", "ansi_c_string", "heredoc_content", "heredoc_body"),
    "comment",
}
_PROCESS = re.compile(r"[<>]\(")
_DELIMITER = re.compile(r"""\\?[\w.+-]+|'[\w .+-]+'|"[\w .+-]+\"""")
_DESCRIPTOR = re.compile(r"\d+-?|-")
_LITERALS = {"word", "number", "variable_name", "special_variable_name", "string_content"}
_COMMANDS = {"command", "declaration_command", "unset_command"}
_RESERVED = {
    *("if", "then", "elif", "else", "fi", "case", "esac", "for", "select", "while", "until"),
    *("do", "done", "function", "{", "}", "!", "[["),
}
_ASIDE = {"variable_assignment", "file_redirect", "heredoc_redirect", "herestring_redirect"}
_EXPANSIONS = {
    "simple_expansion": "a variable",
    "expansion": "a variable",
    "command_substitution": "the output of a command",
    "process_substitution": "the output of a command",
    "arithmetic_expansion": "a computed value",
    "variable_assignment": "a variable that is set",
    "ansi_c_string": "a word in escapes",
}


@dataclass(frozen=True)
class Redirection:
    """A file that the shell itself opens; `target` may hold UNKNOWN."""

    capability: Capability
    target: str


@dataclass(frozen=True)
class Line:
    """All simple commands of a line, nested ones too, in their order.

    `data` is text that a command could be fed: here documents, values set. `opaque` says what can
    only be known by running it. Unless `is_readable`, more may run than is listed.
    """

    commands: tuple[Words, ...]
    redirections: tuple[Redirection, ...]
    data: tuple[str, ...]
    opaque: tuple[str, ...]
    is_readable: bool


def read_line(text: str) -> Line:
    """Read any text at all, also one that is no shell."""
    if len(text) > LONGEST_LINE:
        return Line((), (), (), (), is_readable=False)
    root = _PARSER.parse(_FOREIGN.sub("%", text).encode("ascii")).root_node
    reading = _Reading(text)
    for node in _walk(root):
        reading.note(node)
    is_readable = reading.is_sure() and not (root.has_error or _UNSEEN.search(text))
    return Line(
        tuple(reading.commands),
        tuple(reading.redirections),
        tuple(reading.data),
        tuple(dict.fromkeys(reading.opaque)),
        is_readable,
    )


def _walk(root: Node) -> Iterator[Node]:
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(node.children))


def _late(redirect: Node) -> Iterator[Node]:
    yield from redirect.children_by_field_name("destination")[1:]
    yield from redirect.children_by_field_name("argument")
    for inner in redirect.children_by_field_name("redirect"):
        yield from _late(inner)


class _Reading:
    """What was found so far."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.commands: list[Words] = []
        self.redirections: list[Redirection] = []
        self.data: list[str] = []
        self.opaque: list[str] = []
        self.is_doubtful = False
        self._unquoted = list(source)
        self._late_words: dict[int, list[Node]] = {}

    def note(self, node: Node) -> None:
        if node.type in _EXPANSIONS:
            self.opaque.append(_EXPANSIONS[node.type])
        if node.type in _VERBATIM and not node.child_count:
            self._unquoted[node.start_byte : node.end_byte] = "x" * (
                node.end_byte - node.start_byte
            )
        if node.type in _NOTED:
            _NOTED[node.type](self, node)

    def note_word(self, node: Node) -> None:
        """The grammar overlooks the end of a command where a backslash begins the next line."""
        self.is_doubtful |= self.source.startswith(("\n", "#"), node.start_byte)

    def is_sure(self) -> bool:
        is_joined = "$\\\n" in self.source or _JOINT.search("".join(self._unquoted))
        return not (self.is_doubtful or is_joined)

    def note_expansion(self, node: Node) -> None:
        """Bash runs the `<(rm)` in `${x:-<(rm)}`, where the grammar has a mere word."""
        self.is_doubtful |= _PROCESS.search(self._text(node)) is not None

    def note_comment(self, node: Node) -> None:
        before = self.source[: node.start_byte]
        is_blank = before.endswith((" ", "\t", "\n")) and before[-2:-1] != "\\"
        is_sure = not before or is_blank or before.endswith((";", "&", "|", "(", ")"))
        self.is_doubtful |= not is_sure

    def note_assignment(self, node: Node) -> None:
        value = node.child_by_field_name("value")
        self.data += [self._value(value)] if value else []

    def note_string(self, node: Node) -> None:
        self.data += [self._value(child) for child in node.named_children]

    def _text(self, node: Node) -> str:
        return self.source[node.start_byte : node.end_byte]

    def note_late_words(self, node: Node) -> None:
        """In `sh -c > f 'rm x'` the grammar gives the last word to the file, bash to `sh`."""
        late = [word for child in node.children_by_field_name("redirect") for word in _late(child)]
        body = node.child_by_field_name("body")
        if body is not None and body.type in _COMMANDS:
            self._late_words[body.id] = late
        else:
            self.is_doubtful |= bool(late)

    def note_command(self, node: Node) -> None:
        words: list[str] = []
        end = -1
        for child in (*node.children, *self._late_words.get(node.id, ())):
            if child.type in _ASIDE or child.start_byte == child.end_byte:
                continue
            value = self._value(child)
            between = self.source[end : child.start_byte] if words else " "
            words[-1:] = [*words[-1:], value] if between else [words[-1] + value]
            self.is_doubtful |= "\n" in between.replace("\\\n", "")
            end = child.end_byte
        if words:
            self.commands.append(tuple(words))
            self.is_doubtful |= words[0] in _RESERVED

    def _value(self, node: Node) -> str:
        """Give the word that the shell makes of `node`."""
        text = self._text(node)
        match node.type:
            case "raw_string":
                return text[1:-1]
            case "ansi_c_string":
                return UNKNOWN if "\\" in text else text[2:-1]
            case "string":
                return self._quoted(node)
            case _ if _BRACES.search(text):
                self.opaque.append("words made by braces")
                return UNKNOWN
            case "command_name" | "concatenation":
                return self._concatenated(node)
            case kind if kind in _LITERALS:
                return _ESCAPE.sub(lambda found: found[1].strip("\n"), text)
            case _:
                return UNKNOWN if node.is_named else text.strip("$`")

    def _concatenated(self, node: Node) -> str:
        value, end = "", node.start_byte
        for child in node.children:
            self.is_doubtful |= end != child.start_byte
            value += self._value(child)
            end = child.end_byte
        return value

    def _quoted(self, node: Node) -> str:
        value, end = "", node.start_byte + 1
        for child in node.named_children:
            between = self.source[end : child.start_byte]
            is_text = child.type == "string_content"
            value += between + (self._text(child) if is_text else UNKNOWN)
            end = child.end_byte
        value += self.source[end : node.end_byte - 1]
        return _ESCAPE_IN_QUOTES.sub(lambda found: found[1].strip("\n"), value)

    def note_redirection(self, node: Node) -> None:
        destination = node.child_by_field_name("destination")
        operator = next((c.type for c in node.children if not c.is_named), "")
        if destination is None:
            return
        target = self._value(destination)
        is_descriptor = operator in (">&", "<&") and _DESCRIPTOR.fullmatch(target)
        if not is_descriptor:
            capability = Capability.READ if operator in ("<", "<&") else Capability.WRITE
            self.redirections.append(Redirection(capability, target))

    def note_document(self, node: Node) -> None:
        """Bash ends a document at the first line that is its delimiter: so must the grammar."""
        head = [c for c in node.children if c.type not in ("heredoc_body", "heredoc_end")]
        delimiter = "".join(self._text(child) for child in head if child.type == "heredoc_start")
        indent = "\t" if any(child.type == "<<-" for child in head) else ""
        start, end = self.source.find("\n", head[-1].end_byte) + 1, node.children[-1]
        text = self.source[start : end.start_byte].rstrip(indent)
        wanted = delimiter.strip("'\"\\")
        lines = [line.lstrip(indent) for line in self.source[start : end.end_byte + 1].split("\n")]
        is_end = wanted in lines and lines.index(wanted) == text.count("\n")
        is_one_line = "\n" not in self.source[node.start_byte : head[-1].end_byte]
        self.is_doubtful |= not (is_one_line and is_end and _DELIMITER.fullmatch(delimiter))
        self.data.append(text)


_NOTED: dict[str, Callable[[_Reading, Node], None]] = {
    **dict.fromkeys(_COMMANDS, _Reading.note_command),
    "redirected_statement": _Reading.note_late_words,
    "variable_assignment": _Reading.note_assignment,
    "file_redirect": _Reading.note_redirection,
    "heredoc_redirect": _Reading.note_document,
    "herestring_redirect": _Reading.note_string,
    "word": _Reading.note_word,
    "expansion": _Reading.note_expansion,
    "comment": _Reading.note_comment,
}
