"""What bash really runs is what the rules saw: lines are tried in a real bash (C1-C3, R47)."""

import contextlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amiral.permissions.rules import Capability, Permissions, Posture, Rule
from amiral.permissions.shell import decide_command

PROGRAMS = ("bash", "sh", "cat", "env", "find", "nice", "timeout", "xargs")

LINES = st.sampled_from(
    [
        *("ls; rm x", "ls && rm x", "ls | rm", "(rm x)", "{ rm x; }", "! rm x", "time rm x"),
        *("ls # a\nrm x", "ls\n\\rm x", "ls \\\n rm x\nrm x", 'echo "a" # b\nrm x'),
        *("if true; then rm x; fi", "for i in rm; do $i; done", "case a in a) rm x;; esac"),
        *("f() { rm x; }; f", "x=rm; $x a", "[[ -n $(rm x) ]]", "exec rm x", "command rm"),
        *("echo $(rm x)", "echo `rm x`", 'echo "a $(rm x) b"', "echo ${x:-$(rm x)}", "cat <(rm x)"),
        *("A=$(rm x) ls", "echo > $(rm x)", "(($(rm x)))", 'echo "$(echo "$(rm x)")"'),
        *("timeout 1 rm x", "env A=1 rm x", "nice sh -c 'rm x'", "xargs rm <<<a", "eval rm x"),
        *('sh -c "rm x"', "find . -exec rm x ;", 'trap "rm x" EXIT', "echo rm x | sh"),
        *("sh -c>f 'rm x'", "cat <<E | sh\nrm x\nE", "cat <<E\nrm\nE\nrm x", "cat <<E && rm x\nE"),
        *("cat <<E\n E\necho ;\nE\nrm x\n", "cat <<-E\n\tE\nrm x", 'cat <<"E" >f\nls\nE\nrm x'),
    ]
)
PIECES = st.sampled_from(
    [
        *("rm", "rm x", "ls", "echo ", " ", "\n", "\t", ";", "&&", "||", "|", "&", "(", ")", "{ "),
        *("; }", "$(", "`", "'", '"', "\\", "\\\n", "#", " #", "\n\\rm x", "\n#", "$'", '$"', "!"),
        *("<<E\n", "<<'E'\n", "<<-E\n", "\nE\n", " E\n", "E \n", "E+\n", "<<<", "<(", ">f", "<f"),
        *("2>&1", "$x", "${x:-", "}", "x=rm", "A=1 ", "*", "r?", "[r]m", "env ", "timeout 1 "),
        *("nice ", "eval ", "sh -c ", "xargs ", "exec ", "command ", "find . -exec ", "\\;", "if "),
        *("then ", "fi", "case a in ", "a)", ";;", "esac", "for i in a; do ", "done", "[[ ", " ]]"),
        *(
            "((",
            "))",
            "$((",
            "function f",
            "f() ",
            "coproc ",
            "{rm,x}",
            "alias l=",
            "\r",
            "\xa0",
            "é",
        ),
    ]
)


@st.composite
def mutations(draw):
    """Give a line that runs `rm`, or did so before pieces were put into it."""
    line = draw(LINES)
    for piece in draw(st.lists(PIECES, max_size=4)):
        at = draw(st.integers(0, len(line)))
        line = line[:at] + piece + line[at + draw(st.integers(0, 2)) :]
    return line


def rule(posture, match):
    return Rule(Capability.EXECUTE, match, posture, "permissions.json:3")


DENIED = rule(Posture.DENY, "rm*")
POLICIES = (
    Permissions(Posture.ALLOW, (DENIED,)),
    Permissions(Posture.ASK, (rule(Posture.ALLOW, "*"), DENIED)),
    Permissions(Posture.DENY, tuple(rule(Posture.ALLOW, f"{n} *") for n in ("ls", *PROGRAMS))),
)


@pytest.fixture(scope="module")
def programs():
    """Give a folder of the only programs there are; its `rm` and `ls` remove and list nothing."""
    if shutil.which("bash") is None:
        pytest.skip("there is no bash to compare with: install bash")
    with tempfile.TemporaryDirectory() as folder:
        for name in PROGRAMS:
            os.symlink(str(shutil.which(name)), Path(folder, name))
        for name, does in (("rm", 'builtin echo > "$RAN"'), ("ls", "exit 0")):
            Path(folder, name).write_text(f"#!{shutil.which('bash')}\n{does}\n")
            Path(folder, name).chmod(0o755)
        yield folder


def runs_rm(line, programs):
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        ran = Path(folder, "ran")
        work = Path(folder, "work")
        work.mkdir()
        with contextlib.suppress(subprocess.TimeoutExpired):
            subprocess.run(
                [str(shutil.which("bash")), "--norc", "-c", line],
                cwd=work,
                env={"PATH": programs, "HOME": str(work), "RAN": str(ran)},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=2,
                check=False,
            )
        return ran.exists()


@given(line=mutations())
def test_what_bash_runs_in_spite_of_a_deny_was_not_allowed_r47(programs, line):
    allowed = [one for one in POLICIES if decide_command(one, line).posture is Posture.ALLOW]
    if allowed:
        assert not runs_rm(line, programs)


def test_the_lines_it_begins_with_do_run_it(programs):
    assert runs_rm("ls; rm x", programs)
    assert runs_rm("cat <<E\n E\necho ;\nE\nrm x\n", programs)
    assert not runs_rm("ls 'rm x'", programs)
