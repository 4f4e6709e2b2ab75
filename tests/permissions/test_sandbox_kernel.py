"""What is compiled holds against an attacker in the real kernel, whatever the tree and the rules.

The oracle knows nothing of the compiler: it reads globs by itself, as does the check of
`decide_file` at the end. `make fuzz` tries more, and makes sure that broken compilers are noticed
(scripts/mutate_sandbox.py).
"""

import contextlib
import itertools
import json
import os
import shutil
import stat
import subprocess
import sys
import unicodedata
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from amiral.permissions.rules import Capability, Permissions, Posture, Rule, decide_file
from amiral.permissions.sandbox import Access, Mode, compile_plan
from amiral.permissions.tree import read_tree, refresh
from amiral.processes import covers, fence
from amiral.processes.bwrap import bwrap_command

ATTACK = Path(__file__).with_name("scripts") / "attack.py"
IS_FUZZ = settings.default is not None and settings.default.max_examples >= 10_000
TRIED = settings(
    max_examples=5_000 if IS_FUZZ else 200, suppress_health_check=list(HealthCheck), deadline=None
)
# Each of these starts a box and an interpreter.
TRIED_IN_A_BOX = settings(TRIED, max_examples=1_000 if IS_FUZZ else 50)
LEAST_ABI = 3

BITS = {access: getattr(fence, access.name) for access in Access}
WRITE, DELETE, READ = Capability.WRITE, Capability.DELETE, Capability.READ

COMPOSED, DECOMPOSED = "\u00e9", "e\u0301"
PROTECTED = (".vscode", ".envrc")
NAMES = ("a", "a", "b", "b", "sec", "sec", "x.py", ".env", "A", ".ENV", COMPOSED, DECOMPOSED)
SEGMENTS = ("a", "b", "sec", "x.py", ".env", COMPOSED, "*", "*.py", "**", "?", "s*")
BAD_GLOBS = ("a/../b", "a**", "[a]", "", "a\\b")


@dataclass(frozen=True)
class World:
    """A tree to build (path, kind, what it leads to), and what may be done in it."""

    entries: list
    permissions: Permissions
    asks_first: bool = False
    inert: frozenset = frozenset()
    seed: int = 0
    more: list = field(default_factory=list)
    has_covers: bool = False


names = st.sampled_from(NAMES * 2 + PROTECTED)
paths = st.lists(names, min_size=1, max_size=3).map(tuple)
globs = st.lists(st.sampled_from(SEGMENTS), min_size=1, max_size=3).map("/".join)
kinds = st.sampled_from(
    [
        "file",
        "file",
        "folder",
        "link out",
        "link in",
        "second name",
        "second name",
        "name outside",
        "pipe",
    ]
)
entries = st.lists(st.tuples(paths, kinds, paths), max_size=9)
postures = st.sampled_from([Posture.ALLOW, Posture.ALLOW, Posture.DENY, Posture.ASK])
rules = st.builds(
    Rule,
    st.sampled_from([WRITE, WRITE, DELETE, READ]),
    st.one_of(
        globs,
        globs,
        paths.map("/".join),
        paths.map(lambda path: "/".join((*path, "**"))),
        st.sampled_from(BAD_GLOBS),
    ),
    postures,
    st.just("permissions.json:1"),
)


@st.composite
def worlds(draw):
    """Two in three hold a trap: a file that is denied by name and has a second one."""
    tree, policy = draw(entries), draw(st.lists(rules, max_size=5))
    default = draw(st.sampled_from([Posture.ALLOW, Posture.ALLOW, Posture.ASK, Posture.DENY]))
    if draw(st.integers(0, 2)):
        denied, second = draw(paths), draw(paths)
        tree = [(denied, "file", ()), (second, "second name of", denied), *tree]
        ways = ["/".join(denied), f"**/{denied[-1]}", f"{denied[0]}/**", denied[0]]
        glob = draw(st.sampled_from(ways))
        capability = draw(st.sampled_from([WRITE, WRITE, DELETE, READ]))
        policy.append(Rule(capability, glob, Posture.DENY, "permissions.json:2"))
        policy = policy if draw(st.booleans()) else policy[-1:]
    return World(
        tree,
        Permissions(default, tuple(policy)),
        asks_first=draw(st.booleans()),
        inert=frozenset(draw(st.sets(st.sampled_from(PROTECTED), max_size=1))),
        seed=draw(st.integers(0, 1 << 16)),
        more=draw(st.lists(st.tuples(paths, kinds, paths), max_size=3)),
    )


