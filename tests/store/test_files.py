"""Files are whole, private, and never quietly wrong."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from amiral.base.errors import Broken, Denied
from amiral.store.files import (
    Absent,
    Intact,
    Salvaged,
    ensure_private_folder,
    read_json,
    remove_leftovers,
    write_atomic,
    write_json,
)


def to_names(value):
    if not isinstance(value, list):
        raise TypeError(f"{value!r} is no list")
    return tuple(value)


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_written_file_reads_back_is_private_and_leaves_nothing_beside_it(tmp_path):
    path = tmp_path / "state.json"
    write_atomic(path, "é")
    write_atomic(path, b"new")
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert names_in(tmp_path) == ["state.json"]


def test_a_mode_asked_for_holds_whatever_the_umask(tmp_path):
    before = os.umask(0o077)
    try:
        write_atomic(tmp_path / "tool", "x", mode=0o755)
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "tool").stat().st_mode) == 0o755


def test_p02_a_write_killed_at_any_call_leaves_the_old_or_the_new_file(tmp_path, kill_at_each):
    def prepare(name):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "state.json").write_text("old")
        return folder / "state.json", "new"

    found: dict[str, list[str]] = {}
    for call in ("fchmod", "write", "fsync", "rename", "unlink"):
        for done, (path, _) in kill_at_each(call, "replace_file.py", prepare):
            text = path.read_text()
            assert text in {"old", "new"}
            if done.returncode == 0:
                assert text == "new"
            else:
                found.setdefault(call, []).append(text)
            remove_leftovers(path.parent)
            assert names_in(path.parent) == ["state.json"]
    assert found == {
        "fchmod": ["old"],
        "write": ["old"],
        "fsync": ["old", "new"],
        "rename": ["old"],
        "unlink": ["new"],
    }


@pytest.mark.parametrize(
    ("call", "effect"),
    [
        ("write", "error=ENOSPC"),
        ("fsync", "error=ENOSPC"),
        ("fsync", "error=EIO"),
        ("rename", "error=ENOSPC"),
    ],
)
def test_r38_a_refusing_disk_leaves_the_old_file_and_nothing_beside_it(
    tmp_path, run_script, strace, call, effect
):
    path = tmp_path / "state.json"
    path.write_text("old")
    done = run_script("replace_file.py", path, "new", under=strace(call, effect, 1))
    assert done.returncode == 3, done.stderr
    assert str(path) in done.stdout
    assert path.read_text() == "old"
    assert names_in(tmp_path) == ["state.json"]


def test_r37_racing_writers_lose_no_update_and_readers_never_see_a_part(tmp_path):
    path = tmp_path / "number.json"
    script = Path(__file__).parent / "scripts" / "count_up.py"
    writers = [subprocess.Popen([sys.executable, str(script), str(path), "25"]) for _ in range(8)]
    seen = [0]
    while any(writer.poll() is None for writer in writers):
        if path.exists():
            seen.append(json.loads(path.read_bytes()))
    assert [writer.returncode for writer in writers] == [0] * 8
    assert json.loads(path.read_bytes()) == 200
    assert seen == sorted(seen)


def test_leftovers_of_dead_writers_go_and_those_of_live_ones_stay(tmp_path):
    dead = subprocess.Popen([sys.executable, "-I", "-S", "-c", ""])
    dead.wait()
    ours = f".state.json.{os.getpid()}-0a0b0c0d.tmp"
    for name in (ours, f".state.json.{dead.pid}-0a0b0c0d.tmp", ".notes.tmp", "kept.tmp"):
        (tmp_path / name).touch()
    remove_leftovers(tmp_path)
    assert names_in(tmp_path) == sorted([ours, ".notes.tmp", "kept.tmp"])


def test_json_reads_back_and_a_missing_file_is_absent(tmp_path):
    path = tmp_path / "names.json"
    assert read_json(path, to_names) == Absent()
    write_json(path, ["a", "b"])
    assert read_json(path, to_names) == Intact(("a", "b"))
    assert path.read_text().endswith("\n")


@pytest.mark.parametrize("damage", [b"", b"[1,", b"\xff\xfe", b'{"a": 1}', b"[" * 100_000])
def test_r37_an_unusable_file_is_kept_aside_and_the_last_good_one_comes_with_a_warning(
    tmp_path, damage
):
    path = tmp_path / "names.json"
    write_json(path, ["a"])
    path.write_bytes(damage)
    found = read_json(path, to_names)
    assert isinstance(found, Salvaged)
    assert found.value == ("a",)
    assert found.kept == tmp_path / "names.json.corrupt-1"
    assert (tmp_path / "names.json.corrupt-1").read_bytes() == damage
    assert path.read_bytes() == damage
    assert all(word in found.warning for word in (str(path), "names.json.corrupt-1", "mend"))


def test_r37_copies_kept_aside_never_overwrite_each_other_and_are_made_once(tmp_path):
    path = tmp_path / "names.json"
    write_json(path, ["a"])
    for damage in (b"one", b"one", b"two", b"one"):
        path.write_bytes(damage)
        read_json(path, to_names)
    assert (tmp_path / "names.json.corrupt-1").read_bytes() == b"one"
    assert (tmp_path / "names.json.corrupt-2").read_bytes() == b"two"
    assert not (tmp_path / "names.json.corrupt-3").exists()


def test_a_file_edited_by_hand_becomes_the_good_one_once_it_was_read(tmp_path):
    path = tmp_path / "names.json"
    path.write_text('["by hand"]')
    read_json(path, to_names)
    path.write_text("[")
    found = read_json(path, to_names)
    assert isinstance(found, Salvaged)
    assert found.value == ("by hand",)


def test_a_lost_file_is_not_quietly_empty(tmp_path):
    path = tmp_path / "names.json"
    write_json(path, ["a"])
    path.unlink()
    found = read_json(path, to_names)
    assert isinstance(found, Salvaged)
    assert (found.value, found.kept) == (("a",), None)
    assert "is gone" in found.warning


def test_an_unusable_file_without_a_good_copy_is_an_error_that_names_what_was_kept(tmp_path):
    path = tmp_path / "names.json"
    path.write_text("[")
    with pytest.raises(Broken, match=r"names\.json\.corrupt-1"):
        read_json(path, to_names)


def test_a_file_that_cannot_be_opened_is_not_called_damaged(tmp_path):
    path = tmp_path / "names.json"
    path.mkdir()
    with pytest.raises(Broken, match="cannot read"):
        read_json(path, to_names)
    assert names_in(tmp_path) == ["names.json"]


def test_a_folder_is_made_private_with_its_missing_parents(tmp_path):
    before = os.umask(0o022)
    try:
        ensure_private_folder(tmp_path / "a" / "b")
    finally:
        os.umask(before)
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("a", "a/b")]
    assert modes == [0o700, 0o700]


def test_a_folder_of_ours_with_wider_rights_is_tightened(tmp_path):
    tmp_path.chmod(0o755)
    ensure_private_folder(tmp_path)
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o700


def test_a_folder_of_another_user_is_refused(tmp_path):
    if os.geteuid() == 0:
        foreign = tmp_path / "foreign"
        foreign.mkdir()
        os.chown(foreign, 12345, 12345)
    else:
        foreign = Path("/usr")
    before = foreign.stat().st_mode
    with pytest.raises(Denied, match=r"belongs to user|not ours"):
        ensure_private_folder(foreign)
    assert foreign.stat().st_mode == before


def test_a_folder_that_cannot_be_made_is_told_plainly(tmp_path):
    with pytest.raises(Broken, match="cannot make the folder"):
        ensure_private_folder(tmp_path / ("x" * 300))


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "file").touch()
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(Denied, match="not a folder"):
            ensure_private_folder(path)
