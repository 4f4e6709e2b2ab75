"""The program that goes behind a fence and becomes another, for those who are started by others."""

import json
import os
import shutil

import pytest

from amiral.processes.box import launcher

BOTH = """
attempt("inside", lambda: open(f"{inside}/new", "w"))
attempt("outside", lambda: open(f"{outside}/new", "w"))
attempt("open files", lambda: os.listdir("/proc/self/fd"))
told["open"] = sorted(map(int, os.listdir("/proc/self/fd")))[:-1]
told["ignored"] = int(open("/proc/self/status").read().split("SigIgn:")[1].split()[0], 16)
"""


def written(pen, fence=None):
    """Write a fence down as its owner would."""
    path = pen.yard.home / "fence.json"
    path.write_text(json.dumps((fence or pen.fence()).as_json(), indent=1) + "\n")
    path.chmod(0o600)
    return path


async def launched(pen, path, *argv):
    return await pen.run_freely(*launcher(str(path), argv))


async def test_what_others_start_through_it_is_behind_the_fence(pen):
    ran = await launched(pen, written(pen), *pen.trying(BOTH))
    told = json.loads(ran.out)
    assert (told["inside"], told["outside"]) == ("done", "EACCES")
    assert told["open"] == [0, 1, 2]


async def test_it_becomes_the_program_with_its_arguments_and_its_exit_code(pen):
    shell = shutil.which("sh")
    ran = await launched(pen, written(pen), shell, "-c", 'echo "$0 $*"; exit 7', "--", "a b", "-c")
    assert (ran.code, ran.out) == (7, b"-- a b -c\n")


async def test_a_pipe_that_broke_ends_a_plain_program(pen):
    ran = await launched(pen, written(pen), "sh", "-c", "yes | head -n 1")
    assert ran.out == b"y\n"
    assert b"Broken pipe" not in ran.err


PANE = """
tmux -S "$1/s" -f /dev/null new-session -d -- "${@:3}"
while tmux -S "$1/s" list-panes >/dev/null 2>&1; do sleep 0.02; done
"""


async def test_s4_a_pane_that_a_terminal_server_starts_is_fenced(pen):
    program = f"echo x > {pen.outside}/new; echo done > {pen.inside}/told"
    pane = launcher(str(written(pen)), ["sh", "-c", program])
    home, inside = str(pen.yard.home), str(pen.inside)
    ran = await pen.run_freely("bash", "-c", PANE, "bash", home, inside, *pane)
    assert (ran.code, (pen.inside / "told").exists()) == (0, True), ran.err
    assert not (pen.outside / "new").exists()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "the fence cannot be put up: "),
        ("", "the fence cannot be put up: "),
        ('{"grants": [], "fenced": 1, "ports": null} and more', "the fence cannot be put up: "),
        ("[]", "a fence has grants"),
        ('{"grants": [["in", 1]], "fenced": 1, "ports": null}', "a grant is"),
        ("[" * 100_000, "the fence cannot be put up: "),
        ('{"grants": [], "fenced": 1, "ports": null, "root": "/x"}', "/x: there is no"),
        ("\udcff", "the fence cannot be put up: "),
    ],
    ids=["torn", "empty", "more", "no fence", "relative", "nested", "no root", "no text"],
)
async def test_a_fence_that_cannot_be_read_or_put_up_runs_nothing(pen, text, why):
    path = written(pen)
    path.write_bytes(text.encode(errors="surrogateescape"))
    ran = await launched(pen, path, "touch", str(pen.inside / "ran"))
    assert ran.code == 126
    assert ran.err.decode().startswith("amiral: ")
    assert why in ran.err.decode()
    assert ran.err.count(b"\n") == 1
    assert not (pen.inside / "ran").exists()


@pytest.mark.parametrize(("has", "ports", "needs"), [(2, None, 3), (3, (80,), 4)])
async def test_f10_a_kernel_too_old_for_the_fence_runs_nothing(pen, has, ports, needs):
    """The kernel is made to answer as an older one does."""
    answer = f"inject=landlock_create_ruleset:retval={has}"
    older = ["strace", "-f", "-qqq", "-o", "/dev/null", "-e", "trace=landlock_create_ruleset"]
    path, ran = written(pen, pen.fence(ports=ports)), pen.inside / "ran"
    command = launcher(str(path), ("touch", str(ran)))
    done = await pen.run_freely(*older, "-e", answer, *command)
    assert (done.code, ran.exists()) == (126, False)
    assert f"Landlock ABI {has}, the fence needs {needs}" in done.err.decode()
    assert (await pen.run_freely(*command)).code == 0


@pytest.mark.parametrize("mode", [0o602, 0o620, 0o666])
async def test_f6_a_fence_that_others_may_write_is_refused(pen, mode):
    path = written(pen)
    path.chmod(mode)
    ran = await launched(pen, path, "touch", str(pen.inside / "ran"))
    assert (ran.code, b"may be written by others" in ran.err) == (126, True)
    assert not (pen.inside / "ran").exists()


async def test_f6_a_fence_of_somebody_else_is_refused(pen):
    path = "/etc/passwd"
    if os.geteuid() == 0:
        path = written(pen)
        os.chown(path, 12345, -1)
    ran = await launched(pen, path, "true")
    assert (ran.code, b"may be written by others" in ran.err) == (126, True)


async def test_f6_what_is_no_plain_file_is_refused_at_once(pen):
    pipe = pen.yard.home / "pipe"
    os.mkfifo(pipe, 0o600)
    for path in (pipe, pen.inside):
        ran = await launched(pen, path, "true")
        assert ran.code == 126, ran.err
    ran = await launched(pen, pen.yard.home / "missing", "true")
    assert (ran.code, b"No such file" in ran.err) == (126, True)


async def test_a_program_that_is_not_there_is_named(pen):
    ran = await launched(pen, written(pen), "no-such-program")
    assert (ran.code, ran.err) == (127, b"amiral: no-such-program: No such file or directory\n")


async def test_a_program_that_is_not_granted_is_not_run(pen):
    script = pen.outside / "script"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o700)
    ran = await launched(pen, written(pen), str(script))
    assert (ran.code, b"Permission denied" in ran.err) == (126, True)


async def test_words_that_are_no_command_are_told(pen):
    for words in ((), ("fence",), ("fence", "--"), ("fence", "true")):
        ran = await pen.run_freely(*launcher("", [])[:4], *words)
        assert (ran.code, b"usage: " in ran.err) == (126, True)


async def test_it_takes_nothing_from_where_it_is_started_or_from_the_environment(pen):
    """A folder that an agent writes may hold modules of any name."""
    for name in ("json", "amiral", "signal"):
        (pen.yard.home / f"{name}.py").write_text("raise SystemExit(99)")
    path = written(pen)
    words = ["env", f"PYTHONPATH={pen.yard.home}", *launcher(str(path), ["true"])]
    ran = await pen.run_freely("sh", "-c", 'cd "$0" && exec "$@"', str(pen.yard.home), *words)
    assert ran.code == 0, ran.err


async def test_a_fence_with_covers_is_refused_where_nothing_is_covered(pen):
    ran = await launched(pen, written(pen, pen.box()), "touch", str(pen.inside / "ran"))
    assert (ran.code, b"is not covered" in ran.err) == (126, True)
    assert not (pen.inside / "ran").exists()
