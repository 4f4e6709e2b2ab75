"""Pure: how a call to Telegram can fail; no failure ever holds a token or an address.

AmiralError
├── Flood        wait so long, then the very same again          429
├── Conflict409  somebody else reads this bot's updates          409
├── Revoked      the token is not (or no longer) one of a bot    401, 404
├── Refused      never as it is; `reason` says why               400, 413
├── Blocked      the bot may not write in this chat              403
└── Unreachable  no answer, or none that can be read             network, 5xx, not JSON
"""

from enum import StrEnum

from amiral.base.errors import AmiralError, Broken, Conflict, Denied, Invalid


class Reason(StrEnum):
    """Why a call was refused, as far as something can be done about it."""

    NOT_MODIFIED = "it reads like that already"
    BAD_ENTITIES = "its marks cannot be read"
    THREAD_GONE = "there is no such topic"
    MESSAGE_GONE = "there is no such message, or it cannot be changed"
    REPLIED_GONE = "the message it answers is not there"
    CHAT_GONE = "there is no such chat"
    MIGRATED = "the group goes on under another number"
    TOO_LONG = "the text is too long"
    TOO_BIG = "the file is too big"
    QUERY_OLD = "the button was pressed too long ago"
    OTHER = "another reason"


class Flood(AmiralError):
    """Telegram asks for `retry_after` seconds of silence; nothing was wrong with the call."""

    kind = "busy"

    def __init__(self, method: str, retry_after: float) -> None:
        super().__init__(f"{method}: Telegram asks to wait {retry_after:g} s")
        self.retry_after = retry_after


class Conflict409(Conflict):
    """Another program reads this bot's updates, or a webhook gets them."""

    def __init__(self, method: str, description: str) -> None:
        super().__init__(
            f"{method}: {description}", "stop the other program, or give each its own bot"
        )


class Revoked(Denied):
    """The token is refused."""

    def __init__(self, method: str) -> None:
        super().__init__(
            f"{method}: Telegram does not know this bot's token (any more)",
            "get the token from @BotFather again and put it into the vault",
        )


class Refused(Invalid):
    """Refused for good, as it is: `description` in Telegram's words, `to` the chat's new number."""

    kind = "refused"

    def __init__(self, method: str, description: str, reason: Reason, to: int = 0) -> None:
        super().__init__(f"{method}: {description}")
        self.description = description
        self.reason = reason
        self.to = to


class Blocked(Denied):
    """The bot may not write in this chat; `description` in Telegram's words."""

    def __init__(self, method: str, description: str) -> None:
        super().__init__(f"{method}: {description}", "let the bot into the chat again")
        self.description = description


class Unreachable(Broken):
    """Nobody answered in a way that can be read.

    `is_unsent` when the call surely never left; otherwise it may have been carried out.
    """

    kind = "unreachable"

    def __init__(self, method: str, what: str, *, is_unsent: bool = False) -> None:
        super().__init__(f"{method}: no answer from Telegram ({what})")
        self.is_unsent = is_unsent
