"""What a worker may do: its rules, what holds them on this machine, the fence made of both."""

import json

import pytest

from amiral.agents.declared import Rules, read_rules
from amiral.agents.rights import Footing, Right, Rights
from amiral.base.errors import Denied
from amiral.base.settings import Sandbox
from amiral.permissions.projection import Enforcement
from amiral.processes import fence as kernel
from amiral.processes.probe import Probed

HELD = Probed("enforced", 7)
NONE = Rules()
UNHELD = Probed("none", 0, ("this system has no Landlock",))


def rules(default="ask", *own, **workers):
    rows = [{"capability": c, "match": m, "posture": p} for c, m, p in own]
    told = {"version": 1, "default": default, "rules": rows, "workers": workers}
    return read_rules(json.dumps(told), "permissions.json")


@pytest.fixture
def home(tmp_path):
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


@pytest.fixture
def root(tmp_path):
    (tmp_path / "shop" / "src").mkdir(parents=True)
    return tmp_path / "shop"


async def heard(text):
    del text


def made(home, found=NONE, probed=HELD, warned=None, **sandbox):
    async def probe():
        return probed

    return Rights(lambda: found, Sandbox(**sandbox), probe, home, warned or heard)


def granted(fence, path):
    return {bits for one, bits in fence.grants if one == str(path)}


async def test_s3_11_where_nothing_is_configured_nothing_is_fenced(home, works, root):
    rights = made(home)
    right = await rights.of(works.make_worker())
    assert right == Right()
    assert rights.plan(right, root) is None
    assert rights.fence(right, Footing(root, ())) is None


async def test_s3_26_what_is_denied_by_default_is_not_started_where_nothing_holds_it(home, works):
    found = rules("deny")
    with pytest.raises(Denied, match="nothing can hold here: this system has no Landlock"):
        await made(home, found, UNHELD).of(works.make_worker())
    with pytest.raises(Denied, match='enforcer is "none"'):
        await made(home, found, enforcer="none").of(works.make_worker())
    assert (await made(home, found).of(works.make_worker())).enforcement == "enforced"


async def test_without_a_fence_tools_alone_are_held_by_the_cli_and_may_start(home, works, root):
    rights = made(home, probed=UNHELD)
    right = await rights.of(works.make_worker(tools=("Read",)))
    assert (right.enforcement, right.permissions is None) == (Enforcement.NONE, False)
    assert rights.fence(right, Footing(root, ())) is None


async def test_r49_that_nothing_but_the_clis_holds_permissions_is_told_once(home, works):
    told = []

    async def warn(text):
        told.append(text)

    rights = made(home, probed=UNHELD, warned=warn)
    for _ in range(2):
        await rights.of(works.make_worker(tools=("Read",)))
    assert told == ["only the CLIs themselves hold permissions here: this system has no Landlock"]


async def test_a_policy_in_force_that_cannot_be_read_starts_nobody(home, works):
    rights = made(home, read_rules('{"version": 1, "default": "maybe"}', "permissions.json"))
    with pytest.raises(Denied, match=r"permissions.json:1: the file: default must be") as caught:
        await rights.of(works.make_worker())
    assert "amiral trust" in caught.value.next_step
    with pytest.raises(Denied):
        rights.permissions(works.make_worker())


async def test_the_machine_is_tried_out_once(home, works):
    tries = []

    async def probe():
        tries.append(1)
        return HELD

    rights = Rights(Rules, Sandbox(), probe, home, heard)
    for _ in range(2):
        await rights.of(works.make_worker(tools=("Read",)))
    assert tries == [1]


async def test_r49_a_trial_that_could_not_be_made_is_made_again(home, works):
    trials = [Probed("none", 7, ("the trial could not be made: no space",)), HELD]

    async def probe():
        return trials.pop(0)

    rights = Rights(Rules, Sandbox(), probe, home, heard)
    worker = works.make_worker(tools=("Read",))
    assert (await rights.of(worker)).enforcement == "none"
    assert (await rights.of(worker)).enforcement == "enforced"
    assert (await rights.of(worker)).enforcement == "enforced"


async def test_a_workers_own_rules_come_on_top_of_the_projects(home, works):
    own = json.dumps({"default": "allow", "rules": []})
    worker = works.make_worker(permissions=own)
    found = made(home, rules("ask", ("write", "a/**", "deny"))).permissions(worker)
    assert (found.default, [rule.match for rule in found.rules]) == ("allow", ["a/**"])


