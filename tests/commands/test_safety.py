"""Stop and release through a running process."""

import pytest

from amiral.base.errors import Conflict, Denied, Invalid, NotFound
from amiral.commands.registry import Role
from amiral.store.brake import Brake


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
        "still_on": [],
    }
    assert desk.brake.state() is None


async def test_a_second_stop_keeps_the_first_and_a_part_alone_is_refused(desk):
    first = await desk.ask("say", "STOP")
    again = await desk.ask("say", "/emergency-stop all")
    assert again.data["stop_id"] == first.data["stop_id"]
    desk.brake.release(first.data["stop_id"])
    with pytest.raises(NotFound, match="no project 'shoop'"):
        await desk.ask("emergency-stop", "shoop")
    with pytest.raises(Invalid, match="levels 1, 2 and 3"):
        await desk.ask("emergency-stop", "--level", "4")
    assert desk.brake.every() == []


async def test_s01_a_stop_of_one_project_or_worker_by_name_latches_that_alone(desk):
    whole = (await desk.ask("say", "/emergency_stop shop")).data
    one = (await desk.ask("say", "/emergency-stop shop/developer")).data
    assert (whole["scope"], one["scope"]) == ("shop", "shop/developer")
    here, other = Brake(desk.home / "brake", desk.project.id), Brake(desk.home / "brake", "x")
    assert [mark.stop_id for mark in here.here()] == [whole["stop_id"], one["stop_id"]]
    assert (other.state(), desk.brake.state()) == (None, None)
    lifted = await desk.ask("release", whole["stop_id"])
    assert f"  ⛔ stop {one['stop_id']} is on for shop/developer: amiral release" in lifted.text
    held = here.state("developer")
    assert held is not None
    assert (here.state(), held.stop_id) == (None, one["stop_id"])
    text = (await desk.ask("status")).text
    assert f"⛔ stop {one['stop_id']} is on for shop/developer: amiral release" in text
    await desk.ask("release", one["stop_id"])
    assert here.every() == []


async def test_what_is_frozen_is_thawed_by_its_scope_and_by_the_owner_alone(desk):
    frozen = await desk.ask("freeze", "shop")
    assert frozen.text.startswith("⏸ frozen shop: nothing was running · 0 processes paused")
    assert frozen.text.endswith("amiral thaw shop")
    here = Brake(desk.home / "brake", desk.project.id)
    assert [one.kind for one in here.here()] == ["freeze"]
    for role in (Role.MEMBER, Role.VIEWER, Role.AGENT):
        with pytest.raises(Denied):
            await desk.ask("thaw", "shop", role=role)
    with pytest.raises(Conflict, match="all is not frozen"):
        await desk.ask("thaw")
    assert (await desk.ask("thaw", "shop")).data["freeze_id"] == frozen.data["freeze_id"]
    assert here.state() is None


@pytest.mark.parametrize("role", [Role.VIEWER, Role.AGENT])
async def test_who_only_looks_and_agents_may_not_stop(desk, role):
    with pytest.raises(Denied):
        await desk.ask("emergency-stop", role=role)
    assert desk.brake.state() is None
