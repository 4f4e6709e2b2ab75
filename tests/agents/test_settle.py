"""When a CLI is gone before its final event: what its files and its transcript tell."""

import pytest

from amiral.agents.driver import Settlement
from amiral.agents.drivers import scripted
from amiral.agents.rows import SessionRow
from amiral.agents.session import EXITED, LINK_LOST, NEVER_LAUNCHED, SHIM_LOST, Session
from amiral.agents.settle import bury, gather, last_words
from amiral.agents.tail import OutputTail
from amiral.base.errors import Broken
from amiral.processes.pool import ShimPool
from amiral.processes.tree import Identity, Killed, boot_id

MESSAGE = b'{"type": "message", "id": "m1"}\n'
FINAL = b'{"type": "final", "id": "m1", "how": "done", "text": "42"}\n'
WRITTEN = b'{"id": "m1", "data": "x"}\n{"written": "m1"}\n'


@pytest.fixture
def session(tmp_path):
    names = ("s1", "dev", "dev-owner", "scripted", "/shop", "/none", "seat", "", "k", "open", "")
    row = SessionRow(*names, 1, 0, "", 1, 0)
    tail = OutputTail(tmp_path, (1, 0))
    return Session(row, scripted.DRIVER, scripted.ScriptedState(), tail)


@pytest.fixture
def transcript(tmp_path):
    def write(*parts: bytes):
        paths = [tmp_path / f"transcript{number}" for number in range(len(parts))]
        for path, data in zip(paths, parts, strict=True):
            path.write_bytes(data)
        return paths

    return write


@pytest.mark.parametrize(
    ("record", "line"),
    [
        (WRITTEN, "written"),
        (WRITTEN[:26], "recorded"),
        (b"", "unknown"),
        (None, "unknown"),
        (b"?\n" + WRITTEN, "recorded"),
    ],
)
def test_the_shims_record_tells_how_far_the_input_came(session, tmp_path, record, line):
    if record is not None:
        (tmp_path / "in.jsonl").write_bytes(record)
    assert gather(session, "m1", "x", tmp_path, []).line == line


@pytest.mark.parametrize(
    ("parts", "proof"),
    [
        ([], "absent"),
        ([b""], "absent"),
        ([MESSAGE], "received"),
        ([MESSAGE + FINAL], "answered"),
        ([MESSAGE, FINAL], "answered"),
        ([b"", MESSAGE], "received"),
    ],
)
def test_every_transcript_of_the_session_is_asked(session, tmp_path, transcript, parts, proof):
    assert gather(session, "m1", "x", tmp_path, transcript(*parts)).settlement.proof == proof


def test_without_a_transcript_nothing_is_proved(session, tmp_path):
    assert gather(session, "m1", "x", tmp_path, None).settlement == Settlement("unknown")


def test_a_transcript_that_cannot_be_read_proves_nothing(session, tmp_path):
    found = gather(session, "m1", "x", tmp_path, [tmp_path])
    assert found.settlement == Settlement("unknown")


@pytest.mark.parametrize(
    ("exit_code", "stderr", "why"),
    [
        (None, b"", "the CLI ended"),
        (0, b"", "the CLI ended (code 0)"),
        (3, b"Error: no\n", "the CLI ended (code 3); its last words: Error: no"),
        (-9, b"", "the CLI ended (signal 9)"),
    ],
)
def test_the_reason_names_the_end_and_the_last_words(session, tmp_path, exit_code, stderr, why):
    (tmp_path / "err").write_bytes(stderr)
    session.end(EXITED, exit_code)
    assert gather(session, "m1", "x", tmp_path, []).why == why


SECRET = "sk-ant-" + "a1B2" * 10


@pytest.mark.parametrize(
    ("older", "newer", "words"),
    [
        (b"", b"", ""),
        (b"", b"one\n  two\n\n", "one two"),
        (b"", b"\x1b[31mred\x1b[0m\x07\n", "red"),
        (b"", b"\xff\xfe!\n", "\ufffd\ufffd!"),
        (b"before\n", b"after\n", "before after"),
        (b"before\n", b"", "before"),
        (b"", b"x" * 500, ""),
        (b"", b"lost " + b"x" * 292 + b" end", "… " + "x" * 292 + " end"),
        (b"", f"key {SECRET} refused\n".encode(), "key [redacted] refused"),
    ],
)
def test_last_words_are_one_plain_line_without_secrets(tmp_path, older, newer, words):
    (tmp_path / "err.1").write_bytes(older)
    (tmp_path / "err").write_bytes(newer)
    assert last_words(tmp_path) == words


