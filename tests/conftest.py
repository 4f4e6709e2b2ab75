"""What holds for every test: how hard properties are tried, and that nothing is skipped in CI."""

import os
import shutil
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("local", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.register_profile("fuzz", deadline=timedelta(seconds=5), max_examples=20_000)

IS_CI = os.environ.get("CI") == "true"
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if IS_CI else "local"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if IS_CI and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped, and CI skips nothing: {call.excinfo.value}"
    return report


@pytest.fixture(scope="session")
def clis():
    """Give a function from a CLI's name to the folder of the pinned ones; without it: `make clis`.

    It holds the name in `node_modules/.bin`.
    """
    folder = Path(os.environ.get("AMIRAL_CLIS") or Path(__file__).parents[1] / "clis")

    def find(name):
        if shutil.which(name, path=folder / "node_modules" / ".bin") is None:
            pytest.skip(f"there is no {name} in {folder}: make clis")
        return str(folder)

    return find
