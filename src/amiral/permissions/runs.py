"""Pure: all that a line of shell may run: nested, wrapped, or as text that becomes a command."""

from collections.abc import Iterable, Iterator
from itertools import chain, islice

from amiral.permissions.shell_line import UNKNOWN, Line, Words, read_line
from amiral.permissions.wrappers import Wrapped, scripts, suffixes, unwrapped

_DEEPEST = 4
_MOST_LAYERS = 8
_MOST = 2000


def layers(words: Words) -> Iterator[tuple[Words, Wrapped]]:
    """Give a command, then the one it surely runs, and so on: `nice sudo ls` has three."""
    for _ in range(_MOST_LAYERS):
        wrapped = unwrapped(words)
        yield words, wrapped
        words = wrapped.inner
        if not words:
            return
    yield words, Wrapped((), ((UNKNOWN,),), (), "too many programs that run others")


def may_run(line: Line) -> tuple[Words, ...]:
    """Give every command that the line may run, once each; one that is UNKNOWN may be any."""
    return _bounded(_runs(line, 0))


def quotes(line: Line) -> tuple[Words, ...]:
    """Give the commands in its quoted arguments: mostly mere text, but not of every program."""
    texts = (text for words in line.commands for text in scripts(words))
    return _bounded(words for text in texts for words in _runs(read_line(text), _DEEPEST))


def _bounded(found: Iterable[Words]) -> tuple[Words, ...]:
    """Past a bound the rest counts as one command that nobody knows."""
    first = tuple(islice(dict.fromkeys(found), _MOST + 1))
    return first if len(first) <= _MOST else (*first[:_MOST], (UNKNOWN,))


def _runs(line: Line, depth: int) -> Iterator[Words]:
    wrapped = [found for words in line.commands for found in _all_layers(words)]
    yield from line.commands
    yield from chain.from_iterable(layer.inner and (layer.inner,) for layer in wrapped)
    yield from chain.from_iterable(layer.candidates for layer in wrapped)
    texts = [text for layer in wrapped for text in layer.scripts]
    if any(layer.is_fed for layer in wrapped):
        yield from chain.from_iterable(map(suffixes, line.commands))
        texts += [*chain.from_iterable(map(scripts, line.commands)), *line.data]
    for text in dict.fromkeys(texts):
        yield from _runs_of_text(text, depth)


def _all_layers(words: Words) -> Iterator[Wrapped]:
    """Give the layers, and where it is not known which command is run those of each it could be."""
    for _, wrapped in layers(words):
        yield wrapped
        if wrapped.opaque:
            yield from map(unwrapped, wrapped.candidates)


def _runs_of_text(text: str, depth: int) -> Iterator[Words]:
    if depth >= _DEEPEST:
        yield (UNKNOWN,)
        return
    line = read_line(text.replace(UNKNOWN, "$_"))
    yield from _runs(line, depth + 1)
    if UNKNOWN in text or not line.is_readable:
        yield (UNKNOWN,)
