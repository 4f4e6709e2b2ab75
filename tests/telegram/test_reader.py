"""What each piece of Markdown becomes, and what is no Markdown although the grammar says so."""

import pytest

from amiral.telegram.markdown import read_strictly

OPENING = {"bold": "B", "italic": "I", "strikethrough": "S", "code": "C", "text_link": "A"}
OPENING |= {"pre": "P", "blockquote": "Q"}


def shown(markdown):
    """Write the marks into the text, a link as `⟦A:https://… word⟧`."""
    marked = read_strictly(markdown)
    signs = []
    for mark in marked.marks:
        value = f":{mark.value}" if mark.value else ""
        signs.append((mark.start, 1, -mark.end, f"⟦{OPENING[mark.kind]}{value} "))
        signs.append((mark.end, 0, -mark.start, "⟧"))
    text, at = "", 0
    for place, _, _, sign in sorted(signs):
        text += marked.text[at:place] + sign
        at = place
    return text + marked.text[at:]


@pytest.mark.parametrize(
    ("markdown", "expected"),
    [
        ("**a** *b* _c_ ~~d~~ ***e***", "⟦B a⟧ ⟦I b⟧ ⟦I c⟧ ⟦S d⟧ ⟦B ⟦I e⟧⟧"),
        ("**émoji 🎉** `x`", "⟦B émoji 🎉⟧ ⟦C x⟧"),
        ("~5 to ~6, 2*3*4, __init__", "~5 to ~6, 2*3*4, __init__"),
        ("in src/*a* b", "in src/*a* b"),
        ("**very important and _unfinished", "**very important and _unfinished"),
        ("`a` ``b`c`` ``` d ```", "⟦C a⟧ ⟦C b`c⟧ ⟦C d⟧"),
        ("**a `b` c**", "⟦B a ⟦C b⟧ c⟧"),
    ],
)
def test_words_are_marked(markdown, expected):
    assert shown(markdown) == expected


@pytest.mark.parametrize(
    ("markdown", "expected"),
    [
        ("# a\n## b `c`\nd", "⟦B a⟧\n⟦B b ⟦C c⟧⟧\nd"),
        ("# a #tag", "⟦B a #tag⟧"),
        ("#\nb", "\nb"),
        ("a\n---\nb", "a\n---\nb"),
        ("#hashtag", "#hashtag"),
        ("- # a\n- b", "- ⟦B a⟧\n- b"),
        ("a\n\n***\n\nb", "a\n\n***\n\nb"),
    ],
)
def test_headings_are_bold_and_rules_stay(markdown, expected):
    assert shown(markdown) == expected


@pytest.mark.parametrize(
    ("markdown", "expected"),
    [
        ("> a **b**\n> c\n\nd", "⟦Q a ⟦B b⟧\nc⟧\n\nd"),
        (">a\nlazy", "⟦Q >a\nlazy⟧"),
        ("> a\n>\n> b", "⟦Q a\n\nb⟧"),
        ("> > a\n> b", "⟦Q > a\nb⟧"),
        ("> a\n\nb\n\n> c", "⟦Q a⟧\n\nb\n\n⟦Q c⟧"),
        ("a > b", "a > b"),
    ],
)
def test_quotes_lose_their_outer_signs(markdown, expected):
    assert shown(markdown) == expected


@pytest.mark.parametrize(
    ("markdown", "expected"),
    [
        ("```python\nx = 1\n```\nb", "⟦P:python x = 1⟧\nb"),
        ("~~~\nx\n~~~", "⟦P x⟧"),
        ("a:\n```\nx = a_b < c", "a:\n⟦P x = a_b < c⟧"),
        ("    x = 1\n    y = 2", "⟦P x = 1\ny = 2⟧"),
        ("- a\n  ```\n  x\n    y\n  ```\n- b", "- a\n⟦P x\n  y⟧\n- b"),
        ('```ts title="a"\nx\n```', 'title="a"\n⟦P:ts x⟧'),
        ("```{r} a\nx\n```", "{r} a\n⟦P x⟧"),
        ("a\n```\n```\nb", "a\n\nb"),
        ("```", ""),
        ("a\n```npm test", "a\nnpm test"),
        ("```py\n```", "py"),
        ("> ```\n> x\n> ```", "⟦P ⟦Q x⟧⟧"),
    ],
)
def test_blocks_of_code_keep_each_character(markdown, expected):
    assert shown(markdown) == expected


