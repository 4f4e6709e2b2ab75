"""Pure: blocks of code inside a block of Markdown, as models nest them, told apart."""

import re

_OPENING = re.compile(r" {0,3}(`{3,})(?:md|markdown|mdx)[ ]*", re.IGNORECASE)
_FENCE = re.compile(r" {0,3}(`{3,})([^`\n]*)")


def widened(markdown: str) -> str:
    """Lengthen the fence around a block of Markdown whose blocks have the same fence.

    By the rules the first inner end would end the outer block. What has a language begins a block,
    what has none ends the innermost; where that does not come out even, nothing is changed.
    """
    lines = markdown.split("\n")
    at = 0
    while at < len(lines):
        opening = _OPENING.fullmatch(lines[at])
        if opening:
            end, is_nested = _end(lines, at, opening[1])
            if is_nested and end < len(lines):
                longer = "`" + max(_runs(lines[at : end + 1]))
                for outer in (at, end):
                    lines[outer] = lines[outer].replace(opening[1], longer)
            at = end
        at += 1
    return "\n".join(lines)


def _runs(lines: list[str]) -> list[str]:
    return [fence[1] for line in lines if (fence := _FENCE.match(line))]


def _end(lines: list[str], start: int, mark: str) -> tuple[int, bool]:
    """Find the line that ends the block begun at `start`, and whether it has inner blocks.

    What is not ended reaches beyond the last line, as by the rules.
    """
    depth, is_nested = 1, False
    for at in range(start + 1, len(lines)):
        fence = _FENCE.fullmatch(lines[at])
        if fence is None or len(fence[1]) != len(mark):
            continue
        is_opening = fence[2].strip() != ""
        is_nested |= is_opening
        depth += 1 if is_opening else -1
        if depth == 0:
            return at, is_nested
    return len(lines), is_nested
