"""What a worker may do: its rules, what holds them on this machine, the fence made of both."""

import json
from dataclasses import replace

import pytest

from amiral.agents.declared import Rules, read_rules
from amiral.agents.fencing import Bounds, Fencing, Footing, Right
from amiral.agents.grants import words
from amiral.agents.rights import Rights
from amiral.base.errors import Denied
from amiral.base.settings import Sandbox
from amiral.permissions.projection import Enforcement
from amiral.processes import fence as kernel
from amiral.processes.covers import KEPT, shared_folders
from amiral.processes.fence import Fence
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
    assert rights.compile(right, Footing(root, ())) == Bounds()
    assert rights.compile(right, Footing(root, ())).fence is None


async def test_s3_26_what_is_denied_by_default_is_not_started_where_nothing_holds_it(home, works):
    found = rules("deny")
    with pytest.raises(Denied, match="nothing can hold here: this system has no Landlock"):
        await made(home, found, UNHELD).of(works.make_worker())
    with pytest.raises(Denied, match='enforcer is "none"'):
        await made(home, found, enforcer="none").of(works.make_worker())
    assert (await made(home, found).of(works.make_worker())).enforcement == "enforced"


@pytest.mark.parametrize("default", ["allow", "ask", "deny"])
async def test_s11_where_bwrap_is_wanted_and_cannot_be_had_nobody_with_permissions_starts(
    home, works, default
):
    """Landlock alone does not take its place."""
    unusable = Probed("none", 7, ("bwrap: no permission",), "bwrap")
    rights = made(home, rules(default), unusable, enforcer="bwrap")
    with pytest.raises(Denied, match=r'enforcer is "bwrap", .*: bwrap: no permission') as refused:
        await rights.of(works.make_worker())
    assert refused.value.next_step == "amiral permissions probe"
    assert (await made(home, probed=unusable, enforcer="bwrap").of(works.make_worker())) == Right()


async def test_f5_in_a_box_a_folder_with_something_denied_is_granted_whole(home, works, root):
    (root / ".env").touch()
    found = rules("allow", ("write", "**/.env", "deny"))
    for enforcer, is_whole in (("auto", False), ("landlock", False), ("bwrap", True)):
        rights = made(home, found, enforcer=enforcer)
        fence = rights.compile(await rights.of(works.make_worker()), Footing(root, ())).fence
        assert (kernel.WRITE | kernel.DELETE in granted(fence, root)) is is_whole
        assert ((str(root / ".env"), KEPT) in fence.covers) is is_whole
        assert bool(fence.covers) is is_whole


async def test_a_worker_whose_network_alone_is_closed_has_a_box_too(home, works, root):
    rights = made(home, enforcer="bwrap", network="none")
    right = await rights.of(works.make_worker())
    fence = rights.compile(right, Footing(root, (), ports=())).fence
    assert fence.covers == shared_folders()


async def test_without_a_fence_tools_alone_are_held_by_the_cli_and_may_start(home, works, root):
    rights = made(home, probed=UNHELD)
    right = await rights.of(works.make_worker(tools=("Read",)))
    assert (right.enforcement, right.permissions is None) == (Enforcement.NONE, False)
    assert rights.compile(right, Footing(root, ())).fence is None


async def test_r49_that_nothing_but_the_clis_holds_permissions_is_told_once(home, works):
    told = []

    async def warn(text):
        told.append(text)

    rights = made(home, probed=UNHELD, warned=warn)
    for _ in range(2):
        await rights.of(works.make_worker(tools=("Read",)))
    assert told == ["only the CLIs themselves hold permissions here: this system has no Landlock"]


async def test_a_policy_in_force_that_cannot_be_read_starts_nobody(home, works):
    found = read_rules('{"version": 1, "default": "maybe"}', "permissions.json")
    rights = made(home, replace(found, mend="mend it"))
    with pytest.raises(Denied, match=r"permissions.json:1: the file: default must be") as caught:
        await rights.of(works.make_worker())
    assert caught.value.next_step == "mend it"
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
    fence = rights.compile(right, Footing(root, (home / "workers" / "dev",))).fence
    assert granted(fence, root) == {kernel.READ}
    assert granted(fence, home / "workers" / "dev")
    above = [str(home), *map(str, home.parents)]
    assert [(path, bits) for path, bits in fence.grants if path in above] == [("/", kernel.LIST)]
    with pytest.raises(Denied, match="lies in the project"):
        rights.compile(right, Footing(home.parent, ()))


