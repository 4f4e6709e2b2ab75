"""What goes over the wire: events that any reader of server-sent events understands."""

import json

from hypothesis import given
from hypothesis import strategies as st

from amiral.web import frames

EPOCHS = st.text("abcdefghijklmnopqrstuvwxyz0123456789", min_size=1, max_size=16)
SEQS = st.integers(0, 10**17)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=4,
)


@given(
    epoch=EPOCHS,
    seq=SEQS,
    by=st.text(st.characters(exclude_categories=["Cs"])),
    payload=st.dictionaries(st.text(), JSON, max_size=3),
)
def test_an_event_reads_back_as_it_was_whatever_was_said(epoch, seq, by, payload, parser):
    """No text can end an event or begin another one: line ends are escaped inside JSON (R54)."""
    stored = json.dumps(payload).encode()
    head = frames.head(
        epoch, seq, name="WorkerSaid", ts="2026-11-30T14:00:00.000Z", by=by, version=2
    )
    (event,) = parser().feed(head + stored + frames.END)
    assert (event.id, event.type) == (f"{epoch}:{seq}", "WorkerSaid")
    assert event.json() == {
        "seq": seq,
        "ts": "2026-11-30T14:00:00.000Z",
        "by": by,
        "name": "WorkerSaid",
        "version": 2,
        "payload": payload,
    }


@given(epoch=EPOCHS, seq=SEQS, ahead=st.integers(0, 100))
def test_a_place_is_read_back_by_the_journal_that_gave_it(epoch, seq, ahead):
    assert frames.read_place(f"{epoch}:{seq}", epoch, seq + ahead) == seq
    assert frames.read_place(f"{epoch}:{seq + 1}", epoch, seq) is None, "not reached yet"
    assert frames.read_place(f"{epoch}:{seq}", epoch + "x", seq) is None, "another journal's"


@given(st.text())
def test_any_text_is_a_place_or_none(text):
    seq = frames.read_place(text, "e", 5)
    assert seq is None or text == f"e:{seq}"


@given(epoch=EPOCHS, seq=SEQS)
def test_the_opening_of_a_stream_sets_the_place(epoch, seq, parser):
    quiet = parser()
    assert list(quiet.feed(frames.greeting(epoch, seq))) == []
    assert (quiet.last_id, quiet.retry) == (f"{epoch}:{seq}", str(frames.RETRY_MS))
    anew = parser()
    (event,) = anew.feed(frames.resync(epoch, seq))
    assert (event.id, event.type) == (f"{epoch}:{seq}", "resync")
    assert event.json() == {"epoch": epoch, "seq": seq}
    assert anew.retry == str(frames.RETRY_MS)


def test_a_ping_is_a_comment_and_no_event(parser):
    at = parser()
    assert list(at.feed(frames.PING)) == []
    assert at.pings == 1
