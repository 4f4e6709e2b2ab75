"""Pure: what Telegram would make of the words of an agent that a finger can touch.

It takes `/stop` for a command to the bot, `@name` for a person to be told, `setup.py` and `fs.open`
for sites. Only in code it does not: there a touch copies. So an agent offers nothing to be touched
but what begins with http:// or https://.
"""

import re
from collections.abc import Iterator

from amiral.telegram.marks import Kind, Mark, Marked

# Only such words are looked at closely.
_WORD = re.compile(r"(?<!\S)[^\s./@]*+[./@]\S*")
# Most begin where a name does, so that a long word is gone through once; so each takes all of it.
_TOUCHED = re.compile(
    r"""
    https?://(?:[\w-]+\.)+[a-z]{2,}+(?![\w*@~]|\.[\w*~])(?::\d{1,4}(?!\d))?  # says where it leads
      (?:[/?\#](?:(?!t(?:g|on|onsite)://)[\w.~:/?\#@!$&'*+,;=%-]|\([\w.~:/?\#@!$&'*+,;=%-]*\))*)?
  | (?P<touched>
      (?:https?|ftp|tg|ton|tonsite)://[^\s<>"()]+
    | [.~*]*(?<![\w/<>])/[a-z0-9_][\w@./:*~-]*             # a command, or a path
    | (?<!\w)@[a-z0-9_]+[\w./*~-]*                         # a person, a package, a decorator
    | (?<![\w.+=-])[\w.+=-]+@[\w./*~-]+                    # a mail address
      # a file, a name in code, a host
    | (?<![\w./*~-])[\w./*~-]*[\w*~\u2100-\U0001ffff-]\.[^\W\d_]{2,}[\w./:\#*~-]*
    | (?<![\w.])\d+(?:\.\d+){3}[\w./:*~-]*                 # an address of a machine
    )
    """,
    re.VERBOSE | re.IGNORECASE,
)
_ADDRESS = re.compile(r"[.@/]")
_SOLID = frozenset({Kind.CODE, Kind.PRE, Kind.LINK})


def untouchable(marked: Marked) -> Marked:
    """Mark as code what Telegram would make a command, a mention or a site of by itself."""
    code = (
        Mark(Kind.CODE, start + one.start(), start + one.start() + len(one[0].rstrip(".:-")))
        for start, end in _open_stretches(marked)
        for one in _touched(marked.text[start:end])
        if one["touched"] or _is_glued(marked.text, start + one.start())
    )
    return Marked(marked.text, (*marked.marks, *code))


def _touched(text: str) -> Iterator[re.Match[str]]:
    for word in _WORD.finditer(text):
        yield from _TOUCHED.finditer(text, word.start(), word.end())


def _is_glued(text: str, at: int) -> bool:
    """Tell whether the word goes on that an address stands in, so that Telegram reads another."""
    word = max(text.rfind(" ", 0, at), text.rfind("\n", 0, at)) + 1
    return _ADDRESS.search(text, word, at) is not None


def _open_stretches(marked: Marked) -> Iterator[tuple[int, int]]:
    """Where the text is neither code nor a link."""
    at = 0
    for mark in sorted(marked.marks, key=lambda one: one.start):
        if mark.kind in _SOLID:
            yield at, mark.start
            at = mark.end
    yield at, len(marked.text)
