"""Texts and their entities, judged as Telegram does it; places and lengths count UTF-16 units.

Parse modes are read by Telegram's own library (`tdjson`), where it is installed.
"""

import importlib
import json
import re
from typing import Any

from amiral.testbench.bot_api.wire import Json, bad_request

_KNOWN = {
    *("mention", "hashtag", "cashtag", "bot_command", "url", "email", "phone_number"),
    *("bold", "italic", "underline", "strikethrough", "spoiler", "code", "pre"),
    *("blockquote", "expandable_blockquote", "text_link", "text_mention", "custom_emoji"),
}
_FURTHEST = 1_000_000
_ADDRESS = re.compile(r"(?:(?:https?|tg|ton|tonsite)://|mailto:|tel:)?[^\s:/?#]+(?:[:/?#]\S*)?")
_NAME = "[A-Za-z0-9_]"
_COMMAND = re.compile(rf"(?<![\w/<>])/{_NAME}{{1,64}}+(?:@{_NAME}{{3,32}}+|(?!@))(?![\w/<>])")
_REMOVED = re.compile("[\r\u2028-\u202e\u0333\u033f\u030a]")
_BLANKED = re.compile(r"[\x00-\x09\x0b-\x1f]")
_MODES = {
    "html": {"@type": "textParseModeHTML"},
    "markdown": {"@type": "textParseModeMarkdown", "version": 1},
    "markdownv2": {"@type": "textParseModeMarkdown", "version": 2},
}


def units(text: str) -> int:
    """Count UTF-16 units."""
    return len(text) + sum(one > "\uffff" for one in text)


def formatted(text: str, mode: str, entities: object) -> tuple[str, list[Json]]:
    """Give a text as it would be shown; with a parse mode the entities are read from it.

    Control characters become blanks, blanks around the text go. Raises a Refusal in the words of
    Telegram's library; the text may come out empty.
    """
    if text and mode and mode.lower() != "none":
        text, found = _parsed(text, mode)
    else:
        found = [_checked(one) for one in entities] if isinstance(entities, list) else []
    return _cleaned(text, sorted(found, key=lambda one: (one["offset"], -one["length"])))


def commands(text: str) -> list[Json]:
    """Give the entities of what reads like commands, as in a message that a person writes."""
    return [
        {
            "offset": units(text[: found.start()]),
            "length": units(found[0]),
            "type": "bot_command",
        }
        for found in _COMMAND.finditer(text)
    ]


def _parsed(text: str, mode: str) -> tuple[str, list[Json]]:
    if mode.lower() not in _MODES:
        raise bad_request("Unsupported parse_mode")
    told = _ask({"@type": "parseTextEntities", "text": text, "parse_mode": _MODES[mode.lower()]})
    if told["@type"] == "error":
        raise bad_request(told["message"])
    return told["text"], [_entity(one) for one in told["entities"]]


def _ask(request: Json) -> Json:
    try:
        library: Any = importlib.import_module("tdjson")
    except ImportError:
        raise bad_request("parse_mode needs tdjson here: pip install tdjson") from None
    quiet = {"@type": "setLogVerbosityLevel", "new_verbosity_level": 0}
    library.td_execute(json.dumps(quiet).encode())
    answer: Json = json.loads(library.td_execute(json.dumps(request).encode()))
    return answer


def _entity(told: Json) -> Json:
    kind = told["type"]["@type"].removeprefix("textEntityType")
    name = re.sub(r"(?<!^)([A-Z])", r"_\1", kind).lower()
    more = {key: told["type"][key] for key in ("url", "language") if told["type"].get(key)}
    names = {"pre_code": "pre", "text_url": "text_link", "block_quote": "blockquote"}
    names["expandable_block_quote"] = "expandable_blockquote"
    place = {"offset": told["offset"], "length": told["length"]}
    return {**place, "type": names.get(name, name), **more}


def _checked(entity: object) -> Json:
    if not isinstance(entity, dict):
        raise bad_request("Can't parse MessageEntity: expected an Object")
    for name in ("offset", "length"):
        if type(entity.get(name)) is not int:
            raise bad_request(f"Can't parse MessageEntity: Can't find field \"{name}\"")
    if entity.get("type") not in _KNOWN:
        raise bad_request("Can't parse MessageEntity: Unsupported type specified")
    for name in ("offset", "length"):
        if not 0 <= entity[name] <= _FURTHEST:
            raise bad_request(f"Receive an entity with incorrect {name} {entity[name]}")
    url = entity.get("url", "")
    if entity["type"] == "text_link" and not _ADDRESS.fullmatch(url):
        raise bad_request(f"Entity URL '{url}' is invalid")
    return dict(entity)


def _cleaned(text: str, entities: list[Json]) -> tuple[str, list[Json]]:
    """Drop and blank what is not shown, trim, and move the entities along."""
    entities = [one for one in entities if one["length"]]
    places = _places(text)
    for one in entities:
        _check_place(text, one, places)
    spans = [(places[o["offset"]], places[o["offset"] + o["length"]], o) for o in entities]
    text = _BLANKED.sub(" ", _REMOVED.sub("", text))
    end = units(text.rstrip(" \n"))
    text = text.rstrip(" \n")
    blanks = len(text) - len(text.lstrip(" \n"))
    skipped = min([blanks, *(start for start, _, _ in spans)])
    kept = [
        {**one, "offset": start - skipped, "length": min(stop, end) - start}
        for start, stop, one in spans
        if start < min(stop, end)
    ]
    return text[skipped:], kept


def _places(text: str) -> list[int]:
    """For each place in UTF-16 units, where it is when the unshown is dropped; -1 in a symbol."""
    places, now = [], 0
    for one in text:
        places.append(now)
        if _REMOVED.match(one):
            continue
        if one > "\uffff":
            places.append(-1)
        now += units(one)
    return [*places, now]


def _check_place(text: str, entity: Json, places: list[int]) -> None:
    start, stop = entity["offset"], entity["offset"] + entity["length"]
    last = len(places) - 1
    if start > last:
        raise bad_request(f"Entity begins after the end of the text at UTF-16 offset {start}")
    if places[start] < 0:
        middle = f"in a middle of a UTF-16 symbol at byte offset {_bytes(text, start)}"
        raise bad_request(f"Entity begins {middle}")
    beginning = f"Entity beginning at UTF-16 offset {start} ends"
    if stop > last:
        raise bad_request(f"{beginning} after the end of the text at UTF-16 offset {stop}")
    if places[stop] < 0:
        middle = f"in a middle of a UTF-16 symbol at byte offset {_bytes(text, stop)}"
        raise bad_request(f"{beginning} {middle}")


def _bytes(text: str, place: int) -> int:
    """How many bytes of UTF-8 there are up to the end of the symbol that a place is in."""
    before = text.encode("utf-16-le")[: 2 * (place + 1)].decode("utf-16-le")
    return len(before.encode())
