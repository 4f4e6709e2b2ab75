"""Answers as models write them, judged by Telegram's own library and by what they must keep."""

import json
import re
from collections import Counter
from html import unescape
from pathlib import Path

import pytest
import tdjson
from hypothesis import example, given
from hypothesis import strategies as st

from amiral.base.plain import plain
from amiral.telegram.markdown import read_strictly
from amiral.telegram.render import LONGEST_TEXT, answer, render

ANSWERS = {path.stem: path.read_text() for path in Path(__file__).parent.glob("answers/*.txt")}
KINDS = {"pre": "Pre", "text_link": "TextUrl", "blockquote": "BlockQuote"}
# Signs that could be markup; none changes how many UTF-16 units there are.
MASKED = str.maketrans(dict.fromkeys("*_~`|[]()", "x"))
LONG_CODE = "".join(f"def f_{i}(x): return x_{i} < {i} && '`tick`'\n" for i in range(240))


def library(request):
    return json.loads(tdjson.td_execute(json.dumps(request).encode()) or b"null")


@pytest.fixture(autouse=True, scope="module")
def _quiet():
    library({"@type": "setLogVerbosityLevel", "new_verbosity_level": 0})


def units(text):
    return len(text.encode("utf-16-le")) // 2


def between(text, start, end):
    return text.encode("utf-16-le")[2 * start : 2 * end].decode("utf-16-le")


def entity(told):
    name = KINDS.get(told["type"], told["type"].capitalize())
    kind = {"@type": f"textEntityType{name}"}
    if "url" in told:
        kind["url"] = told["url"]
    if "language" in told:
        kind = {"@type": "textEntityTypePreCode", "language": told["language"]}
    return {"offset": told["offset"], "length": told["length"], "type": kind}


def kinds(entities, length):
    """Tell for each unit what it is: Telegram may join or part neighbours."""
    found: list[set[tuple[str, str | None]]] = [set() for _ in range(length)]
    for one in entities:
        for at in range(one["offset"], one["offset"] + one["length"]):
            found[at].add((one["type"]["@type"], one["type"].get("language")))
    return found


def judge(part):
    """Assert that Telegram takes a message, and shows it as it was meant."""
    data = part.data()
    text, listed = data["text"], [entity(one) for one in data["entities"]]
    assert text.strip()
    # The masked text is no Markdown, so what comes back is what it makes of the entities.
    masked = text.translate(MASKED)
    told = {"text": masked, "entities": [{"@type": "textEntity", **one} for one in listed]}
    taken = library({"@type": "parseMarkdown", "text": {"@type": "formattedText", **told}})
    assert taken["@type"] != "error", taken["message"]
    assert taken["text"] == masked
    assert kinds(taken["entities"], units(text)) == kinds(listed, units(text))
    places = [(one.offset, one.offset + one.length) for one in part.entities]
    assert places == sorted(places, key=lambda place: (place[0], -place[1]))
    assert all(0 <= start < end <= units(text) for start, end in places)
    assert all(between(text, start, end) for start, end in places)  # whole symbols, or no UTF-16


def tapped(part):
    """Name what a finger could touch besides links that say where they lead."""
    solid = [
        (one.offset, one.offset + one.length)
        for one in part.entities
        if one.kind.value in ("code", "pre", "text_link")
    ]
    found = []
    for one in library({"@type": "getTextEntities", "text": part.text})["entities"]:
        start, end = one["offset"], one["offset"] + one["length"]
        kind, word = (
            one["type"]["@type"].removeprefix("textEntityType"),
            between(part.text, start, end),
        )
        is_solid = any(start < behind and before < end for before, behind in solid)
        is_open = kind == "Url" and word.lower().startswith("http")
        if kind in ("BotCommand", "Mention", "EmailAddress", "Url") and not is_solid | is_open:
            found.append(word)
    return found


def whole(parts):
    """Give all text, and all that is told beside it: addresses and languages."""
    values = " ".join(one.value for part in parts for one in part.entities)
    return "\n".join(part.text for part in parts), values


def letters(text):
    return [one for one in text if one.isalnum()]


def signs(text):
    """Signs that are never markup."""
    return Counter(
        one
        for one in text
        if one.isprintable() and not re.match(r"[\w\s*_~`#|\\>\[\]()!:<=-]", one)
    )


