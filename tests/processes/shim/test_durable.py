"""Small files: whole or untouched."""

import json

import pytest

from amiral.processes.shim.durable import remove, write_json


def test_a_file_is_replaced_whole_and_private(tmp_path):
    values: list[dict[str, object]] = [{"a": 1}, {"b": [2]}]
    for value in values:
        write_json(str(tmp_path), "x.json", value)
        assert json.loads((tmp_path / "x.json").read_text()) == value
    assert [path.name for path in tmp_path.iterdir()] == ["x.json"]
    assert (tmp_path / "x.json").stat().st_mode & 0o777 == 0o600


def test_a_refusal_leaves_the_old_one_and_nothing_beside_it(tmp_path):
    (tmp_path / "x.json").mkdir()
    with pytest.raises(OSError, match="directory"):
        write_json(str(tmp_path), "x.json", {})
    assert [path.name for path in tmp_path.iterdir()] == ["x.json"]


def test_removing_what_is_gone_is_fine(tmp_path):
    (tmp_path / "x").touch()
    for _ in range(2):
        remove(str(tmp_path / "x"))
    assert list(tmp_path.iterdir()) == []
