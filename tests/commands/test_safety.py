"""Stop and release through a running process."""

import pytest

from amiral.base.errors import Conflict, Denied, Invalid
from amiral.commands.registry import Role


async def test_a_member_may_stop_and_only_the_owner_release(desk):
    reply = await desk.ask("emergency-stop", role=Role.MEMBER, surface="telegram", caller="guest")
    stop = desk.brake.state()
    assert stop is not None
    assert (reply.data["stop_id"], reply.data["survivors"]) == (stop.stop_id, 0)
    assert (stop.reason, stop.by, reply.exit_code) == ("asked on telegram", "guest", 0)
    assert f"amiral release {stop.stop_id}" in reply.text
    for role in (Role.MEMBER, Role.VIEWER, Role.AGENT):
        with pytest.raises(Denied):
            await desk.ask("release", stop.stop_id, role=role)
    with pytest.raises(Conflict, match=stop.stop_id):
        await desk.ask("release", "0a1b2c3d")
    assert (await desk.ask("release", stop.stop_id)).data == {
        "stop_id": stop.stop_id,
        "released": True,
    }
    assert desk.brake.state() is None


async def test_a_second_stop_keeps_the_first_and_a_part_alone_is_refused(desk):
    first = await desk.ask("say", "STOP")
    again = await desk.ask("say", "/emergency-stop all")
    assert again.data["stop_id"] == first.data["stop_id"]
    desk.brake.release(first.data["stop_id"])
    with pytest.raises(Invalid, match="everything at once"):
        await desk.ask("emergency-stop", "shop")
    assert desk.brake.state() is None


@pytest.mark.parametrize("role", [Role.VIEWER, Role.AGENT])
async def test_who_only_looks_and_agents_may_not_stop(desk, role):
    with pytest.raises(Denied):
        await desk.ask("emergency-stop", role=role)
    assert desk.brake.state() is None
