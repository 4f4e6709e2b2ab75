"""One origin for the whole fleet: who comes in, which project is meant, and what an agent gets."""

import json
import os
import socket

import pytest

from amiral.base.errors import Broken
from amiral.commands.registry import Role
from amiral.hub.gateway import Served

READS = (
    *("/", "/p/shop/", "/p/shop", "/p/shop/api/status", "/p/shop/api/stream", "/p/none/"),
    *("/api/master/health", "/api/master/status", "/openapi.json", "/static/app.css"),
)
SAY = json.dumps({"text": "hi", "wait": 0}).encode()


async def test_its_own_commands_are_rendered_below_master(hub):
    assert (await hub.get("/api/master/health")).json() == {"ok": True, "name": "hub"}
    assert (await hub.get("/api/master/status")).json() == {"name": "hub"}
    assert (await hub.post("say", {"text": "x", "wait": 0})).json() == {"said": "x"}
    assert (await hub.post("nothing")).status == 404
    told = (await hub.get("/openapi.json")).json()["paths"]
    assert {"/api/master/health", "/api/master/status", "/api/commands/say", "/"} <= set(told)
    assert "/api/stream" not in told


async def test_a_project_is_meant_by_its_id_or_its_name(short_path, serving_child, serving_hub):
    async with (
        serving_child(short_path, "shop") as shop,
        serving_child(short_path, "my blog") as blog,
        serving_hub(short_path, shop.served(), blog.served()) as hub,
    ):
        for path, name in (
            ("/p/shop/api/status", "shop"),
            ("/p/shop-1a2b/api/status", "shop"),
            ("/p/my%20blog/api/status", "my blog"),
            ("/p/my%20blog-1a2b/api/child/health", "my blog"),
        ):
            assert (await hub.get(path)).json()["name"] == name


async def test_one_that_is_not_known_or_ambiguous_is_told(hub, child):
    answer = await hub.get("/p/shap/api/status")
    assert (answer.status, answer.json()["error"]["kind"]) == (404, "not_found")
    assert "did you mean shop" in answer.json()["error"]["message"]
    hub.projects.append(Served("shop-9f", "shop", child.path, "running", ""))
    answer = await hub.get("/p/shop/api/status")
    assert answer.status == 409
    assert "shop-1a2b, shop-9f" in answer.json()["error"]["next"]
    assert (await hub.get("/p/shop-9f/api/status")).status == 200


async def test_without_its_slash_the_page_leads_to_where_its_relative_paths_are_right(hub):
    answer = await hub.get("/p/shop")
    assert (answer.status, answer.headers["location"]) == (307, "/p/shop/")
    assert (await hub.get("/p/none")).status == 404
    for path in ("/p//evil.example", "/p/%2F%2Fevil.example", "/p", "/p/"):
        assert (await hub.get(path)).status == 404, path


async def test_the_page_and_all_it_loads_come_from_below_its_own_path(hub, child):
    page = await hub.get("/p/shop/")
    assert page.status == 200
    assert b"data-place=" in page.body
    assert b'="/' not in page.body, "every path is relative"
    for name in ("app.js", "app.css", "icon.svg"):
        assert (await hub.get(f"/p/shop/static/{name}")).status == 200
        assert b'"/api' not in (await hub.get("/p/shop/static/app.js")).body
    assert (await hub.get("/p/shop/openapi.json")).json()["servers"] == [{"url": "."}]


@pytest.mark.parametrize(
    "path",
    [
        "/p/shop%2Fapi/status",
        "/p/shop%2Fx/api/status",
        "/p%2Fshop/",
        "/p/shop/../../etc/passwd",
        "/p/shop/%2e%2e/%2e%2e/x",
    ],
)
async def test_a_path_that_hides_something_leads_nowhere(hub, child, path):
    assert (await hub.get(path)).status == 404
    assert child.told.calls == []


# ------------------------------------------------------------------ the gate


async def test_r51_nothing_answers_without_a_token(hub, child):
    for path in READS:
        for headers in ({}, {"cookie": "a=b"}, {"authorization": "Bearer x"}):
            assert (await hub.ask("GET", path, headers)).status == 401, path
    assert (await hub.post_to("/p/shop/api/commands/say", SAY, cookie="a=b")).status == 401
    assert child.told.calls == []


async def test_r51_neither_a_foreign_host_nor_a_foreign_origin_reaches_a_project(hub, child):
    for path in READS:
        assert (await hub.get(path, host="evil.example")).status == 403
        assert (await hub.get(path, origin="http://evil.example")).status == 403
        cross = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}
        assert (await hub.get(path, **cross)).status == 403
    for changes in (
        {"host": f"evil.example:{hub.port}"},
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": None},
    ):
        answer = await hub.post_to("/p/shop/api/commands/say", SAY, **changes)
        assert answer.status == 403, changes
    answer = await hub.post_to("/p/shop/api/commands/say", SAY, content_type="text/plain")
    assert answer.status == 415
    assert child.told.calls == []


async def test_every_answer_has_the_strict_headers(hub):
    for path in (one for one in READS if not one.endswith("stream")):
        answer = await hub.get(path)
        assert answer.headers["content-security-policy"].startswith("default-src 'none'")
        assert answer.headers["cache-control"] == "no-store"
        assert "server" not in answer.headers


async def test_the_owner_says_something_to_a_project_as_to_itself(hub, child):
    answer = await hub.post_to("/p/shop/api/commands/say", SAY)
    assert answer.json() == {"said": "hi"}
    assert child.told.calls == [(Role.OWNER, "say", "hi")]


