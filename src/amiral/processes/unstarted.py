"""What it means for a person that a program could not be started."""

from amiral.base.errors import AmiralError, Broken, Denied, NotFound


def could_not_start(program: str, error: OSError) -> AmiralError:
    """Make the error that says so, with what can be done."""
    message = f"{error.filename or program}: {error.strerror}"
    match error:
        case FileNotFoundError() | NotADirectoryError():
            return NotFound(message, "check that it is installed and on the PATH")
        case PermissionError():
            return Denied(message, "check that it may be executed")
        case _:
            return Broken(message)
