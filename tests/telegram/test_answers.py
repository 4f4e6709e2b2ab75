"""Every answer of the Bot API becomes its result, or the failure that says what to do."""

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amiral.base.errors import AmiralError
from amiral.telegram.answers import RawUpdate, raw_update, read_answer
from amiral.telegram.failures import (
    Blocked,
    Conflict409,
    Flood,
    Reason,
    Refused,
    Revoked,
    Unreachable,
)


def read(status, told):
    return read_answer("sendMessage", status, json.dumps(told).encode())


def failure(status, description="", kind=AmiralError, **parameters):
    told = {"ok": False, "error_code": status, "description": description}
    with pytest.raises(kind) as raised:
        read(status, {**told, "parameters": parameters})
    return raised.value


@pytest.mark.parametrize("result", [True, None, [], {"message_id": 5}, "text", 7])
def test_a_result_is_given_as_it_is(result):
    assert read(200, {"ok": True, "result": result}) == result


@pytest.mark.parametrize(
    ("status", "description", "kind"),
    [
        (409, "Conflict: terminated by other getUpdates request", Conflict409),
        (401, "Unauthorized", Revoked),
        (404, "Not Found", Revoked),
        (421, "Misdirected Request: unallowed token specified", Revoked),
        (404, "Not Found: method not found", Refused),
        (403, "Forbidden: bot was blocked by the user", Blocked),
        (403, "Forbidden: bot was kicked from the supergroup chat", Blocked),
        (400, "Bad Request: not enough rights to send text messages to the chat", Blocked),
        (400, "Bad Request: CHAT_WRITE_FORBIDDEN", Blocked),
        (400, "Bad Request: chat_id is empty", Refused),
        (500, "Internal Server Error", Unreachable),
        (503, "", Unreachable),
    ],
)
def test_each_code_is_a_kind_of_failure(status, description, kind):
    assert type(failure(status, description)) is kind


@pytest.mark.parametrize(
    ("description", "reason"),
    [
        ("message is not modified: specified new message content and…", Reason.NOT_MODIFIED),
        ("can't parse entities: Character '.' is reserved", Reason.BAD_ENTITIES),
        ("can't parse MessageEntity: Unsupported type specified", Reason.BAD_ENTITIES),
        ("entity beginning at UTF-16 offset 0 ends after the end", Reason.BAD_ENTITIES),
        ("receive an entity with incorrect offset -1", Reason.BAD_ENTITIES),
        ("message thread not found", Reason.THREAD_GONE),
        ("TOPIC_DELETED", Reason.THREAD_GONE),
        ("message to edit not found", Reason.MESSAGE_GONE),
        ("message to delete not found", Reason.MESSAGE_GONE),
        ("message can't be edited", Reason.MESSAGE_GONE),
        ("MESSAGE_ID_INVALID", Reason.MESSAGE_GONE),
        ("message to be replied not found", Reason.REPLIED_GONE),
        ("chat not found", Reason.CHAT_GONE),
        ("message is too long", Reason.TOO_LONG),
        ("MESSAGE_TOO_LONG", Reason.TOO_LONG),
        ("message caption is too long", Reason.TOO_LONG),
        ("file is too big", Reason.TOO_BIG),
        ("query is too old and response timeout expired or query ID is invalid", Reason.QUERY_OLD),
        ("BUTTON_DATA_INVALID", Reason.OTHER),
        ("", Reason.OTHER),
    ],
)
def test_a_refusal_has_a_reason_that_something_can_be_done_about(description, reason):
    refused = failure(400, f"Bad Request: {description}", Refused)
    assert refused.reason is reason
    assert refused.description.startswith("Bad Request:")


def test_a_file_over_the_limit_of_a_request_is_too_big():
    assert failure(413, "Request Entity Too Large", Refused).reason is Reason.TOO_BIG


def test_a_group_that_moved_names_its_new_number():
    text = "Bad Request: group chat was upgraded to a supergroup chat"
    moved = failure(400, text, Refused, migrate_to_chat_id=-1001900000001)
    assert (moved.reason, moved.to) == (Reason.MIGRATED, -1001900000001)


@pytest.mark.parametrize(
    ("asked", "wait"), [(35, 35), (13938, 13938), (0.5, 0.5), (0, 5), (-3, 5), (10**9, 5)]
)
def test_a_flood_tells_how_long_to_wait_and_five_seconds_when_it_makes_no_sense(asked, wait):
    assert failure(429, "Too Many Requests", Flood, retry_after=asked).retry_after == wait


@pytest.mark.parametrize("wait", ["NaN", "Infinity"])
def test_a_wait_that_is_no_number_is_five_seconds(wait):
    body = f'{{"ok":false,"error_code":429,"parameters":{{"retry_after":{wait}}}}}'
    with pytest.raises(Flood) as flood:
        read_answer("a", 429, body.encode())
    assert flood.value.retry_after == 5


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>502 Bad Gateway</html>",
        b'{"ok":true,"result":{"mess',
        b"[" * 100_000,
        b"null",
        b"[]",
        b'{"result":1}',
        b'{"ok":"yes"}',
        b'{"ok":false,"error_code":"x"}',
    ],
)
def test_what_is_no_answer_of_the_bot_api_is_no_answer(body):
    with pytest.raises(Unreachable) as silence:
        read_answer("a", 200, body)
    assert not silence.value.is_unsent


def test_the_status_counts_where_no_code_is_told():
    with pytest.raises(Blocked):
        read(403, {"ok": False})


def test_a_description_is_made_one_safe_short_line():
    refused = failure(400, "Bad Request: \x1b[2J" + "a\nb" * 500, Refused)
    assert len(refused.description) == 300 and refused.description.isprintable()


@given(st.binary(max_size=60), st.integers(100, 599))
def test_any_answer_is_a_result_or_one_of_the_failures(body, status):
    with contextlib.suppress(AmiralError):
        read_answer("a", status, body)


def test_one_odd_character_does_not_spoil_what_came_with_it():
    body = b'{"ok":true,"result":[{"update_id":1,"x":"\\ud800\xff"},{"update_id":2}]}'
    found = read_answer("getUpdates", 200, body)
    assert isinstance(found, list)
    first, second = map(raw_update, found)
    assert first.number == 1 and first.raw.isascii() and "\\ud800" in first.raw
    assert second == RawUpdate(2, '{"update_id": 2}')


@pytest.mark.parametrize("update", [{}, {"update_id": "1"}])
def test_an_update_without_a_number_is_no_answer(update):
    with pytest.raises(Unreachable):
        raw_update(update)
