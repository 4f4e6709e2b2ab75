"""Asks a project's process for a sign of life: one that hangs takes a call and never ends it."""

import asyncio
import contextlib
from pathlib import Path

_PATIENCE_S = 10.0


async def answers(path: Path) -> bool:
    """Tell whether the process behind a console socket answers, be it with a refusal."""
    try:
        async with asyncio.timeout(_PATIENCE_S):
            reader, writer = await asyncio.open_unix_connection(path)
            try:
                writer.write(b"\n")
                await reader.read(1)
            finally:
                writer.close()
                with contextlib.suppress(OSError):
                    await writer.wait_closed()
    except OSError:
        return False
    return True
