"""Places where a test kills a process."""

import pytest

import amiral

PASSES = """
import sys
sys.path.append(sys.argv[1])
from amiral.processes.failpoint import inherited_failpoints, reach
for number in range(5):
    print(number, flush=True)
    reach("one.place")
    reach("other.place")
print(sorted(inherited_failpoints().items()))
"""


async def passes(yard, **env):
    sources = amiral.__path__[0].rpartition("/")[0]
    command = [*yard.PYTHON, PASSES, sources]
    return await yard.spawner.run(command, kind="own", env=env, cwd="/", timeout_s=20.0)


@pytest.mark.parametrize(
    ("chosen", "lines"), [("one.place", 1), ("one.place:3", 3), ("other.place:2", 2)]
)
async def test_it_dies_at_the_place_and_time_chosen(yard, chosen, lines):
    ran = await passes(yard, AMIRAL_FAILPOINTS="1", AMIRAL_FAILPOINT=chosen)
    assert (ran.code, len(ran.out.split())) == (-9, lines)


@pytest.mark.parametrize(
    "env",
    [
        {},
        {"AMIRAL_FAILPOINT": "one.place"},
        {"AMIRAL_FAILPOINTS": "0", "AMIRAL_FAILPOINT": "one.place"},
    ],
)
async def test_nothing_happens_unless_allowed(yard, env):
    ran = await passes(yard, **env)
    assert (ran.code, ran.out.split()[-1]) == (0, b"[]")


async def test_programs_of_ours_inherit_the_choice(yard):
    ran = await passes(yard, AMIRAL_FAILPOINTS="1", AMIRAL_FAILPOINT="nowhere")
    assert b"('AMIRAL_FAILPOINT', 'nowhere'), ('AMIRAL_FAILPOINTS', '1')" in ran.out
