"""What a running turn does, left beside its session's output for a stop that needs none of ours.

`turn.json` is there as long as the turn runs: the last act, and the lines that interrupt it. It is
not synced: a power cut ends every turn.
"""

import contextlib
import json
from collections.abc import Callable, Iterable
from pathlib import Path

from amiral.agents.beginning import Running
from amiral.agents.driver import Used
from amiral.agents.fold import Folded
from amiral.base.plain import one_line

FILE = "turn.json"

_LONGEST_ACT = 80


class TurnNotes:
    """`folder` names the folder of a session; `clean` takes secrets out of what is noted.

    A full disk leaves the note out, never a turn.
    """

    def __init__(self, folder: Callable[[str], Path], clean: Callable[[str], str]) -> None:
        self._folder, self._clean = folder, clean
        self._acts: dict[str, str] = {}
        self._left: dict[str, str] = {}

    def hear(self, turn: Running, lines: Iterable[Folded]) -> None:
        """Take note of the last tool that was used."""
        used = [one for line in lines for one in line.signals if isinstance(one, Used)]
        if used:
            act = ": ".join(part for part in (used[-1].tool, used[-1].summary) if part)
            self._acts[turn.session.id] = one_line(self._clean(act), _LONGEST_ACT)

    def leave(self, turn: Running) -> None:
        """Write what the turn does now, when that has changed."""
        session = turn.session
        inputs = session.driver.interrupt(session.state, turn.now.turn) if turn.is_written else ()
        interrupt = [{"id": one.id, "data": one.data} for one in inputs]
        told = {"act": self._acts.get(session.id, ""), "interrupt": interrupt}
        text = json.dumps(told)
        if self._left.get(session.id) == text:
            return
        path = self._folder(session.id) / FILE
        draft = path.with_name(f"{FILE}.new")
        with contextlib.suppress(OSError):
            draft.write_text(text, "utf-8")
            draft.replace(path)
            self._left[session.id] = text

    def remove(self, session: str) -> None:
        """Say that no turn runs any more."""
        self._acts.pop(session, None)
        self._left.pop(session, None)
        with contextlib.suppress(OSError):
            (self._folder(session) / FILE).unlink()
