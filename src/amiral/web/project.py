"""The HTTP server of one project, in its process: its commands, its events and its page."""

from amiral.base.clock import Clock
from amiral.commands.registry import Commands
from amiral.store.journal import Journal
from amiral.web.api import Api, Shown
from amiral.web.fanout import Fanout
from amiral.web.patience import Patience
from amiral.web.server import RoleOf, Server, Site


class WebServer:
    """Serves until it is closed; what cannot be listened at stands in `problems`."""

    def __init__(
        self, commands: Commands, journal: Journal, clock: Clock, role_of: RoleOf, site: Site
    ) -> None:
        self._fanout = Fanout(journal, clock)
        self._patience = Patience()
        shown = Shown(site.title, site.is_read_only)
        self._api = Api(commands, journal, self._fanout, self._patience, shown)
        self._server = Server(journal, clock, role_of, site)
        self.problems = self._server.problems

    async def start(self) -> None:
        """Listen wherever it is possible."""
        await self._server.start(self._api.app())

    def new_url(self) -> str:
        """Give the page's address with a new one-time code; Broken when there is no page."""
        return self._server.new_url()

    async def close(self) -> None:
        """Hang up: streams at once, commands that still wait after a short grace."""
        self._fanout.close()
        self._patience.end()
        await self._server.close()
