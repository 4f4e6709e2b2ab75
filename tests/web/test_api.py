"""HTTP as one more surface of the command table: same commands, same answers, same errors."""

import asyncio
import json

from amiral.base.events import RoleChosen, WarningRaised
from amiral.commands.registry import Role
from amiral.web.answers import JSON


async def test_a_command_is_carried_out_with_its_arguments_and_answers_as_json_does(served):
    answer = await served.post("say", {"text": "/c hello", "wait": 0, "reply_to": None})
    assert (answer.status, answer.json()) == (200, {"accepted": True})
    assert answer.headers["content-type"] == JSON
    caller, name, arguments = served.told.calls[-1]
    assert (caller.id, caller.role, caller.surface) == ("owner", Role.OWNER, "web")
    assert (name, arguments) == ("say", {"text": "/c hello", "wait": 0.0})


async def test_whoever_accepts_text_gets_what_the_terminal_prints(served, hostile):
    answer = await served.post("say", {"text": hostile, "wait": 0}, accept="text/plain")
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.body.decode() == "⏳ <img src=x onerror=alert(1)><U+202E>gpj.exe\n"
    wrong = await served.post("cancel", {"id": "late"}, accept="text/plain")
    assert (wrong.status, wrong.body.decode()) == (409, "✗ it has ended\n  nothing to do\n")


async def test_names_of_two_words_are_paths_or_blanks(served):
    for path in ("workers/show", "workers%20show"):
        assert (await served.post(path, {"id": "tester"})).json() == {"id": "tester"}
    assert (await served.get("/api/workers/tester")).json() == {"id": "tester"}


async def test_what_can_be_looked_at_is_the_command_of_the_table(served, hostile):
    answer = await served.get("/api/status")
    assert answer.json() == {"projects": [{"name": hostile}]}
    assert "\u202e" not in answer.body.decode(), "escaped, and the same once read (R54)"
    assert (await served.get("/api/specs/a1b2c3d4")).status == 501, "no handler for it here"


async def test_a_path_with_a_slash_too_much_is_not_there(served):
    """Nor led elsewhere: the address of that would be the one of the Host header."""
    assert (await served.get("/api/status/")).status == 404


async def test_a_reply_without_data_is_its_text(served):
    assert (await served.post("help")).json() == {"text": "only text"}


async def test_stop_and_release_are_reached(served):
    stopped = await served.post("emergency-stop")
    assert stopped.json() == {"stop_id": "7f"}
    assert (await served.post("release", {"stop_id": "7f"})).status == 200
    assert [name for _, name, _ in served.told.calls] == ["emergency-stop", "release"]


async def test_an_error_has_the_status_of_its_kind_and_says_what_next(served):
    for message, status, kind, said in (
        ("nothing", 404, "not_found", "no message nothing"),
        ("mine", 403, "denied", "not yours"),
        ("late", 409, "conflict", "it has ended"),
        ("odd", 400, "usage", "an odd id"),
        ("disk", 500, "broken", "the disk is full"),
        ("bug", 500, "broken", "a fault of amiral: RuntimeError('of ours')"),
    ):
        answer = await served.post("cancel", {"id": message})
        error = answer.json()["error"]
        assert (answer.status, error["kind"], error["message"]) == (status, kind, said)
        assert set(error) == {"kind", "message", "next"}
        assert b"Traceback" not in answer.body


async def test_what_is_not_carried_out_here_is_not_available(served):
    for name in ("up", "doctor", "init", "workers"):
        answer = await served.post(name)
        assert (answer.status, answer.json()["error"]["kind"]) == (501, "unavailable")


async def test_what_is_not_there_is_not_found(served):
    for path in ("/api/commands/aprove", "/api/commands/", "/api", "/nothing"):
        answer = await served.ask("POST", path, served.write_headers(), b"{}")
        assert (answer.status, answer.json()["error"]["kind"]) == (404, "not_found")


async def test_a_slip_is_answered_by_the_nearest_name(served):
    assert "did you mean approve" in (await served.post("aprove")).json()["error"]["message"]


