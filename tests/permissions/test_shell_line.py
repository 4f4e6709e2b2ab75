"""Behaviour of reading a line of shell: what it runs, where it writes, what cannot be known."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amiral.permissions.rules import Capability
from amiral.permissions.shell_line import LONGEST_LINE, UNKNOWN, Line, Redirection, read_line

WRITE, READ = Capability.WRITE, Capability.READ


def commands(text):
    line = read_line(text)
    assert line.is_readable, text
    return line.commands


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("ls -l a", ("ls", "-l", "a")),
        ("ls 'a b' \"c d\" e\\ f", ("ls", "a b", "c d", "e f")),
        ("r''m 'a'\"b\"c", ("rm", "abc")),
        ("\\rm \\-x", ("rm", "-x")),
        ("r``m a", ("rm", "a")),
        ("ls \\\n -l", ("ls", "-l")),
        ('echo "a\\"b\\$c\\d" \'\\n\'', ("echo", 'a"b$c\\d', "\\n")),
        ('echo "a $x  b"', ("echo", f"a {UNKNOWN}  b")),
        ("echo $x ${x} $(y) `y` $((1)) <(y)", ("echo", *[UNKNOWN] * 6)),
        ("echo a$x'b'", ("echo", f"a{UNKNOWN}b")),
        ("echo $'a' $'\\n' $\"b\"", ("echo", "a", UNKNOWN, "b")),
        ("echo {a,b} {1..3} {} @{1}", ("echo", UNKNOWN, UNKNOWN, "{}", "@{1}")),
        ("echo 1 é 日本", ("echo", "1", "é", "日本")),
        ("export A B", ("export", "A", "B")),
        ("unset a", ("unset", "a")),
        ("> f ls a", ("ls", "a")),
        ("nice <<< a ls", ("nice", "ls")),
        ("$x a", (UNKNOWN, "a")),
        ("[ -f a ] && ls", ("ls",)),
        ("time ls", ("time", "ls")),
        ("sh -c > f 'rm x'", ("sh", "-c", "rm x")),
        ("sh > f -c 2>&1 'rm x'", ("sh", "-c", "rm x")),
    ],
)
def test_words_are_what_the_program_gets_c3(text, words):
    assert commands(text)[0] == words


@pytest.mark.parametrize(
    "text",
    [
        *("a; b", "a && b", "a || b", "a | b", "a & b", "a\nb", "(a; b)", "{ a; b; }", "! a; b"),
        *("if a; then b; fi", "while a; do b; done", "f() { a; b; }", "for i in x; do a; b; done"),
        *("case x in y) a;; *) b;; esac", "a # no; c\nb", "[[ -n x ]] && a; b", "a |& b", "a &\nb"),
    ],
)
def test_every_command_of_a_line_is_found_c1(text):
    assert commands(text) == (("a",), ("b",))


@pytest.mark.parametrize(
    "text",
    [
        *("a $(b)", "a `b`", 'a "$(b)"', "a <(b)", "a >(b)", "a ${x:-$(b)}", "a $((1 + $(b)))"),
        *("a <<E\n$(b)\nE", "x=$(b) a", "a > $(b)", "a <<< $(b)"),
    ],
)
def test_nested_commands_are_found_and_their_output_is_opaque_c3(text):
    line = read_line(text)
    assert {words[0] for words in line.commands} == {"a", "b"}
    assert "the output of a command" in line.opaque


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a > f", [(WRITE, "f")]),
        ("a >> f 2> g &> h &>> i >| j", [(WRITE, name) for name in "fghij"]),
        ("a < f", [(READ, "f")]),
        ("{ a; } > 'f g'", [(WRITE, "f g")]),
        ("> f", [(WRITE, "f")]),
        ("a >& f", [(WRITE, "f")]),
        ("a > $x", [(WRITE, UNKNOWN)]),
        ("a 2>&1 >&2 <&0 2>&-", []),
        ("a <<E > f\nE", [(WRITE, "f")]),
    ],
)
def test_files_that_the_shell_opens_are_found_c4(text, found):
    line = read_line(text)
    assert line.redirections == tuple(Redirection(*one) for one in found)
    assert line.is_readable


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("cat <<E\nx $y\nE", ("x $y\n",)),
        ("cat <<'E'\nx\nE", ("x\n",)),
        ('cat <<"E F"\nx\nE F', ("x\n",)),
        ("cat <<\\E\nx\nE", ("x\n",)),
        ("cat <<-E\n\tx\n\tE", ("\tx\n",)),
        ("cat <<E && ls\n\n\nx\nE\n", ("\n\nx\n",)),
        ("cat <<E | cat > f\n x\n+E\nE\n", (" x\n+E\n",)),
        ("cat <<< 'x y'", ("x y",)),
        ("X=rm Y='a b' $X", ("rm", "a b")),
        ("X=", ()),
    ],
)
def test_text_that_may_be_fed_to_a_command_is_kept(text, data):
    line = read_line(text)
    assert line.data == data
    assert line.is_readable


@pytest.mark.parametrize(
    ("text", "opaque"),
    [
        ("ls $x", ("a variable",)),
        ("ls $x ${y}", ("a variable",)),
        ("A=1 ls", ("a variable that is set",)),
        ("echo $((1))", ("a computed value",)),
        ("l{s,x}", ("words made by braces",)),
        ("echo $'\\n'", ("a word in escapes",)),
        ("ls 'a$b'", ()),
    ],
)
def test_what_only_running_tells_is_named(text, opaque):
    assert read_line(text).opaque == opaque


@pytest.mark.parametrize(
    "text",
    [
        *(
            "ls (",
            "ls '",
            "if ls",
            "echo $(ls",
            "{rm,x}",
            "ls\0",
            "ls\r\nrm",
            "ls \x1b[1m",
            "\ud800",
        ),
        # Where the grammar and bash are not of one mind.
        *(
            "ls\n\\rm x",
            "ls # a\n\\rm x",
            "cat < a\n\\rm x",
            "ls\n\\\nrm x",
            "for i in a\n\\rm; do x; done",
        ),
        *("a\\\n#b; rm x", "cat <<E\nE \nE\n", "cat <<E\nx", "cat <<E$x\nE$x\n", "cat <<É\nx\nÜ\n"),
        *(
            "{ ls; } > f x",
            "A=1 if ls; then rm; fi",
            "cat <<E\nx\n E\n",
            "cat <<E\nE+\nE\n",
            "cat <<E\n E\necho '\nE\nrm x\n#'",
        ),
    ],
)
def test_what_is_not_read_for_sure_is_said_to_be_unreadable(text):
    assert not read_line(text).is_readable


def test_a_variable_that_is_set_before_a_redirection_runs_nothing():
    assert read_line("A=1 > f").commands == ()


def test_a_line_without_end_is_not_read():
    assert read_line("ls " * LONGEST_LINE) == Line((), (), (), (), is_readable=False)


@given(st.text() | st.text("\U0010fffd${}()[]<>é\n '\"x", max_size=12))
def test_any_text_is_read(text):
    assert isinstance(read_line(text), Line)
