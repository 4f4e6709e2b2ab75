"""What was said last in every chat, by people and by us, as a file can hold it (S1.18)."""

from collections.abc import Callable
from typing import Final

from amiral.base.clock import iso_utc
from amiral.store.journal import Rows

KEPT: Final = 50
"""How many messages of a chat the file holds; the tables forget none."""

_LATEST: Final = f"""
with said as (
  select chat, id, sent_ms, name, worker, text, '' as message, 0 as is_ours
    from chat_heard where account = ?
  union all
  select r.chat, p.id, p.sent_ms, '', coalesce(h.worker, ''), r.text, r.message, 1
    from chat_parts p join chat_replies r using (key)
    left join chat_heard h on h.message = r.message and r.message != ''
    where r.account = ? and p.part = 0 and p.state = 'sent'),
numbered as (
  select *, row_number() over (partition by chat order by sent_ms desc, is_ours desc) as place
    from said)
select chat, id, sent_ms, name, worker, text, message, is_ours from numbered
  where place <= {KEPT} order by chat, place desc
"""  # noqa: S608 a number of ours


def thread_history(
    read: Rows, account: str, answer: Callable[[str], str]
) -> dict[str, list[dict[str, str]]]:
    """Give the last messages of every chat of an account, oldest first.

    `answer` gives what was answered to a message. Each has `id`, `at`, `from` (a person's name, a
    worker, or `amiral`) and `text`.
    """
    chats: dict[str, list[dict[str, str]]] = {}
    for chat, id_, sent_ms, name, worker, text, message, is_ours in read(_LATEST, account, account):
        said = {
            "id": id_,
            "at": iso_utc(sent_ms),
            "from": (worker or "amiral") if is_ours else name,
            "text": answer(message) if message else text,
        }
        chats.setdefault(chat, []).append(said)
    return chats
