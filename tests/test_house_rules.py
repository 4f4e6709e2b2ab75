"""The rules of the house that no other tool holds; every offender is named with its line."""

import ast
import io
import re
import statistics
import subprocess
import sys
import tokenize
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "amiral"

MAX_FILE_LINES = 300
MAX_FUNCTION_LINES = 40
NINE_IN_TEN_LINES = 28
MEDIAN_LINES = 9
MAX_COMMENT_SHARE = 0.06

STDLIB_ONLY = (
    "amiral.base.errors",
    "amiral.base.home",
    "amiral.guard",
    "amiral.processes.box",
    "amiral.processes.bwrap",
    "amiral.processes.capabilities",
    "amiral.processes.cgroup",
    "amiral.processes.covers",
    "amiral.processes.failpoint",
    "amiral.processes.fence",
    "amiral.processes.grove",
    "amiral.processes.landlock",
    "amiral.processes.launcher",
    "amiral.processes.lineage",
    "amiral.processes.peer",
    "amiral.processes.proc",
    "amiral.processes.seccomp",
    "amiral.processes.shim.durable",
    "amiral.processes.shim.feed",
    "amiral.processes.shim.inputs",
    "amiral.processes.shim.launch",
    "amiral.processes.shim.loop",
    "amiral.processes.shim.output",
    "amiral.processes.shim.program",
    "amiral.processes.shim.requests",
    "amiral.processes.shim.wire",
    "amiral.processes.syscalls",
    "amiral.processes.tree",
    "amiral.safety.ending",
    "amiral.safety.flag",
    "amiral.safety.freeze",
    "amiral.safety.levels",
    "amiral.safety.pulse",
    "amiral.safety.report",
    "amiral.safety.scope",
    "amiral.safety.stop",
    "amiral.safety.working",
    "amiral.store.brake",
    "amiral.store.latch",
)
SURFACES = ("amiral.console", "amiral.telegram", "amiral.web", "amiral.mcp_server")
BELOW_COMMANDS = (
    *(
        "amiral.execution",
        "amiral.pipelines",
        "amiral.asks",
        "amiral.limits",
        "amiral.safety",
        "amiral.recall",
    ),
    *("amiral.agents", "amiral.conversations", "amiral.specs", "amiral.workspaces"),
    *("amiral.permissions", "amiral.projects", "amiral.processes", "amiral.testbench"),
)
SAYS_NOTHING = {"core", "handler", "handlers", "helper", "helpers", "manager", "util", "utils"}


@dataclass(frozen=True)
class Module:
    """One file under src/amiral: its dotted name, text and tree."""

    name: str
    path: Path
    text: str
    tree: ast.Module

    @property
    def shown(self) -> str:
        return str(self.path.relative_to(ROOT))

    @property
    def docstring(self) -> str:
        return ast.get_docstring(self.tree) or ""

    @property
    def first_line(self) -> str:
        return self.docstring.partition("\n")[0]

    @property
    def is_package(self) -> bool:
        return self.path.name == "__init__.py"


@cache
def modules() -> tuple[Module, ...]:
    return tuple(_module(path) for path in sorted(SOURCE.rglob("*.py")))


def _module(path: Path) -> Module:
    text = path.read_text(encoding="utf-8")
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    name = ".".join(parts).removesuffix(".__init__")
    return Module(name, path, text, ast.parse(text))


@cache
def functions() -> tuple[tuple[str, int], ...]:
    """Where each function begins, and how many lines it is long."""
    return tuple(
        (f"{module.shown}:{node.lineno}: {node.name}", (node.end_lineno or 0) - node.lineno + 1)
        for module in modules()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )


@cache
def contracts() -> dict[str, dict[str, list[str]]]:
    config = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return {contract["id"]: contract for contract in config["tool"]["importlinter"]["contracts"]}


def existing(names: tuple[str, ...]) -> set[str]:
    return set(names) & {module.name for module in modules()}


