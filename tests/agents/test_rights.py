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


def made(home, found=NONE, probed=HELD, **sandbox):
    async def probe():
        return probed

    return Rights(lambda: found, Sandbox(**sandbox), probe, home)


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

    rights = Rights(Rules, Sandbox(), probe, home)
    for _ in range(2):
        await rights.of(works.make_worker(tools=("Read",)))
    assert tries == [1]


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