def assert_kept(markdown, parts):
    """Assert that nothing is lost, added or moved but markup."""
    # The parser reads `&lt;` in a fence's info or a target; elsewhere it stays as it is.
    source = unescape(plain(markdown))
    text, values = map(unescape, whole(parts))
    assert not Counter(letters(source)) - Counter(letters(text + values)), "lost"
    assert not signs(source) - signs(text + values), "signs lost"
    rest = iter(letters(source))
    assert all(one in rest for one in letters(text)), "added or moved"


# ---------------------------------------------------------------- by name

HARD = {
    "a block of Markdown with a longer fence": (
        "Here:\n````md\n# Title\n```python\nprint('hi')\n```\n````\nafter",
        "Here:\n# Title\n```python\nprint('hi')\n```\nafter",
    ),
    "a block of Markdown with the same fence": (
        "```md\nouter\n```python\nprint(1)\n```\ntail\n```\nend",
        "outer\n```python\nprint(1)\n```\ntail\nend",
    ),
    "nested blocks in a list": (
        "1. Do:\n   ```md\n   ```sh\n   make\n   ```\n   tail\n   ```\n2. Then **b**",
        "1. Do:\n```sh\nmake\n```\ntail\n2. Then b",
    ),
    "a table": (
        "| File | Lines |\n|------|------:|\n| `src/a_b.py` | 12 |\n| **x** | a\\|b |",
        "File       | Lines\n-----------+------\nsrc/a_b.py | 12\nx          | a|b",
    ),
    "an unclosed backtick": ("run `npm test and then", "run `npm test and then"),
    "an unclosed fence": (
        "look:\n```python\nprint(1)\nx = a_b < c",
        "look:\nprint(1)\nx = a_b < c",
    ),
    "unclosed emphasis": (
        "this is **very important and _unfinished",
        "this is **very important and _unfinished",
    ),
    "tags and generics": (
        'use <html> and <div class="x"> tags & <T> generics, Vec<String>',
        'use <html> and <div class="x"> tags & <T> generics, Vec<String>',
    ),
    "inline HTML": (
        "<b>bold?</b> <script>alert(1)</script> <details><summary>s</summary>x</details> a<br>b",
        "<b>bold?</b> <script>alert(1)</script> <details><summary>s</summary>x</details> a<br>b",
    ),
    "paths and names": (
        "see src/my_module/__init__.py and foo_bar_baz.py, __main__, snake_case_name",
        "see src/my_module/__init__.py and foo_bar_baz.py, __main__, snake_case_name",
    ),
    "signs that MarkdownV2 reserves": (
        "1. Done! (v1.2.3) - a+b=c #tag {x} |y| ~z~ >q. **b**!",
        "1. Done! (v1.2.3) - a+b=c #tag {x} |y| ~z~ >q. b!",
    ),
    "10 kB of code": (
        f"Before\n\n```python\n{LONG_CODE}```\n\nAfter **bold**",
        f"Before\n\n{LONG_CODE}\nAfter bold",
    ),
    "a long text": (
        "Paragraph with **bold** and `code` and émoji 🎉. " * 400,
        "Paragraph with bold and code and émoji 🎉. " * 400,
    ),
    "bold emoji": ("**🎉🎉 done** then `x`", "🎉🎉 done then x"),
    "nested lists": (
        "- a\n  - b `c`\n    1. d\n- [ ] todo\n- [x] done",
        "- a\n  - b c\n    1. d\n- [ ] todo\n- [x] done",
    ),
    "a quote": ("> quoted **x**\n> line2\n\nafter", "quoted x\nline2\n\nafter"),
    "links with brackets and odd targets": (
        "[w](https://en.wikipedia.org/wiki/A_(b)) [x](javascript:f(1)) [y](<a b>) ![z](http://x/y.png)",
        "w x (javascript:f(1)) y (a b) z (http://x/y.png)",
    ),
    "headings": ("# H1\n## H2 with `code`\ntext", "H1\nH2 with code\ntext"),
    "a diff": ("```diff\n- old_line\n+ new_line <x>\n```", "- old_line\n+ new_line <x>"),
    "formulas": (
        "Euler $e^{i\\pi}+1=0$ and \\(a_b\\)",
        "Euler $e^{i\\pi}+1=0$ and \\(a_b\\)",
    ),
    "crossed emphasis": ("**bold _both** italic_", "bold _both italic_"),
    "globs and sums": (
        "rm *.py **/*.ts and 2*3*4 a * b",
        "rm *.py **/*.ts and 2*3*4 a * b",
    ),
    "backticks in code": ("`` a`b `` and ``` x ```", "a`b and x"),
    "escape sequences": ("\x1b[31mred\x1b[0m and \x00nul", "red and nul"),
    "nothing": ("", "(empty answer)"),
    "blanks alone": ("\n\n  \n", "(empty answer)"),
    "a command, a name, an address": (
        "use /deploy all or @some_user, mail a_b@c.d",
        "use /deploy all or @some_user, mail a_b@c.d",
    ),
    "backslashes": (
        "C:\\new_dir\\test and \\* \\_ \\`",
        "C:\\new_dir\\test and * _ `",
    ),
    "two bars": ("a || b || c and ||hidden||", "a || b || c and ||hidden||"),
    "names of all kinds in a line": (
        "Vec<String> <T> <html> __init__.py *.py **/*.ts snake_case C:\\new_dir",
        "Vec<String> <T> <html> __init__.py *.py **/*.ts snake_case C:\\new_dir",
    ),
    "a fence and a backtick unclosed in nested blocks": (
        "```md\n```python\nx = `1\n",
        "```python\nx = `1",
    ),
}


