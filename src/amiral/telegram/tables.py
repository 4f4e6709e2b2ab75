"""Pure: a table drawn with characters of one width."""

import unicodedata
from collections.abc import Sequence

WIDEST = 60


def drawn(rows: Sequence[Sequence[str]]) -> str:
    """Draw rows of cells, the first of them the heads; what is too wide for a phone is not padded.

    Above `WIDEST` columns padding would only push apart what is wrapped anyway.
    """
    count = max(map(len, rows))
    whole = [[*row, *[""] * (count - len(row))] for row in rows]
    widths = [max(_width(row[at]) for row in whole) for at in range(count)]
    if sum(widths) + 3 * (count - 1) > WIDEST:
        widths = [0] * count
    head, *rest = (_line(row, widths) for row in whole)
    rule = "-+-".join("-" * width for width in widths) if any(widths) else "---"
    return "\n".join([head, rule, *rest])


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    cells = (cell + " " * (width - _width(cell)) for cell, width in zip(row, widths, strict=True))
    return " | ".join(cells).rstrip()


def _width(text: str) -> int:
    if text.isascii():
        return len(text)
    return sum(map(_columns, text))


def _columns(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
