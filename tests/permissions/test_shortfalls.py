"""What a sandbox leaves out is told, with the reason and what can be done."""

import pytest

from amiral.permissions.globs import parse_glob
from amiral.permissions.reach import Reach
from amiral.permissions.scope import Denial, Obstacle
from amiral.permissions.shortfalls import (
    MAX_FILES,
    MAX_SPLITS,
    further_names,
    nearest,
    shortfalls,
    unheld,
)

RULE = Obstacle("permissions.json:5: deny write **/.env", "move it")
NOTHING = Reach()


def split(*paths, by=RULE):
    return Reach(split=tuple((tuple(path.split("/")), by) for path in paths))


def told(write=NOTHING, delete=NOTHING, read=None, inert=frozenset()):
    return shortfalls(write, delete, read, inert)


def test_nothing_is_told_of_a_plan_that_lacks_nothing():
    assert told() == told(read=NOTHING) == []


def test_a_rule_that_takes_creation_is_named_with_some_folders():
    same = split("a", "b", "c/d", "e")
    (line,) = told(same, same)
    assert line == (
        "permissions.json:5: deny write **/.env: no new file can be made and nothing can be "
        "removed or replaced in 4 folders (a, b, c/d, …); move it"
    )


def test_capabilities_are_told_apart_where_they_differ():
    found = told(split("a"), split("b"), split("c"))
    assert [line.partition(": ")[2].partition("**/.env: ")[2] for line in found] == [
        "no new file can be made in 1 folder (a); move it",
        "nothing can be removed or replaced in 1 folder (b); move it",
        "new files cannot be read in 1 folder (c); move it",
    ]


def test_many_reasons_are_counted():
    reasons = [Obstacle(f"reason {number}", "wait") for number in range(MAX_SPLITS + 2)]
    both = Reach(split=tuple((("a",), reason) for reason in reasons))
    found = told(both, both)
    assert len(found) == MAX_SPLITS + 1
    assert found[-1] == "and 2 more like these"


def test_files_nearest_to_the_root_are_kept_and_the_rest_told():
    deep = [("a", str(number)) for number in range(MAX_FILES)]
    files = (*deep, ("top",))
    kept = nearest(files)
    assert (len(kept), kept[0]) == (MAX_FILES, ("top",))
    assert nearest((("a",),)) == (("a",),)
    (line,) = told(Reach(files=files))
    assert line.startswith("write: 1 files are left out")
    (line,) = told(read=Reach(files=files))
    assert line.startswith("read: 1 files are left out")


@pytest.mark.parametrize(("delete", "count"), [((), 1), ((("a", "b"),), 1), ((("a",),), 0)])
def test_writing_without_deleting_is_warned_of(delete, count):
    found = told(Reach(folders=(("a",),)), Reach(folders=delete))
    assert sum("cannot be saved by replacing it" in line for line in found) == count


def test_protected_names_that_are_not_there_are_told_where_they_could_be_made():
    root = Reach(folders=((),))
    (line,) = told(root, root)
    assert ".git, .claude, .mcp.json" in line
    (line,) = told(root, root, inert=frozenset({".git"}))
    assert ".git," not in line
    src = Reach(folders=(("src",),))
    assert told(src, src) == []


def test_files_that_show_elsewhere_are_told():
    assert further_names([]) == []
    assert further_names([("a", "b")]) == [
        "1 file may have names outside the project too, where a change shows: a/b"
    ]


def test_a_deny_that_holds_only_for_what_is_there_is_told():
    env = Denial(parse_glob("**/.env"), "permissions.json:5: deny write **/.env")
    elsewhere = Denial(parse_glob("docs/**"), "permissions.json:6: deny write docs/**")
    (line,) = unheld((env, elsewhere), Reach(folders=(("src",),)))
    assert line == (
        "permissions.json:5: deny write **/.env: what is not there yet could be made in 1 folder "
        '(src); sandbox.mode "strict" keeps that out too'
    )
    assert unheld((env,), NOTHING) == []
