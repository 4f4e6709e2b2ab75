"""Calls end in a result or a failure of ours, files are bounded, whatever the network does."""

import asyncio
import io
import json
import os
import resource
from itertools import count

import pytest
from aiohttp import web

from amiral.base.errors import Broken, Invalid
from amiral.telegram.answers import RawUpdate
from amiral.telegram.api import API_BASE, MOST_UPLOADED, Bot
from amiral.telegram.failures import (
    Blocked,
    Conflict409,
    Flood,
    Reason,
    Refused,
    Revoked,
    Unreachable,
)
from amiral.telegram.upload import Upload

BOT, PERSON = 700000001, 42


@pytest.fixture
def send(bot):
    def send(text="hello", **more):
        return bot.call("sendMessage", dict, chat_id=PERSON, text=text, **more)

    return send


@pytest.fixture
async def answering():
    """Give a function that serves one answer to everything, and the address."""
    runners = []

    async def serve(answer):
        async def give(request):
            await request.read()
            return answer(request)

        app = web.Application()
        app.router.add_route("*", "/{path:.*}", give)
        runners.append(web.AppRunner(app))
        await runners[-1].setup()
        await web.TCPSite(runners[-1], "127.0.0.1", 0).start()
        return f"http://127.0.0.1:{runners[-1].addresses[0][1]}"

    yield serve
    for runner in runners:
        await runner.cleanup()


async def test_a_call_gives_its_result_in_the_shape_that_is_asked_for(bot, send):
    assert (await bot.call("getMe", dict))["username"] == "amiral_bot"
    assert (await send("hi"))["text"] == "hi"
    assert await bot.call("sendChatAction", bool, chat_id=PERSON, action="typing") is True
    assert bot.id == BOT


async def test_parameters_that_are_none_are_left_out(send, api):
    await send(message_thread_id=None, reply_parameters=None)
    assert api.do("requests")[-1]["parameters"] == {"chat_id": PERSON, "text": "hello"}


async def test_an_answer_of_another_shape_is_no_answer(bot):
    with pytest.raises(Unreachable, match="another shape"):
        await bot.call("getMe", int)


async def test_updates_come_raw_and_are_forgotten_by_a_later_offset(bot, api):
    for text in ("one", "two 😀"):
        api.do("say", chat=PERSON, user=PERSON, bot=BOT, text=text)
    first, second = await bot.updates()
    assert json.loads(second.raw)["message"]["text"] == "two 😀" and second.raw.isascii()
    assert first.number + 1 == second.number
    assert await bot.updates(second.number) == (second,)
    assert await bot.updates(second.number + 1, wait_s=0, kinds=["message"]) == ()
    asked = api.do("requests", method="getUpdates")
    assert asked[0]["parameters"] == {"timeout": 25, "allowed_updates": []}
    assert asked[2]["parameters"]["allowed_updates"] == ["message"]


async def test_an_update_that_nobody_can_read_does_not_stop_the_others(bot, answering, connections):
    body = b'{"ok":true,"result":[{"update_id":1,"message":"\\ud800"},{"update_id":2}]}'
    url = await answering(lambda _: web.Response(body=body))
    found = await Bot(bot._token, connections, url).updates()
    assert found == (
        RawUpdate(1, r'{"update_id": 1, "message": "\ud800"}'),
        RawUpdate(2, '{"update_id": 2}'),
    )


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ({"kind": "429", "retry_after": 35}, Flood),
        ({"kind": "500"}, Unreachable),
        ({"kind": "502"}, Unreachable),
        ({"kind": "drop_before"}, Unreachable),
        ({"kind": "drop_after"}, Unreachable),
        ({"kind": "garbage"}, Unreachable),
        ({"kind": "hang", "seconds": 3}, Unreachable),
        ({"kind": "refuse", "code": 403, "description": "Forbidden: x"}, Blocked),
        ({"kind": "refuse", "code": 401, "description": "Unauthorized"}, Revoked),
        ({"kind": "refuse", "description": "Bad Request: chat not found"}, Refused),
    ],
)
async def test_whatever_goes_wrong_is_one_failure_and_the_next_call_works(send, api, fault, kind):
    api.do("fault", **fault)
    with pytest.raises(kind) as failure:
        await send(timeout_s=0.2 if fault["kind"] == "hang" else 20)
    assert not getattr(failure.value, "is_unsent", False)
    assert getattr(failure.value, "retry_after", 35) == 35
    api.do("no_faults")
    assert (await send())["text"] == "hello"