@pytest.mark.parametrize(
    ("markdown", "expected"),
    [
        ("[a](https://e.org/x)", "⟦A:https://e.org/x a⟧"),
        ("[`a` b](https://e.org/x)", "⟦A:https://e.org/x a b⟧"),
        ('[a](https://e.org "t")', '⟦A:https://e.org a⟧ ("t")'),
        ("<https://e.org/x>", "⟦A:https://e.org/x https://e.org/x⟧"),
        ("[e.org](https://e.org/)", "⟦A:https://e.org/ e.org⟧"),
        ("[bank.org](https://e.org)", "bank.org (https://e.org)"),
        ("[a](javascript:x)", "a (javascript:x)"),
        ("[a](b.md) [](b.md)", "a (b.md) b.md"),
        ("[b.md](b.md)", "b.md"),
        ("[b](a\u202eb)", "b (a<U+202E>b)"),
        ("![a](https://e.org/a.png)", "⟦A:https://e.org/a.png a⟧"),
        ("![](a.png)", "a.png"),
        ("[![a](https://e.org/a)](https://e.org/b)", "a (https://e.org/a) (https://e.org/b)"),
    ],
)
def test_links_lead_where_they_say(markdown, expected):
    assert shown(markdown) == expected


@pytest.mark.parametrize(
    "text",
    [
        "[a][b] and [c]\n\n[b]: https://e.org",
        "<tag> and <a@e.org> <foo:bar>",
        "row[i](x) and f()[0](y)",
        "[^1] is a note\n\n[^1]: here",
        "- [ ] todo\n- [x] done\n  1. a",
        "Vec<String> <T> <html> &amp; &lt;",
        "$e^{i\\pi}+1$ and $$a*b*c$$ and \\(a_b\\)",
        "<div>\n*a*\n</div>",
        "a  \nb\\\nc",
        "a || b",
    ],
)
def test_what_is_no_markup_for_telegram_stays_as_it_was(text):
    assert shown(text) == text


@pytest.mark.parametrize(
    ("markdown", "expected"),
    [
        ("\\* \\_a\\_ \\` 1\\. \\# C:\\new", "* _a_ ` 1\\. # C:\\new"),
        ("\\d+ \\\\ \\[a\\]", "\\d+ \\\\ \\[a\\]"),
        ("a\\*.py b", "a\\*.py b"),
        ("a\n\\- b\n\n1\\. c", "a\n- b\n\n1. c"),
    ],
)
def test_backslashes_go_where_they_only_guard(markdown, expected):
    assert shown(markdown) == expected


@pytest.mark.parametrize(
    ("markdown", "expected"),
    [
        ("|a|b|\n|-|-|\n|1|**2**|", "⟦P a | b\n--+--\n1 | 2⟧"),
        ("|a|\n|-|\n|`x\\|y` \\| z|", "⟦P a\n-------\nx|y | z⟧"),
        ("|a|\n|-|\n|1|2|3|\n\nb", "⟦P a |\n--+----\n1 | 2|3⟧\n\nb"),
        ("|a|\n|-|\n|x\\|y|\n\na\\|b", "⟦P a\n---\nx|y⟧\n\na\\|b"),
        ("|a|b|\n|-|-|\n|1|", "⟦P a | b\n--+--\n1 |⟧"),
        ("|a|\n|-|\n|[x](https://e.org)|", "⟦P a\n-----------------\nx (https://e.org)⟧"),
        ("- a\n\n  |a|\n  |-|\n  |1|", "- a\n\n⟦P a\n-\n1⟧"),
    ],
)
def test_tables_are_drawn_and_lose_no_cell(markdown, expected):
    assert shown(markdown) == expected
