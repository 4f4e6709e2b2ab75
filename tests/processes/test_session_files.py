"""Files of a session, read by the next owner: told, absent or damaged, never guessed."""

import pytest

from amiral.base.errors import Broken
from amiral.processes.session_files import Exit, read_exit, read_inputs, read_meta


def test_what_is_not_there_is_not_told(tmp_path):
    assert read_meta(tmp_path) is None
    assert read_exit(tmp_path) is None
    assert read_inputs(tmp_path) == {}


@pytest.mark.parametrize(
    ("name", "read"),
    [("meta.json", read_meta), ("exit.json", read_exit), ("in.jsonl", read_inputs)],
)
@pytest.mark.parametrize("text", [b"x\n", b"[]\n", b"{}\n", b'{"code": "0"}\n', b"\xff\n"])
def test_what_is_damaged_is_named(tmp_path, name, read, text):
    (tmp_path / name).write_bytes(text)
    with pytest.raises(Broken, match=name):
        read(tmp_path)


def test_an_exit_is_told(tmp_path):
    text = '{"code": null, "signal": 9, "ended_ms": 5, "survivors": 0, "later": 1}'
    (tmp_path / "exit.json").write_text(text)
    assert read_exit(tmp_path) == Exit(None, 9, 5, 0)


def test_inputs_are_told(tmp_path):
    (tmp_path / "in.jsonl").write_text('{"id":"a","data":"x"}\n{"written":"a"}\n{"id":"b"')
    assert read_inputs(tmp_path) == {"a": "written"}
