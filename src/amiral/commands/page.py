"""The page: a new address for it."""

from collections.abc import Callable

from amiral.commands.registry import Caller, Reply, command


class PageCommands:
    """`url`."""

    def __init__(self, new_url: Callable[[], str]) -> None:
        self._new_url = new_url

    @command("url")
    async def url(self, caller: Caller) -> Reply:
        """Give the page's address with a one-time code; raises Broken when there is no page."""
        del caller
        url = self._new_url()
        return Reply(f"{url}\n  valid once, 10 minutes", {"url": url})
