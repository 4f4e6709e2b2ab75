"""What a test may have happen, by name: the same in one process and over HTTP (`/_ctl/NAME`)."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from amiral.base.errors import Invalid
from amiral.testbench.bot_api import people, places
from amiral.testbench.bot_api.faults import Fault
from amiral.testbench.bot_api.queue import DAY_S
from amiral.testbench.bot_api.rates import Limits
from amiral.testbench.bot_api.wire import Json
from amiral.testbench.bot_api.world import World

WishT = TypeVar("WishT")


class _Raw(Struct, forbid_unknown_fields=True):
    """An update just as it is, wanted or not."""

    bot: int
    kind: str
    content: Any


class _Renumber(Struct, forbid_unknown_fields=True):
    """Updates go on with another number, as after a week without any."""

    bot: int
    next: int


class _Pass(Struct, forbid_unknown_fields=True):
    """Time passes at once."""

    seconds: float


class _Which(Struct, forbid_unknown_fields=True):
    """Requests of a bot, of a method, from a number on."""

    bot: int = 0
    method: str = ""
    since: int = 0


class _Where(Struct, forbid_unknown_fields=True):
    """A chat; in private with which bot."""

    chat: int
    bot: int = 0


class _Nothing(Struct, forbid_unknown_fields=True):
    """No fields."""


def carry_out(world: World, verb: str, fields: Json) -> object:
    """Have something happen; gives what is JSON. Raises Invalid for an unknown name or field."""
    if verb not in _VERBS:
        raise Invalid(f"nothing is called {verb}", f"there are {', '.join(sorted(_VERBS))}")
    kind, act = _VERBS[verb]
    try:
        # In JSON every key is a text.
        wish = msgspec.convert(
            msgspec.json.decode(msgspec.json.encode(fields)), kind, str_keys=True
        )
    except msgspec.ValidationError as error:
        raise Invalid(f"{verb}: {error}") from error
    return msgspec.to_builtins(act(world, wish))


def _raw(world: World, wish: _Raw) -> Json:
    bot = world.bot(wish.bot)
    wanted, bot.wanted = bot.wanted, frozenset({wish.kind})
    update = world.push(bot, wish.kind, wish.content, DAY_S)
    bot.wanted = wanted
    return update or {}


def _renumber(world: World, wish: _Renumber) -> None:
    world.bot(wish.bot).queue.next = wish.next


def _pass(world: World, wish: _Pass) -> None:
    world.clock.go_on(wish.seconds)


def _fault(world: World, wish: Fault) -> None:
    world.faults.add(wish)


def _no_faults(world: World, _wish: _Nothing) -> None:
    world.faults.clear()


def _limits(world: World, wish: Limits) -> None:
    world.rates.limits = wish


def _requests(world: World, wish: _Which) -> list[Json]:
    return world.record.find(wish.bot, wish.method, wish.since)


def _messages(world: World, wish: _Where) -> list[Json]:
    return world.messages.all(world.box(wish.bot, world.chat(wish.chat)))


def _state(world: World, _wish: _Nothing) -> Json:
    bots = {
        str(bot.id): {
            "pending": bot.queue.pending(world.clock.now_s()),
            "conflicts": bot.conflicts,
            "is_polling": bot.waiting is not None,
            "webhook": bot.webhook.url if bot.webhook else "",
            "commands": [[*place, commands] for place, commands in bot.menus.items()],
        }
        for bot in world.bots.values()
    }
    chats = {
        str(chat.id): {
            "bots": {str(number): status for number, status in chat.bots.items()},
            "topics": {str(number): topic.name for number, topic in chat.topics.items()},
        }
        for chat in world.chats.values()
    }
    return {"bots": bots, "chats": chats, "taps": world.taps.answers()}


_Act = Callable[[World, Any], object]
_VERBS: Mapping[str, tuple[type[Any], _Act]] = {
    "bot": (places.AddBot, places.add_bot),
    "revoke": (places.Revoke, places.revoke),
    "person": (places.AddPerson, places.add_person),
    "chat": (places.AddChat, places.add_chat),
    "set_bot": (places.SetBot, places.set_bot),
    "set_person": (places.SetPerson, places.set_person),
    "topic": (places.AddTopic, places.add_topic),
    "set_topic": (places.SetTopic, places.set_topic),
    "migrate": (places.Migrate, places.migrate),
    "say": (people.Say, people.say),
    "album": (people.Album, people.album),
    "edit": (people.Edit, people.edit),
    "remove": (people.Remove, people.remove),
    "press": (people.Press, people.press),
    "raw": (_Raw, _raw),
    "renumber": (_Renumber, _renumber),
    "pass": (_Pass, _pass),
    "fault": (Fault, _fault),
    "no_faults": (_Nothing, _no_faults),
    "limits": (Limits, _limits),
    "requests": (_Which, _requests),
    "messages": (_Where, _messages),
    "state": (_Nothing, _state),
}
