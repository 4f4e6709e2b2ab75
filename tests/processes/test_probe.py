"""The fence is tried out before anything is promised."""

import json
import os
import shutil
import sys

import pytest

from amiral.base.errors import Conflict
from amiral.processes import probe as probing
from amiral.processes.fence import abi
from amiral.processes.probe import Probed, probe

ASKS = """
import asyncio, dataclasses, json, pathlib, sys
from amiral.processes.probe import probe
from amiral.processes.spawn import Spawner
from amiral.store.brake import Brake
folder = pathlib.Path(sys.argv[1])
brake = Brake(folder / "own-brake")
brake.prepare()
spawner = Spawner(brake, "a:b")
print(json.dumps(dataclasses.asdict(asyncio.run(probe(spawner, folder, *sys.argv[2:])))))
"""
BEHIND_ONE = """
import os, sys
sys.path.append(sys.argv[1])
from amiral.processes.fence import Fence, apply
apply(Fence((("/", 63),), 63))
os.execvp(sys.argv[2], sys.argv[2:])
"""
BEHIND_SIXTEEN = """
import os, sys
sys.path.append(sys.argv[1])
from amiral.processes.fence import Fence, apply
for _ in range(16):
    apply(Fence((("/", 63),), 63))
os.execvp(sys.argv[2], sys.argv[2:])
"""


async def test_here_the_fence_holds_and_nothing_of_the_trial_is_left(pen):
    before = sorted(pen.yard.home.rglob("*"))
    assert await probe(pen.yard.spawner, pen.yard.home) == Probed("enforced", abi())
    assert sorted(pen.yard.home.rglob("*")) == before


async def test_a_fence_is_tried_out_while_a_stop_is_in_force_too(pen):
    pen.yard.brake.engage("a reason", "owner", 1)
    with pytest.raises(Conflict):
        pen.yard.spawner.check("agent")
    assert (await probe(pen.yard.spawner, pen.yard.home)).status == "enforced"


async def test_a_machine_whose_calls_are_not_known_has_none(pen):
    told = await asked(pen, "setarch", "i686")
    assert (told["status"], told["abi"]) == ("none", 0)
    assert "no Landlock" in told["reasons"][0]


async def test_a_trial_that_cannot_be_made_promises_nothing(pen):
    """The kernel lets a thread go behind 16 fences and no further."""
    told = await asked(pen, *pen.yard.PYTHON, BEHIND_SIXTEEN, pen.SOURCES)
    assert told["status"] == "none"
    assert told["reasons"][0].startswith("the trial could not be made: ")


async def asked(pen, *wrapper, enforcer="auto"):
    ran = await pen.run_freely(*wrapper, sys.executable, "-c", ASKS, str(pen.yard.home), enforcer)
    assert ran.code == 0, ran.err.decode()
    return json.loads(ran.out)


ALLOWED = {*probing._ALLOWED}


@pytest.mark.parametrize(
    ("done", "version", "status", "reason"),
    [
        (ALLOWED, 6, "enforced", ""),
        (ALLOWED, 5, "degraded", "can signal other processes"),
        (ALLOWED | {"signal amiral"}, 5, "degraded", "can signal other processes"),
        (ALLOWED | {"signal amiral"}, 6, "none", "could signal amiral"),
        (ALLOWED | {"connect by TCP"}, 3, "degraded", "cannot be kept from the network"),
        (ALLOWED | {"connect by TCP"}, 4, "none", "could connect by TCP"),
        (ALLOWED | {"write outside"}, 9, "none", "could write outside"),
        (ALLOWED - {"write inside"}, 9, "none", "could not write inside"),
        (set(), 9, "none", "could not talk to a child"),
    ],
)
def test_what_went_through_is_judged_both_ways(done, version, status, reason):
    judged = probing._judged(done, version)
    assert (judged.status, judged.abi) == (status, version)
    assert reason in " ".join(judged.reasons)
    assert bool(judged.reasons) == (status != "enforced")


def test_a_kernel_without_landlock_is_named():
    assert "ABI 2" in probing._too_old(2)
    assert "no Landlock" in probing._too_old(0)


async def test_here_a_box_holds_too_and_nothing_of_the_trial_is_left(boxing):
    before = sorted(boxing.yard.home.rglob("*"))
    found = await probe(boxing.yard.spawner, boxing.yard.home, "bwrap")
    assert found == Probed("enforced", abi(), enforcer="bwrap")
    assert sorted(boxing.yard.home.rglob("*")) == before


async def test_s11_where_no_box_can_be_made_bwrap_promises_nothing_and_landlock_does(boxing):
    """As where user namespaces are forbidden: mounting is refused."""
    told = await asked(boxing, *boxing.yard.PYTHON, BEHIND_ONE, boxing.SOURCES, enforcer="bwrap")
    assert (told["status"], told["enforcer"]) == ("none", "bwrap")
    assert "the trial could not be made: bwrap: " in told["reasons"][0]
    told = await asked(boxing, *boxing.yard.PYTHON, BEHIND_ONE, boxing.SOURCES)
    assert (told["status"], told["enforcer"]) == ("enforced", "landlock")


async def test_s11_where_bwrap_is_not_installed_it_promises_nothing(boxing):
    hide = [*boxing.namespaces(), "sh", "-ec", 'mount --bind /dev/null "$0"; exec "$@"']
    bwrap = os.path.realpath(shutil.which("bwrap") or "")
    told = await asked(boxing, *hide, bwrap, enforcer="bwrap")
    assert told["status"] == "none"
    assert "bubblewrap is not installed" in told["reasons"][0]


@pytest.mark.parametrize("name", probing._DENIED_IN_A_BOX)
def test_what_a_box_must_hold_is_judged_in_a_box_alone(name):
    assert probing._judged(ALLOWED | {name}, 7, is_boxed=True).status == "none"
    assert probing._judged(ALLOWED | {name}, 7).status == "enforced"