async def test_a_server_that_is_not_there_got_nothing(bot, connections):
    gone = Bot(bot._token, connections, "http://127.0.0.1:9")
    with pytest.raises(Unreachable) as silence:
        await gone.call("getMe", dict)
    assert silence.value.is_unsent


async def test_two_pollers_a_webhook_and_a_revoked_token_are_told_apart(bot, api):
    first = asyncio.create_task(bot.updates(wait_s=50))
    async with asyncio.timeout(10):
        while not api.do("state")["bots"][str(BOT)]["is_polling"]:
            await asyncio.sleep(0.001)
        second = asyncio.create_task(bot.updates(wait_s=50))
        with pytest.raises(Conflict409, match="terminated by other getUpdates"):
            await first
        api.do("say", chat=PERSON, user=PERSON, bot=BOT)
        assert len(await second) == 1
    api.do("revoke", bot=BOT)
    with pytest.raises(Revoked):
        await bot.call("getMe", dict)


@pytest.mark.parametrize(
    ("method", "fields", "reason"),
    [
        ("sendMessage", {"text": "a" * 4097}, Reason.TOO_LONG),
        ("sendMessage", {"text": "😀" * 2049}, Reason.TOO_LONG),
        ("sendMessage", {"text": "a", "message_thread_id": 9}, Reason.THREAD_GONE),
        ("sendMessage", {"text": "*a", "parse_mode": "MarkdownV2"}, Reason.BAD_ENTITIES),
        (
            "sendMessage",
            {"text": "a", "entities": [{"type": "bold", "offset": 0, "length": 5}]},
            Reason.BAD_ENTITIES,
        ),
        ("sendMessage", {"text": "a", "reply_to_message_id": 99}, Reason.REPLIED_GONE),
        ("editMessageText", {"text": "a", "message_id": 99}, Reason.MESSAGE_GONE),
        ("sendMessage", {"chat_id": 7, "text": "a"}, Reason.CHAT_GONE),
        ("answerCallbackQuery", {"callback_query_id": "1"}, Reason.QUERY_OLD),
        ("dance", {}, Reason.OTHER),
    ],
)
async def test_what_telegram_refuses_has_a_reason(bot, method, fields, reason):
    with pytest.raises(Refused) as refused:
        await bot.call(method, dict, **{"chat_id": PERSON, **fields})
    assert refused.value.reason is reason


async def test_an_edit_without_a_change_and_a_group_that_moved_are_recognised(bot, send, api):
    sent = await send("same")
    edit = {"chat_id": PERSON, "message_id": sent["message_id"], "text": "same"}
    with pytest.raises(Refused) as refused:
        await bot.call("editMessageText", dict, **edit)
    assert refused.value.reason is Reason.NOT_MODIFIED
    api.do("chat", id=-5, bots={BOT: "member"})
    new = api.do("migrate", chat=-5, by=PERSON)
    with pytest.raises(Refused) as refused:
        await bot.call("sendMessage", dict, chat_id=-5, text="x")
    assert (refused.value.reason, refused.value.to) == (Reason.MIGRATED, new)


async def test_files_go_up_from_a_path_or_from_bytes_under_their_names(bot, api, tmp_path):
    path = tmp_path / "on-disk"
    path.write_bytes(b"x" * 300_000)
    for content, size in ((path, 300_000), (b"abc", 3)):
        file = Upload("document", 'réponse "1".md', content)
        sent = await bot.call(
            "sendDocument",
            dict,
            files=[file],
            chat_id=PERSON,
            caption="all",
            caption_entities=[{"type": "bold", "offset": 0, "length": 3}],
        )
        assert sent["document"]["file_name"] == "réponse _1_.md"
        assert sent["document"]["file_size"] == size
        assert sent["caption_entities"][0]["type"] == "bold"


async def test_several_files_go_as_an_album(bot):
    files = [Upload(name, name, b"text") for name in ("one", "two")]
    media = [{"type": "document", "media": f"attach://{file.field}"} for file in files]
    sent = await bot.call("sendMediaGroup", list, files=files, chat_id=PERSON, media=media)
    assert [one["document"]["file_name"] for one in sent] == ["one", "two"]


