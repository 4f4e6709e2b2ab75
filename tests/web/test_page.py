"""The page as a document: what stands in it before any script runs."""

from html.parser import HTMLParser

from amiral.web.page import assets, render_closed, render_page

VOID = {"meta", "link", "input", "br"}


class Document(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.texts = [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def page(title="shop", place="e:5", *, is_read_only=False):
    return render_page(title, place, ["TurnEnded", "WorkerSaid"], is_read_only=is_read_only)


def test_it_carries_where_to_go_on_from_and_what_may_come():
    document = Document(page())
    assert document.open == []
    root = document.tags[0][1]
    assert root["data-place"] == "e:5"
    assert root["data-events"] == "TurnEnded WorkerSaid"
    assert root["data-control"] == "owner"
    assert Document(page(is_read_only=True)).tags[0][1]["data-control"] == "off"


def test_r54_a_hostile_name_is_text(hostile):
    document = Document(page(title=f'"><script>x</script>{hostile}'))
    assert not [tag for tag, _ in document.tags if tag == "img"]
    assert len([tag for tag, _ in document.tags if tag == "script"]) == 1
    assert "<U+202E>" in "".join(document.texts)
    assert "\x1b" not in page(title=hostile)


def test_everything_it_loads_is_ours_and_nothing_stands_inline():
    """The strict policy leaves no other way; by relative paths, as the hub shows it below one."""
    known = {asset.path for asset in assets()}
    for text in (page(), render_closed()):
        for tag, attributes in Document(text).tags:
            loaded = attributes.get("src") if tag == "script" else attributes.get("href")
            assert loaded is None or loaded in {*known, "/", "#text"}
            assert "style" not in attributes
            assert not [name for name in attributes if name.startswith("on")]
            assert tag != "script" or attributes.get("src")
            assert tag != "style"


def test_it_can_be_used_by_ear_and_on_a_phone():
    tags = Document(page()).tags
    ids = [attributes["id"] for _, attributes in tags if "id" in attributes]
    assert len(set(ids)) == len(ids)
    for _, attributes in tags:
        for name in ("aria-labelledby", "for"):
            assert attributes.get(name, ids[0]) in ids
    labelled = {attributes["for"] for tag, attributes in tags if tag == "label"}
    assert {attributes["id"] for tag, attributes in tags if tag == "textarea"} <= labelled
    assert any("width=device-width" in attributes.get("content", "") for _, attributes in tags)
    assert tags[0][1]["lang"] == "en"


def test_the_script_makes_text_nodes_alone():
    (script,) = (asset.content.decode() for asset in assets() if asset.path.endswith(".js"))
    for word in ("innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval(", "on" + "="):
        assert word not in script
