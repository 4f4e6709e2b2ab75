"""What people may do to a running turn: end it, and say why."""

import asyncio

from amiral.agents.wish import Wish


class Control:
    """The handle of one running turn; `woken` is the event its loop waits on, and `ordered` what
    is waited on before there is such a loop.
    """

    def __init__(self) -> None:
        self.wish: Wish | None = None
        self.woken, self.ordered = asyncio.Event(), asyncio.Event()

    def interrupt(self, wish: Wish) -> None:
        """Ask the turn to end; the first wish counts."""
        if self.wish is None:
            self.wish = wish
            self.woken.set()
            self.ordered.set()
