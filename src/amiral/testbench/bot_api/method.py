"""What a method of the Bot API is here: a function from a call to its result, or to a Refusal."""

from collections.abc import Callable

from amiral.testbench.bot_api.chats import Bot
from amiral.testbench.bot_api.wire import Parameters
from amiral.testbench.bot_api.world import World

Method = Callable[[World, Bot, Parameters], object]
"""It gives its result, or an awaitable of it."""
