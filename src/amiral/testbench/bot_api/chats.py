"""Chats and bots: who is in, and whether a bot may write there."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

from amiral.testbench.bot_api.queue import Queue
from amiral.testbench.bot_api.wire import Json, Refusal, bad_request

GENERAL = 1
ANONYMOUS = 1087968824
_IN = frozenset({"creator", "administrator", "member", "restricted"})
# Without being asked for, these do not come.
_UNUSUAL = frozenset({"chat_member", "message_reaction", "message_reaction_count"})


@dataclass
class Webhook:
    """Where updates are sent instead of being fetched."""

    url: str
    secret: str = ""
    error: str = ""


@dataclass
class Bot:
    """One bot. `reads_all` is its privacy mode turned off; `wanted` the kinds of updates."""

    token: str
    username: str
    reads_all: bool
    queue: Queue
    is_revoked: bool = False
    wanted: frozenset[str] = frozenset()
    webhook: Webhook | None = None
    waiting: asyncio.Future[str] | None = None
    polled: tuple[int, float] = (-1, 0.0)
    conflicts: int = 0
    quiet_until: float = 0.0
    menus: dict[tuple[str, str], list[Json]] = field(default_factory=dict)

    @property
    def id(self) -> int:
        """Its number."""
        return int(self.token.partition(":")[0])

    def data(self) -> Json:
        """Its JSON as a user."""
        told = {"id": self.id, "is_bot": True, "first_name": self.username}
        return {**told, "username": self.username}

    def wants(self, kind: str) -> bool:
        """Tell whether updates of this kind are kept for it."""
        return kind in self.wanted if self.wanted else kind not in _UNUSUAL


@dataclass
class Topic:
    """One topic of a forum."""

    name: str
    is_closed: bool = False


@dataclass
class Chat:
    """`bots` and `people` map numbers to what they are here: member, administrator, kicked, left.

    In a private chat the number is the person's, and `bots` are those the person has started.
    """

    id: int
    type: str
    title: str = ""
    is_forum: bool = False
    topics: dict[int, Topic] = field(default_factory=dict)
    people: dict[int, str] = field(default_factory=dict)
    bots: dict[int, str] = field(default_factory=dict)
    moved_to: int = 0
    person: Json = field(default_factory=dict)

    @property
    def is_private(self) -> bool:
        """Tell whether it is with one person."""
        return self.type == "private"

    def data(self) -> Json:
        """Its JSON in a message."""
        told: Json = {"id": self.id, "type": self.type}
        if self.is_private:
            names = {key: self.person.get(key) for key in ("first_name", "username")}
            return told | {key: name for key, name in names.items() if name}
        return {**told, "title": self.title, **({"is_forum": True} if self.is_forum else {})}

    def check_access(self, bot: int, *, to_write: bool) -> None:
        """Raise a Refusal when a bot may not look, or not write, here."""
        status = self.bots.get(bot, "")
        if not status:
            raise bad_request("chat not found")
        if self.moved_to and to_write:
            text = "Bad Request: group chat was upgraded to a supergroup chat"
            raise Refusal(400, text, migrate_to_chat_id=self.moved_to)
        if status not in _IN and (to_write or self.type == "supergroup"):
            raise Refusal(403, f"Forbidden: {self._out(status)}")
        if to_write and status == "restricted":
            raise bad_request("not enough rights to send text messages to the chat")

    def check_thread(self, thread: int) -> int:
        """Give the topic that a message goes to, 0 for none; raises a Refusal."""
        if not thread or (not self.is_forum and not self.is_private):
            return 0
        topic = self.topics.get(thread)
        if thread == GENERAL or topic is None:
            raise bad_request("message thread not found")
        if topic.is_closed:
            raise bad_request("TOPIC_CLOSED")
        return thread

    def _out(self, status: str) -> str:
        if self.is_private:
            return "bot was blocked by the user"
        if status == "kicked":
            return f"bot was kicked from the {self.type} chat"
        return f"bot is not a member of the {self.type} chat"


def member(user: Json, status: str) -> Json:
    """Give the JSON of a member; what an administrator may do is all or nothing."""
    told = {"user": user, "status": status}
    if status == "administrator":
        rights = ("can_manage_chat", "can_delete_messages", "can_manage_topics", "can_pin_messages")
        return {
            **told,
            "is_anonymous": False,
            "can_be_edited": False,
            **dict.fromkeys(rights, True),
        }
    if status == "kicked":
        return {**told, "until_date": 0}
    return {**told, "is_anonymous": False} if status == "creator" else told


def is_in(statuses: Mapping[int, str], number: int) -> bool:
    """Tell whether somebody is in a chat."""
    return statuses.get(number, "") in _IN
