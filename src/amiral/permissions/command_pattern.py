"""Pure: patterns of commands, such as `git push*`, and which commands they mean.

`*` is any text, `?` one character; ` *` at the end is no argument too. An allow means the command
exactly as it was typed. A deny or ask also means it by another path of the program, in another
case, with its short flags bundled otherwise or with options before the subcommand.
"""

import posixpath
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from amiral.permissions.shell_line import UNKNOWN, Words

_OPAQUE = "\2"  # UNKNOWN, where nothing is guessed: only `*` and `?` mean it
_GLOBBED = "\1"  # what a shell's glob at the beginning of a word finds: no option, no hidden file
_SYSTEM = ("/bin", "/usr/bin")
_MOST_OPTIONS = 16

_SHELL_GLOB = re.compile(r"\[[^\]]*\]|[*?\[]")
_BUNDLE = re.compile(r"-([A-Za-z0-9]{1,5})(\*?)")
_FLAGS = re.compile(r"-([A-Za-z0-9]+)")
_QUOTES = re.compile(r"""\\\n|['"\\]""")
_PARTING = re.compile(r"[\s;&|()<>{}\[\]`$,=]+")
_LONG_FLAGS = {"--recursive": "rR", "--force": "f"}


def is_allowed(pattern: str, words: Words) -> bool:
    """Tell whether an allow means this command; only what the system ships goes by its name."""
    folder, name = posixpath.split(words[0])
    texts = [" ".join(words)] + ([" ".join((name, *words[1:]))] if folder in _SYSTEM else [])
    return any(_matches(pattern, text) for text in texts)


def is_meant(pattern: str, words: Words) -> bool:
    """Tell whether a deny or ask surely means this command."""
    return _means(pattern, words, is_guess=False)


def may_be_meant(pattern: str, words: Words) -> bool:
    """Tell whether a deny or ask could mean it, once the shell has put in what is unknown yet."""
    return _means(pattern, words, is_guess=True)


def matches_text(pattern: str, text: str) -> bool:
    """Tell whether a pattern means a text, as it stands."""
    return _matches(pattern, text)


def could_name(pattern: str, text: str) -> bool:
    """Tell whether a text that cannot be read has what a deny or ask names, in any order."""
    pieces = {_fold(_name_of(piece)) for piece in _pieces(text)}
    wanted = _named(_folded(" ".join(pattern.split()))).split(" ")
    names = [word for word in wanted if not word.startswith("-")]
    return all(any(_is_match(name, piece) for piece in pieces) for name in names if name != "*")


def _pieces(text: str) -> Iterator[str]:
    """Take a text apart at all that parts words, quotes once as parting and once as nothing."""
    for bare in (_QUOTES.sub("", text), _QUOTES.sub(" ", text)):
        yield from _PARTING.split(bare)


def _means(pattern: str, words: Words, *, is_guess: bool) -> bool:
    heads = dict.fromkeys((words[0], _name_of(words[0])))
    for wanted in dict.fromkeys((_folded(pattern), _named(_folded(pattern)))):
        for head in heads:
            for form in _forms((_fold(head), *words[1:]), is_guess=is_guess):
                text = _guess(form) if is_guess else _text(form)
                if _matches(wanted, text) or _fits_flags(wanted, form, is_guess=is_guess):
                    return True
    return False


def _forms(words: Words, *, is_guess: bool) -> Iterator[Words]:
    """Give the command, and it without the options that come first: `git -C x push`."""
    yield words
    if words[1:2] and words[1].startswith(("-", UNKNOWN) if is_guess else "-"):
        for at in range(2, min(len(words), _MOST_OPTIONS)):
            yield (words[0], *words[at:])


def _text(words: Words) -> str:
    return " ".join(words).replace(UNKNOWN, _OPAQUE)


def _guess(words: Words) -> str:
    """Write the command with wild cards where the shell will put what nobody knows yet."""
    globbed = (_SHELL_GLOB.sub(lambda at: UNKNOWN if at.start() else _GLOBBED, w) for w in words)
    return re.sub(f" ?{UNKNOWN} ?", UNKNOWN, " ".join(globbed))


