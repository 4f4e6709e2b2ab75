"""Pure: what the terminal prints of a reply or an error: text for people, or one JSON document.

Whatever workers and strangers wrote passes here on its way to a terminal, and is made safe (R54).
"""

from dataclasses import dataclass

import msgspec

from amiral.base.errors import AmiralError
from amiral.base.plain import plain, plain_json
from amiral.commands.registry import Reply


@dataclass(frozen=True)
class Printed:
    """Text for stdout and stderr, line ends included, and the exit code (spec: exit codes)."""

    out: str = ""
    err: str = ""
    exit_code: int = 0


def print_reply(reply: Reply, *, as_json: bool) -> Printed:
    """Print one reply, or one item of a streamed reply: with `as_json` a document on one line.

    A reply that says nothing prints nothing.
    """
    if not reply.text and reply.data is None:
        return Printed(exit_code=reply.exit_code)
    if as_json:
        data = {"text": reply.text} if reply.data is None else reply.data
        return Printed(_line(data), exit_code=reply.exit_code)
    return Printed(f"{plain(reply.text)}\n" if reply.text else "", exit_code=reply.exit_code)


def print_error(error: AmiralError, *, as_json: bool) -> Printed:
    """Print an error: what happened and what to do next; as JSON on stdout."""
    if as_json:
        data = {"kind": error.kind, "message": error.message, "next": error.next_step}
        return Printed(_line({"error": data}), exit_code=error.exit_code)
    lines = [f"✗ {error.message}"] + ([f"  {error.next_step}"] if error.next_step else [])
    return Printed(err=plain("\n".join(lines)) + "\n", exit_code=error.exit_code)


def _line(data: object) -> str:
    return plain_json(msgspec.json.encode(data).decode()) + "\n"
