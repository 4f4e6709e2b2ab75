"""Who may: numbers that the owner listed or paired, nobody else."""

import pytest

from amiral.base.errors import Broken, Invalid, NotFound
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
    # An update that is handled twice gets one answer.
    assert people.pair(code, ANN, "Ann") is Role.MEMBER
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
    assert people.pair(str(made.data["code"]), ANN, "Ann") is None
    with pytest.raises(Invalid, match="--role agent is no role"):
        await pair(caller, role="agent")


async def test_a_guest_is_one_of_a_project_and_an_owner_of_all(people):
    pair = PairCommands(people, "").pair
    caller = Caller("owner", Role.OWNER, "console")
    with pytest.raises(Invalid, match="a member of which project") as refused:
        await pair(caller, role="member")
    assert refused.value.next_step == "amiral pair --role member -p NAME"
    made = await pair(caller)
    assert isinstance(made.data, dict)
    people.pair(str(made.data["code"]), ANN, "Ann")
    assert people.role(ANN, "till") is Role.OWNER
    assert people.owners() == {OWNER, ANN}


def test_a_file_with_a_mistake_pairs_nobody_and_is_not_written_over(people, tmp_path):
    people.pair(people.offer(Role.OWNER), ANN, "Ann")
    assert people.trouble == ""
    file = tmp_path / "config" / "people.json"
    wrong = file.read_text().replace("telegram:3", "telegram:4").replace("{", "[", 1)
    file.write_text(wrong)
    # The last good version counts, and nothing of the new one.
    assert (people.role(ANN), people.role("telegram:4")) == (Role.OWNER, None)
    assert "people.json" in people.trouble
    with pytest.raises(Broken, match=r"people\.json"):
        people.offer(Role.MEMBER, "shop")
    assert file.read_text() == wrong
    file.with_name("people.json.good").unlink()
    assert (people.role(ANN), people.role(BEA, "shop")) == (None, Role.VIEWER)
    assert people.owners() == {OWNER}
    file.unlink()
    assert people.role(ANN) is None
    assert people.trouble == ""


def test_a_file_of_a_later_version_pairs_nobody(people, tmp_path):
    people.pair(people.offer(Role.OWNER), ANN, "Ann")
    for file in (tmp_path / "config").glob("people.json*"):
        file.write_text(file.read_text().replace('"version": 1', '"version": 2'))
    assert people.role(ANN) is None
    assert "its version is not 1" in people.trouble