def _fits_flags(pattern: str, words: Words, *, is_guess: bool) -> bool:
    """Compare the short flags as a set: `rm -rf*` means `rm -fr x`, `rm -r x -f` too."""
    wanted, rest = _flags_of_pattern(pattern)
    if not wanted:
        return False
    given, others = _flags_of(words)
    is_any = is_guess and any(UNKNOWN in word for word in words)
    text = _guess(others) if is_guess else _text(others)
    return (is_any or wanted <= given) and _matches(rest, text)


@lru_cache(maxsize=1024)
def _flags_of_pattern(pattern: str) -> tuple[frozenset[str], str]:
    head, *parts = pattern.split(" ")
    flags, kept = "", [head]
    for part in parts:
        bundle = _BUNDLE.fullmatch(part)
        if bundle is None or len(set(bundle[1])) < len(bundle[1]):
            kept.append(part)
            continue
        flags += bundle[1]
        kept += [bundle[2]] if bundle[2] else []
    return frozenset(flags), " ".join(kept)


def _flags_of(words: Words) -> tuple[set[str], Words]:
    end = words.index("--") if "--" in words else len(words)
    flags, others = set[str](), [words[0]]
    for word in words[1:end]:
        bundle = _FLAGS.match(word)
        long = [short for name, short in _LONG_FLAGS.items() if _is_long_flag(word, name)]
        flags.update(bundle[1] if bundle else "", *long)
        others += [] if bundle or long else [word]
    return flags, (*others, *words[end + 1 :])


def _is_long_flag(word: str, name: str) -> bool:
    return name.startswith(word) and len(word) > len("--")


def _name_of(program: str) -> str:
    return posixpath.basename(program) or program


def _named(pattern: str) -> str:
    head, blank, rest = pattern.partition(" ")
    return _name_of(head) + blank + rest


def _folded(pattern: str) -> str:
    head, blank, rest = pattern.partition(" ")
    return _fold(head) + blank + rest


def _fold(word: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", word).casefold())


@dataclass(frozen=True)
class _Automaton:
    """A pattern as bits: bit n stands for "n signs of it are behind us"."""

    by_sign: dict[str, int]
    ones: int  # where a `?` takes any sign
    stars: int  # where a `*` takes any number
    visible: int  # where neither a dash nor a dot is wanted
    end: int

    def settled(self, spots: int) -> int:
        return spots | ((spots & self.stars) << 1)

    def moved(self, spots: int, sign: str) -> int:
        if sign == UNKNOWN:
            return self.beyond(spots)
        if sign == _GLOBBED:
            return spots | self.beyond(spots & self.visible)
        step = (spots & (self.by_sign.get(sign, 0) | self.ones)) << 1
        return self.settled(step | (spots & self.stars))

    def beyond(self, spots: int) -> int:
        """Any text may come: every spot from the lowest one on."""
        return (2 * self.end - 1) & -(spots & -spots) if spots else 0


@lru_cache(maxsize=1024)
def _automaton(pattern: str) -> _Automaton:
    signs = re.sub(r"\*+", "*", pattern)
    by_sign: dict[str, int] = {}
    for at, sign in enumerate(signs):
        by_sign[sign] = by_sign.get(sign, 0) | 1 << at
    hidden = by_sign.get("-", 0) | by_sign.get(".", 0)
    end = 1 << len(signs)
    return _Automaton(by_sign, by_sign.pop("?", 0), by_sign.pop("*", 0), (end - 1) & ~hidden, end)


def _matches(pattern: str, text: str) -> bool:
    pattern = " ".join(pattern.split())
    return _is_match(pattern, text) or (pattern.endswith(" *") and _is_match(pattern[:-2], text))


def _is_match(pattern: str, text: str) -> bool:
    automaton = _automaton(pattern)
    spots = automaton.settled(1)
    for sign in text:
        if not spots or (pattern.endswith("*") and spots & automaton.end):
            break
        spots = automaton.moved(spots, sign)
    return bool(spots & automaton.end)
