"""What a test lets go wrong: the next calls that fit are answered badly, late or not at all."""

from enum import StrEnum

from msgspec import Struct


class Kind(StrEnum):
    """DROP_AFTER and GARBAGE carry the call out, HANG too, only late; the others do not."""

    FLOOD = "429"
    ERROR = "500"
    BAD_GATEWAY = "502"
    HANG = "hang"
    DROP_BEFORE = "drop_before"
    DROP_AFTER = "drop_after"
    GARBAGE = "garbage"
    REFUSE = "refuse"


class Fault(Struct, forbid_unknown_fields=True):
    """`times` calls of `method` ("" any, "download" a file) by `bot` (0 any), after `skip` others.

    FLOOD asks for `retry_after` seconds, HANG waits for `seconds`, REFUSE answers with `code` and
    `description`.
    """

    kind: Kind
    method: str = ""
    bot: int = 0
    times: int = 1
    skip: int = 0
    retry_after: int = 1
    seconds: float = 5.0
    code: int = 400
    description: str = "Bad Request"

    def is_for(self, bot: int, method: str) -> bool:
        """Tell whether it is about this call."""
        return self.bot in {0, bot} and self.method.lower() in {"", method}


class Faults:
    """The faults to come, the first that fits first."""

    def __init__(self) -> None:
        self._due: list[Fault] = []

    def add(self, fault: Fault) -> None:
        """Have one happen."""
        self._due.append(fault)

    def clear(self) -> None:
        """Have none happen any more."""
        self._due.clear()

    def next(self, bot: int, method: str) -> Fault | None:
        """Give what goes wrong with this call, if anything."""
        for fault in self._due:
            if not fault.is_for(bot, method):
                continue
            if fault.skip:
                fault.skip -= 1
                continue
            fault.times -= 1
            if fault.times <= 0:
                self._due.remove(fault)
            return fault
        return None
