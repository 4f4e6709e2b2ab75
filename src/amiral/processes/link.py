"""The asyncio side of one shim: connect, ask, hear what happens (docs/reference/sessions.md)."""

import asyncio
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, Self

import msgspec

from amiral.base.errors import AmiralError, Broken, Conflict, Denied, Invalid, NotFound
from amiral.processes.answers import Delivery, Hello, InputState, Lost, Notice, notice_of

PROTOCOL = 1


class ShimGone(Broken):
    """Shim or CLI no longer takes anything: what became of an input is told by the files."""


_ERRORS: dict[str, type[AmiralError]] = {
    "not_found": NotFound,
    "denied": Denied,
    "fence": Denied,
    "conflict": Conflict,
    "invalid": Invalid,
    "gone": ShimGone,
    "unsure": ShimGone,
}
_NEXT_STEPS = {"fence": "amiral permissions probe"}


class ShimLink(asyncio.Protocol):
    """One connection to one shim. Requests may overlap; losing it never ends a launched CLI."""

    hello: Hello
    _transport: asyncio.Transport

    def __init__(self, path: str) -> None:
        self.path = path
        self.is_lost = False
        self._arrived = bytearray()
        self._asked: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._number = 0
        self._early: list[Notice] = []
        self._take = self._early.append

    @classmethod
    async def connect(cls, socket_path: str | Path, token: int) -> Self:
        """Connect and say hello with our fencing token; ShimGone when nobody listens there."""
        link = cls(str(socket_path))
        try:
            await asyncio.get_running_loop().create_unix_connection(lambda: link, link.path)
        except OSError as error:
            raise ShimGone(f"no shim listens at {link.path}: {error.strerror}") from error
        try:
            answer = await link.request("hello", protocol=PROTOCOL, token=token)
        except BaseException:
            link.close()
            raise
        link.hello = msgspec.convert(answer, Hello)
        return link

    def on_notice(self, take: Callable[[Notice], None]) -> None:
        """Have every notice given to `take`, those that came before included; Lost is the last."""
        early, self._early = self._early, []
        self._take = take
        for notice in early:
            take(notice)

    async def input(self, key: str, data: str) -> Delivery:
        """Have `data` written to the CLI, once however often this is asked (P01).

        "written": all of it is in the CLI's pipe; "unsure": it ended when a part was; "gone": it
        reads no more and got nothing of it. Broken when it could not be recorded: then nothing was
        written.
        """
        answer = await self._ask("input", {"id": key, "data": data})
        match answer.get("error"):
            case "unsure":
                return "unsure"
            case "gone":
                return "gone"
            case _:
                _accepted(answer)
                return "written"

    async def input_state(self, key: str) -> InputState:
        """Ask what became of an input, writing nothing."""
        answer = await self.request("input_state", id=key)
        state: InputState = msgspec.convert(answer["state"], InputState)
        return state

    async def close_input(self) -> None:
        """Close the CLI's stdin as soon as what was accepted is written."""
        await self.request("close")

    async def signal(
        self,
        name: Literal["INT", "TERM", "KILL", "STOP", "CONT"],
        target: Literal["cli", "tree"] = "cli",
    ) -> None:
        """Signal the CLI, or every process of its tree."""
        await self.request("signal", name=name, target=target)

    async def kill(self) -> int:
        """Kill the whole tree and return how many survived: 0, verified (R29)."""
        answer = await self.request("kill")
        return msgspec.convert(answer["survivors"], int)

    async def drop(self, segment: int) -> None:
        """Delete the output segments up to and including this one."""
        await self.request("drop", segment=segment)

    async def retire(self) -> None:
        """End a shim that launched nothing."""
        await self.request("retire")

    async def request(self, op: str, **fields: object) -> Mapping[str, Any]:
        """Ask anything; an error answer is raised as the AmiralError of its kind."""
        return _accepted(await self._ask(op, fields))

    def close(self) -> None:
        """Hang up. A launched CLI goes on; an idle shim ends with its last connection."""
        self._transport.close()
        self._lose()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if isinstance(transport, asyncio.Transport):
            self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._arrived += data
        *lines, self._arrived = self._arrived.split(b"\n")
        for line in lines:
            if not self.is_lost:
                self._hear(line)

    def connection_lost(self, _error: Exception | None) -> None:
        self._lose()

    async def _ask(self, op: str, fields: Mapping[str, object]) -> dict[str, Any]:
        if self.is_lost:
            raise ShimGone("the connection to the shim is closed")
        self._number += 1
        number = self._number
        line = _encode({"op": op, "n": number, **fields})
        self._asked[number] = asyncio.get_running_loop().create_future()
        try:
            self._transport.write(line + b"\n")
            return await self._asked[number]
        finally:
            del self._asked[number]

    def _hear(self, line: bytearray) -> None:
        try:
            heard = msgspec.json.decode(line, type=dict[str, Any])
            if "notice" not in heard:
                self._answer(heard["n"], heard)
            elif (notice := notice_of(heard)) is not None:
                self._take(notice)
        except (ValueError, KeyError):
            self.close()

    def _answer(self, number: object, answer: dict[str, Any]) -> None:
        waiting = self._asked.get(number) if isinstance(number, int) else None
        if waiting is not None and not waiting.done():
            waiting.set_result(answer)

    def _lose(self) -> None:
        if self.is_lost:
            return
        self.is_lost = True
        for waiting in self._asked.values():
            if not waiting.done():
                waiting.set_exception(ShimGone("the shim hung up before it answered"))
        self._take(Lost())


def _encode(request: dict[str, object]) -> bytes:
    try:
        return msgspec.json.encode(request)
    except UnicodeEncodeError:
        # Names in the environment or of folders may be no UTF-8: escapes carry them.
        return json.dumps(request).encode()


def _accepted(answer: dict[str, Any]) -> Mapping[str, Any]:
    if not answer["ok"]:
        kind = answer["error"]
        raise _ERRORS.get(kind, Broken)(answer["message"], _NEXT_STEPS.get(kind, ""))
    return MappingProxyType(answer)
