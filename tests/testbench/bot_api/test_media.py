"""Files go out alone and as albums, and come in by a path; sizes and kinds are held."""

import json

import pytest

PERSON, BOT = 42, 700000001
PNG = b"\x89PNG\r\n" + bytes(20)


async def fetched(call, path):
    url = f"{call.api.url}/file/bot{call.token}/{path}"
    async with call.session.get(url) as answer:
        return answer.status, await answer.read()


async def test_a_file_that_was_sent_can_be_fetched_and_sent_again(call):
    document = {"chat_id": PERSON, "document": ("réponse.md", b"abc"), "caption": "*c*"}
    sent = (await call("sendDocument", **document)).result
    told = sent["document"]
    assert (told["file_name"], told["file_size"], sent["caption"]) == ("réponse.md", 3, "*c*")
    found = (await call("getFile", file_id=told["file_id"])).result
    assert found["file_path"].endswith(".md")
    assert await fetched(call, found["file_path"]) == (200, b"abc")
    again = (await call("sendDocument", chat_id=PERSON, document=told["file_id"])).result
    assert again["document"] == told


async def test_voice_and_photos_have_forms_of_their_own(call):
    voice = (await call("sendVoice", chat_id=PERSON, voice=("v.ogg", b"OggS"))).result["voice"]
    assert voice["duration"] == 1 and "file_name" not in voice
    photo = (await call("sendPhoto", chat_id=PERSON, photo=("p.png", PNG))).result["photo"]
    assert [size["width"] for size in photo] == [90, 900]


@pytest.mark.parametrize(
    ("method", "fields", "said"),
    [
        ("sendDocument", {}, "there is no document in the request"),
        ("sendDocument", {"document": "F99"}, "wrong file identifier/HTTP URL specified"),
        ("sendDocument", {"document": ("a", b"")}, "file must be non-empty"),
        ("sendDocument", {"document": "attach://x"}, "wrong file identifier/HTTP URL specified"),
        ("sendPhoto", {"photo": ("a.png", b"text")}, "IMAGE_PROCESS_FAILED"),
        ("sendPhoto", {"photo": ("a.png", PNG + bytes(10 << 20))}, "file of size"),
        ("getFile", {}, "file_id not specified"),
        ("getFile", {"file_id": "F99"}, "wrong file_id or the file is temporarily unavailable"),
    ],
)
async def test_what_is_no_file_is_refused(call, method, fields, said):
    answer = await call(method, chat_id=PERSON, **fields)
    assert answer.refusal.startswith(f"Bad Request: {said}")


async def test_a_caption_has_1024_units(call):
    def send(caption):
        return call("sendDocument", chat_id=PERSON, document=("a", b"a"), caption=caption)

    assert (await send("c" * 1024)).status == 200
    assert (await send("c" * 1025)).refusal == "Bad Request: message caption is too long"
    assert (await send("😀" * 513)).refusal == "Bad Request: MEDIA_CAPTION_TOO_LONG"


async def test_50_mb_go_up_and_20_mb_down(call, write):
    big = await call("sendDocument", chat_id=PERSON, document=("big", bytes((50 << 20) + 70_000)))
    assert (big.status, big.refusal) == (413, "Request Entity Too Large")
    sizes = {"just": 20 << 20, "over": (20 << 20) + 1}
    files = {
        name: write("", file={"kind": "document", "name": name, "size": size})["document"]
        for name, size in sizes.items()
    }
    found = (await call("getFile", file_id=files["just"]["file_id"])).result
    status, content = await fetched(call, found["file_path"])
    assert (status, len(content)) == (200, 20 << 20)
    over = await call("getFile", file_id=files["over"]["file_id"])
    assert over.refusal == "Bad Request: file is too big"


async def test_a_path_that_is_none_or_a_wrong_token_fetches_nothing(call):
    assert (await fetched(call, "documents/none.txt"))[0] == 404
    call.token = "700000001:AAother"
    assert (await fetched(call, "documents/none.txt"))[0] == 401


async def test_an_album_is_sent_as_messages_of_one_group(call):
    media = [
        {"type": "photo", "media": "attach://one", "caption": "both"},
        {"type": "photo", "media": "attach://two"},
    ]
    files = {"one": ("1.png", PNG), "two": ("2.png", PNG)}
    sent = (await call("sendMediaGroup", chat_id=PERSON, media=json.dumps(media), **files)).result
    assert len({message["media_group_id"] for message in sent}) == 1
    assert [message.get("caption") for message in sent] == ["both", None]


@pytest.mark.parametrize(
    ("media", "said"),
    [
        ([], "there are no messages to send"),
        ({}, "expected an Array of InputMedia"),
        (["a"], "can't parse InputMedia: expected an Object"),
        ([{"type": "animation", "media": "F1"}], "can't parse InputMedia: type"),
        ([{"type": "photo"}], "can't parse InputMedia: media not found"),
        ([{"type": "document", "media": "F1"}] * 11, "too many messages to send as an album"),
        (
            [{"type": "document", "media": "F1"}, {"type": "photo", "media": "F1"}],
            "document can't be mixed with other media types",
        ),
    ],
)
async def test_an_album_that_is_none_is_refused_whole(call, api, media, said):
    await call("sendDocument", chat_id=PERSON, document=("a", b"a"))
    answer = await call("sendMediaGroup", chat_id=PERSON, media=media)
    assert answer.refusal.startswith(f"Bad Request: {said}")
    assert len(api.do("messages", chat=PERSON, bot=BOT)) == 1
