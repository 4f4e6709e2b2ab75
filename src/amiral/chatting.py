"""A project's bot: its chats joined to the project's workers and commands."""

import asyncio
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

from amiral.agents.inbox import Inbox
from amiral.agents.roster import Roster
from amiral.base import events as ev
from amiral.base.clock import Clock
from amiral.base.errors import AmiralError
from amiral.base.ids import digest
from amiral.base.settings import ProjectSettings, Settings
from amiral.chats import rows
from amiral.chats.adapter import ChatAdapter, Held, Unsure
from amiral.chats.handling import Handling, Voice
from amiral.chats.intake import Intake
from amiral.chats.lanes import Lanes
from amiral.chats.outbox import Composed, Outbox
from amiral.chats.pairing import PairCommands
from amiral.chats.people import People
from amiral.chats.quoting import Quotation
from amiral.chats.requests import Requests
from amiral.commands.chat import Chat, Said
from amiral.commands.registry import Caller, Commands, Parsed, Reply, Role
from amiral.commands.table import TABLE
from amiral.conversations.thread import OWNER, pair
from amiral.projects.project import Project
from amiral.safety.approvals import Approvals
from amiral.store.claim import Claim
from amiral.store.journal import Journal

SURFACE = "telegram"

_PENDING = "pending"
_LIMITED = "limited"
_INTRODUCE_S = 5.0
_DEAF_S = 180.0


@dataclass(frozen=True)
class Ground:
    """What a project's chats stand on; `secret` gives a setting's text or the secret it names."""

    home: Path
    project: Project
    settings: Settings
    secret: Callable[[str, str], str]
    journal: Journal
    clock: Clock


@dataclass(frozen=True)
class Reach:
    """What chats lead to."""

    commands: Commands
    chat: Chat
    roster: Roster
    inbox: Inbox
    approvals: Approvals


class Chatting:
    """The bot of one project: `run` as long as the process does, where the settings name one."""

    reach: Reach
    """Set once, before it runs: the commands hold `pairing` of this."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        settings, own = ground.settings, _own(ground)
        self._setting = own.bot_token
        owners = [f"{SURFACE}:{number}" for number in settings.telegram.owners]
        members = {ground.project.name: own.members}
        self._people = People(ground.home, ground.clock, owners, members)
        self._intake: Intake | None = None
        self._account = self._trouble = ""

    def pairing(self) -> PairCommands:
        """Give the commands by which people come to be known."""
        return PairCommands(self._people, self._ground.project.name)

    @property
    def is_wanted(self) -> bool:
        """Tell whether the project has a bot of its own."""
        return bool(self._setting)

    def notices(self) -> tuple[str, ...]:
        """Tell what is wrong with the bot, for `amiral health`."""
        if not self.is_wanted:
            return ()
        if self._intake is None:
            return (f"the bot is not up: {self._trouble}",) if self._trouble else ()
        hearing, now_s = self._intake.hearing(), self._ground.clock.monotonic_s()
        dead = rows.dead_updates(self._ground.journal.rows, self._account)
        is_deaf = hearing.heard_s is not None and now_s - hearing.heard_s > _DEAF_S
        return (
            *([f"the bot hears nothing: {hearing.trouble}"] if hearing.trouble else []),
            *(["the bot has heard nothing for minutes"] if is_deaf and not hearing.trouble else []),
            *([f"{dead} messages to the bot could not be handled"] if dead else []),
        )

    async def run(self) -> None:
        """Talk to the bot's service, for ever; raises what keeps it from that."""
        try:
            await self._run()
        except AmiralError as error:
            self._trouble = f"{error.message} ({error.next_step})"
            raise
        finally:
            self._intake = None

    async def _run(self) -> None:
        # It costs 150 ms and 15 MB, which only a project with a bot need pay.
        from amiral.telegram.adapter import TelegramAdapter  # noqa: PLC0415
        from amiral.telegram.api import Bot, Connections  # noqa: PLC0415

        ground = self._ground
        token = ground.secret(f"projects.{ground.project.name}.bot_token", self._setting)
        async with Connections() as connections:
            bot = Bot(token, connections, ground.settings.telegram.api_base)
            adapter = TelegramAdapter(bot)
            lock = ground.home / "run" / f"chat-{digest(adapter.account)}.lock"
            claim = Claim(lock, f"the bot {bot.id}")
            self._account, self._trouble = adapter.account, ""
            try:
                await self._talk(adapter)
            finally:
                claim.release()

    async def _talk(self, adapter: ChatAdapter) -> None:
        ground, reach = self._ground, self.reach
        journal, clock = ground.journal, ground.clock
        desk = ProjectDesk(ground.project.name, reach)
        voice = Voice(await self._introduced(adapter), ground.settings.ui.language)
        handling = Handling(journal, clock, adapter, self._people, desk, voice)
        self._intake = Intake(journal, clock, adapter, handling.urgent)
        lanes = Lanes(journal, clock, adapter.account, handling.handle)
        outbox = Outbox(journal, clock, adapter, self._compose)
        requests = Requests(journal, clock, adapter.account, reach.approvals, self._people.owners)
        async with asyncio.TaskGroup() as group:
            for work in (self._intake.run(), lanes.run(), outbox.run(), requests.run()):
                group.create_task(work)

    async def _introduced(self, adapter: ChatAdapter) -> str:
        """Give the name people call the bot by; without a network this waits for one."""
        offered = {row.chat[0]: row.help for row in self.reach.commands.offered() if row.chat}
        while True:
            try:
                return await adapter.introduce(offered)
            except (Unsure, Held):
                await self._ground.clock.sleep(_INTRODUCE_S)

    async def _compose(self, message: str) -> Composed | None:
        """Write the answer to a message as the one who asked may read it."""
        read = self._ground.journal.rows
        found = read("select worker, sender from inbox where message = ?", message)
        if not found:
            return None
        worker, sender = found[0]
        role = self._people.role(sender, self._ground.project.name) or Role.VIEWER
        reply = await self.reach.chat.told(Caller(sender, role, SURFACE), message, worker)
        said = reply.data if reply else None
        if reply is None or not isinstance(said, Said) or said.outcome == _PENDING:
            return None
        return Composed(reply.text, is_final=said.outcome != _LIMITED)


class ProjectDesk:
    """One project, as chats reach it."""

    def __init__(self, project: str, reach: Reach) -> None:
        self.table, self.project, self._reach = TABLE, project, reach

    def workers(self) -> Collection[str]:
        """Give the ids of those one may talk to."""
        return self._reach.roster.ids()

    def active(self) -> str:
        """Name the worker of plain text."""
        return self._reach.roster.active()

    async def post(
        self, message: str, worker: str, text: str, sender: str, quoted: Quotation | None
    ) -> None:
        """Queue a message for a worker, once however often it is posted under its id."""
        event = ev.MessageQueued(
            message=message,
            worker=worker,
            conversation=pair(OWNER, worker),
            text=text,
            sender=sender,
            surface=SURFACE,
            quoted=quoted.text if quoted else "",
            quoted_by=quoted.by if quoted else "",
            quoted_ms=quoted.sent_ms if quoted else 0,
        )
        await self._reach.inbox.post(event)

    async def dispatch(self, caller: Caller, parsed: Parsed) -> Reply:
        """Carry out a command."""
        return await self._reach.commands.dispatch(caller, parsed)

    async def said(self, message: str) -> str:
        """Give the answer to a message, "" while there is none."""
        return self._reach.chat.text_of(message)


def _own(ground: Ground) -> ProjectSettings:
    return ground.settings.projects.get(ground.project.name, ProjectSettings())