# ------------------------------------------------------------------ the oracle


def means(segments, path):
    """Read a glob the slow way."""
    if not segments:
        return not path
    if segments[0] == "**":
        return any(means(segments[1:], path[skipped:]) for skipped in range(len(path) + 1))
    return bool(path) and fnmatchcase(path[0], segments[0]) and means(segments[1:], path[1:])


def same(name):
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def meets(rule, path):
    if rule.match in BAD_GLOBS:
        return rule.posture is not Posture.ALLOW
    segments = rule.match.split("/")
    if rule.posture is Posture.ALLOW:
        return means(segments, path)
    ways = ((segments, path), ([same(one) for one in segments], tuple(map(same, path))))
    return any(
        means(wanted, names[:depth]) for wanted, names in ways for depth in range(len(names) + 1)
    )


def rules_about(world, capability):
    own = [rule for rule in world.permissions.rules if rule.capability is capability]
    if capability is not DELETE or any(rule.posture is not Posture.DENY for rule in own):
        return own
    write = [rule for rule in world.permissions.rules if rule.capability is WRITE]
    return own + [rule for rule in write if not own or rule.posture is not Posture.ALLOW]


def posture_of(world, capability, path):
    met = [rule.posture for rule in rules_about(world, capability) if meets(rule, path)]
    return max(met, key=list(Posture).index, default=world.permissions.default)


def is_denied(world, capability, path):
    posture = posture_of(world, capability, path)
    return posture is Posture.DENY or (posture is Posture.ASK and not world.asks_first)


def is_kept(world, capability, path):
    is_protected = path[0] not in world.inert and not set(path).isdisjoint(PROTECTED)
    return is_protected or is_denied(world, capability, path)


# ------------------------------------------------------------------ the world


OTHER_KINDS = {
    "folder": lambda path, inside, outside: path.mkdir(),
    "pipe": lambda path, inside, outside: os.mkfifo(path),
    "link in": lambda path, inside, outside: path.symlink_to(inside),
    "link out": lambda path, inside, outside: path.symlink_to(outside),
    "name outside": lambda path, inside, outside: path.hardlink_to(outside / "held"),
}


class Ground:
    """A folder with a project in it and something beside that must stay as it is."""

    def __init__(self, base):
        self.base, self.root, self.outside = base, base / "root", base / "outside"
        self.files = []

    def lay(self, world):
        shutil.rmtree(self.base, ignore_errors=True)
        self.root.mkdir(parents=True)
        self.outside.mkdir()
        (self.outside / "held").write_text("as it was")
        self.files = []
        self.add(world.entries)

    def add(self, wanted):
        for path, kind, target in wanted:
            # An earlier entry may stand where this one would, or lead elsewhere.
            with contextlib.suppress(OSError):
                self.put(self.root.joinpath(*path), kind, target)

    def put(self, path, kind, target):
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.parent.resolve() != path.parent:
            return
        if kind == "file":
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW))
            path.write_text("as it was")
            self.files.append(path)
        elif kind.startswith("second name"):
            self.link(path, self.root.joinpath(*target))
        else:
            OTHER_KINDS[kind](path, self.root.joinpath(*target), self.outside)

    def link(self, path, exact):
        if self.files:
            path.hardlink_to(exact if exact in self.files else self.files[-1])

    def seen(self, folder):
        """What stands below, by path: type, inode, content."""
        found = {}
        for above, folders, files in os.walk(folder):
            for name in folders + files:
                path = Path(above, name)
                found[path.relative_to(folder).parts] = look(path)
        return found