async def test_what_is_too_big_or_no_file_is_refused_before_anything_is_sent(bot, api, tmp_path):
    big = tmp_path / "big"
    with big.open("wb") as file:
        file.truncate(MOST_UPLOADED + 1)
    for content, reason in ((big, Reason.TOO_BIG), (tmp_path, Reason.OTHER)):
        files = [Upload("document", "a", content)]
        with pytest.raises(Refused) as refused:
            await bot.call("sendDocument", dict, files=files, chat_id=PERSON)
        assert refused.value.reason is reason
    assert api.do("requests") == []


@pytest.fixture
def file_id(api):
    """Let the person send a file of this content; gives its id."""

    def file_id(content, **more):
        file = {"hex": content.hex(), "name": "../../x.sh", **more}
        said = api.do("say", chat=PERSON, user=PERSON, bot=BOT, file=file)
        return said["document"]["file_id"]

    return file_id


async def test_a_file_comes_down_whole_under_our_own_name(bot, file_id, tmp_path):
    content = os.urandom(300_000)
    assert await bot.download(file_id(content), tmp_path / "own") == 300_000
    assert (tmp_path / "own").read_bytes() == content
    assert [path.name for path in tmp_path.iterdir()] == ["own"]


async def test_a_file_over_the_limit_is_refused_whether_it_says_so_or_lies(
    bot, file_id, tmp_path, api
):
    for file in (file_id(b"x" * 200_000), file_id(b"x" * 200_000, size=1)):
        with pytest.raises(Refused) as refused:
            await bot.download(file, tmp_path / "own", most_bytes=100_000)
        assert refused.value.reason is Reason.TOO_BIG
    assert len(api.do("requests", method="download")) == 1
    with pytest.raises(Refused) as refused:
        await bot.download(file_id(b"", size=(20 << 20) + 1), tmp_path / "own")
    assert refused.value.reason is Reason.TOO_BIG
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ({"kind": "500"}, Unreachable),
        ({"kind": "502"}, Unreachable),
        # A read that a kept connection cut off is tried again once, on a new one.
        ({"kind": "drop_before", "times": 2}, Unreachable),
        ({"kind": "refuse", "code": 404, "description": "Not Found"}, Refused),
        ({"kind": "refuse", "code": 401, "description": "Unauthorized"}, Revoked),
        ({"kind": "429"}, Flood),
    ],
)
async def test_a_download_that_fails_leaves_nothing(bot, file_id, api, tmp_path, fault, kind):
    file = file_id(b"hi")
    api.do("fault", method="download", **fault)
    with pytest.raises(kind):
        await bot.download(file, tmp_path / "own")
    assert list(tmp_path.iterdir()) == []
    assert await bot.download(file, tmp_path / "own") == 2


async def test_a_download_that_breaks_off_leaves_nothing(answering, bot, connections, tmp_path):
    calls = count()

    def broken(_request):
        if next(calls) == 0:
            told = {"ok": True, "result": {"file_path": "a/b"}}
            return web.json_response(told)
        response = web.Response(body=b"only a part", headers={"content-length": "1000"})
        response.force_close()
        return response

    cut = Bot(bot._token, connections, await answering(broken))
    with pytest.raises(Unreachable):
        await cut.download("F1", tmp_path / "own")
    assert list(tmp_path.iterdir()) == []


async def test_a_full_disk_is_no_fault_of_telegram(bot, file_id, tmp_path):
    file = file_id(b"x" * 300_000)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
    try:
        with pytest.raises(Broken, match="cannot write") as failure:
            await bot.download(file, tmp_path / "own")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert not isinstance(failure.value, Unreachable)
    assert list(tmp_path.iterdir()) == []


async def test_an_answer_without_end_and_a_redirect_are_no_answers(bot, answering, connections):
    long = await answering(lambda _: web.Response(body=io.BytesIO(b" " * (17 << 20))))
    seen = []

    def lead_away(request):
        seen.append(request.path)
        return web.Response(status=302, headers={"location": "/elsewhere"})

    away = await answering(lead_away)
    for url in (long, away):
        with pytest.raises(Unreachable):
            await Bot(bot._token, connections, url).call("getMe", dict)
    assert len(seen) == 1


@pytest.mark.parametrize(
    "base", ["", "api.telegram.org", "ftp://x", "http://me:pass@host", "http://x?y", "http://x y"]
)
def test_an_address_that_is_none_is_refused(connections, token, base):
    with pytest.raises(Invalid, match="api_base") as refused:
        Bot(token, connections, base)
    assert API_BASE in refused.value.next_step
    assert "pass" not in refused.value.message.partition("without")[0]
