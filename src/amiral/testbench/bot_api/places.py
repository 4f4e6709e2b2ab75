"""What a test sets up: bots, people, chats with who is in them, topics; and how that changes."""

from itertools import count

from msgspec import Struct, field

from amiral.base.errors import Invalid
from amiral.testbench.bot_api.chats import Chat, is_in
from amiral.testbench.bot_api.membership import change_bot
from amiral.testbench.bot_api.people import deliver, person
from amiral.testbench.bot_api.sending import open_topic
from amiral.testbench.bot_api.wire import Json
from amiral.testbench.bot_api.world import World

_STATUSES = ("creator", "administrator", "member", "restricted", "left", "kicked")
_supergroups = count(1_900_000_001)


class AddBot(Struct, forbid_unknown_fields=True):
    """A bot; one that `reads_all` has its privacy mode turned off."""

    token: str
    username: str = "amiral_bot"
    reads_all: bool = True


class Revoke(Struct, forbid_unknown_fields=True):
    """The token of a bot counts no more."""

    bot: int


class AddPerson(Struct, forbid_unknown_fields=True):
    """Somebody with more than a number."""

    id: int
    first_name: str
    username: str = ""
    language_code: str = ""


class AddChat(Struct, forbid_unknown_fields=True):
    """A group, or a private chat that somebody has begun; who is in it as number and status."""

    id: int
    type: str = "group"
    title: str = "Group"
    is_forum: bool = False
    people: dict[int, str] = field(default_factory=dict)
    bots: dict[int, str] = field(default_factory=dict)


class SetBot(Struct, forbid_unknown_fields=True):
    """Somebody adds a bot, promotes it, throws it out, or blocks it in private (`kicked`)."""

    chat: int
    bot: int
    status: str
    by: int


class SetPerson(Struct, forbid_unknown_fields=True):
    """Somebody becomes something else in a chat."""

    chat: int
    person: int
    status: str


class AddTopic(Struct, forbid_unknown_fields=True):
    """Somebody opens a topic of a forum."""

    chat: int
    name: str
    by: int


class SetTopic(Struct, forbid_unknown_fields=True):
    """Somebody closes a topic, opens it again or removes it."""

    chat: int
    thread: int
    state: str


class Migrate(Struct, forbid_unknown_fields=True):
    """A group becomes a supergroup under a new number."""

    chat: int
    by: int


def add_bot(world: World, wish: AddBot) -> Json:
    """Carry it out; gives the bot as a user."""
    return world.add_bot(wish.token, wish.username, reads_all=wish.reads_all).data()


def revoke(world: World, wish: Revoke) -> None:
    """Carry it out."""
    world.bot(wish.bot).is_revoked = True


def add_person(world: World, wish: AddPerson) -> Json:
    """Carry it out; gives the user."""
    names = {"username": wish.username, "language_code": wish.language_code}
    told = {"id": wish.id, "is_bot": False, "first_name": wish.first_name}
    world.people[wish.id] = {**told, **{key: value for key, value in names.items() if value}}
    return world.people[wish.id]


def add_chat(world: World, wish: AddChat) -> Json:
    """Carry it out; gives the chat."""
    if wish.type not in {"private", "group", "supergroup"}:
        raise Invalid(f"no such type of chat: {wish.type}")
    if (wish.id > 0) != (wish.type == "private"):
        raise Invalid("a private chat has its person's number, any other a negative one")
    chat = Chat(wish.id, wish.type, wish.title, wish.is_forum)
    chat.people = {number: _status(status) for number, status in wish.people.items()}
    chat.bots = {world.bot(number).id: _status(status) for number, status in wish.bots.items()}
    for number in chat.people:
        person(world, number)
    if chat.is_private:
        chat.person = person(world, wish.id)
    world.chats[chat.id] = chat
    return chat.data()


def set_bot(world: World, wish: SetBot) -> None:
    """Carry it out; the bot is told, and greeted in a group by the message that it came."""
    chat, bot, by = world.chat(wish.chat), world.bot(wish.bot), person(world, wish.by)
    was_in = is_in(chat.bots, bot.id)
    change_bot(world, chat, bot, _status(wish.status), by)
    if not chat.is_private and not was_in and is_in(chat.bots, bot.id):
        _announce(world, chat, by, {"new_chat_members": [bot.data()]})


def set_person(world: World, wish: SetPerson) -> None:
    """Carry it out; bots do not hear of it unless they ask."""
    person(world, wish.person)
    world.chat(wish.chat).people[wish.person] = _status(wish.status)


def add_topic(world: World, wish: AddTopic) -> int:
    """Carry it out; gives its number."""
    chat, by = world.chat(wish.chat), person(world, wish.by)
    if not chat.is_forum:
        raise Invalid(f"the chat {chat.id} is no forum")
    number = open_topic(world, chat, wish.name, by)
    standing = world.messages.get(world.box(0, chat), number)
    if standing is not None:
        bots = [world.bot(one) for one in chat.bots]
        deliver(world, chat, bots, "message", standing.message)
    return number


def set_topic(world: World, wish: SetTopic) -> None:
    """Carry it out."""
    topics = world.chat(wish.chat).topics
    match wish.state:
        case "removed":
            topics.pop(wish.thread, None)
        case "open" | "closed":
            topics[wish.thread].is_closed = wish.state == "closed"
        case _:
            raise Invalid("a topic is open, closed or removed")


def migrate(world: World, wish: Migrate) -> int:
    """Carry it out; gives the new number. Both chats say so in a message."""
    old, by = world.chat(wish.chat), person(world, wish.by)
    if old.type != "group":
        raise Invalid("only a plain group becomes a supergroup")
    number = -1_000_000_000_000 - next(_supergroups)
    new = Chat(number, "supergroup", old.title, people=dict(old.people), bots=dict(old.bots))
    world.chats[number] = new
    _announce(world, old, by, {"migrate_to_chat_id": number})
    old.moved_to = number
    _announce(world, new, by, {"migrate_from_chat_id": old.id})
    return number


def _announce(world: World, chat: Chat, by: Json, content: Json) -> None:
    box = world.box(0, chat)
    message = {
        "message_id": world.messages.number(box),
        "from": by,
        "chat": chat.data(),
        "date": world.clock.now_s(),
        **content,
    }
    world.messages.add(box, message)
    deliver(world, chat, [world.bot(number) for number in chat.bots], "message", message)


def _status(status: str) -> str:
    if status not in _STATUSES:
        raise Invalid(f"no such status: {status}", f"there are {', '.join(_STATUSES)}")
    return status
