"""The console surface: the command line's socket, one request a connection, frames of text back."""

import asyncio
import contextlib
import socket
from collections.abc import Callable
from pathlib import Path

import msgspec

from amiral.base.errors import AmiralError, Broken
from amiral.commands.arguments import parse_argv, wants_json
from amiral.commands.output import Printed, print_error, print_reply
from amiral.commands.registry import Caller, Commands, Role

_LONGEST_REQUEST = 16 << 20
_LONGEST_BACKLOG = 64


class _Request(msgspec.Struct):
    """What `cli.py` sends."""

    argv: list[str]
    cwd: str = ""
    tty: bool = False
    colour: bool = False
    language: str = ""


class Console:
    """Answers command lines on a unix socket that only our own user can reach.

    `role_of` looks at who connected: what runs below a shim is an agent, whatever it claims.
    """

    def __init__(self, commands: Commands, role_of: Callable[[socket.socket], Role]) -> None:
        self._commands, self._role_of = commands, role_of

    async def serve(self, path: Path) -> asyncio.Server:
        """Listen at `path`, replacing a socket that a killed process left there."""
        with contextlib.suppress(FileNotFoundError):
            path.unlink()
        server = await asyncio.start_unix_server(
            self._answer, path, limit=_LONGEST_REQUEST, backlog=_LONGEST_BACKLOG
        )
        path.chmod(0o600)
        return server

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            role = self._role_of(writer.get_extra_info("socket"))
            request = msgspec.json.decode(await reader.readline(), type=_Request)
            await self._carry_out(request, role, writer)
        except (ValueError, OSError, asyncio.CancelledError):
            # A client that hung up or speaks another language, or the end of this process: there
            # is nobody to tell.
            pass
        finally:
            writer.close()
            with contextlib.suppress(OSError, asyncio.CancelledError):
                await writer.wait_closed()

    async def _carry_out(self, request: _Request, role: Role, writer: asyncio.StreamWriter) -> None:
        as_json = wants_json(request.argv)
        code = 0
        try:
            parsed = parse_argv(request.argv, self._commands.table)
            reply = await self._commands.dispatch(_caller(role), parsed)
            code = reply.exit_code
            if reply.text or reply.data is not None:
                await _send(writer, print_reply(reply, as_json=as_json))
            if reply.items is not None:
                async for item in reply.items:
                    await _send(writer, print_reply(item, as_json=as_json))
        except AmiralError as error:
            code = await _fail(writer, error, as_json=as_json)
        except (ConnectionError, asyncio.CancelledError):
            raise
        except Exception as fault:  # noqa: BLE001 - a person never meets a traceback
            told = Broken(f"a fault of amiral: {fault!r}", "`amiral doctor` looks further")
            code = await _fail(writer, told, as_json=as_json)
        await _frame(writer, {"exit": code})


def _caller(role: Role) -> Caller:
    """An agent is never called owner, whatever it may do."""
    return Caller("owner" if role is Role.OWNER else str(role), role, "console")


async def _fail(writer: asyncio.StreamWriter, error: AmiralError, *, as_json: bool) -> int:
    printed = print_error(error, as_json=as_json)
    await _send(writer, printed)
    return printed.exit_code


async def _send(writer: asyncio.StreamWriter, printed: Printed) -> None:
    if printed.out:
        await _frame(writer, {"out": printed.out})
    if printed.err:
        await _frame(writer, {"err": printed.err})


async def _frame(writer: asyncio.StreamWriter, frame: dict[str, object]) -> None:
    writer.write(msgspec.json.encode(frame) + b"\n")
    await writer.drain()
