"""What a worker was kept from in a turn, read from the journal for the person who asked."""

from amiral.base import events as ev
from amiral.base.plain import one_line
from amiral.store.journal import Journal

_MOST = 5
_LONGEST = 200
_PAGE = 1000


def refusals_of(journal: Journal, message: str, turn: str) -> tuple[str, ...]:
    """Give one line for each refusal since the message was queued, the same one once."""
    if not turn:
        return ()
    asked: dict[str, str] = {}
    told: list[str] = []
    found = journal.rows("select seq from inbox where message = ?", message)
    seq = int(found[0][0]) if found else journal.last_seq
    while batch := journal.read(seq, _PAGE):
        for stamped in batch:
            match stamped.event:
                case ev.PermissionAsked() as event if event.turn == turn:
                    asked[event.ask] = f"{event.tool} {event.summary}".strip()
                case ev.PermissionAnswered(allowed=False) as event if event.turn == turn:
                    told.append(f"{asked.get(event.ask, 'a tool')} · {event.reason}")
                case ev.ToolRefused() as event if event.turn == turn:
                    told.append(f"{event.tool} · {event.reason}")
                case _:
                    pass
        seq = batch[-1].seq
    return tuple(dict.fromkeys(one_line(line, _LONGEST) for line in told))


def shown(refused: tuple[str, ...]) -> str:
    """Write them below an answer."""
    lines = [f"✗ refused  {line}" for line in refused[:_MOST]]
    more = len(refused) - _MOST
    return "\n".join([*lines, *([f"  and {more} more: amiral events"] if more > 0 else [])])
