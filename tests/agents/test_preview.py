"""What a request would do, as it is shown: whole, visible, bounded (R54)."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amiral.agents.preview import MOST, preview, seen_from


def shown(**given):
    return preview(json.dumps(given), "/shop")


@pytest.mark.parametrize(
    ("given", "lines"),
    [
        ({"command": "git push\necho done"}, ["git push", "echo done"]),
        (
            {"description": "push", "command": "git push", "timeout": 5},
            ["git push", "description: push", "timeout: 5"],
        ),
        (
            {"file_path": "a.py", "old_string": "a\nb\nc", "new_string": "a\nB\nc"},
            ["file_path: a.py", " a", "-b", "+B", " c"],
        ),
        ({"path": "a", "old": "x", "new": "x"}, ["path: a", "-x", "+x"]),
        ({"old": 1, "new": "x"}, ["old: 1", "new: x"]),
        ({"file_path": "a.py", "content": "x\ny"}, ["file_path: a.py", "+x", "+y"]),
        ({"file_path": "a.py", "content": "x\n"}, ["file_path: a.py", "+x"]),
        ({"file_path": "a.py", "content": "x\n\n"}, ["file_path: a.py", "+x", "+"]),
        ({"file_path": "a.py", "content": ""}, ["file_path: a.py", 'content: ""']),
        ({"old": "a\nb\n", "new": "a\n"}, [" a", "-b"]),
        ({"old": "a", "new": "a\n"}, [" a", "+"]),
        ({"content": ["x"]}, ['content: ["x"]']),
        (
            {"file_path": "a", "edits": [{"old_string": "x", "new_string": "y", "all": True}]},
            ["file_path: a", "-x", "+y", "all: true"],
        ),
        ({"edits": ["odd"]}, ['edits: ["odd"]']),
        ({"edits": [1]}, ["edits: [1]"]),
        (
            {"paths": ["/shop/a", "b", 1], "cwd": "/shop", "command": "cat a"},
            ["cat a", "cwd: .", "path: a", "path: b", "path: 1"],
        ),
        ({"paths": "a"}, ["paths: a"]),
        (
            {
                "changes": [
                    {"path": "/shop/a", "deleted": True},
                    {"path": "/shop/b", "diff": "@@ -1 +1 @@\n-x\n+y\n"},
                    {"path": "/shop/c", "diff": ""},
                ]
            },
            [
                *("path: a", "deleted: true", "path: b", "@@ -1 +1 @@", "-x", "+y"),
                *("path: c", 'diff: ""'),
            ],
        ),
        ({}, [""]),
    ],
)
def test_all_arguments_are_shown(given, lines):
    assert shown(**given).split("\n") == lines


@pytest.mark.parametrize("arguments", ["no json", "[1]", "[" * 100_000])
def test_what_is_no_object_is_shown_as_it_is(arguments):
    assert preview(arguments, "/shop")[:6] == arguments[:6]


@pytest.mark.parametrize(
    ("path", "seen"),
    [
        ("/shop/src/a.py", "src/a.py"),
        ("/shop", "."),
        ("/shop/../etc/passwd", "/shop/../etc/passwd"),
        ("/shop/a/../../etc", "/shop/a/../../etc"),
        ("/shop//a", "/shop//a"),
        ("/shop-evil/a", "/shop-evil/a"),
        ("src/a.py", "src/a.py"),
        ("", ""),
    ],
)
def test_f4_a_path_is_shortened_only_where_it_surely_lies_in_the_workers_folder(path, seen):
    assert seen_from("/shop", path) == seen
    assert seen_from("", path) == path or path == ""


def test_a_name_with_a_line_end_in_it_is_one_line_r54():
    assert shown(file_path="a\nfile_path: b") == r'file_path: "a\nfile_path: b"'
    assert shown(file_path="") == 'file_path: ""'


def test_nothing_that_runs_is_hidden_r54():
    """A terminal, and `plain`, swallow what stands in an escape sequence; a shell does not."""
    assert shown(command="echo \x1b];rm -rf ~;\x07") == "echo <U+001B>];rm -rf ~;<U+0007>"
    assert shown(command="rm \u202egpj.x\u200b") == "rm <U+202E>gpj.x<U+200B>"


def test_a_long_edit_is_shown_without_being_compared():
    old = "\n".join(f"line {number}" for number in range(500))
    lines = shown(old=old, new="x").split("\n")
    assert lines[:2] == ["-line 0", "-line 1"]
    assert lines[-1] == "+x"
    assert len(lines) == 501


def test_what_is_too_long_says_how_much_is_left_out():
    text = shown(command="a" * 6000 + "b" * 9000 + "c" * 2000)
    assert text.startswith("a" * 6000)
    assert text.endswith("c" * 2000)
    assert "… 9000 characters are left out here …" in text
    hidden = shown(command="\u200b" * 20_000)
    assert hidden.count("<U+200B>") == MOST
    assert "… 12000 characters are left out here …" in hidden
    many = shown(edits=[{"old": str(number), "new": "x"} for number in range(60)])
    assert many.endswith("… 10 edits are left out here …")


@given(
    st.dictionaries(
        st.sampled_from(["command", "path", "content", "old", "new", "edits", "x"]),
        st.one_of(st.text(), st.integers(), st.lists(st.dictionaries(st.text(), st.text()))),
    )
)
def test_every_preview_is_visible(given):
    text = preview(json.dumps(given), "/shop")
    assert all(one.isprintable() or one in "\n\t" for one in text)
