"""Who may: numbers that the owner listed or paired, nobody else."""

import pytest

from amiral.base.errors import NotFound
from amiral.chats.pairing import PairCommands
from amiral.chats.people import CODE_S, People
from amiral.commands.registry import Caller, Role

OWNER, BEA, ANN = "telegram:1", "telegram:2", "telegram:3"


class Clock:
    time_ms = 1_800_000_000_000

    def now_ms(self):
        return self.time_ms

    def monotonic_s(self):
        return self.time_ms / 1000

    async def sleep(self, seconds):
        raise AssertionError(seconds)


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def people(tmp_path, clock):
    return People(tmp_path, clock, [OWNER], {"shop": {BEA: "viewer"}})


def test_an_empty_list_is_nobody(tmp_path, clock):
    assert People(tmp_path, clock).role(OWNER, "shop") is None


def test_owners_may_all_and_members_what_their_project_says(people):
    assert people.role(OWNER) is Role.OWNER
    assert people.role(OWNER, "shop") is Role.OWNER
    assert (people.role(BEA, "shop"), people.role(BEA, "till"), people.role(BEA)) == (
        *(Role.VIEWER, None, None),
    )
    assert people.role("", "shop") is None


def test_a_code_counts_once_and_not_for_ever(people, clock):
    code = people.offer(Role.MEMBER, "shop")
    assert people.pair("another", ANN, "Ann") is None
    assert people.pair(code.upper(), ANN, "Ann") is Role.MEMBER
    assert people.pair(code, BEA, "Bea") is None
    assert (people.role(ANN, "shop"), people.role(ANN, "till")) == (Role.MEMBER, None)
    late = people.offer(Role.OWNER)
    clock.time_ms += CODE_S * 1000
    assert people.pair(late, BEA, "Bea") is None
    assert people.role(BEA) is None


def test_the_strongest_of_several_roles_counts_and_no_other_word(people, tmp_path):
    people.pair(people.offer(Role.VIEWER), BEA, "Bea")
    people.pair(people.offer(Role.MEMBER, "shop"), BEA, "Bea")
    assert (people.role(BEA, "shop"), people.role(BEA, "till")) == (Role.MEMBER, Role.VIEWER)
    file = tmp_path / "config" / "people.json"
    file.write_text(file.read_text().replace('"member"', '"agent"'))
    assert people.role(BEA, "shop") is Role.VIEWER


def test_only_the_newest_codes_count_and_none_is_kept_as_it_is(people, tmp_path):
    codes = [people.offer(Role.MEMBER) for _ in range(17)]
    kept = (tmp_path / "config" / "people.json").read_text()
    assert not any(code in kept for code in codes)
    assert people.pair(codes[0], ANN, "Ann") is None
    assert people.pair(codes[1], ANN, "Ann") is Role.MEMBER


async def test_the_command_makes_lists_and_drops(people):
    pair = PairCommands(people, "shop").pair
    caller = Caller("owner", Role.OWNER, "console")
    made = await pair(caller, role="viewer")
    assert isinstance(made.data, dict)
    assert made.data["project"] == "shop"
    assert "viewer of shop" in made.text
    assert (await pair(caller, list=True)).text.startswith("nobody")
    people.pair(str(made.data["code"]), ANN, "Ann")
    assert "telegram:3  Ann  viewer of shop" in (await pair(caller, list=True)).text
    with pytest.raises(NotFound, match="paired: telegram:3"):
        await pair(caller, drop="telegram:9")
    await pair(caller, drop=ANN)
    assert people.role(ANN, "shop") is None
