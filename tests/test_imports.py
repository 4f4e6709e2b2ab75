"""What must be quick, or must work when all else hangs, imports little: held by what is imported.

tests/test_cli.py holds the same for the commands that ask a running project.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from amiral.store.brake import Brake

STOP = {
    *("amiral", "amiral.cli", "amiral.base", "amiral.base.errors", "amiral.base.home"),
    *("amiral.processes", "amiral.processes.cgroup", "amiral.processes.lineage"),
    *("amiral.processes.grove", "amiral.processes.proc", "amiral.processes.tree"),
    *("amiral.safety", "amiral.safety.ending", "amiral.safety.report", "amiral.safety.scope"),
    *("amiral.safety.stop", "amiral.safety.working"),
    *("amiral.store", "amiral.store.brake", "amiral.store.latch"),
}
# As the installed script does it; `python -m` itself imports a good deal.
SCRIPT = "import sys; from amiral.cli import main; sys.exit(main())"
HEAVY = {
    *("argparse", "asyncio", "contextlib", "dataclasses", "importlib.metadata", "inspect"),
    *("logging", "msgspec", "pathlib", "socket", "sqlite3", "subprocess", "tempfile", "tomllib"),
    *("typing", "yaml"),
}


def imported(*command, code=0, **environ):
    """Run Python with these arguments and give every module that an import statement brought."""
    ran = subprocess.run(
        [sys.executable, "-X", "importtime", *command],
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ran.returncode == code, ran.stderr
    return {line.rpartition("|")[2].strip() for line in ran.stderr.split("\n")}


@pytest.fixture
def home():
    with tempfile.TemporaryDirectory() as folder:
        Brake(Path(folder, "brake")).prepare()
        yield str(Path(folder).resolve())


@pytest.mark.parametrize(("argv", "code"), [(("emergency-stop",), 0), (("release", "none"), 6)])
def test_a_stop_and_its_release_import_nothing_that_may_fail_or_take_long(home, argv, code):
    found = imported("-c", SCRIPT, *argv, code=code, AMIRAL_HOME=home)
    assert {name for name in found if name.partition(".")[0] == "amiral"} == STOP
    already = imported("-c", "pass")
    assert not (found - already) & HEAVY


def test_help_asks_nobody_and_loads_no_project_process(home):
    found = imported("-c", SCRIPT, "--help", AMIRAL_HOME=home)
    assert not found & {"amiral.app", "amiral.store.journal", "asyncio", "sqlite3"}
