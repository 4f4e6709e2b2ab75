"""`permissions set`: a rule by the owner's own word, in force at once."""

import json

import pytest

from amiral.base import events as ev
from amiral.base.errors import Conflict, Denied, Invalid, NotFound
from amiral.commands.registry import Role


@pytest.fixture
def file(desk):
    return desk.home.with_name("shop") / ".amiral" / "config" / "permissions.json"


def in_force(desk):
    return desk.roster.rules().policy


async def test_the_first_rule_leaves_the_rest_as_it_was_s3_7(desk, file):
    reply = await desk.ask("permissions", "set", "deny", "write", "**/.env")
    assert reply.text == "✓ every worker: deny write **/.env"
    told = json.loads(file.read_text())
    rule = {"capability": "write", "match": "**/.env", "posture": "deny"}
    assert (told["default"], told["rules"]) == ("allow", [rule])
    assert [str(one.posture) for one in in_force(desk).rules] == ["deny"]
    (event,) = desk.told(ev.FileTrusted)
    assert event.file == "config/permissions.json"


async def test_a_rule_takes_the_place_of_one_on_the_same_match(desk, file):
    for posture in ("deny", "ask"):
        await desk.ask("permissions", "set", posture, "execute-bash", "git", "push*")
    await desk.ask("permissions", "set", "allow", "write", "src/**", "--worker", "developer")
    policy = in_force(desk)
    assert [(one.match, one.posture) for one in policy.rules] == [("git push*", "ask")]
    assert [one.match for one in policy.workers["developer"].rules] == ["src/**"]


async def test_what_cannot_be_a_rule_changes_nothing(desk, file):
    with pytest.raises(NotFound, match="no worker 'develper'"):
        await desk.ask("permissions", "set", "deny", "write", "x", "--worker", "develper")
    with pytest.raises(Invalid, match="a\\*\\*"):
        await desk.ask("permissions", "set", "deny", "write", "a**")
    with pytest.raises(Invalid):
        await desk.ask("permissions", "set", "never", "write", "x")
    assert not file.exists()


async def test_a_file_that_waits_for_trust_is_not_taken_over(desk, file):
    file.parent.mkdir(parents=True)
    file.write_text('{"version": 1, "default": "allow"}')
    with pytest.raises(Conflict, match="is not as you trusted it"):
        await desk.ask("permissions", "set", "deny", "write", "x")
    assert file.read_text() == '{"version": 1, "default": "allow"}'


async def test_a_link_in_the_repository_leads_nowhere_f2(desk, file, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    file.parent.parent.mkdir(parents=True)
    file.parent.symlink_to(elsewhere)
    with pytest.raises(Denied, match="is a link"):
        await desk.ask("permissions", "set", "deny", "write", "x")
    assert list(elsewhere.iterdir()) == []


async def test_h4_an_agent_changes_no_policy(desk, file):
    with pytest.raises(Denied):
        await desk.ask("permissions", "set", "allow", "write", "**", role=Role.AGENT)
    assert not file.exists()


async def test_a_policy_with_a_mistake_cannot_be_trusted(desk, file):
    file.parent.mkdir(parents=True)
    file.write_text('{"version": 1,\n"defualt": "allow"}')
    with pytest.raises(Invalid, match=r"permissions\.json:2"):
        await desk.ask("trust", "permissions.json")
    assert in_force(desk) is None
