"""Checks that the tests of every pure module take every line and branch of it."""

import ast
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "amiral"


def pure_modules() -> list[Path]:
    """Every module whose docstring begins "Pure:"."""
    return [path for path in sorted(SOURCE.rglob("*.py")) if _is_pure(path)]


def _is_pure(path: Path) -> bool:
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    return docstring is not None and docstring.startswith("Pure:")


def tests_of(module: Path) -> list[Path]:
    """The files `test_<module>.py` and `test_<module>_<more>.py` in the same place under tests."""
    folder = ROOT / "tests" / module.relative_to(SOURCE).parent
    names = (f"test_{module.stem}.py", f"test_{module.stem}_*.py")
    return sorted(path for name in names for path in folder.glob(name))


def main() -> int:
    """Prints what is missed, or the tests alone with `--list-tests`; 0 when nothing is missed."""
    modules = pure_modules()
    tests = sorted({test for module in modules for test in tests_of(module)})
    if "--list-tests" in sys.argv[1:]:
        print(*(test.relative_to(ROOT) for test in tests))
        return 0
    problems = _missed(modules, tests)
    if problems:
        print(*problems, sep="\n")
        return 1
    print(f"pure modules: {len(modules)}, every line and branch of each taken by the tests")
    return 0


def _missed(modules: list[Path], tests: list[Path]) -> list[str]:
    if not tests:
        return [f"{_short(module)}:1: no test" for module in modules]
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "coverage.json"
        run = _coverage(folder, "run", *_pytest(tests))
        if run.returncode != 0:
            return [f"the tests of the pure modules fail:\n{run.stdout}{run.stderr}"]
        _coverage(folder, "json", "-q", "-o", str(report))
        files = json.loads(report.read_text(encoding="utf-8"))["files"]
    return [line for module in modules for line in _lines(_short(module), files)]


def _pytest(tests: list[Path]) -> list[str]:
    return ["-m", "pytest", "-q", "-p", "no:cacheprovider", *map(str, tests)]


def _coverage(folder: str, *args: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "COVERAGE_FILE": str(Path(folder) / "data")}
    command = [sys.executable, "-m", "coverage", *args]
    return subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )


def _lines(name: str, files: dict[str, dict[str, list[Any]]]) -> list[str]:
    if name not in files:
        return [f"{name}:1: not measured"]
    lines = [f"{name}:{line}: line not reached" for line in files[name]["missing_lines"]]
    branches = [f"{name}:{a}: branch to {b} not taken" for a, b in files[name]["missing_branches"]]
    return lines + branches


def _short(path: Path) -> str:
    return str(path.relative_to(ROOT))


if __name__ == "__main__":
    sys.exit(main())