async def test_a_body_that_is_no_object_of_arguments_is_usage(served):
    for body in (b"[]", b"{", b"\xff", b"null", b'"x"', b"[" * 100_000, b'{"a":1}'):
        answer = await served.ask("POST", "/api/commands/status", served.write_headers(), body)
        assert (answer.status, answer.json()["error"]["kind"]) == (400, "usage")


async def test_no_body_is_no_arguments(served):
    answer = await served.ask("POST", "/api/commands/status", served.write_headers())
    assert answer.status == 200


async def test_a_body_over_the_cap_is_refused_also_when_its_length_is_not_told(served):
    body = json.dumps({"text": "x" * (1 << 20), "wait": 0}).encode()
    for piece in (body, body * 8):
        answer = await served.ask("POST", "/api/commands/say", served.write_headers(), piece)
        assert (answer.status, answer.json()["error"]["kind"]) == (413, "usage")
    headers = served.write_headers(transfer_encoding="chunked")
    chunked = b"".join(b"%x\r\n%b\r\n" % (len(body), body) for _ in range(3)) + b"0\r\n\r\n"
    assert (await served.ask("POST", "/api/commands/say", headers, chunked)).status == 413
    assert served.told.calls == []
    large = {"text": "x" * ((1 << 20) - 100), "wait": 0}
    assert (await served.post("say", large)).status == 200


async def test_a_streamed_reply_is_lines_of_json(served):
    answer = await served.post("events")
    assert answer.headers["content-type"] == "application/x-ndjson"
    assert b'{"seq":1}\n' in answer.body
    broken = await served.post("events", {"follow": True})
    assert b'"kind":"broken"' in broken.body


# ------------------------------------------------------------------ events


async def test_a_stretch_of_the_journal_is_read_by_place(served):
    await served.journal.append(*(RoleChosen(str(number)) for number in range(5)), by="me")
    whole = (await served.get("/api/events")).json()
    assert whole["epoch"] == served.journal.epoch
    assert whole["last_seq"] == served.journal.last_seq == 6
    assert [event["seq"] for event in whole["events"]] == [1, 2, 3, 4, 5, 6]
    assert whole["events"][-1]["payload"] == {"worker": "4"}
    assert whole["events"][-1]["by"] == "me"
    part = (await served.get("/api/events?since=2&limit=3")).json()
    assert [event["seq"] for event in part["events"]] == [3, 4, 5]
    assert (await served.get("/api/events?since=99")).json()["events"] == []
    assert (await served.get("/api/events?limit=0")).json()["events"] == []


async def test_a_stretch_is_bounded_in_bytes_and_never_empty_when_there_is_more(served):
    big = WarningRaised("big", "y" * 700_000)
    await served.journal.append(big, big, WarningRaised("huge", "z" * 3_000_000))
    since, sizes = 1, []
    while events := (await served.get(f"/api/events?since={since}")).json()["events"]:
        since = events[-1]["seq"]
        sizes.append(len(events))
    assert sizes == [1, 1, 1]


async def test_a_number_that_is_none_is_usage(served):
    for query in ("since=-1", "since=x", "limit=1e3", "since=", "limit=%D9%A3"):
        assert (await served.get(f"/api/events?{query}")).status == 400


async def test_a_number_larger_than_any_is_simply_large(served):
    assert (await served.get("/api/events?since=" + "9" * 18)).json()["events"] == []
    assert (await served.get("/api/events?since=" + "9" * 30)).status == 400


# ------------------------------------------------------------------ the end


async def test_a_command_that_waits_is_let_go_when_the_process_ends(served):
    waiting = asyncio.create_task(served.post("say", {"text": "hi"}))
    async with asyncio.timeout(5):
        while not served.told.calls:
            await asyncio.sleep(0.01)
        await served.web.close()
        answer = await waiting
    assert (answer.status, answer.json()["error"]["kind"]) == (503, "unreachable")
    assert "kept" in answer.json()["error"]["message"]


async def test_a_client_that_hangs_up_in_the_middle_of_its_body_disturbs_nobody(served):
    headers = {**served.write_headers(), "content-length": "1000"}
    _, writer = await served.send("POST", "/api/commands/say", headers)
    writer.write(b'{"text"')
    await writer.drain()
    writer.transport.abort()
    assert (await served.get("/api/status")).status == 200