async def test_what_may_be_written_follows_the_rules(home, works, root):
    rights = made(home, rules("deny", ("read", "**", "allow"), ("write", "src/**", "allow")))
    right = await rights.of(works.make_worker())
    fence = rights.compile(right, Footing(root, ())).fence
    assert all(
        bits & kernel.WRITE and bits & kernel.DELETE for bits in granted(fence, root / "src")
    )
    assert not any(bits & kernel.WRITE for bits in granted(fence, root))
    (root / "src").rmdir()
    again = rights.compile(right, Footing(root, ())).fence
    assert granted(again, root / "src") == set(), "the tree is looked at anew"


async def test_s3_23_an_ask_counts_as_allow_while_somebody_is_asked_and_else_as_deny(
    home, works, root, tmp_path
):
    read, ask = ("read", "**", "allow"), ("write", "src/**", "ask")
    for default, own, by_asking in (("ask", (read,), root), ("deny", (read, ask), root / "src")):
        rights, worker = made(home, rules(default, *own)), works.make_worker()
        right = await rights.of(worker)
        asked = rights.compile(right, Footing(root, (), can_ask=True))
        unasked = rights.compile(right, Footing(root, ()))
        tests = await rights.around(worker, root, tmp_path / "tmp", "")
        assert any(bits & kernel.WRITE for bits in granted(asked.fence, by_asking))
        for found in (unasked, tests):
            assert not any(bits & kernel.WRITE for bits in granted(found.fence, by_asking))
            assert "nobody can be asked" in found.unasked
        assert asked.unasked == ""


async def test_a_policy_that_asks_nothing_about_files_grants_tests_what_the_worker_has(
    home, works, root, tmp_path
):
    own = (("write", "**/.env", "deny"), ("execute-bash", "*", "ask"))
    rights, worker = made(home, rules("allow", *own)), works.make_worker()
    (root / ".git").write_text("gitdir: elsewhere")
    footing = Footing(root, (tmp_path / "tmp",), is_worktree=True, can_ask=True)
    for_cli = rights.compile(await rights.of(worker), footing)
    tests = await rights.around(worker, root, tmp_path / "tmp", "")
    assert tests.grants["project"] == for_cli.grants["project"]
    assert tests.unasked == ""


async def test_the_libraries_of_a_program_are_read_where_reading_is_fenced(
    home, works, root, tmp_path
):
    for name in ("old/bin", "old/lib", "venv/bin"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "old" / "bin" / "python").write_text("")
    (tmp_path / "venv" / "pyvenv.cfg").write_text("")
    (tmp_path / "venv" / "bin" / "python").symlink_to(tmp_path / "old" / "bin" / "python")
    rights = made(home, rules("deny"))
    program = str(tmp_path / "venv" / "bin" / "python")
    fence = (await rights.around(works.make_worker(), root, tmp_path / "tmp", program)).fence
    run = {kernel.READ | kernel.EXECUTE}
    assert all(granted(fence, tmp_path / name) == run for name in ("venv", "old/bin", "old/lib"))


async def test_all_that_is_granted_is_told_by_what_it_is_for_and_the_folder_must_be_there(
    home, works, root, tmp_path
):
    login, git = (str(tmp_path / "login"), kernel.READ), str(tmp_path / "git")
    footing = Footing(root, (tmp_path / "own",), login=(login,), git=(git,), ports=())
    for found in (rules("deny"), NONE):
        rights = made(home, found, network=())
        bounds = rights.compile(await rights.of(works.make_worker()), footing)
        assert bounds.grants["own"][0][0] == str(tmp_path / "own")
        assert (bounds.grants["login"], bounds.grants["git"]) == ((login,), ((git, kernel.READ),))
        everything = tuple(one for grants in bounds.grants.values() for one in grants)
        assert bounds.fence == Fence(everything, bounds.fence.fenced, (), root=str(root))
        assert "The network is closed" in bounds.summary


