"""The text a turn begins with: the task, framed, with what a new session cannot know."""

from amiral.agents import prompt
from amiral.agents.rows import Queued
from amiral.agents.worker import Worker
from amiral.base.clock import utc_day
from amiral.conversations import store
from amiral.store.journal import Journal

_REMEMBERED = 12


class Words:
    """Builds prompts from the journal, so that a turn taken up again gets the same words."""

    def __init__(self, journal: Journal, project: str) -> None:
        self._journal, self._project = journal, project

    def __call__(self, message: Queued, worker: Worker, knows_nothing: bool) -> str:  # noqa: FBT001
        """Give the text for one message; `knows_nothing`: the session is new to all of it."""
        history = self._history(message) if knows_nothing else ()
        if message.line not in ("", message.message) and not knows_nothing:
            return prompt.RESUME
        style, quoted = worker.prompt_style, _quoted(message)
        return prompt.assemble(style, message.text, self._project, history, quoted)

    def _history(self, message: Queued) -> tuple[prompt.Exchange, ...]:
        begun = store.begun(self._journal.rows, message.message)
        said = store.latest(self._journal.rows, message.conversation, _REMEMBERED, begun)
        return tuple(
            prompt.Exchange(one.speaker, utc_day(one.ts_ms), one.text) for one in said if one.text
        )


def _quoted(message: Queued) -> prompt.Exchange | None:
    if not message.quoted:
        return None
    day = utc_day(message.quoted_ms) if message.quoted_ms else "earlier"
    return prompt.Exchange(message.quoted_by or "somebody", day, message.quoted)
