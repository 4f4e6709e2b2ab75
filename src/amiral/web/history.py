"""Stretches of the journal as they are stored, bounded in rows and in bytes."""

from amiral.store.journal import Journal

Row = tuple[int, int, str, str, int, bytes]
"""seq, ts_ms, by, name, version, payload."""

_SIZES = "select seq, length(payload) from event where seq > ? and seq <= ? order by seq limit ?"
_ROWS = (
    'select seq, ts_ms, "by", name, version, payload from event'
    " where seq > ? and seq <= ? order by seq"
)


def read_stretch(
    journal: Journal, since: int, until: int, *, most_rows: int, most_bytes: int
) -> list[Row]:
    """Read events after `since` up to `until`: at least one, though it be larger than allowed.

    The sizes are looked at first, since one event may hold many megabytes.
    """
    last, size = since, 0
    for seq, length in journal.rows(_SIZES, since, until, most_rows):
        if size and size + length > most_bytes:
            break
        last, size = seq, size + length
    return journal.rows(_ROWS, since, last)
