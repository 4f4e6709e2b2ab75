"""The messages of all chats, as they stand now."""

from collections import defaultdict
from dataclasses import dataclass
from itertools import count

from amiral.testbench.bot_api.wire import Json

Box = tuple[int, int]
"""Where a number of a message counts: a chat, and in private the bot too."""


@dataclass
class Standing:
    """A message that is there; `author` the bot that sent it, 0 a person."""

    message: Json
    author: int = 0

    @property
    def is_forwarded(self) -> bool:
        """Tell whether it was written elsewhere."""
        return "forward_origin" in self.message

    def replied(self) -> Json:
        """Its JSON inside an answer to it: what it answers itself is left out."""
        return {key: value for key, value in self.message.items() if key != "reply_to_message"}


class Messages:
    """Numbers count up for ever, that of a removed message is not used again.

    1 is what a chat begins with, and the General topic of a forum.
    """

    def __init__(self) -> None:
        self._numbers: defaultdict[Box, count[int]] = defaultdict(lambda: count(2))
        self._standing: dict[Box, dict[int, Standing]] = defaultdict(dict)

    def number(self, box: Box) -> int:
        """Give the next number."""
        return next(self._numbers[box])

    def add(self, box: Box, message: Json, author: int = 0) -> Json:
        """Have a message stand."""
        self._standing[box][message["message_id"]] = Standing(message, author)
        return message

    def get(self, box: Box, number: int) -> Standing | None:
        """Find a message."""
        return self._standing[box].get(number)

    def remove(self, box: Box, number: int) -> None:
        """Take one away."""
        self._standing[box].pop(number, None)

    def all(self, box: Box) -> list[Json]:
        """Give them in their order."""
        return [one.message for _, one in sorted(self._standing[box].items())]
