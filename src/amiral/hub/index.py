"""The hub's pages: every project with its state and the way to it, or why one does not answer.

They need no script.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from string import Template
from urllib.parse import quote

from amiral.base.plain import one_line, plain
from amiral.hub.marks import RUNNING, sign_of

_FOLDER = Path(__file__).parent / "static"
_LONGEST_STATE = 300
_NOTHING = "<li><p>No project yet. On the terminal: <code>amiral up PATH</code></p></li>"


@dataclass(frozen=True)
class Served:
    """One project as the gateway needs it: its HTTP socket, and what the supervisor says of it."""

    id: str
    name: str
    socket: Path
    state: str
    detail: str


def path_of(project: str) -> str:
    """Give the path of a project's page, by its id or its name."""
    return f"/p/{quote(project, safe='')}/"


def render_index(served: Sequence[Served]) -> str:
    """Write the page; whatever the projects are called is text."""
    rows = "\n".join(map(_row, served)) or _NOTHING
    return _filled("index.html", projects=rows)


def render_down(message: str, next_step: str) -> str:
    """Write what a browser shows in the place of a project that does not answer."""
    shown = {"message": message, "next_step": next_step}
    return _filled("down.html", **{key: escape(plain(value)) for key, value in shown.items()})


def _filled(name: str, **values: str) -> str:
    return Template((_FOLDER / name).read_text("utf-8")).substitute(values)


def _row(one: Served) -> str:
    name, href = escape(one_line(one.name)), escape(path_of(one.id).removeprefix("/"))
    told = " · ".join(filter(None, (one.state, one.detail)))
    state = escape(one_line(f"{sign_of(one.state)} {told}", _LONGEST_STATE))
    down = "" if one.state == RUNNING else '<p class="soft">Its page does not answer now.</p>'
    return f'<li><h2><a href="{href}">{name}</a></h2><p>{state}</p>{down}</li>'
