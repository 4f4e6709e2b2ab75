"""Named places where a test kills the process."""

import os
import signal
import subprocess
import sys

import pytest

PROGRAM = """
from amiral.base.failpoint import failpoint
for number in range(5):
    print(number, flush=True)
    failpoint("inbox.committed")
    failpoint("inbox.other")
"""


def run(**env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={"PATH": os.environ["PATH"], **env},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


@pytest.mark.parametrize(
    ("target", "lines"),
    [
        ("inbox.committed", 1),
        ("inbox.committed:1", 1),
        ("inbox.committed:3", 3),
        ("inbox.other", 1),
    ],
)
def test_the_process_dies_where_and_when_it_is_told_to(target, lines):
    ran = run(AMIRAL_FAILPOINTS="1", AMIRAL_FAILPOINT=target)
    assert ran.returncode == -signal.SIGKILL
    assert len(ran.stdout.split()) == lines


@pytest.mark.parametrize(
    "env",
    [
        {},
        {"AMIRAL_FAILPOINT": "inbox.committed"},
        {"AMIRAL_FAILPOINTS": "0", "AMIRAL_FAILPOINT": "inbox.committed"},
        {"AMIRAL_FAILPOINTS": "1"},
        {"AMIRAL_FAILPOINTS": "1", "AMIRAL_FAILPOINT": "inbox"},
        {"AMIRAL_FAILPOINTS": "1", "AMIRAL_FAILPOINT": "inbox.committed:6"},
    ],
)
def test_nothing_happens_unless_both_variables_say_so(env):
    ran = run(**env)
    assert (ran.returncode, ran.stdout.split()) == (0, ["0", "1", "2", "3", "4"])


@pytest.mark.parametrize("target", ["inbox:0", "inbox:x", "Inbox", "a b", ":1"])
def test_a_target_that_can_never_be_met_is_refused(target):
    ran = run(AMIRAL_FAILPOINTS="1", AMIRAL_FAILPOINT=target)
    assert ran.returncode == 1
    assert "is not name or name:nth" in ran.stderr
