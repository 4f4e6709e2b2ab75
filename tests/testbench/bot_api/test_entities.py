"""Texts are judged as Telegram's own library judges them."""

import json
import sys

import pytest
import tdjson
from hypothesis import given
from hypothesis import strategies as st

from amiral.testbench.bot_api.entities import commands, formatted, units
from amiral.testbench.bot_api.wire import Refusal

texts = st.text(
    st.sampled_from("ab \n\r\t\x00😀é\u2029\u030a/@_*`") | st.characters(codec="utf-8"), max_size=12
)
places = st.integers(-1, 16)
# One alone: of several the library may name another one first, or merge them before it looks.
entities = st.lists(st.tuples(places, places), max_size=1)


def library(request):
    return json.loads(tdjson.td_execute(json.dumps(request).encode()) or b"null")


@pytest.fixture(autouse=True, scope="module")
def _quiet():
    library({"@type": "setLogVerbosityLevel", "new_verbosity_level": 0})


def bold(*spans):
    return [{"type": "bold", "offset": at, "length": long} for at, long in spans]


def refusal(text, mode="", listed=None):
    with pytest.raises(Refusal) as refused:
        formatted(text, mode, listed)
    return refused.value.description


@given(texts.filter(bool), entities)
def test_entities_are_refused_in_the_words_of_the_library_and_when_it_does(text, spans):
    kind = {"@type": "textEntityTypeBold"}
    listed = [{"offset": at, "length": long, "type": kind} for at, long in spans]
    # Writing it as Markdown checks the entities first.
    told = library({"@type": "getMarkdownText", "text": {"text": text, "entities": listed}})
    if told["@type"] == "error":
        said = refusal(text, "", bold(*spans)).removeprefix("Bad Request: ")
        assert said[1:] == told["message"][1:]
    else:
        shown, found = formatted(text, "", bold(*spans))
        assert all(0 <= e["offset"] < e["offset"] + e["length"] <= units(shown) for e in found)


@given(texts)
def test_what_is_not_shown_is_taken_out_as_the_library_does(text):
    kind = {"@type": "textParseModeHTML"}
    escaped = text.replace("&", "&amp;").replace("<", "&lt;")
    told = library({"@type": "parseTextEntities", "text": escaped, "parse_mode": kind})
    assert formatted(text, "", None)[0] == formatted(told["text"], "", None)[0]


@given(st.text("a0_é¹/@<> \n.-", max_size=12))
def test_commands_are_found_where_the_library_finds_them(text):
    told = library({"@type": "getTextEntities", "text": text})
    named = [one for one in told["entities"] if one["type"]["@type"] == "textEntityTypeBotCommand"]
    assert [(one["offset"], one["length"]) for one in commands(text)] == [
        (one["offset"], one["length"]) for one in named
    ]


@pytest.mark.parametrize(
    ("text", "shown", "spans"),
    [
        ("  a b \n", "a b", [(0, 3)]),
        ("a\r\nb", "a\nb", [(0, 3)]),
        ("a\x00\x1b[b", "a  [b", [(0, 5)]),
        ("😀\u202eb", "😀b", [(0, 3)]),
    ],
)
def test_entities_move_along_with_what_goes(text, shown, spans):
    assert formatted(text, "", None) == (shown, [])
    inner = bold((text.index(text.strip()), units(text.strip())))
    assert formatted(text, "", inner) == (shown, bold(*spans))


def test_blanks_that_an_entity_covers_stay_in_front_and_go_behind():
    assert formatted("  ab  ", "", bold((0, 6))) == ("  ab", bold((0, 4)))
    assert formatted("ab   ", "", bold((3, 2))) == ("ab", [])


def test_parse_modes_are_read_by_telegrams_library():
    assert formatted("*a* `b`", "MarkdownV2", None) == (
        "a b",
        [{"type": "bold", "offset": 0, "length": 1}, {"type": "code", "offset": 2, "length": 1}],
    )
    html = '<pre><code class="language-py">x</code></pre><a href="http://e.x/">y</a>'
    found = formatted(html, "html", None)[1]
    assert [(one["type"], one.get("language"), one.get("url")) for one in found] == [
        ("pre", "py", None),
        ("text_link", None, "http://e.x/"),
    ]
    quote = formatted("<blockquote expandable>a</blockquote>", "HTML", None)[1]
    assert quote[0]["type"] == "expandable_blockquote"
    assert formatted("*a*", "none", None) == ("*a*", [])


@pytest.mark.parametrize(
    ("text", "mode", "said"),
    [
        (
            "a.b",
            "MarkdownV2",
            "can't parse entities: Character '.' is reserved and must be escaped",
        ),
        ("*a", "Markdown", "can't parse entities: Can't find end of the entity"),
        ("<b>a", "HTML", "can't parse entities: Can't find end tag corresponding to start tag"),
        ("a", "BBCode", "unsupported parse_mode"),
    ],
)
def test_what_a_parse_mode_cannot_read_is_refused_in_telegrams_words(text, mode, said):
    assert refusal(text, mode).startswith(f"Bad Request: {said}")


def test_without_the_library_parse_modes_are_refused_and_entities_still_judged(monkeypatch):
    monkeypatch.setitem(sys.modules, "tdjson", None)
    assert refusal("*a*", "MarkdownV2") == (
        "Bad Request: parse_mode needs tdjson here: pip install tdjson"
    )
    assert formatted("abc", "", bold((0, 2))) == ("abc", bold((0, 2)))
    assert refusal("abc", "", bold((5, 1))).endswith("at UTF-16 offset 5")


@pytest.mark.parametrize(
    ("entity", "said"),
    [
        ("bold", "can't parse MessageEntity: expected an Object"),
        ({"type": "bold", "offset": 0}, "can't parse MessageEntity: Can't find field \"length\""),
        ({"type": "big", "offset": 0, "length": 1}, "can't parse MessageEntity: Unsupported type"),
        ({"type": "text_link", "offset": 0, "length": 1, "url": ""}, "entity URL '' is invalid"),
        ({"type": "text_link", "offset": 0, "length": 1, "url": "a b"}, "entity URL 'a b'"),
    ],
)
def test_an_entity_that_is_none_is_refused(entity, said):
    assert refusal("abc", "", [entity]).startswith(f"Bad Request: {said}")
