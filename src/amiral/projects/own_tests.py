"""Pure: how a project's own tests are run: as the owner configured, else as its files suggest."""

import json
import re
import shlex
from collections.abc import Mapping

_SHELL = re.compile(r"[|&;<>()$`\\\n*?\[#~=%]")
_MAKE_TEST = re.compile(r"^test\s*:", re.MULTILINE)
_NPM_PLACEHOLDER = "no test specified"

LOOKED_AT = ("Makefile", "package.json", "Cargo.toml", "go.mod", "pyproject.toml", "tox.ini")
"""Files whose content `detect` reads; of all others the names are enough."""


def configured(command: str) -> tuple[str, ...]:
    """Split the owner's command; one that needs a shell gets one, since the owner wrote it."""
    if _SHELL.search(command):
        return ("sh", "-c", command)
    try:
        return tuple(shlex.split(command))
    except ValueError:
        return ("sh", "-c", command)


def detect(names: set[str], contents: Mapping[str, str]) -> tuple[str, ...]:
    """Choose a command by what lies at the top of the project; () when nothing tells.

    `names` are the files and folders there; `contents` the texts of those in `LOOKED_AT`.
    """
    if _MAKE_TEST.search(contents.get("Makefile", "")):
        return ("make", "test")
    if _has_npm_test(contents.get("package.json", "")):
        return ("npm", "test", "--silent")
    if "Cargo.toml" in names:
        return ("cargo", "test", "--quiet")
    if "go.mod" in names:
        return ("go", "test", "./...")
    return _detect_python(names, contents)


def _detect_python(names: set[str], contents: Mapping[str, str]) -> tuple[str, ...]:
    asked = contents.get("pyproject.toml", "") + contents.get("tox.ini", "")
    if "pytest" in asked or names & {"pytest.ini", "conftest.py"}:
        return ("python3", "-m", "pytest", "-q")
    if any(re.fullmatch(r"test_.*\.py", name) for name in names):
        return ("python3", "-m", "unittest")
    return ("python3", "-m", "unittest", "discover") if "tests" in names else ()


def _has_npm_test(text: str) -> bool:
    try:
        script = json.loads(text)["scripts"]["test"]
    except (ValueError, LookupError, TypeError, RecursionError):
        return False
    return isinstance(script, str) and _NPM_PLACEHOLDER not in script
