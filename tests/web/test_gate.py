"""Who gets in and who does not, on every route (R51)."""

import asyncio
import itertools
import json

from amiral.commands.registry import Role
from amiral.web.paths import LOOKS

ROUTES = [look.path.replace("{id}", "x") for look in LOOKS]
ROUTES += ["/", "/api/stream", "/api/events", "/openapi.json", "/static/app.js", "/no/such/page"]
WRITES = ["/api/commands/say", "/api/commands/emergency-stop", "/api/commands/no/such", "/api/x"]


def post(served, path="/api/commands/say", body=b'{"text": "hi", "wait": 0}', **changes):
    headers = served.write_headers()
    for name, value in changes.items():
        headers[name.replace("_", "-")] = value
    return served.ask("POST", path, headers, body)


async def test_r51_h1_no_route_answers_without_a_token(served):
    shown: tuple[dict[str, str], ...] = ({}, {"cookie": "amiral=x"}, {"authorization": "Bearer x"})
    for path, headers in itertools.product(ROUTES, shown):
        answer = await served.ask("GET", path, headers)
        assert (answer.status, answer.headers["www-authenticate"]) == (401, "Bearer"), path
        assert answer.json() == {
            "error": {"kind": "denied", "message": "a token is needed", "next": "amiral url"}
        }
    assert served.told.calls == []


async def test_r51_no_write_does_either(served):
    for path in WRITES:
        assert (await post(served, path, cookie="x=y")).status == 401, path
    assert served.told.calls == []


async def test_every_answer_has_the_strict_headers(served):
    found = [await served.ask("GET", path) for path in (*ROUTES, *WRITES)]
    found += [await served.get(path, host="evil.example") for path in (*ROUTES, *WRITES)]
    found += [await served.get(path) for path in (*ROUTES, *WRITES) if path != "/api/stream"]
    for answer in found:
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self';")
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cache-control"] == "no-store"
        assert "server" not in answer.headers
        assert "access-control-allow-origin" not in answer.headers


async def test_the_address_from_the_terminal_becomes_a_cookie_and_leaves_no_code_behind(served):
    code = served.url.partition("code=")[2]
    answer = await served.ask("GET", f"/?code={code}")
    assert (answer.status, answer.headers["location"], answer.body) == (303, "/", b"")
    cookie, *attributes = answer.headers["set-cookie"].split("; ")
    assert set(attributes) == {"Path=/", "Max-Age=2592000", "HttpOnly", "SameSite=Strict"}
    assert cookie.startswith(f"amiral_{served.journal.epoch[:8]}=")
    assert code not in cookie
    page = await served.ask("GET", "/", {"cookie": f"other=1; {cookie}"})
    assert page.status == 200
    assert code.encode() not in page.body
    again = await served.ask("GET", f"/?code={code}", {"accept": "text/html"})
    assert again.status == 401
    assert "set-cookie" not in again.headers
    assert b"amiral url" in again.body


async def test_a_browser_without_a_session_is_told_how_to_come_back_at_every_page(served):
    for path in ("/", "/p/shop/"):
        answer = await served.ask("GET", path, {"accept": "text/html"})
        assert answer.status == 401
        assert b"amiral url" in answer.body
        assert answer.headers["content-type"].startswith("text/html")


async def test_the_token_also_counts_as_a_bearer_for_programs(served):
    token = served.cookie.partition("=")[2]
    bearer = {"authorization": f"bearer {token}"}
    assert (await served.ask("GET", "/api/status", bearer)).status == 200
    write = {**bearer, "content-type": "application/json"}
    body = b'{"text": "hi", "wait": 0}'
    assert (await served.ask("POST", "/api/commands/say", write, body)).status == 200
    wrong = {**bearer, "authorization": f"Basic {token}"}
    assert (await served.ask("GET", "/api/status", wrong)).status == 401


async def test_a_code_that_a_browser_fetches_ahead_or_a_head_request_stays_good(served):
    path = "/?code=" + served.url.partition("code=")[2]
    ahead = await served.ask("GET", path, {"sec-purpose": "prefetch;prerender"})
    assert (ahead.status, "set-cookie" in ahead.headers) == (401, False)
    assert (await served.ask("HEAD", path)).status == 401
    assert (await served.ask("GET", path)).status == 303


async def test_one_who_is_in_already_keeps_the_code_for_later(served):
    path = "/?code=" + served.url.partition("code=")[2]
    answer = await served.get(path)
    assert (answer.status, "set-cookie" in answer.headers) == (303, False)
    assert "set-cookie" in (await served.ask("GET", path)).headers


async def test_r51_h2_a_foreign_host_is_refused_with_a_good_cookie_too(served):
    code = "/?code=" + served.url.partition("code=")[2]
    for name in ("evil.example", f"evil.example:{served.port}", "127.0.0.1", "127.0.0.1:1", ""):
        for path in (*ROUTES, code):
            answer = await served.get(path, host=name)
            assert (answer.status, "set-cookie" in answer.headers) == (403, False)
        assert (await post(served, host=name)).status == 403
    assert served.told.calls == []


