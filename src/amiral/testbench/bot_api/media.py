"""Files that bots send, alone or as an album, and files that they fetch."""

from collections.abc import Mapping
from itertools import count

from amiral.testbench.bot_api.chats import Bot
from amiral.testbench.bot_api.files import MOST_DOWNLOADED
from amiral.testbench.bot_api.method import Method
from amiral.testbench.bot_api.sending import caption_of, send
from amiral.testbench.bot_api.wire import Json, Parameters, bad_request
from amiral.testbench.bot_api.world import World

MOST_OF_AN_ALBUM = 10
_KINDS = frozenset({"photo", "video", "audio", "document"})
_ALIKE = frozenset({"audio", "document"})
_albums = count(13_000_000_000_000_001)


def album_id() -> str:
    """Name an album."""
    return str(next(_albums))


def _send_one(kind: str) -> Method:
    def method(world: World, bot: Bot, parameters: Parameters) -> Json:
        return send(world, bot, parameters, [_content(world, kind, parameters)])[0]

    return method


def _content(world: World, kind: str, parameters: Parameters) -> Json:
    listed = parameters.document("caption_entities", "message entities")
    caption = caption_of(parameters.text("caption"), parameters.text("parse_mode"), listed)
    if kind in parameters.files:
        stored = world.files.sent(kind, parameters.files[kind])
    elif parameters.text(kind):
        stored = world.files.taken(kind, parameters, parameters.text(kind))
    else:
        raise bad_request(f"There is no {kind} in the request")
    return {kind: stored.media(), **caption}


def send_album(world: World, bot: Bot, parameters: Parameters) -> list[Json]:
    """Send files that belong together: all, or none."""
    listed = parameters.document("media", "media")
    if not isinstance(listed, list):
        raise bad_request("Expected an Array of InputMedia")
    contents = [_item(world, parameters, one) for one in listed]
    if not contents:
        raise bad_request("There are no messages to send")
    if len(contents) > MOST_OF_AN_ALBUM:
        raise bad_request("Too many messages to send as an album")
    kinds = {one["type"] for one in listed}
    for kind in sorted(kinds & _ALIKE):
        if len(kinds) > 1:
            raise bad_request(f"{kind.capitalize()} can't be mixed with other media types")
    album = {"media_group_id": album_id()}
    return send(world, bot, parameters, [{**album, **content} for content in contents])


def _item(world: World, parameters: Parameters, item: object) -> Json:
    if not isinstance(item, dict):
        raise bad_request("Can't parse InputMedia: expected an Object")
    kind = item.get("type")
    if kind not in _KINDS:
        raise bad_request(f'Can\'t parse InputMedia: type "{kind}" is unsupported')
    if not item.get("media"):
        raise bad_request("Can't parse InputMedia: media not found")
    stored = world.files.taken(kind, parameters, item["media"])
    caption = caption_of(
        item.get("caption", ""), item.get("parse_mode", ""), item.get("caption_entities")
    )
    return {kind: stored.media(), **caption}


def get_file(world: World, _bot: Bot, parameters: Parameters) -> Json:
    """Tell where a file can be fetched; one over 20 MB cannot."""
    if not parameters.text("file_id"):
        raise bad_request("file_id not specified")
    stored = world.files.get(parameters.text("file_id"))
    if stored.size > MOST_DOWNLOADED:
        raise bad_request("file is too big")
    told = {"file_id": stored.id, "file_unique_id": f"U{stored.id}", "file_size": stored.size}
    return {**told, "file_path": stored.path}


METHODS: Mapping[str, Method] = {
    "senddocument": _send_one("document"),
    "sendphoto": _send_one("photo"),
    "sendvoice": _send_one("voice"),
    "sendmediagroup": send_album,
    "getfile": get_file,
}