async def test_p03_a_stop_from_a_projects_page_is_carried_out_by_the_hub(hub, child):
    path, body = "/p/shop/api/commands/emergency-stop", b'{"scope": "shop", "level": 2}'
    assert (await hub.post_to(path, body)).json() == {"stopped_by": "hub"}
    assert hub.told.calls == [(Role.OWNER, "emergency-stop", "shop", 2)]
    for name in ("release", "freeze", "thaw"):
        answer = await hub.post_to(f"/p/shop/api/commands/{name}", b'{"stop_id": "1"}')
        assert answer.json()["error"]["kind"] in ("unavailable", "usage"), "not handed on"
    assert (await hub.post_to(path.replace("shop", "none"), b"{}")).status == 404
    assert (await hub.post_to(path.replace("shop/", "shop%2F"), b"{}")).status == 404
    assert child.told.calls == []
    assert len(hub.told.calls) == 1


async def test_no_other_method_passes(hub, child):
    for method in ("PUT", "DELETE", "PATCH", "OPTIONS", "CONNECT", "TRACE"):
        answer = await hub.ask(method, "/p/shop/api/commands/say", hub.write_headers(), SAY)
        assert answer.status == 405, method
    assert (await hub.ask("HEAD", "/p/shop/", {"cookie": hub.cookie})).status == 200
    assert child.told.calls == []


async def test_control_off_lets_nothing_through_that_changes_something(
    short_path, child, serving_hub
):
    async with serving_hub(short_path, child.served(), is_read_only=True) as hub:
        assert (await hub.get("/p/shop/api/status")).status == 200
        assert (await hub.post_to("/p/shop/api/commands/say", SAY)).status == 403
    assert child.told.calls == [(Role.OWNER, "status")]


async def test_r51_an_agent_at_the_hubs_socket_is_not_handed_on_as_the_owner(
    short_path, child, serving_hub
):
    """The project takes the hub for the owner, so the hub must look at who asks."""
    who = [Role.OWNER]
    async with serving_hub(short_path, child.served(), role_of=lambda _: who[0]) as hub:
        who[0] = Role.AGENT
        shown = {"cookie": hub.cookie}
        for path in ("/", "/p/shop", "/p/shop/", "/p/shop/api/stream", "/api/master/status"):
            assert (await hub.ask("GET", path, shown, unix=True)).status == 403, path
        write, commands = hub.write_headers(), "/p/shop/api/commands"
        for path in (f"{commands}/say", f"{commands}/help", f"{commands}/emergency-stop"):
            assert (await hub.ask("POST", path, write, SAY, unix=True)).status == 403, path
        help_ = await hub.ask("POST", "/api/commands/help", write, b"{}", unix=True)
        assert help_.status == 200, "what agents may, they may"
    assert child.told.calls == []


async def test_the_owner_at_the_hubs_socket_needs_no_token(hub, child):
    answer = await hub.ask("GET", "/p/shop/api/status", {"host": "x"}, unix=True)
    assert answer.json() == {"name": "shop"}
    assert hub.path.stat().st_mode & 0o777 == 0o600


async def test_an_agent_that_took_a_projects_socket_is_told_nothing(
    short_path, serving_raw, serving_hub
):
    path, asked = short_path / "shop.http.sock", list[bytes]()

    async def answer(reader, writer):
        asked.append(await reader.read())

    def role_of(link):
        return Role.OWNER if link.getsockname() == str(hub_path) else Role.AGENT

    hub_path = short_path / "hub.http.sock"
    served = Served("shop-1a2b", "shop", path, "running", "")
    async with (
        serving_raw(path, answer),
        serving_hub(short_path, served, role_of=role_of) as hub,
    ):
        answered = await hub.post_to("/p/shop/api/commands/say", SAY)
    assert answered.status == 503
    assert "served by somebody else" in answered.json()["error"]["message"]
    assert [one for one in asked if one] == []


async def test_a_socket_outside_of_the_homes_folder_is_not_connected_to(
    short_path, serving_child, serving_hub
):
    elsewhere = short_path / "elsewhere"
    elsewhere.mkdir()
    async with (
        serving_child(elsewhere) as child,
        serving_hub(short_path, child.served()) as hub,
    ):
        assert (await hub.get("/p/shop/api/status")).status == 503
    assert child.told.calls == []


# ------------------------------------------------------------------ where it listens


async def test_a_browser_stays_in_when_the_hub_starts_again(short_path, child, serving_hub):
    async with serving_hub(short_path, child.served()) as hub:
        cookie = hub.cookie
    async with serving_hub(short_path, child.served()) as hub:
        assert (await hub.ask("GET", "/p/shop/", {"cookie": cookie})).status == 200


async def test_a_project_that_the_hub_serves_has_no_address_of_its_own(child):
    with pytest.raises(Broken, match="the hub serves the page") as told:
        child.web.new_url()
    assert told.value.next_step == "amiral url"
    assert child.web.problems == []
    ours = {int(name) for name in os.listdir("/proc/self/fd")}
    families = {found for fd in ours if (found := _family(fd)) is not None}
    assert families <= {socket.AF_UNIX}


def _family(fd):
    try:
        listener = socket.socket(fileno=os.dup(fd))
    except OSError:
        return None
    with listener:
        is_listening = listener.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
        return listener.family if is_listening else None