async def test_r51_a_missing_host_is_refused(served):
    assert (await served.get("/api/status", host=None)).status in (400, 403)


async def test_r51_h3_a_foreign_origin_neither_writes_nor_listens(served):
    for origin in ("http://evil.example", "null", "", "http://127.0.0.1:3000"):
        assert (await post(served, origin=origin)).status == 403
        assert (await served.get("/api/stream", origin=origin)).status == 403
    assert served.told.calls == []


async def test_r51_a_write_by_cookie_without_an_origin_is_refused(served):
    assert (await post(served, origin=None)).status == 403
    assert served.told.calls == []


async def test_r51_a_browser_that_names_another_site_is_refused(served):
    for site in ("cross-site", "same-site"):
        headers = {"sec-fetch-site": site, "sec-fetch-mode": "no-cors"}
        assert (await served.get("/api/status", **headers)).status == 403
        assert (await served.get("/api/stream", **headers)).status == 403
    assert served.told.calls == []


async def test_r51_h6_a_body_that_any_page_can_send_is_refused(served):
    forms = ("application/x-www-form-urlencoded", "multipart/form-data")
    for kind in ("text/plain", *forms, None, "", "json"):
        answer = await post(served, content_type=kind)
        assert (answer.status, answer.json()["error"]["kind"]) == (415, "usage")
    assert served.told.calls == []


async def test_json_may_name_its_encoding(served):
    assert (await post(served, content_type="Application/JSON; charset=utf-8")).status == 200


async def test_no_other_method_does_anything(served):
    methods = ("PUT", "DELETE", "PATCH", "OPTIONS", "BREW")
    for method, path in itertools.product(methods, ("/api/status", "/api/commands/say", "/")):
        answer = await served.ask(method, path, served.write_headers(), b"{}")
        assert answer.status == 405, method
    assert served.told.calls == []


async def test_r51_nothing_outside_can_be_named_by_a_path(served):
    for path in ("/static/../server.py", "/static/%2e%2e/server.py", "/static/..%2fserver.py"):
        assert (await served.get(path)).status == 404


# ------------------------------------------------------------------ read-only


async def test_with_control_off_everything_can_be_read_and_nothing_changed(serving, short_path):
    async with serving(short_path, is_read_only=True) as served:
        await served.log_in()
        assert (await served.get("/api/status")).status == 200
        assert b'data-control="off"' in (await served.get("/")).body
        for unix in (False, True):
            headers = served.write_headers()
            body = b'{"text": "hi", "wait": 0}'
            answer = await served.ask("POST", "/api/commands/say", headers, body, unix=unix)
            assert answer.status == 403
            assert "control" in answer.json()["error"]["next"]
        assert [name for _, name, _ in served.told.calls] == ["status"]


# ------------------------------------------------------------------ the unix socket


async def test_on_the_unix_socket_the_owner_needs_no_token_no_origin_and_no_name(served):
    answer = await served.ask("GET", "/api/status", {"host": "x"}, unix=True)
    assert answer.status == 200
    write = {"host": "x", "content-type": "application/json"}
    body = b'{"text": "hi", "wait": 0}'
    assert (await served.ask("POST", "/api/commands/say", write, body, unix=True)).status == 200
    caller = served.told.calls[-1][0]
    assert (caller.id, caller.role, caller.surface) == ("owner", Role.OWNER, "web")
    assert served.path.stat().st_mode & 0o777 == 0o600


async def test_an_agent_on_the_unix_socket_reaches_what_agents_may_and_nothing_else(
    serving, short_path
):
    async with serving(short_path, role_of=lambda _: Role.AGENT) as served:
        await served.log_in()
        write = {"host": "x", "content-type": "application/json", "cookie": served.cookie}

        async def run(name, **values):
            body = json.dumps(values).encode()
            answer = await served.ask("POST", f"/api/commands/{name}", write, body, unix=True)
            return answer.status

        assert await run("help") == 200
        assert await run("say", text="hi", wait=0) == 403
        assert await run("emergency-stop") == 403
        assert await run("release", stop_id="7f") == 403
        assert await run("url") == 403
        for path in ("/", "/api/stream", "/api/events", "/api/status"):
            answer = await served.ask("GET", path, {"cookie": served.cookie}, unix=True)
            assert answer.status == 403, path
        assert served.told.calls == []


async def test_a_code_is_not_exchanged_on_the_unix_socket(served):
    path = "/?code=" + served.url.partition("code=")[2]
    answer = await served.ask("GET", path, unix=True)
    assert (answer.status, "set-cookie" in answer.headers) == (200, False)
    assert (await served.ask("GET", path)).status == 303


async def test_two_clients_that_race_with_one_code_get_one_session(served):
    path = "/?code=" + served.url.partition("code=")[2]
    answers = await asyncio.gather(*(served.ask("GET", path) for _ in range(5)))
    assert sorted(answer.status for answer in answers) == [303, 401, 401, 401, 401]
