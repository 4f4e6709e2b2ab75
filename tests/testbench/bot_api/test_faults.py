"""What goes wrong on purpose: which calls, how, and whether they are carried out."""

import asyncio

import aiohttp
import pytest

BOT, PERSON = 700000001, 42


def count(api):
    return len(api.do("messages", chat=PERSON, bot=BOT))


async def test_a_fault_meets_the_calls_it_names_so_many_times(call, api):
    api.do("fault", kind="500", method="sendMessage", times=2, skip=1)
    answers = [(await call.text()).status for _ in range(4)]
    assert answers == [200, 500, 500, 200]
    assert [one["fault"] for one in api.do("requests")] == ["", "500", "500", ""]
    api.do("fault", kind="500", bot=BOT + 1)
    assert (await call("getMe")).status == 200
    api.do("fault", kind="500")
    api.do("no_faults")
    assert (await call("getMe")).status == 200


async def test_a_flood_or_any_other_refusal_can_be_asked_for(call, api):
    api.do("fault", kind="429", retry_after=35)
    flood = await call.text()
    assert flood.told["parameters"] == {"retry_after": 35}
    api.do("fault", kind="refuse", code=403, description="Forbidden: user is deactivated")
    assert (await call.text()).refusal == "Forbidden: user is deactivated"
    assert count(api) == 0


async def test_a_proxy_of_theirs_may_answer_with_a_page(call, api):
    api.do("fault", kind="502")
    with pytest.raises(aiohttp.ContentTypeError):
        await call.text()
    assert count(api) == 0


@pytest.mark.parametrize(("kind", "done"), [("drop_before", 0), ("drop_after", 1)])
async def test_the_line_breaks_before_a_call_or_after_it(call, api, kind, done):
    api.do("fault", kind=kind, method="sendMessage")
    with pytest.raises(aiohttp.ClientError):
        await call.text()
    assert count(api) == done
    (request,) = api.do("requests")
    assert (request["status"], request["fault"]) == (0, kind)


async def test_an_answer_may_be_cut_short_after_the_call_was_carried_out(call, api):
    api.do("fault", kind="garbage")
    with pytest.raises(ValueError, match="Unterminated"):
        await call.text()
    assert count(api) == 1


async def test_a_call_that_hangs_is_carried_out_late(call, api, clock):
    api.do("fault", kind="hang", seconds=30)
    hanging = asyncio.create_task(call.text())
    await clock.until_sleeping(1)
    assert count(api) == 0
    await clock.advance(30)
    assert (await hanging).status == 200


async def test_downloads_have_faults_too(call, api, write, clock):
    file = write("", file={"hex": "6869"})["document"]
    path = (await call("getFile", file_id=file["file_id"])).result["file_path"]
    url = f"{api.url}/file/bot{call.token}/{path}"
    api.do("fault", kind="500", method="download")
    async with call.session.get(url) as answer:
        assert answer.status == 500
    api.do("fault", kind="hang", method="download", seconds=5)
    hanging = asyncio.create_task(call.session.get(url))
    await clock.until_sleeping(1)
    await clock.advance(5)
    answer = await hanging
    assert await answer.read() == b"hi"


async def test_a_body_that_cannot_be_read_is_refused(call):
    for data in (b"{", b"[1]"):
        headers = {"content-type": "application/json"}
        answer = await call.post("getMe", data=data, headers=headers)
        assert answer.refusal == "Bad Request: can't parse request body"
    assert (await call.post("getMe", data={"a": "1"})).status == 200
    assert (await call.post("sendMessage?chat_id=42&text=hi")).status == 200


async def test_every_request_is_on_record_with_its_time_and_without_its_token(call, api, clock):
    await call.text("one")
    await clock.advance(2)
    await call("sendDocument", chat_id=PERSON, document=("a.txt", b"abc"))
    await call("getChat", chat_id=9)
    first, second, third = api.do("requests")
    assert second["at_ms"] - first["at_ms"] == 2000
    assert second["parameters"]["document"] == "<file a.txt 3>"
    assert (third["status"], third["description"]) == (400, "Bad Request: chat not found")
    assert [one["number"] for one in api.do("requests", since=1)] == [1, 2]
    assert len(api.do("requests", method="SENDMESSAGE", bot=BOT)) == 1
    assert api.do("requests", bot=5) == []
    assert call.token not in str(api.do("requests"))
