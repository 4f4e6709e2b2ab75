"""Pure: server-sent events: how an event of the journal is written, and what a place means (R52).

A place is `<epoch>:<seq>`: the epoch names the journal, the number the last event received.
"""

import functools
import re

import msgspec

RETRY_MS = 1000
PING = b": \n\n"
END = b"}\n\n"

_PLACE = re.compile(r"([a-z0-9]{1,64}):(0|[1-9][0-9]{0,17})")


def head(epoch: str, seq: int, *, name: str, ts: str, by: str, version: int) -> bytes:
    """Write one event up to its payload, which is spliced in as it is stored; END closes it.

    `name` is an event's class name, `ts` ISO 8601 UTC.
    """
    return (
        f'id: {epoch}:{seq}\nevent: {name}\ndata: {{"seq":{seq},"ts":"{ts}","by":{_json(by)},'
        f'"name":"{name}","version":{version},"payload":'
    ).encode()


def greeting(epoch: str, seq: int) -> bytes:
    """Open a stream: how soon to come back, and from which place, before any event has come."""
    return f"retry: {RETRY_MS}\nid: {epoch}:{seq}\n\n".encode()


def resync(epoch: str, seq: int) -> bytes:
    """Open a stream for one whose place means nothing here: load everything anew, go on from now.

    It stands for all that was missed, once.
    """
    data = f'{{"epoch":"{epoch}","seq":{seq}}}'
    return f"retry: {RETRY_MS}\nid: {epoch}:{seq}\nevent: resync\ndata: {data}\n\n".encode()


def read_place(text: str, epoch: str, newest: int) -> int | None:
    """Give the number of a place, None for another journal's, one not reached yet, or garbage."""
    found = _PLACE.fullmatch(text)
    if found is None or found[1] != epoch or int(found[2]) > newest:
        return None
    return int(found[2])


@functools.lru_cache(maxsize=256)
def _json(text: str) -> str:
    return msgspec.json.encode(text).decode()