def test_a_cli_that_said_nothing_has_no_last_words(tmp_path):
    assert last_words(tmp_path / "nowhere") == ""


@pytest.mark.parametrize("cut", range(250, 340))
def test_r50_a_secret_cut_by_the_limit_leaves_no_half_of_itself(tmp_path, cut):
    """Known secrets are taken out by the journal, which must see them whole or not at all."""
    secret = "correct-horse-battery-staple"
    (tmp_path / "err").write_text(f"at first {secret} " + "x" * (cut - 1) + "\n")
    words = last_words(tmp_path)
    assert secret in words or not any(secret[-size:] in words for size in range(4, len(secret)))


class Shims(ShimPool):
    """A pool that finds what a test says."""

    def __init__(self, *killed, survivors=()):
        self.killed, self.survivors = set(killed), set(survivors)
        self.asked: list[tuple[str, list[int], str | None]] = []

    async def kill_tree(self, tag, roots, cgroup, deadline_s):
        self.asked.append((tag, [root.pid for root in roots], cgroup))
        return Killed(self.killed, self.survivors, 1)


META = (
    '{"session": "s1", "tag": "t", "socket": "/s", "boot_id": "b", "shim": {"pid": 5, "start": 1},'
    ' "cli": {"pid": 6, "start": 1}, "cgroup": "/c", "argv0": "x", "cwd": "/", "launched_ms": 1}'
)
EXIT = '{"code": null, "signal": 9, "ended_ms": 1, "survivors": 0}'


@pytest.mark.parametrize(
    "case",
    [
        ({"meta.json": META, "exit.json": EXIT}, (), EXITED, -9, []),
        ({"exit.json": EXIT.replace("null", "3").replace("9", "null")}, (), EXITED, 3, []),
        ({"meta.json": META}, (), SHIM_LOST, None, [("t:s1", [5, 6], "/c")]),
        ({"meta.json": META, "exit.json": "?"}, (), SHIM_LOST, None, [("t:s1", [5, 6], "/c")]),
        ({"meta.json": "?"}, (), SHIM_LOST, None, [("t:s1", [], None)]),
        ({}, (), NEVER_LAUNCHED, None, [("t:s1", [], None)]),
        ({}, (Identity("b", 6, 1),), SHIM_LOST, None, [("t:s1", [], None)]),
    ],
)
async def test_how_a_session_without_a_shim_ended(session, tmp_path, case):
    files, killed, why, exit_code, asked = case
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    shims = Shims(*killed)
    session.end(LINK_LOST)
    await bury(session, tmp_path, "t:s1", shims)
    assert (session.why_over, session.exit_code, shims.asked) == (why, exit_code, asked)


async def test_a_session_whose_end_is_known_is_left_in_peace(session, tmp_path):
    shims = Shims()
    session.end(EXITED, 0)
    await bury(session, tmp_path, "t:s1", shims)
    assert (session.why_over, shims.asked) == (EXITED, [])


@pytest.mark.parametrize(
    ("files", "why"),
    [
        ({"meta.json": META}, LINK_LOST),
        ({"meta.json": META, "exit.json": EXIT[:-2] + "2}"}, LINK_LOST),
        ({"meta.json": META, "exit.json": EXIT[:-2] + "2}"}, EXITED),
    ],
)
async def test_r29_nothing_is_concluded_while_a_process_survives(session, tmp_path, files, why):
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    session.end(why)
    for _ in range(2):
        with pytest.raises(Broken, match="processes 6 of session"):
            await bury(session, tmp_path, "t:s1", Shims(survivors=[Identity("b", 6, 1)]))
    shims = Shims()
    await bury(session, tmp_path, "t:s1", shims)
    assert shims.asked == [("t:s1", [5, 6], "/c")]


@pytest.mark.parametrize(
    ("meta", "proof"),
    [
        (META.replace('"b"', f'"{boot_id()}"'), "absent"),
        (META, "unknown"),
        ("", "unknown"),
    ],
)
def test_r41_what_the_machine_may_not_have_stored_before_it_went_down_proves_nothing(
    session, tmp_path, transcript, meta, proof
):
    (tmp_path / "meta.json").write_text(meta)
    assert gather(session, "m1", "x", tmp_path, transcript(b"")).settlement.proof == proof
    read = gather(session, "m1", "x", tmp_path, transcript(MESSAGE))
    assert read.settlement.proof == "received"
