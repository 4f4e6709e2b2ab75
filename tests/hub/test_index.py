"""The hub's page as a document: it needs no script, and what projects are called is text."""

from html.parser import HTMLParser
from pathlib import Path

from amiral.hub.index import Served, path_of, render_down, render_index
from amiral.web.page import assets


class Document(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.texts = list[tuple[str, dict[str, str | None]]](), list[str]()
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.texts.append(data)

    @property
    def text(self):
        return "".join(self.texts)

    @property
    def hrefs(self):
        return [attributes["href"] for _, attributes in self.tags if "href" in attributes]


def served(name="shop", state="running", detail=""):
    return Served(f"{name}-1a2b", name, Path("/nowhere"), state, detail)


def test_every_project_has_its_state_and_the_way_to_its_page():
    document = Document(render_index([served(), served("blog", "stopped", "the brake is on")]))
    assert {"p/shop-1a2b/", "p/blog-1a2b/"} <= set(document.hrefs)
    assert "✓ running" in document.text
    assert "⛔ stopped · the brake is on" in document.text


def test_one_that_is_down_says_so_and_one_that_runs_does_not():
    assert "does not answer" not in Document(render_index([served()])).text
    for state in ("waiting", "failed", "some state to come"):
        text = Document(render_index([served(state=state)])).text
        assert state in text
        assert "does not answer" in text


def test_without_any_it_says_how_one_comes_here():
    assert "amiral up PATH" in Document(render_index([])).text


def test_r54_what_a_project_is_called_is_text(hostile):
    one = Served('"><script>', hostile, Path("/nowhere"), hostile, hostile)
    document = Document(render_index([one]))
    assert {tag for tag, _ in document.tags}.isdisjoint({"script", "img", "style"})
    assert "<U+202E>" in document.text
    assert "\x1b" not in document.text
    assert path_of('a/b"><script>') == "/p/a%2Fb%22%3E%3Cscript%3E/"


def test_r54_why_one_does_not_answer_is_text_too(hostile):
    document = Document(render_down(hostile, hostile))
    assert {tag for tag, _ in document.tags}.isdisjoint({"script", "img", "style"})
    assert "\x1b" not in document.text
    assert {"", "/"} <= set(document.hrefs)


def test_everything_it_loads_is_ours_and_nothing_stands_inline():
    document = Document(render_index([served()]))
    known = {asset.path for asset in assets()} | {"p/shop-1a2b/"}
    assert set(document.hrefs) <= known
    for tag, attributes in document.tags:
        assert tag not in ("script", "style")
        assert not [name for name in attributes if name.startswith("on") or name == "style"]
