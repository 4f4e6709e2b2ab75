"""The emulator in a process of its own, so that it outlives whatever a test kills."""

import contextlib
import http.client
import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

from amiral.base.errors import Broken

_PATIENCE_S = 20.0


class Remote:
    """One that listens at `port`; `do` is what `BotApi.do` is."""

    def __init__(self, port: int) -> None:
        self.port = port

    @property
    def url(self) -> str:
        """Give the address for `api_base`."""
        return f"http://127.0.0.1:{self.port}"

    def do(self, verb: str, **fields: object) -> Any:  # noqa: ANN401 any JSON
        """Have something happen; raises Broken when it cannot."""
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=_PATIENCE_S)
        try:
            link.request("POST", f"/_ctl/{verb}", json.dumps(fields))
            answer = link.getresponse()
            told = json.loads(answer.read())
        finally:
            link.close()
        if answer.status != http.client.OK:
            raise Broken(f"{verb}: {told['error']}")
        return told


@contextlib.contextmanager
def served() -> Iterator[Remote]:
    """Run one for the time of the body."""
    command = [sys.executable, "-m", "amiral.testbench.bot_api", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            line = process.stdout.readline() if process.stdout else ""
            if not line.strip():
                raise Broken("the Bot API emulator did not start")
            yield Remote(int(line))
        finally:
            process.terminate()