@pytest.mark.parametrize(("markdown", "text"), HARD.values(), ids=HARD)
def test_hard_inputs_arrive_whole(markdown, text):
    parts = render(markdown)
    assert " ".join(" ".join(part.text.split()) for part in parts) == " ".join(text.split())
    for part in parts:
        judge(part)
        assert units(part.text) <= LONGEST_TEXT
        assert not tapped(part)


# ---------------------------------------------------------------- answers as they come


@pytest.mark.parametrize("name", sorted(ANSWERS))
def test_answers_are_taken_and_lose_nothing(name):
    markdown = ANSWERS[name]
    sent = answer(markdown)
    assert sent.document is None
    for part in sent.parts:
        judge(part)
        assert not tapped(part)
    assert_kept(markdown, sent.parts)


@pytest.mark.parametrize("name", sorted(ANSWERS))
def test_code_in_answers_keeps_each_line(name):
    text = whole(render(ANSWERS[name]))[0]
    lost = [line for line in fenced(plain(ANSWERS[name])) if line.expandtabs(4).strip() not in text]
    assert not lost


def fenced(markdown):
    """Give the lines in fences, by the plainest rule."""
    fence = ""
    for line in markdown.split("\n"):
        found = re.match(r" {0,3}(`{3,}|~{3,})([^`]*)$", line)
        if not fence:
            fence = found[1] if found else ""
        elif found and found[1].startswith(fence) and not found[2].strip():
            fence = ""
        else:
            yield line


# ---------------------------------------------------------------- any text

PIECES = (
    *(
        "`",
        "```",
        "```py\n",
        "~~~",
        "*",
        "**",
        "_",
        "__",
        "~~",
        "||",
        "|",
        "$",
        "\\",
        "==",
        "-",
        "+",
    ),
    *("\n", "\n\n", " ", "    ", "\t", "> ", "# ", "- ", "1. ", "[a](", "x)", "[", "]", "(", ")"),
    *(
        "<",
        "</b>",
        "<b>",
        "&lt;",
        "<https://a.b/c>",
        "![i](https://e.org/i.png)",
        "| a | b |\n|---|---|\n",
    ),
    *(
        "word",
        "foo_bar",
        "a" * 50,
        "é",
        "Ω",
        "日",
        "مرحبا",
        "🎉",
        "👩\u200d👩\u200d👧",
        "🇫🇷",
        "e\u0301",
    ),
    *(
        "/stop",
        "@bob",
        "a.py",
        "x@y.zz",
        "1.2.3.4",
        "https://e.org/x_y",
        "http://localhost:3",
        "tg://x",
    ),
    *("\u202e", "\x1b[31m", "\u2028", "\u200b", ":", ".", "/", "@", "…", "="),
)
texts = st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=40).map("".join)
lengths = st.sampled_from([16, 64, 256, LONGEST_TEXT])


@given(texts, lengths)
@example("\ud800", 16)
def test_any_text_becomes_messages_that_telegram_takes(markdown, longest):
    parts = render(markdown, longest)
    assert parts
    for part in parts:
        judge(part)
        assert units(part.text) <= longest


@given(texts)
def test_the_parser_and_we_read_any_text(markdown):
    read_strictly(plain(markdown))


@given(texts)
def test_no_text_offers_anything_else_to_be_touched(markdown):
    for part in render(markdown):
        assert not tapped(part)


@given(texts)
def test_no_text_loses_letters(markdown):
    parts = render(markdown)
    if parts[0].text != "(empty answer)":
        assert_kept(markdown, parts)