@cache
def committed_files() -> tuple[Path, ...]:
    """What git holds or would be given: tracked files and new ones that are not ignored."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True).stdout
    return tuple(path for name in listed.split("\0") if name and (path := ROOT / name).is_file())


def hold(offenders: list[str], rule: str) -> None:
    if offenders:
        pytest.fail(f"{rule}\n" + "\n".join(offenders), pytrace=False)


def test_no_file_is_longer_than_a_few_screens():
    lengths = {f"{module.shown}:1": len(module.text.split("\n")) - 1 for module in modules()}
    offenders = [f"{at}: {n} lines" for at, n in lengths.items() if n > MAX_FILE_LINES]
    hold(offenders, f"A file has at most {MAX_FILE_LINES} lines: part it by what it is about.")


def test_no_function_is_longer_than_a_screen():
    offenders = [f"{at}: {n} lines" for at, n in functions() if n > MAX_FUNCTION_LINES]
    hold(offenders, f"A function has at most {MAX_FUNCTION_LINES} lines.")


def test_nine_functions_in_ten_are_short():
    offenders = [f"{at}: {n} lines" for at, n in functions() if n > NINE_IN_TEN_LINES]
    allowed = len(functions()) // 10
    hold(
        offenders if len(offenders) > allowed else [],
        f"At most {allowed} functions may have more than {NINE_IN_TEN_LINES} lines.",
    )


def test_the_median_function_is_read_at_a_glance():
    median = statistics.median([n for _, n in functions()] or [0])
    offenders = [f"{at}: {n} lines" for at, n in functions() if n > MEDIAN_LINES]
    hold(
        offenders if median > MEDIAN_LINES else [],
        f"Half of all functions have at most {MEDIAN_LINES} lines, now {median}.",
    )


def test_every_module_says_in_one_sentence_what_it_is():
    offenders = [
        f"{module.shown}:1: {module.first_line or 'no docstring'}"
        for module in modules()
        if not (module.is_package and module.name != "amiral")
        and not module.first_line.endswith(".")
    ]
    hold(offenders, "A module's docstring begins with one line, a sentence with a full stop.")


def test_packages_are_empty():
    offenders = [
        f"{module.shown}:1: has code"
        for module in modules()
        if module.is_package and module.name != "amiral" and module.text.strip()
    ]
    hold(offenders, "An __init__.py is empty: a name is imported from the module that owns it.")


def test_the_root_package_holds_its_docstring_and_version_alone():
    (root,) = (module for module in modules() if module.name == "amiral")
    offenders = [
        f"{root.shown}:{node.lineno}: {ast.unparse(node)}"
        for node in root.tree.body[1:]
        if not ast.unparse(node).startswith("__version__ = ")
    ]
    hold(offenders, "Importing amiral must cost nothing: shim and guard do it too.")


def test_module_names_say_what_is_inside():
    offenders = [
        f"{module.shown}:1: {word}"
        for module in modules()
        for word in SAYS_NOTHING & set(module.name.rpartition(".")[2].split("_"))
    ]
    hold(offenders, "Name a module after the thing of the product that it is about.")


def test_contract_2_lists_exactly_the_pure_modules():
    pure = {module.name for module in modules() if module.docstring.startswith("Pure:")}
    listed = set(contracts()["pure"]["source_modules"])
    offenders = [f'pyproject.toml: add "{name}" to contract 2' for name in sorted(pure - listed)]
    offenders += [f'{name}: its docstring must begin "Pure:"' for name in sorted(listed - pure)]
    hold(offenders, 'A module is pure when its docstring says so ("Pure: …") and contract 2 too.')


@pytest.mark.parametrize(
    ("contract", "field", "about"),
    [
        ("stdlib", "source_modules", STDLIB_ONLY),
        ("surfaces", "source_modules", SURFACES),
        ("surfaces", "forbidden_modules", BELOW_COMMANDS),
    ],
)
def test_import_contracts_list_every_module_they_are_about(contract, field, about):
    listed = set(contracts()[contract][field])
    missing = sorted(existing(about) - listed)
    offenders = [f'pyproject.toml: contract "{contract}", {field}: add "{n}"' for n in missing]
    hold(offenders, "An import contract lists every module that it is about.")


def test_what_must_work_when_all_else_hangs_imports_nothing_from_outside():
    # The SHA-256 without OpenSSL has another name from Python 3.12 on.
    known = set(sys.stdlib_module_names) | {"amiral", "_sha2", "_sha256"}
    offenders = [
        f"{module.shown}:{line}: {name}"
        for module in modules()
        if module.name in STDLIB_ONLY
        for line, name in _imported(module.tree)
        if name.partition(".")[0] not in known
    ]
    hold(offenders, f"Standard library only: {', '.join(STDLIB_ONLY)}.")


def _imported(tree: ast.Module):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.lineno, node.module or "."


def test_lines_of_a_stream_are_split_at_newlines_only():
    offenders = [
        f"{module.shown}:{node.lineno}: {ast.unparse(node)}"
        for module in modules()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Attribute) and node.attr == "splitlines"
    ]
    hold(
        offenders, 'splitlines() also splits at U+2028 and more, inside JSON strings: split("\\n").'
    )


def test_comments_are_rare():
    comments = [f"{m.shown}:{line}" for m in modules() for line in _comment_lines(m.text)]
    lines = sum(1 for module in modules() for line in module.text.split("\n") if line.strip())
    rule = f"Comments take less than {MAX_COMMENT_SHARE:.0%} of {lines} lines: say it in names."
    hold(comments if len(comments) >= MAX_COMMENT_SHARE * max(lines, 1) else [], rule)


def _comment_lines(text: str):
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return [token.start[0] for token in tokens if token.type == tokenize.COMMENT]


def test_every_path_that_architecture_names_exists():
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    offenders = [
        f"ARCHITECTURE.md:{number}: {name}"
        for number, line in enumerate(text.split("\n"), start=1)
        for name in re.findall(r"`([\w./-]+)`", line)
        if _is_project_path(name) and not _exists(name)
    ]
    hold(offenders, "ARCHITECTURE.md names only what is there.")


def _is_project_path(name: str) -> bool:
    if "/" not in name or name[0] in "./":
        return False
    return name.startswith(("src/", "tests/", "docs/", "scripts/")) or name.endswith((".py", "/"))


def _exists(name: str) -> bool:
    return any((base / name).exists() for base in (ROOT, SOURCE))


# Spelt in pieces, so that this file does not offend.
_HOSTS = ["pypi" + ".org", "python" + "hosted.org", "npm" + "js.org", "npm" + "js.com"]
_HOSTS += ["registry.yarn" + "pkg.com", "deb.debian" + ".org", "proxy.golang" + ".org"]
_WORKPLACE = r"(?<![\w.~/-])/wo" + r"rk/(?:main|notes|shared|\.\w)"
_FOREIGN = re.compile("|".join([*map(re.escape, _HOSTS), _WORKPLACE]))


def test_no_registry_and_no_machine_is_named():
    offenders = [
        f"{path.relative_to(ROOT)}:{number}: {found[0]}"
        for path in committed_files()
        for number, line in enumerate(_lines(path), start=1)
        if (found := _FOREIGN.search(line))
    ]
    hold(offenders, "No registry's address and no path of one machine stands in the project.")


def _lines(path: Path) -> list[str]:
    return path.read_bytes().decode("utf-8", errors="replace").split("\n")
