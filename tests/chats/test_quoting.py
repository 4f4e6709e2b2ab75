"""What a reply leads to: the chosen part, then our own record, then the service's copy."""

import pytest

from amiral.chats.incoming import Quoted
from amiral.chats.quoting import Known, Quotation, quotation

KNOWN = Known("ours", "Bea", 5, "m1", "consultant", is_ours=False)


@pytest.mark.parametrize(
    ("quoted", "known", "text", "expected"),
    [
        (Quoted("3", "copy", "les hooks", 9, "Ann"), KNOWN, "ours", ("les hooks", "Bea", 5)),
        (Quoted("3", "copy", "", 9, "Ann"), KNOWN, "ours", ("ours", "Bea", 5)),
        (Quoted("3", "copy", "", 9, "Ann"), None, "", ("copy", "Ann", 9)),
        (Quoted("3", "x\x1b[31m\u202ey", "", 0, ""), None, "", ("x<U+202E>y", "", 0)),
        (Quoted(part="there", is_elsewhere=True), None, "", ("there", "", 0)),
    ],
)
def test_whoever_knows_best_is_believed(quoted, known, text, expected):
    assert quotation(quoted, known, text) == Quotation(*expected)


def test_what_nobody_knows_is_left_out_and_what_is_long_is_cut():
    assert quotation(Quoted("3", " \n"), None, "") is None
    cut = quotation(Quoted("3", "a" * 5000), None, "")
    assert cut is not None
    assert len(cut.text) == 3000
