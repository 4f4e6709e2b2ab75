"""getUpdates as Telegram has it: offsets, waiting, kinds, and two that want the same updates."""

import asyncio

import pytest

BOT, PERSON, GROUP = 700000001, 42, -500
DAY_S = 24 * 3600


def texts(answer):
    return [update["message"]["text"] for update in answer.result]


@pytest.fixture
def polling(api):
    """Wait until so many long polls have come in."""

    async def wait(count=1):
        async with asyncio.timeout(10):
            while (
                len(api.do("requests", method="getUpdates")) < count
                or not (api.do("state")["bots"][str(BOT)]["is_polling"])
            ):
                await asyncio.sleep(0.001)

    return wait


async def test_updates_come_again_until_a_later_offset_confirms_them(call, write):
    write("one"), write("two")
    first = await call("getUpdates")
    assert texts(first) == ["one", "two"]
    assert texts(await call("getUpdates", offset=first.result[0]["update_id"])) == ["one", "two"]
    assert texts(await call("getUpdates", offset=first.result[1]["update_id"])) == ["two"]
    assert texts(await call("getUpdates", limit=1)) == ["two"]


async def test_a_long_poll_ends_with_the_first_update(call, write, polling):
    waiting = asyncio.create_task(call("getUpdates", timeout=50))
    await polling()
    write("now")
    assert texts(await waiting) == ["now"]


async def test_a_long_poll_ends_empty_when_its_time_is_up(call, clock, polling):
    waiting = asyncio.create_task(call("getUpdates", timeout=30))
    await polling()
    await clock.advance(29)
    assert not waiting.done()
    await clock.advance(1)
    assert (await waiting).result == []


async def test_the_same_offset_again_at_once_gets_one_update_and_waits(call, write, clock, polling):
    waiting = asyncio.create_task(call("getUpdates", offset=1))
    assert (await waiting).result == []
    waiting = asyncio.create_task(call("getUpdates", offset=1))
    await polling(2)
    write("one"), write("two")
    assert texts(await waiting) == ["one"]
    await clock.advance(0.6)
    assert texts(await call("getUpdates", offset=1)) == ["one", "two"]


async def test_a_second_long_poll_ends_the_first_with_409_and_goes_on(call, write, polling, api):
    first = asyncio.create_task(call("getUpdates", timeout=50))
    await polling()
    second = asyncio.create_task(call("getUpdates", timeout=50))
    answer = await first
    assert answer.status == 409
    assert answer.refusal.startswith("Conflict: terminated by other getUpdates request")
    assert api.do("state")["bots"][str(BOT)]["conflicts"] == 1
    write("hi")
    assert texts(await second) == ["hi"]


async def test_conflicts_that_follow_are_held_back_so_that_nobody_spins(call, clock):
    await call("setWebhook", url="http://127.0.0.1:9/")
    assert (await call("getUpdates")).status == 409
    second = asyncio.create_task(call("getUpdates"))
    await clock.until_sleeping(1)
    assert not second.done()
    await clock.advance(3)
    assert (await second).status == 409


async def test_a_webhook_forbids_polls_and_ends_the_one_that_waits(call, polling):
    waiting = asyncio.create_task(call("getUpdates", timeout=50))
    await polling()
    await call("setWebhook", url="http://127.0.0.1:9/")
    assert (await waiting).refusal == "Conflict: terminated by setWebhook request"
    await call("deleteWebhook")
    assert (await call("getUpdates", timeout=0, offset=5)).result == []


async def test_kinds_are_chosen_when_an_update_comes_and_stay_chosen(call, write, api):
    api.do("chat", id=GROUP, bots={BOT: "member"}, people={PERSON: "creator"})
    api.do("raw", bot=BOT, kind="chat_member", content={})
    await call("getUpdates", allowed_updates=["my_chat_member"], timeout=0)
    write("unheard")
    api.do("set_bot", chat=GROUP, bot=BOT, status="administrator", by=PERSON)
    found = (await call("getUpdates", offset=-5)).result
    assert [list(update)[1] for update in found] == ["chat_member", "my_chat_member"]
    await call("getUpdates", offset=found[-1]["update_id"] + 1, allowed_updates=[], timeout=0)
    write("heard")
    assert texts(await call("getUpdates", offset=-1)) == ["heard"]


async def test_updates_wait_for_24_hours_and_taps_for_two_minutes_and_a_half(call, write, api):
    message = (await call.text()).result["message_id"]
    write("kept")
    api.do("press", chat=PERSON, bot=BOT, user=PERSON, message_id=message, data="x")
    api.do("pass", seconds=151)
    assert texts(await call("getUpdates")) == ["kept"]
    api.do("pass", seconds=DAY_S)
    assert (await call("getUpdates", offset=7)).result == []


async def test_numbers_may_go_on_elsewhere_after_a_silence(call, write, api):
    write("before")
    last = (await call("getUpdates")).result[0]["update_id"]
    await call("getUpdates", offset=last + 1, timeout=0)
    api.do("renumber", bot=BOT, next=last - 500)
    write("after")
    # Ahead by more than 10: it is not taken for a confirmation.
    assert texts(await call("getUpdates", offset=last + 1)) == ["after"]


@pytest.mark.parametrize(
    ("token", "code", "said"),
    [
        ("700000001:AAwrong", 401, "Unauthorized"),
        ("700000009:AAunknown", 401, "Unauthorized"),
        ("nonsense", 404, "Not Found"),
    ],
)
async def test_a_token_that_is_none_is_refused(call, token, code, said):
    call.token = token
    answer = await call("getMe")
    assert (answer.status, answer.refusal) == (code, said)


async def test_a_revoked_token_and_an_unknown_method_are_refused(call, api):
    assert (await call("getMe")).result["username"] == "first_bot"
    assert (await call("GETME")).status == 200
    assert (await call("getMee")).refusal == "Not Found: method not found"
    api.do("revoke", bot=BOT)
    assert (await call("getMe")).refusal == "Unauthorized"
