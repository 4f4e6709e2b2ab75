"""What the tests of the ground share: programs to kill, small disks, journals to compare."""

import os
import runpy
import shutil
import sqlite3
import subprocess
import sys
from itertools import count
from pathlib import Path

import pytest

from amiral.store.journal import Journal
from amiral.store.vault import Vault
from amiral.testbench.fake_clock import FakeClock

SCRIPTS = Path(__file__).parent / "scripts"
PATIENCE_S = 60


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture(scope="session")
def tables():
    """The tables that the scripts use as well."""
    return runpy.run_path(str(SCRIPTS / "seats.py"))["TABLES"]


@pytest.fixture
async def journal(tmp_path, clock, tables):
    opened = await Journal.open(tmp_path / "project" / "journal.db", clock, tables)
    yield opened
    await opened.close()


@pytest.fixture(scope="session")
def run_script():
    """Run tests/store/scripts/NAME to its end, under another program when asked."""

    def run(name, *arguments, under=()):
        command = [*under, sys.executable, str(SCRIPTS / name), *map(str, arguments)]
        env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
        return subprocess.run(
            command, capture_output=True, text=True, timeout=PATIENCE_S, env=env, check=False
        )

    return run


@pytest.fixture(scope="session")
def strace():
    """The command before a command that does something to its n-th system call of a kind."""
    program = shutil.which("strace")
    trial = [program or "false", "-qq", "-e", "trace=none", "true"]
    if subprocess.run(trial, capture_output=True, check=False).returncode != 0:
        pytest.skip("strace may not trace here")

    def prefix(call, effect, nth):
        injection = f"inject={call}:{effect}:when={nth}"
        quiet = ["-f", "-qqq", "-o", "/dev/null"]
        return [program, *quiet, "-e", f"trace={call}", "-e", injection]

    return prefix


@pytest.fixture(scope="session")
def kill_at_each(run_script, strace):
    """Run a script again and again, killed at its 1st, 2nd, 3rd… call, until it ends by itself."""

    def runs(call, name, make_arguments):
        for nth in count(1):
            arguments = make_arguments(f"{call}-{nth}")
            done = run_script(name, *arguments, under=strace(call, "signal=KILL", nth))
            assert done.returncode in {0, -9}, done.stderr
            yield done, arguments
            if done.returncode == 0:
                return

    return runs


@pytest.fixture(scope="session")
def small_disk():
    """The command before a command that finds a disk of `size` mounted at `folder`."""
    mount = 'mount -t tmpfs -o size="$1" small "$2" && shift 2 && exec "$@"'
    unshare = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-rm"]

    def prefix(size, folder):
        return [*unshare, "sh", "-c", mount, "sh", str(size), str(folder)]

    trial = [*prefix("64k", "/mnt"), "true"]
    if subprocess.run(trial, capture_output=True, check=False).returncode != 0:
        pytest.skip("no file system may be mounted here")
    return prefix


@pytest.fixture(scope="session")
def dump():
    """Every row of a journal file, table by table, read behind the journal's back."""

    def read(path):
        connection = sqlite3.connect(path)
        try:
            names = connection.execute(
                "select name from sqlite_master where type = 'table' order by name"
            ).fetchall()
            return {
                name: connection.execute(f'select * from "{name}" order by 1').fetchall()
                for (name,) in names
            }
        finally:
            connection.close()

    return read


@pytest.fixture
def home(tmp_path):
    (tmp_path / "home").mkdir(mode=0o700)
    return tmp_path / "home"


@pytest.fixture
def vault(home):
    """One with three secrets, of revision 3."""
    vault = Vault(home)
    for name in ("a", "b", "c/d"):
        vault.put(name, f"value of {name}")
    return vault
