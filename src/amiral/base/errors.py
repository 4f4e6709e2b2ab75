"""Pure: the one tree of errors, each with what happened and what to do next.

AmiralError
├── NotFound   nothing by that name                     exit code 4
├── Denied     the caller may not                       exit code 5
├── Conflict   not in this state (brake on, wrong step) exit code 6
├── Invalid    what was given cannot be read            exit code 2
└── Broken     something of ours or of the machine      exit code 1
"""


class AmiralError(Exception):
    """What happened (`message`) and the next step for the person (`next_step`, may be empty)."""

    kind = "failed"
    exit_code = 1

    def __init__(self, message: str, next_step: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.next_step = next_step


class NotFound(AmiralError):
    """Nothing by that name; the message lists what is known."""

    kind = "not_found"
    exit_code = 4


class Denied(AmiralError):
    """The caller may not do this."""

    kind = "denied"
    exit_code = 5


class Conflict(AmiralError):
    """The wish does not fit the present state; the message names the state."""

    kind = "conflict"
    exit_code = 6


class Invalid(AmiralError):
    """What was given cannot be read; the message names file, line or argument."""

    kind = "usage"
    exit_code = 2


class Broken(AmiralError):
    """Something of ours or of the machine does not work: disk, kernel, a program."""

    kind = "broken"
    exit_code = 1
