"""Pure: Markdown as models write it, read into a text with marks."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate
from typing import cast

from pyromark import Options, events_with_range

from amiral.telegram.marks import Marked
from amiral.telegram.nested_fences import widened
from amiral.telegram.reader import Event, Reader

Place = Mapping[str, int]
Parse = Callable[[str], Iterable[tuple[Event, Place]]]

# Formulas and footnotes are asked for so that nothing in them is taken for markup.
_OPTIONS = (
    Options.ENABLE_TABLES
    | Options.ENABLE_STRIKETHROUGH
    | Options.ENABLE_MATH
    | Options.ENABLE_FOOTNOTES
)
_BEGINS_CHARACTER = bytes(byte not in range(0x80, 0xC0) for byte in range(256))


def parse(markdown: str) -> Iterable[tuple[Event, Place]]:
    """Give the events of the parser, with their places in bytes of UTF-8."""
    return cast("Iterable[tuple[Event, Place]]", events_with_range(markdown, options=_OPTIONS))


def read(markdown: str, parse: Parse = parse) -> Marked:
    """Read any text; one that cannot be read comes back as it is, without marks."""
    try:
        return read_strictly(markdown, parse)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # noqa: BLE001 - a panic of the parser is no Exception
        return Marked(markdown)


def read_strictly(markdown: str, parse: Parse = parse) -> Marked:
    """Read any text; a fault of the parser or ours is raised."""
    source = widened(markdown)
    reader = Reader(source)
    places = _characters(source)
    for event, where in parse(source):
        reader.take(event, places[where["start"]], places[where["end"]])
    return reader.marked()


def _characters(source: str) -> Sequence[int]:
    """For each place in bytes of UTF-8, how many characters lie before it."""
    if source.isascii():
        return range(len(source) + 1)
    return list(accumulate(source.encode().translate(_BEGINS_CHARACTER), initial=0))
