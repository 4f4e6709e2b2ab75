"""Pure: how a project's own tests are run: as the owner configured, else as its files suggest."""

import json
import re
import shlex
from collections.abc import Mapping

_SHELL = re.compile(r"[|&;<>()$`\\\n*?\[#~=%{}!]")
_MAKE_TEST = re.compile(r"^test\s*:(?!=)", re.MULTILINE)
_NPM_PLACEHOLDER = "no test specified"
_TEST_FILE = re.compile(r"(?:tests?/)?test[^/]*\.py")
_PYTEST_STYLE = re.compile(r"^(?:import pytest|from pytest|(?:async )?def test_)", re.MULTILINE)
_NOTHING_RAN = re.compile(r"^(?:Ran 0 tests|collected 0 items|no tests ran)", re.MULTILINE)
_SUMMARY = re.compile(r"\d+ (?:passed|failed|errors?|skipped)\b|^Ran \d+ tests?|^test result: ")

_PYTEST = ("python3", "-m", "pytest", "-q")
_UNITTEST = ("python3", "-m", "unittest")
_NO_TESTS_CODE = 5

MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
LOOKED_AT = (*MAKEFILES, "package.json", "pyproject.toml", "tox.ini", "setup.cfg")
"""Files whose content `detect` reads, beside test files; of all others the names are enough."""


def configured(command: str) -> tuple[str, ...]:
    """Split the owner's command; one that needs a shell gets one, since the owner wrote it."""
    if _SHELL.search(command):
        return ("sh", "-c", command)
    try:
        return tuple(shlex.split(command))
    except ValueError:
        return ("sh", "-c", command)


def is_test_file(name: str) -> bool:
    """Tell whether a file, at the top of the project or in its `tests`, holds Python tests."""
    return _TEST_FILE.fullmatch(name) is not None


def detect(names: set[str], contents: Mapping[str, str]) -> tuple[str, ...]:
    """Choose a command by what lies at the top and in `tests`; () when nothing tells.

    `names` are the files there (`cart.py`, `tests/test_cart.py`); `contents` the texts of those in
    `LOOKED_AT` and of test files.
    """
    if any(_MAKE_TEST.search(contents.get(name, "")) for name in MAKEFILES):
        return ("make", "test")
    if _has_npm_test(contents.get("package.json", "")):
        return ("npm", "test", "--silent")
    if "Cargo.toml" in names:
        return ("cargo", "test", "--quiet")
    if "go.mod" in names:
        return ("go", "test", "./...")
    return _detect_python(names, contents)


def has_run_none(argv: tuple[str, ...], code: int, said: str) -> bool:
    """Tell whether a detected command found no tests to run."""
    is_python = argv[: len(_UNITTEST)] == _UNITTEST or argv == _PYTEST
    return is_python and (code == _NO_TESTS_CODE or _NOTHING_RAN.search(said) is not None)


def summarise(said: str) -> str:
    """Pick the line that tells most of what a test run printed, its last one if none does."""
    lines = [line.strip(" =\t") for line in said.split("\n") if line.strip(" =\t")]
    telling = [line for line in lines if _SUMMARY.search(line)]
    return (telling or lines or [""])[-1]


def _detect_python(names: set[str], contents: Mapping[str, str]) -> tuple[str, ...]:
    asked = "".join(contents.get(name, "") for name in ("pyproject.toml", "tox.ini", "setup.cfg"))
    tests = sorted(filter(is_test_file, names))
    is_pytest = "pytest" in asked or bool(
        names & {"pytest.ini", "conftest.py", "tests/conftest.py"}
    )
    if is_pytest or any(_PYTEST_STYLE.search(contents.get(name, "")) for name in tests):
        return _PYTEST
    if not tests:
        return ()
    folder = tests[0].rpartition("/")[0]
    return (*_UNITTEST, "discover", "-s", folder) if folder else _UNITTEST


def _has_npm_test(text: str) -> bool:
    try:
        script = json.loads(text)["scripts"]["test"]
    except (ValueError, LookupError, TypeError, RecursionError):
        return False
    return isinstance(script, str) and _NPM_PLACEHOLDER not in script
