"""Hints name commands as they are written in a chat."""

import pytest

from amiral.chats.hints import in_chat
from amiral.commands.table import TABLE


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("  amiral release 7f", "  /release 7f"),
        ("see `amiral approve-request a allow`", "see `/approve_request a allow`"),
        ("amiral project remove tea", "/remove_project tea"),
        ("amiral status; amiral doctor", "/status; amiral doctor"),
        ("amiral statuses, myamiral status", "amiral statuses, myamiral status"),
        ("", ""),
    ],
)
def test_what_can_be_written_here_is_named_so(text, expected):
    assert in_chat(text, TABLE) == expected
