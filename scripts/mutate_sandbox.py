"""Breaks the sandbox's compiler in a copy, one way at a time, and sees whether its tests notice."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PERMISSIONS = "src/amiral/permissions"
TESTS = "tests/permissions/test_sandbox_kernel.py"
LEAST_SHARE = 0.9
SHOWN_CHARACTERS = 70

# Always the same examples, and the first that fails is enough.
CONFTEST = """
from hypothesis import Phase, settings

settings.register_profile(
    "mutants", deadline=None, derandomize=True, database=None, phases=[Phase.generate]
)
settings.load_profile("mutants")
"""


@dataclass(frozen=True)
class Mutant:
    """One way to break a module: `old`, which stands there once, becomes `new`."""

    name: str
    module: str
    old: str
    new: str


MUTANTS = (
    Mutant(
        "a deny takes other spellings for other names",
        "globs",
        "return _is_name(segment, name) or _is_name(folded(segment), folded(name))",
        "return _is_name(segment, name)",
    ),
    Mutant(
        "a deny does not mean what lies below",
        "globs",
        "    if is_matched(glob, spots):\n        return frozenset({len(glob.segments)})\n",
        "",
    ),
    Mutant(
        "an allow of src/* means all below src",
        "globs",
        "return glob.segments[-1] == ANY_DEPTH and len(glob.segments) - 1 in spots",
        "return any(at < len(glob.segments) for at in spots)",
    ),
    Mutant(
        "** means at least one folder",
        "globs",
        "return frozenset(spots | passed)",
        "return frozenset(spots)",
    ),
    Mutant(
        "strict, a deny of what may come is no obstacle",
        "reach",
        "if self._scope.is_strict and place.deny:",
        "if False:",
    ),
    Mutant(
        "a denied file is no obstacle",
        "reach",
        "denial = place.into(entry.name).denial if place.deny else None",
        "denial = None",
    ),
    Mutant(
        "a denied folder is no obstacle",
        "reach",
        "return Reach(obstacle=None if has_covers else self._scope.denied(inside.denial))",
        "return Reach()",
    ),
    Mutant(
        "what is denied gets no cover",
        "covering",
        "if path in self.others or self._is_refused(path, place):",
        "if path in self.others:",
    ),
    Mutant(
        "a second name of what is denied gets no cover",
        "covering",
        "if path in self.others or self._is_refused(path, place):",
        "if self._is_refused(path, place):",
    ),
    Mutant(
        "a folder is granted whatever other names its files have",
        "reach",
        "yield from (found for _, found in self._links.get(folder.path, ()) if found is not None)",
        "yield from ()",
    ),
    Mutant(
        "a file is read whatever its other names",
        "reach",
        "if links.get(path) is None\n",
        "if True\n",
    ),
    Mutant(
        "a file is changed whatever its other names",
        "reach",
        """            if links.get(path) is None
            and not (self._scope.is_change and (is_shared or path in links))
            and""",
        "            if",
    ),
    Mutant(
        "a second name may be denied",
        "second_names",
        "for file_id in tree.top.shared & _refused_in(scope, folder, place):",
        "for file_id in ():",
    ),
    Mutant(
        "a second name may lie in a protected folder",
        "second_names",
        "if is_shielded or not scope.allows",
        "if not scope.allows",
    ),
    Mutant(
        "names outside the project do not count",
        "second_names",
        "if scope.is_strict and scope.is_change:",
        "if False:",
    ),
    Mutant(
        "links are granted",
        "reach",
        "if entry.kind is Kind.FILE)",
        "if entry.kind is not Kind.OTHER)",
    ),
    Mutant(
        "protected names may be changed",
        "scope",
        "return self._minds(path) and is_protected(path)",
        "return False",
    ),
    Mutant(
        "one inert name makes all so",
        "scope",
        "self.inert.isdisjoint(path[:1])",
        "not self.inert",
    ),
    Mutant(
        "what is asked is allowed though nobody answers",
        "sandbox",
        "(posture is Posture.ASK and self.asks_first)",
        "posture is Posture.ASK",
    ),
    Mutant(
        "reading is never fenced",
        "sandbox",
        "if how.is_allow(permissions.default) and not scopes[Access.READ].deny:",
        "if True:",
    ),
    Mutant(
        "writing is judged as reading is",
        "sandbox",
        "is_change = access is not Access.READ",
        "is_change = False",
    ),
    Mutant(
        "a deny that cannot be read is dropped",
        "rules",
        "elif rule.posture is Posture.ALLOW:",
        "elif rule:",
    ),
)


def main() -> int:
    """Prints what became of each mutant; 0 when at least nine in ten were killed."""
    with tempfile.TemporaryDirectory(prefix="amiral-mutants-") as folder:
        copy = Path(folder)
        _lay_out(copy)
        if (said := _try(copy)) is not None:
            print(f"without a mutant the tests fail:\n{said}")
            return 2
        killed = sum(_is_killed(copy, mutant) for mutant in MUTANTS)
    print(f"{killed} of {len(MUTANTS)} killed")
    return 0 if killed >= LEAST_SHARE * len(MUTANTS) else 1


def _lay_out(copy: Path) -> None:
    shutil.copytree(ROOT / "src", copy / "src")
    shutil.copytree(ROOT / "tests/permissions", copy / "tests/permissions")
    shutil.copy(ROOT / "pyproject.toml", copy)
    (copy / "tests/conftest.py").write_text(CONFTEST, encoding="utf-8")


def _is_killed(copy: Path, mutant: Mutant) -> bool:
    path = copy / PERMISSIONS / f"{mutant.module}.py"
    whole = path.read_text(encoding="utf-8")
    if whole.count(mutant.old) != 1:
        sys.exit(f"{mutant.module}.py has not once what the mutant changes: {mutant.name}")
    path.write_text(whole.replace(mutant.old, mutant.new), encoding="utf-8")
    began = time.monotonic()
    said = _try(copy)
    path.write_text(whole, encoding="utf-8")
    word = "survived" if said is None else "killed  "
    shown = "" if said is None else f": {_failure(said)}"
    print(f"{word}  {time.monotonic() - began:5.1f} s  {mutant.name}{shown}", flush=True)
    return said is not None


def _failure(said: str) -> str:
    """The first line of what failed, shortened."""
    failures = (line[1:].strip() for line in said.split("\n") if line.startswith("E  "))
    return next(failures, "no test failed, yet pytest did")[:SHOWN_CHARACTERS]


def _try(copy: Path) -> str | None:
    """What the tests said when they failed, None when they passed."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider"]
    command += ["--timeout", "600", "-k", "nothing_denied", TESTS]
    environment = {**os.environ, "PYTHONPATH": str(copy / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    environment.pop("HYPOTHESIS_PROFILE", None)
    run = subprocess.run(
        command, cwd=copy, env=environment, capture_output=True, text=True, check=False
    )
    return None if run.returncode == 0 else run.stdout + run.stderr


if __name__ == "__main__":
    sys.exit(main())
