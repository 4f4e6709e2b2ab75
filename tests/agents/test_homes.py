"""What is written into a worker's config home, and what of others goes."""

import contextlib
import os
import subprocess
import sys

import pytest

from amiral.agents.driver import FileToWrite
from amiral.agents.drivers import scripted
from amiral.agents.homes import write_home
from amiral.base.errors import AmiralError


class Merging(scripted.Scripted):
    def merged(self, found, text):
        return found + text


def test_s3_18_what_another_cli_was_told_is_gone_before_the_next_starts(tmp_path):
    (tmp_path / "settings.json").write_text("theirs")
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "a.toml").write_text("theirs")
    (tmp_path / "link.json").symlink_to("/etc/passwd")
    (tmp_path / "kept.txt").write_text("kept")
    files = [FileToWrite("AGENTS.md", "ours")]
    write_home(tmp_path, scripted.DRIVER, files, ("*.json", "rules/*.toml", "AGENTS.md"))
    left = sorted(path.name for path in tmp_path.rglob("*") if not path.is_dir())
    assert left == ["AGENTS.md", "kept.txt"]


def test_s3_17_a_file_of_ours_is_written_anew_and_a_merged_one_keeps_the_rest(tmp_path):
    (tmp_path / "ours.json").write_text("edited by an agent")
    (tmp_path / "config.toml").write_text("the cli's own\n")
    files = [FileToWrite("ours.json", "{}"), FileToWrite("config.toml", "managed\n", True)]
    write_home(tmp_path, Merging(), files, ("*.json", "config.toml"))
    assert (tmp_path / "ours.json").read_text() == "{}"
    assert (tmp_path / "config.toml").read_text() == "the cli's own\nmanaged\n"
    write_home(tmp_path, Merging(), [FileToWrite("deep/new.toml", "x", True)], ())
    assert (tmp_path / "deep" / "new.toml").read_text() == "x"


def test_f2_links_are_removed_and_what_they_lead_to_is_left(tmp_path):
    theirs, home = tmp_path / "theirs", tmp_path / "home"
    for folder in (theirs, home):
        folder.mkdir()
    (theirs / "kept.rules").write_text("the owner's")
    (theirs / "config.toml").write_text("secret")
    (home / "rules").symlink_to(theirs)
    (home / "config.toml").symlink_to(theirs / "config.toml")
    (home / "deep").symlink_to(theirs)
    files = [FileToWrite("config.toml", "managed", True), FileToWrite("deep/new", "ours")]
    write_home(home, Merging(), files, ("rules/*",))
    assert sorted(path.name for path in theirs.iterdir()) == ["config.toml", "kept.rules"]
    assert not (home / "rules").is_symlink()
    assert (home / "config.toml").read_text() == "managed"
    assert (home / "deep" / "new").read_text() == "ours"


SWAPS = """
import ctypes, os, shutil, sys
home, theirs = sys.argv[1:]
os.chdir(home)
swap = ctypes.CDLL(None).renameat2
here, exchange = -100, 2

def again(make, *what):
    try:
        make(*what)
    except OSError:
        pass

print(flush=True)
while True:
    if swap(here, b"rules", here, b"link", exchange):
        shutil.rmtree("link", ignore_errors=True)
        again(os.mkdir, "rules")
        again(os.symlink, theirs, "link")
"""


@pytest.mark.parametrize(
    ("told", "owned"), [((), ("rules/*",)), ((FileToWrite("rules/told.rules", "ours"),), ())]
)
def test_f2_a_folder_swapped_for_a_link_meanwhile_leads_to_nothing_of_others(tmp_path, told, owned):
    """A session that still lives swaps it as fast as it can, while the home is written."""
    theirs, home = tmp_path / "theirs", tmp_path / "home"
    for folder in (theirs, home, home / "rules"):
        folder.mkdir()
    kept = {name: f"the owner's {name}" for name in ("kept.rules", "told.rules")}
    for name, text in kept.items():
        (theirs / name).write_text(text)
    for number in range(2000):
        # The longer it takes to look into the home, the longer there is for a swap.
        (home / f"{number}").touch()
    with subprocess.Popen(
        [sys.executable, "-c", SWAPS, home, theirs], stdout=subprocess.PIPE
    ) as swapping:
        assert swapping.stdout is not None
        swapping.stdout.readline()
        for _ in range(500):
            with contextlib.suppress(OSError, AmiralError):
                write_home(home, scripted.DRIVER, told, owned)
        swapping.kill()
    assert {path.name: path.read_text() for path in theirs.iterdir()} == kept


def test_a_file_that_cannot_be_written_is_told(tmp_path):
    (tmp_path / "home").symlink_to(tmp_path)
    with pytest.raises(OSError, match="home"):
        write_home(tmp_path / "home", scripted.DRIVER, [FileToWrite("a", "ours")], ())


def test_a_folder_deeper_than_anybody_goes_is_out_of_the_way(tmp_path):
    (tmp_path / "/".join(["rules"] * 150)).mkdir(parents=True)
    write_home(tmp_path, scripted.DRIVER, [FileToWrite("rules", "ours")], ("rules",))
    assert (tmp_path / "rules").read_text() == "ours"
    (gone,) = [path.name for path in tmp_path.iterdir() if path.name != "rules"]
    assert gone.startswith(".amiral-gone-")


def test_what_cannot_be_merged_is_dropped(tmp_path):
    class Deep(scripted.Scripted):
        def merged(self, found, text):
            if found:
                raise RecursionError
            return text

    (tmp_path / "config.toml").write_text("deep")
    write_home(tmp_path, Deep(), [FileToWrite("config.toml", "managed", True)], ())
    assert (tmp_path / "config.toml").read_text() == "managed"


def test_f6_what_is_no_plain_file_is_replaced_and_holds_nothing_up(tmp_path):
    os.mkfifo(tmp_path / "config.toml")
    (tmp_path / "AGENTS.md").mkdir()
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "planted.rules").mkdir()
    files = [FileToWrite("config.toml", "managed", True), FileToWrite("AGENTS.md", "ours")]
    write_home(tmp_path, Merging(), files, ("rules/*",))
    assert (tmp_path / "config.toml").read_text() == "managed"
    assert (tmp_path / "AGENTS.md").read_text() == "ours"
    assert list((tmp_path / "rules").iterdir()) == []
    (tmp_path / "config.toml").write_text("x" * (1 << 20) + "too long")
    write_home(tmp_path, Merging(), files, ())
    assert (tmp_path / "config.toml").read_text() == "managed"