async def test_s3_27_what_a_worker_reads_is_what_was_compiled(home, works, root):
    own = (("read", "**", "allow"), ("write", "src/**", "allow"))
    rights = made(home, rules("deny", *own), mode="snapshot")
    right = await rights.of(works.make_worker())
    (root / "src" / ".mcp.json").write_text("{}")
    (root / "src" / "a").mkdir()
    bounds = rights.compile(right, Footing(root, ()))
    assert "only this can be written: `src/a`." in bounds.summary
    assert "No new file can be made right in `src` (.mcp.json is protected by name)" in (
        bounds.summary
    )
    unheld = made(home, rules("ask", *own), UNHELD)
    bounds = unheld.compile(await unheld.of(works.make_worker()), Footing(root, ()))
    assert "The kernel does not hold this" in bounds.summary
    assert (bounds.fence, bounds.plan) == (None, None)


async def test_of_a_folder_that_is_gone_nothing_is_kept(home, works, root, tmp_path):
    right = await made(home, rules("allow")).of(works.make_worker())
    other = tmp_path / "other"
    other.mkdir()
    fencing = Fencing(Sandbox(), home)
    fencing.compile(right, Footing(other, ()))
    other.rmdir()
    fencing.compile(right, Footing(root, ()))
    assert list(fencing._trees) == [str(root)]


def test_bits_are_told_in_words():
    assert words(kernel.READ | kernel.EXECUTE) == ("read", "execute")
    assert words(0) == ()


async def test_k4_a_project_that_holds_logins_is_not_served_fenced(
    home, works, tmp_path, monkeypatch
):
    monkeypatch.setenv("HOME", str(tmp_path / "person"))
    (tmp_path / "person" / ".ssh").mkdir(parents=True)
    rights = made(home)
    right = await rights.of(works.make_worker(tools=("Read",)))
    with pytest.raises(Denied, match=r"\.ssh lies in the project"):
        rights.compile(right, Footing(tmp_path / "person", ()))


async def test_k4_programs_are_no_way_to_what_is_private(home, works, root, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "person"))
    claude = tmp_path / "person" / ".claude"
    claude.mkdir(parents=True)
    (claude / "claude").write_text("the program itself")
    rights = made(home)
    right = await rights.of(works.make_worker(tools=("Read",)))
    given = (str(tmp_path), str(claude), str(claude / "claude"), str(home))
    fence = rights.compile(right, Footing(root, (), programs=given)).fence
    assert [granted(fence, path) for path in (tmp_path, claude, home)] == [set()] * 3
    assert granted(fence, claude / "claude") == {kernel.READ | kernel.EXECUTE}


async def test_tests_that_are_a_program_of_the_tree_open_nothing_else(home, works, root, tmp_path):
    rights = made(home)
    worker = works.make_worker(tools=("Read",))
    fence = (await rights.around(worker, root, tmp_path / "tmp", "")).fence
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
    fence = rights.compile(await rights.of(works.make_worker()), Footing(root, ())).fence
    run = {kernel.READ | kernel.EXECUTE}
    assert granted(fence, tmp_path / "venv") == granted(fence, tmp_path / "tools") == run
    assert granted(fence, home / "bin") == set()


async def test_a_closed_network_is_held_also_where_nothing_else_is(home, works, root):
    rights = made(home, network=())
    right = await rights.of(works.make_worker())
    fence = rights.compile(right, Footing(root, (), ports=(4000,))).fence
    assert fence.ports == (4000,)
    assert fence.fenced & kernel.READ and fence.fenced & kernel.WRITE
    assert granted(fence, root), "it works as before"
    assert not any(str(home).startswith(f"{path}/") for path, bits in fence.grants if path != "/")
    with pytest.raises(Denied, match="has no open network"):
        await made(home, probed=UNHELD, network=()).of(works.make_worker())
