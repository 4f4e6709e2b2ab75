"""Pure: which stars, underscores and backslashes are markup, and which belong to what is named.

Agents write names, paths, globs and sums without backticks; Markdown would eat parts of them. In
doubt a character is shown: a star too many is read over, one that is missing is a wrong glob.
"""

import re

_ASCII_WORD = re.compile(r"[A-Za-z0-9_]")
_NAME = re.compile(r"\w*[\d_]\w*")
_IN_NAME = re.compile(r"\w_\w")
_BEFORE_NAME = tuple("/._\\$@")
_GOES_ON = re.compile(r"/|[.]\w")
_NUMBER = re.compile(r"\s*[0-9]+")
_CODE = re.compile(r"\\[A-Za-z0-9\\]")
_GUARDED = frozenset("*|#+-!~<>")


def is_emphasis(delimiter: str, before: str, inside: str, behind: str) -> bool:
    """Tell whether a pair of delimiters around `inside` is meant; `behind` needs two characters."""
    if delimiter[0] == "~":
        return delimiter == "~~"
    if delimiter[0] == "_":
        return not _is_name(delimiter, inside)
    if delimiter == "**":
        return not (_is_word(before[-1:]) and _is_word(behind[:1])) and not _is_glob(inside)
    is_part = _is_word(before[-1:]) or before.endswith(_BEFORE_NAME) or _is_word(behind[:1])
    return not is_part and not _GOES_ON.match(behind) and not _is_pattern(inside)


def _is_word(character: str) -> bool:
    return _ASCII_WORD.fullmatch(character) is not None


def _is_name(delimiter: str, inside: str) -> bool:
    """`__init__`, `_a_b_` and `_a_b and c_`, but neither `__two words__` nor `_word_`."""
    is_one = _NAME.fullmatch(f"{inside}_" if delimiter == "__" else inside) is not None
    return is_one or _IN_NAME.search(inside) is not None


def _is_glob(inside: str) -> bool:
    """What `**` of two globs would enclose: `**/a and b/**` or `**/a/**`; `**/etc/x**` is bold."""
    ends = (inside.startswith("/"), inside.endswith("/"))
    return all(ends) or (any(ends) and re.search(r"[\s*]", inside) is not None)


def _is_pattern(inside: str) -> bool:
    """What `*` of globs would enclose: `*.py and src/*`."""
    return inside.startswith((".", "/")) or inside.endswith("/")


def is_escape(before: str, character: str, behind: str) -> bool:
    """Tell whether the backslash in front of a character only keeps it from being markup.

    `before` is the line in front of the backslash, `behind` what follows the character. In paths,
    patterns and formulas backslashes stay.
    """
    word = f"{_end_of(before)}\\{character}{_beginning_of(behind)}"
    if _CODE.search(word):
        return False
    if character == ".":
        return _NUMBER.fullmatch(before) is not None
    is_within = _is_word(before[-1:]) and (behind.startswith(".") or _is_word(behind[:1]))
    return character in "_`" or (character in _GUARDED and not is_within)


def _end_of(line: str) -> str:
    return line[max(line.rfind(" "), line.rfind("\n")) + 1 :]


def _beginning_of(line: str) -> str:
    return line.split(maxsplit=1)[0] if line[:1].strip() else ""
