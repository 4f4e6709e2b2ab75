"""Who may come in: one-time codes, and the browsers that exchanged one; only hashes are kept."""

import hmac
import secrets
from hashlib import sha256
from typing import Final

from amiral.base.clock import MS_PER_S, Clock
from amiral.base.project_events import WebSessionOpened
from amiral.store.journal import Journal, Stamped, Table, Write

CODE_S: Final = 600
SESSION_S: Final = 30 * 24 * 3600

_MOST_CODES = 16
_CODE_BYTES = 16
_TOKEN_BYTES = 32
_DDL: Final = """
create table if not exists web_sessions(token text primary key, expires_ms integer not null);
"""


def _apply(write: Write, stamped: Stamped) -> None:
    match stamped.event:
        case WebSessionOpened(token, expires_ms):
            write("insert or replace into web_sessions values (?, ?)", (token, expires_ms))
        case _:
            pass


WEB_SESSIONS: Final = Table("web_sessions", _DDL, _apply)


class WebSessions:
    """Codes live in memory, for ten minutes and one use; sessions in the journal, for thirty days.

    So a restart forgets the codes and keeps the browsers.
    """

    def __init__(self, journal: Journal, clock: Clock) -> None:
        self._journal, self._clock = journal, clock
        self._codes: dict[str, float] = {}

    def new_code(self) -> str:
        """Make a code; of many that nobody used the newest count."""
        code = secrets.token_urlsafe(_CODE_BYTES)
        self._codes[_hash(code)] = self._clock.monotonic_s() + CODE_S
        while len(self._codes) > _MOST_CODES:
            del self._codes[next(iter(self._codes))]
        return code

    async def exchange(self, code: str) -> str:
        """Use a code up and give the token of a new session, "" when the code does not count."""
        found = [known for known in self._codes if hmac.compare_digest(known, _hash(code))]
        if not found or self._codes.pop(found[0]) < self._clock.monotonic_s():
            return ""
        token = secrets.token_urlsafe(_TOKEN_BYTES)
        expires_ms = self._clock.now_ms() + SESSION_S * MS_PER_S
        await self._journal.append(WebSessionOpened(_hash(token), expires_ms), by="owner")
        return token

    def is_open(self, token: str) -> bool:
        """Tell whether a token is that of a session that has not expired."""
        sql = "select token from web_sessions where expires_ms > ?"
        open_ones = self._journal.rows(sql, self._clock.now_ms())
        hashed = _hash(token)
        return True in [hmac.compare_digest(known, hashed) for (known,) in open_ones]


def _hash(secret: str) -> str:
    return sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()