async def test_k4_amirals_own_home_is_in_no_grant(home, works, root):
    rights = made(home)
    right = await rights.of(works.make_worker(tools=("Read",)))
    fence = rights.fence(right, Footing(root, (home / "workers" / "dev",)))
    assert granted(fence, root) == {kernel.READ}
    assert granted(fence, home / "workers" / "dev")
    above = [str(home), *map(str, home.parents)]
    assert [(path, bits) for path, bits in fence.grants if path in above] == [("/", kernel.LIST)]
    with pytest.raises(Denied, match="lies in the project"):
        rights.fence(right, Footing(home.parent, ()))


async def test_what_may_be_written_follows_the_rules(home, works, root):
    rights = made(home, rules("deny", ("read", "**", "allow"), ("write", "src/**", "allow")))
    right = await rights.of(works.make_worker())
    fence = rights.fence(right, Footing(root, ()))
    assert all(
        bits & kernel.WRITE and bits & kernel.DELETE for bits in granted(fence, root / "src")
    )
    assert not any(bits & kernel.WRITE for bits in granted(fence, root))
    (root / "src").rmdir()
    again = rights.fence(right, Footing(root, ()))
    assert granted(again, root / "src") == set(), "the tree is looked at anew"


async def test_k4_a_project_that_holds_logins_is_not_served_fenced(
    home, works, tmp_path, monkeypatch
):
    monkeypatch.setenv("HOME", str(tmp_path / "person"))
    (tmp_path / "person" / ".ssh").mkdir(parents=True)
    rights = made(home)
    right = await rights.of(works.make_worker(tools=("Read",)))
    with pytest.raises(Denied, match=r"\.ssh lies in the project"):
        rights.fence(right, Footing(tmp_path / "person", ()))


async def test_k4_programs_are_no_way_to_what_is_private(home, works, root, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "person"))
    claude = tmp_path / "person" / ".claude"
    claude.mkdir(parents=True)
    (claude / "claude").write_text("the program itself")
    rights = made(home)
    right = await rights.of(works.make_worker(tools=("Read",)))
    given = (str(tmp_path), str(claude), str(claude / "claude"), str(home))
    fence = rights.fence(right, Footing(root, (), programs=given))
    assert [granted(fence, path) for path in (tmp_path, claude, home)] == [set()] * 3
    assert granted(fence, claude / "claude") == {kernel.READ | kernel.EXECUTE}


async def test_tests_that_are_a_program_of_the_tree_open_nothing_else(home, works, root, tmp_path):
    rights = made(home)
    worker = works.make_worker(tools=("Read",))
    fence = await rights.around(worker, root, tmp_path / "tmp", "")
    assert not any(path == "/" and bits != kernel.LIST for path, bits in fence.grants)


async def test_what_is_found_on_path_may_be_run_a_virtual_environment_whole(
    home, works, root, tmp_path, monkeypatch
):
    for name in ("venv/bin", "tools", "home/bin"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "venv" / "pyvenv.cfg").write_text("")
    folders = (tmp_path / "venv" / "bin", tmp_path / "tools", home / "bin", "relative")
    monkeypatch.setenv("PATH", ":".join(map(str, folders)))
    rights = made(home, rules("deny"))
    fence = rights.fence(await rights.of(works.make_worker()), Footing(root, ()))
    run = {kernel.READ | kernel.EXECUTE}
    assert granted(fence, tmp_path / "venv") == granted(fence, tmp_path / "tools") == run
    assert granted(fence, home / "bin") == set()


async def test_a_closed_network_is_held_also_where_nothing_else_is(home, works, root):
    rights = made(home, network=())
    right = await rights.of(works.make_worker())
    fence = rights.fence(right, Footing(root, (), ports=(4000,)))
    assert fence.ports == (4000,)
    assert fence.fenced & kernel.READ and fence.fenced & kernel.WRITE
    assert granted(fence, root), "it works as before"
    assert not any(str(home).startswith(f"{path}/") for path, bits in fence.grants if path != "/")
    with pytest.raises(Denied, match="has no open network"):
        await made(home, probed=UNHELD, network=()).of(works.make_worker())
