"""The page at `/`: one document, one script, one style sheet, served as they are.

It loads everything by relative paths: the hub shows it below `/p/<project>/`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from string import Template

from amiral.base.plain import one_line

_FOLDER = Path(__file__).parent / "static"
_TYPES: Mapping[str, str] = {
    "app.js": "text/javascript",
    "app.css": "text/css",
    "icon.svg": "image/svg+xml",
}


@dataclass(frozen=True)
class Asset:
    """A file of the page; `path` is relative to it."""

    path: str
    media_type: str
    content: bytes


def assets() -> Sequence[Asset]:
    """Read the files that the page loads."""
    return [
        Asset(f"static/{name}", media_type, (_FOLDER / name).read_bytes())
        for name, media_type in _TYPES.items()
    ]


def render_page(title: str, place: str, names: Sequence[str], *, is_read_only: bool) -> str:
    """Write the page: for which project, from where its stream goes on, which events there are."""
    return _filled(
        "page.html",
        title=one_line(title),
        place=place,
        names=" ".join(names),
        control="off" if is_read_only else "owner",
    )


def render_closed() -> str:
    """Write what somebody without a session sees."""
    return _filled("closed.html")


def _filled(name: str, **values: str) -> str:
    template = Template((_FOLDER / name).read_text("utf-8"))
    return template.substitute({key: escape(value) for key, value in values.items()})
