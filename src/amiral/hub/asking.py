"""Asks a project's process over its console socket, with patience and never for ever."""

import asyncio
import contextlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from amiral.base.errors import AmiralError

SOCKET = "hub.sock"
"""Where the hub listens, below `run` of the home."""

_LONGEST_LINE = 16 << 20


class Silent(AmiralError):
    """No process answers there, or not in time."""

    kind = "unreachable"
    exit_code = 3


async def ask(path: Path, argv: Sequence[str], timeout_s: float) -> Any:  # noqa: ANN401 a document
    """Send one command line with `--json` and give the document of its answer.

    Raises Silent, or what the process complains of.
    """
    try:
        async with asyncio.timeout(timeout_s):
            code, out = await _exchange(path, [*argv, "--json"])
    except (OSError, TimeoutError) as error:
        raise Silent(f"{path.name} does not answer", "amiral watchdog") from error
    except ValueError as error:
        raise Silent(f"{path.name} gives no answer of ours", "amiral watchdog") from error
    if isinstance(out, dict) and isinstance(out.get("error"), dict):
        raise complaint(out["error"], code)
    return out


def complaint(told: Mapping[str, object], code: int) -> AmiralError:
    """Make the error again that another process of ours has told as JSON, kind and all."""
    error = AmiralError(str(told.get("message")), str(told.get("next", "")))
    error.kind, error.exit_code = str(told.get("kind", error.kind)), code
    return error


async def _exchange(path: Path, argv: Sequence[str]) -> tuple[int, Any]:
    reader, writer = await asyncio.open_unix_connection(path, limit=_LONGEST_LINE)
    told: list[str] = []
    try:
        writer.write(json.dumps({"argv": list(argv), "cwd": "/"}).encode() + b"\n")
        while line := await reader.readline():
            frame = json.loads(line)
            if "exit" in frame:
                return int(frame["exit"]), json.loads("".join(told) or "null")
            told.append(str(frame.get("out", "")))
    finally:
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()
    raise ConnectionResetError("the process went away before it had answered")