def look(path):
    told = path.lstat()
    if stat.S_ISREG(told.st_mode):
        content = path.read_text()
    else:
        content = str(path.readlink()) if stat.S_ISLNK(told.st_mode) else ""
    return stat.S_IFMT(told.st_mode), told.st_ino, content


class Attacker:
    """A process that forks one for each fence."""

    def __init__(self):
        self.process = subprocess.Popen(
            [sys.executable, ATTACK], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def __call__(self, job):
        jobs, told = self.process.stdin, self.process.stdout
        assert jobs is not None and told is not None
        jobs.write(json.dumps(job) + "\n")
        jobs.flush()
        answer = json.loads(told.readline())
        assert "failed" not in answer, answer["failed"]
        return answer

    def close(self):
        self.process.communicate()


def attack_in_a_box(job):
    """Attack from a box of its own, where the covers lie."""
    command = [sys.executable, str(ATTACK)]
    box = bwrap_command("bwrap", fence.Fence.from_json(job["fence"]), (), "/", command)
    line = json.dumps(job) + "\n"
    ran = subprocess.run(box, input=line, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    answer = json.loads(ran.stdout)
    assert "failed" not in answer, answer["failed"]
    return answer


@pytest.fixture(scope="module")
def boxed_attacker():
    if shutil.which("bwrap") is None:
        pytest.skip("there is no bwrap: make system-packages")
    return attack_in_a_box


@pytest.fixture(scope="module")
def attacker():
    if fence.abi() < LEAST_ABI:
        pytest.skip(f"this kernel has Landlock ABI {fence.abi()}: run where it is {LEAST_ABI}")
    attacker = Attacker()
    yield attacker
    attacker.close()


@pytest.fixture(scope="module")
def ground(tmp_path_factory):
    return Ground(tmp_path_factory.mktemp("ground").resolve() / "here")


def fence_of(plan):
    grants = tuple((one.path, sum(BITS[access] for access in one.access)) for one in plan.grants)
    covered = tuple((one.path, kind_of(one)) for one in plan.covers)
    return fence.Fence(grants, sum(BITS[access] for access in plan.fenced), covers=covered)


def kind_of(cover):
    hidden = covers.HIDDEN_FOLDER if cover.is_folder else covers.HIDDEN_FILE
    return hidden if cover.is_hidden else covers.KEPT


def guesses(before, seed):
    """What exists, and what an attacker might think of."""
    likely = ("a", "b", "sec", "x.py", ".env")
    depths = (1, 2, 3) if seed % 4 == 0 else (1, 2)
    thought_of = {path for depth in depths for path in itertools.product(likely, repeat=depth)}
    return sorted(thought_of | set(before) | {(name,) for name in NAMES + PROTECTED})


def compiled(world, tree, mode):
    plan = compile_plan(
        world.permissions,
        tree,
        mode=mode,
        asks_first=world.asks_first,
        inert=world.inert,
        has_covers=world.has_covers,
    )
    assert plan is not None
    return plan


def job_of(ground, plan, paths, seed=0):
    return {
        "root": str(ground.root),
        "outside": str(ground.outside),
        "paths": paths,
        "granted": [one.path for one in plan.grants if Access.WRITE in one.access],
        "fence": fence_of(plan).as_json(),
        "seed": seed,
    }


def storm(attacker, ground, world, mode):
    """Build, compile, change, compile again, attack; give what was there before and after."""
    ground.lay(world)
    tree = read_tree(ground.root)
    plan = compiled(world, tree, mode)
    if world.more:
        ground.add(world.more)
        plan = compiled(world, refresh(tree), mode)
        assert plan == compiled(world, read_tree(ground.root), mode), "an old reading was kept"
    before, beside = ground.seen(ground.root), ground.seen(ground.outside)
    told = attacker(job_of(ground, plan, guesses(before, world.seed), world.seed))
    assert told["useless"] == [], "a grant that allows nothing"
    assert told["done"][:1] == ["listdir ."], "names cannot be listed"
    assert ground.seen(ground.outside) == beside, ("outside changed", told["done"])
    read = [path for path in told["read"] if is_denied(world, READ, tuple(path.split("/")))]
    assert not read, "read what is denied"
    return before, ground.seen(ground.root), told["done"]


def hold(world, before, after, done):
    """What may not be changed or deleted is there as it was."""
    for path, (kind, inode, content) in before.items():
        is_fixed, is_staying = is_kept(world, WRITE, path), is_kept(world, DELETE, path)
        now = after.get(path, (0, 0, ""))
        if is_fixed and now[1] == inode:
            assert now[2] == content, ("changed", path, done)
        if is_fixed and path in after:
            assert now[:2] == (kind, inode), ("another in its place", path, done)
        if is_staying:
            assert path in after, ("gone", path, done)


@TRIED
@given(world=worlds())
def test_strict_nothing_denied_changes_or_comes_to_be(attacker, ground, world):
    before, after, done = storm(attacker, ground, world, Mode.STRICT)
    hold(world, before, after, done)
    made = [path for path in after if path not in before and is_denied(world, WRITE, path)]
    assert not made, ("made", done)


@TRIED
@given(world=worlds())
def test_snapshot_nothing_denied_that_exists_changes(attacker, ground, world):
    world = replace(world, entries=[one for one in world.entries if one[1] != "name outside"])
    world = replace(world, more=[one for one in world.more if one[1] != "name outside"])
    hold(world, *storm(attacker, ground, world, Mode.SNAPSHOT))


@TRIED_IN_A_BOX
@given(world=worlds())
def test_in_a_box_nothing_denied_that_exists_changes(boxed_attacker, ground, world):
    world = replace(world, has_covers=True)
    world = replace(world, entries=[one for one in world.entries if one[1] != "name outside"])
    world = replace(world, more=[one for one in world.more if one[1] != "name outside"])
    hold(world, *storm(boxed_attacker, ground, world, Mode.SNAPSHOT))


@TRIED_IN_A_BOX
@given(world=worlds())
def test_in_a_box_strict_is_as_strict(boxed_attacker, ground, world):
    world = replace(world, has_covers=True)
    before, after, done = storm(boxed_attacker, ground, world, Mode.STRICT)
    hold(world, before, after, done)
    made = [path for path in after if path not in before and is_denied(world, WRITE, path)]
    assert not made, ("made", done)


def besieged(attacker, ground, entries, rule, paths, mode=Mode.SNAPSHOT, **changes):
    """Attack a tree where all is allowed but for one rule; before, after, what succeeded."""
    policy = Permissions(Posture.ALLOW, (Rule(WRITE, rule, Posture.DENY, "permissions.json:1"),))
    world = World(entries, policy, **changes)
    ground.lay(world)
    plan = compiled(world, read_tree(ground.root), mode)
    before = ground.seen(ground.root)
    told = attacker(job_of(ground, plan, [*before, *paths]))
    assert told["useless"] == []
    return before, ground.seen(ground.root), told["done"]


def test_f2_a_folder_swapped_for_a_link_after_compiling_gives_nothing(attacker, ground):
    world = World([(("src", "a"), "file", ())], Permissions(Posture.ALLOW, ()))
    ground.lay(world)
    (ground.root / ".vscode").mkdir()
    plan = compiled(world, read_tree(ground.root), Mode.SNAPSHOT)
    assert [one.path for one in plan.grants] == [str(ground.root / "src")]
    beside = ground.seen(ground.outside)
    (ground.root / "src").rename(ground.root / "moved")
    (ground.root / "src").symlink_to(ground.outside)
    told = attacker(job_of(ground, plan, [["src", "held"], ["moved", "a"], ["src"]]))
    assert ground.seen(ground.outside) == beside
    assert not [done for done in told["done"] if not done.startswith(("peek", "listdir"))]


def test_f3_what_is_denied_is_reached_under_no_second_name(attacker, ground):
    tree = [(("sec", "a"), "file", ()), (("b", "copy"), "second name of", ("sec", "a"))]
    before, after, done = besieged(attacker, ground, [*tree, (("c", "x"), "file", ())], "sec", [])
    kept = (("sec", "a"), ("b", "copy"))
    assert {path: after.get(path) for path in kept} == {path: before[path] for path in kept}
    assert "write c/x" in done


@pytest.mark.parametrize("name", [".ENV", "cafe\u0301", "two\nlines"])
def test_f4_other_spellings_of_what_is_denied_stay_as_they_are(attacker, ground, name):
    rule = {".ENV": ".env", "cafe\u0301": "caf\u00e9"}.get(name, name)
    tree = [((name,), "file", ()), (("src", "a"), "file", ())]
    before, after, done = besieged(attacker, ground, tree, rule, [])
    assert after[(name,)] == before[(name,)]
    assert "write src/a" in done


def test_f4_a_sibling_whose_name_begins_alike_is_outside(attacker, ground):
    world = World([(("src", "a"), "file", ())], Permissions(Posture.ALLOW, ()))
    ground.lay(world)
    evil = ground.root.with_name(ground.root.name + "-evil")
    evil.mkdir()
    (evil / "x").write_text("as it was")
    before = ground.seen(evil)
    plan = compiled(world, read_tree(ground.root), Mode.STRICT)
    told = attacker(job_of(ground, plan, [["..", evil.name, name] for name in ("x", "y")]))
    assert ground.seen(evil) == before
    assert "create fresh" in told["done"]


def test_f5_a_deny_inside_an_allow_holds_for_what_exists_and_strict_for_what_may(attacker, ground):
    tree = [((".env",), "file", ()), (("src", "a"), "file", ())]
    before, after, done = besieged(attacker, ground, tree, "**/.env", [["src", ".env"]])
    assert after[(".env",)] == before[(".env",)]
    assert "create src/fresh" in done
    before, after, done = besieged(
        attacker, ground, tree, "**/.env", [["src", ".env"], ["new", ".env"]], Mode.STRICT
    )
    assert after.keys() == before.keys()
    assert "write src/a" in done


def test_f5_in_a_box_a_deny_inside_an_allow_costs_its_folder_nothing(boxed_attacker, ground):
    tree = [((".env",), "file", ()), (("src", "a"), "file", ()), ((".vscode", "x"), "file", ())]
    before, after, done = besieged(boxed_attacker, ground, tree, "**/.env", [], has_covers=True)
    kept = (".env",), (".vscode",), (".vscode", "x")
    assert {path: after[path] for path in kept} == {path: before[path] for path in kept}
    assert "create fresh" in done


def test_f2_in_a_box_a_link_that_is_denied_stays_where_it_is(boxed_attacker, ground):
    tree = [((".env",), "link out", ()), (("src", "a"), "file", ())]
    before, after, done = besieged(boxed_attacker, ground, tree, "**/.env", [], has_covers=True)
    assert after[(".env",)] == before[(".env",)]
    assert "create src/fresh" in done


def test_f3_in_a_box_what_is_denied_is_reached_under_no_second_name(boxed_attacker, ground):
    tree = [(("sec", "a"), "file", ()), (("b", "copy"), "second name of", ("sec", "a"))]
    before, after, done = besieged(boxed_attacker, ground, tree, "sec", [], has_covers=True)
    kept = (("sec", "a"), ("b", "copy"))
    assert {path: after.get(path) for path in kept} == {path: before[path] for path in kept}
    assert "create b/fresh" in done or "create fresh" in done


@settings(deadline=None)
@given(worlds(), st.sampled_from([WRITE, DELETE, READ]), paths)
def test_a_path_is_decided_as_the_slow_way_decides_it(world, capability, path):
    found = decide_file(world.permissions, capability, path).posture
    assert found is posture_of(world, capability, path)
