"""What it costs to compile a worker's sandbox of a project of 20,000 files, at first and again.

`python -m benchmarks sandbox`. The first time the whole project is read; again, one folder changed.
"""

import tempfile
import time
from pathlib import Path

from benchmarks.figures import Figure, spread

from amiral.permissions.rules import Capability, Permissions, Posture, Rule
from amiral.permissions.sandbox import Mode, SandboxPlan, compile_plan
from amiral.permissions.tree import TICK_MS, read_tree, refresh

ROUNDS = 7
AREAS, FOLDERS, FILES = 20, 20, 50
LINKED = 5_000
FIRST_MS, AGAIN_MS = 1000, 50

READ, WRITE = Capability.READ, Capability.WRITE
ALLOW, ASK, DENY = Posture.ALLOW, Posture.ASK, Posture.DENY
EXAMPLE = [(READ, "**", ALLOW), (WRITE, "d1/**", ALLOW), (WRITE, "**/.env", DENY)]

POLICIES = {
    "all allowed": (ALLOW, [], Mode.SNAPSHOT),
    "one file denied, strict": (ALLOW, [(WRITE, "d3/e1/.env", DENY)], Mode.STRICT),
    "**/.env denied, snapshot": (ALLOW, [(WRITE, "**/.env", DENY)], Mode.SNAPSHOT),
    "**/.env denied, strict": (ALLOW, [(WRITE, "**/.env", DENY)], Mode.STRICT),
    "some allowed, some denied, else denied": (DENY, EXAMPLE, Mode.STRICT),
}


def figures() -> list[Figure]:
    """Measure every policy, and a tree with many hard links."""
    with tempfile.TemporaryDirectory(prefix="amiral-bench-") as name:
        root = Path(name).resolve()
        lay_out(root)
        found = [figure for policy in POLICIES for figure in of_policy(root, policy)]
        link(root)
        return [*found, *of_policy(root, "**/.env denied, snapshot", f", {LINKED:,} hard links")]


def of_policy(root: Path, name: str, more: str = "") -> list[Figure]:
    """Read and compile anew in each round, then change one folder, read and compile again."""
    default, rules, mode = POLICIES[name]
    listed = tuple(Rule(*rule, f"permissions.json:{n}") for n, rule in enumerate(rules, 1))
    permissions = Permissions(default, tuple(listed))
    first, again, plan = [], [], None
    for number in range(ROUNDS):
        time.sleep(2 * TICK_MS / 1000)
        began = time.perf_counter()
        tree = read_tree(root)
        plan = compile_plan(permissions, tree, mode=mode, asks_first=True)
        first.append((time.perf_counter() - began) * 1000)
        (root / "d5" / "e5" / f"new{number}").touch()
        began = time.perf_counter()
        compile_plan(permissions, refresh(tree), mode=mode, asks_first=True)
        again.append((time.perf_counter() - began) * 1000)
    note = counted(plan)
    return [
        spread(f"read and compiled: {name}{more}", first, "ms", FIRST_MS, note),
        spread(f"after a change: {name}{more}", again, "ms", AGAIN_MS),
    ]


def counted(plan: SandboxPlan | None) -> str:
    """Say how much is granted."""
    return f"{len(plan.grants):,} grants" if plan else ""


def lay_out(root: Path) -> None:
    """Make the project, with an .env here and there."""
    for area in range(AREAS):
        for inner in range(FOLDERS):
            folder = root / f"d{area}" / f"e{inner}"
            folder.mkdir(parents=True)
            for number in range(FILES):
                (folder / f"f{number}.py").touch()
        (root / f"d{area}" / "e1" / ".env").touch()


def link(root: Path) -> None:
    """Give many files a second name in the same folder, as some package managers do."""
    files = sorted(root.glob("d*/e*/*.py"))[:LINKED]
    for path in files:
        path.with_suffix(".linked").hardlink_to(path)
