"""What a project's process complains of comes back as it was, and a silence is told in time."""

import json

import pytest

from amiral.base.errors import AmiralError
from amiral.hub.asking import Silent, ask


def frames(*told):
    async def answer(reader, writer):
        await reader.readline()
        writer.writelines(json.dumps(one).encode() + b"\n" for one in told)
        await writer.drain()

    return answer


async def test_a_complaint_keeps_its_kind_its_code_and_the_next_step(short_path, serving_raw):
    error = {"kind": "conflict", "message": "a stop is on", "next": "amiral release 1"}
    out = {"out": json.dumps({"error": error})}
    async with serving_raw(short_path / "x.sock", frames(out, {"exit": 6})):
        with pytest.raises(AmiralError) as raised:
            await ask(short_path / "x.sock", ["status"], 5)
    told = raised.value
    assert (told.kind, told.exit_code) == ("conflict", 6)
    assert (told.message, told.next_step) == ("a stop is on", "amiral release 1")


async def test_an_answer_is_a_document(short_path, serving_raw):
    async with serving_raw(short_path / "x.sock", frames({"out": '{"a": 1}'}, {"exit": 0})):
        assert await ask(short_path / "x.sock", ["status"], 5) == {"a": 1}


@pytest.mark.parametrize("told", [(), ({"out": "no JSON"}, {"exit": 0})])
async def test_what_is_no_answer_is_silence(short_path, serving_raw, told):
    async with serving_raw(short_path / "x.sock", frames(*told)):
        with pytest.raises(Silent, match=r"x\.sock"):
            await ask(short_path / "x.sock", ["status"], 5)
    with pytest.raises(Silent):
        await ask(short_path / "none.sock", ["status"], 5)
