"""What a fenced program can do to files: what was granted, whatever way it tries (cases F)."""

import os
import unicodedata

import pytest

from amiral.processes.fence import DELETE, EXECUTE, LIST, READ, WRITE, Fence

CHANGE = WRITE | DELETE

EVERY_CHANGE = """
from pathlib import Path

def changes(folder):
    attempt("write", lambda: Path(folder, "kept").write_text("changed"))
    attempt("append", lambda: os.write(os.open(f"{folder}/kept", os.O_WRONLY | os.O_APPEND), b"x"))
    attempt("truncate", lambda: os.truncate(f"{folder}/kept", 0))
    attempt("empty on opening", lambda: os.open(f"{folder}/kept", os.O_RDONLY | os.O_TRUNC))
    attempt("create", lambda: Path(folder, "new").touch())
    attempt("make a folder", lambda: os.mkdir(f"{folder}/made"))
    attempt("make a link", lambda: os.symlink("/etc/passwd", f"{folder}/link"))
    attempt("make a pipe", lambda: os.mkfifo(f"{folder}/pipe"))
    attempt("rename", lambda: os.rename(f"{folder}/second", f"{folder}/renamed"))
    attempt("remove a folder", lambda: os.rmdir(f"{folder}/empty"))
    attempt("remove", lambda: os.unlink(f"{folder}/kept"))
"""


FROM_A_GRANDCHILD = """
reading, writing = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        changes(outside)
        os.write(writing, json.dumps(told).encode())
    os._exit(0)
os.close(writing)
os.wait()
told = json.loads(open(reading).read())
"""
LOOKS = """
attempt("list", lambda: os.listdir(outside))
attempt("read", lambda: open(f"{outside}/second").read())
"""


@pytest.fixture(autouse=True)
def furnished(pen):
    for folder in (pen.inside, pen.outside):
        (folder / "kept").write_text("kept")
        (folder / "second").write_text("second")
        (folder / "empty").mkdir()


def state(folder):
    return {
        str(path.relative_to(folder)): path.read_text() if path.is_file() else ""
        for path in folder.rglob("*")
    }


async def test_f1_nothing_outside_is_written_made_emptied_or_removed(pen):
    before = state(pen.outside)
    told = await pen.tries(EVERY_CHANGE + "changes(outside)")
    assert set(told.values()) == {"EACCES"}, told
    assert state(pen.outside) == before


async def test_f1_inside_all_of_it_can_be_done(pen):
    told = await pen.tries(EVERY_CHANGE + "changes(inside)")
    assert set(told.values()) == {"done"}, told


async def test_f1_without_a_fence_all_of_it_can_be_done_outside(pen):
    told = await pen.tries_freely(EVERY_CHANGE + "changes(outside)")
    assert set(told.values()) == {"done"}, told


async def test_f1_a_descendant_that_left_its_session_is_fenced_like_its_parent(pen):
    before = state(pen.outside)
    told = await pen.tries(EVERY_CHANGE + FROM_A_GRANDCHILD)
    assert set(told.values()) == {"EACCES"}, told
    assert state(pen.outside) == before


async def test_f1_every_program_it_starts_is_fenced(pen):
    script = f"setsid sh -c 'echo x > {pen.outside}/new; rm {pen.outside}/kept; true'"
    before = state(pen.outside)
    ran = await pen.run("sh", "-c", script)
    assert ran.err.count(b"Permission denied") == 2
    assert state(pen.outside) == before


async def test_f1_reading_is_fenced_only_where_it_was_asked_for(pen):
    assert await pen.tries(LOOKS) == {"list": "EACCES", "read": "EACCES"}
    told = await pen.tries(
        LOOKS + EVERY_CHANGE + "changes(outside)", fence=pen.fence(fenced=CHANGE)
    )
    assert (told.pop("list"), told.pop("read")) == ("done", "done")
    assert set(told.values()) == {"EACCES"}, told


async def test_f2_a_link_leads_nowhere_outside(pen):
    (pen.inside / "file").symlink_to(pen.outside / "kept")
    (pen.inside / "folder").symlink_to(pen.outside)
    (pen.inside / "dangling").symlink_to(pen.outside / "made")
    before = state(pen.outside)
    code = """
    attempt("file", lambda: open(f"{inside}/file", "a"))
    attempt("folder", lambda: open(f"{inside}/folder/new", "w"))
    attempt("dangling", lambda: open(f"{inside}/dangling", "w"))
    attempt("read", lambda: open(f"{inside}/file").read())
    os.symlink(outside, f"{inside}/own")
    attempt("own", lambda: open(f"{inside}/own/new", "w"))
    """
    told = await pen.tries(code)
    assert told == dict.fromkeys(["file", "folder", "dangling", "read", "own"], "EACCES")
    assert state(pen.outside) == before


async def test_f2_a_granted_path_that_became_a_link_grants_nothing(pen):
    (pen.inside / "folder").symlink_to(pen.outside)
    (pen.inside / "file").symlink_to(pen.outside / "kept")
    grants = [(f"{pen.inside}/{name}", pen.ALL) for name in ("folder", "folder/empty", "file")]
    told = await pen.tries(
        """
        attempt("in the folder", lambda: open(f"{outside}/new", "w"))
        attempt("below it", lambda: open(f"{outside}/empty/new", "w"))
        attempt("the file", lambda: open(f"{outside}/kept", "w"))
        """,
        fence=pen.fence(*grants),
    )
    assert set(told.values()) == {"EACCES"}, told


async def test_f3_a_hard_link_crosses_the_fence_in_neither_direction(pen):
    code = """
    attempt("out", lambda: os.link(f"{inside}/kept", f"{outside}/in"))
    attempt("in", lambda: os.link(f"{outside}/kept", f"{inside}/out"))
    """
    told = await pen.tries(code)
    assert set(told.values()) <= {"EACCES", "EXDEV"}, told
    assert set((await pen.tries_freely(code)).values()) == {"done"}


async def test_f3_nothing_is_renamed_or_exchanged_across_the_fence(pen):
    code = """
    import ctypes
    libc = ctypes.CDLL(None, use_errno=True)

    def exchange(one, other):
        if libc.renameat2(-100, one.encode(), -100, other.encode(), 2):
            raise OSError(ctypes.get_errno(), "")

    attempt("out", lambda: os.rename(f"{inside}/kept", f"{outside}/moved"))
    attempt("in", lambda: os.rename(f"{outside}/kept", f"{inside}/moved"))
    attempt("over it", lambda: os.rename(f"{inside}/second", f"{outside}/second"))
    attempt("exchange", lambda: exchange(f"{inside}/kept", f"{outside}/kept"))
    attempt("exchange folders", lambda: exchange(f"{inside}/empty", f"{outside}/empty"))
    attempt("the granted folder", lambda: os.rename(inside, outside + "/inside"))
    attempt("its own name", lambda: os.rename(inside, inside + "2"))
    attempt("exchange it", lambda: exchange(inside, outside))
    """
    before = state(pen.inside), state(pen.outside)
    told = await pen.tries(code)
    assert set(told.values()) <= {"EACCES", "EXDEV"}, told
    assert (state(pen.inside), state(pen.outside)) == before


async def test_f3_moving_between_granted_folders_needs_writing_and_deleting_in_both(pen):
    code = """
    attempt("inside", lambda: os.rename(f"{inside}/kept", f"{inside}/empty/kept"))
    attempt("into the other", lambda: os.rename(f"{inside}/second", f"{outside}/moved"))
    """
    whole, some = (str(pen.inside), pen.ALL), (str(pen.outside), pen.ALL & ~DELETE)
    told = await pen.tries(code, fence=pen.fence(whole, some))
    assert told == {"inside": "done", "into the other": "EXDEV"}
    (pen.inside / "empty" / "kept").rename(pen.inside / "kept")
    told = await pen.tries(code, fence=pen.fence(whole, (str(pen.outside), pen.ALL)))
    assert told == {"inside": "done", "into the other": "done"}


async def test_f3_where_only_reading_is_fenced_files_move_freely(pen):
    (pen.outside / "folder").mkdir()
    code = """
    attempt("outside", lambda: os.rename(f"{outside}/second", f"{outside}/folder/second"))
    attempt("to where it may be read", lambda: os.rename(f"{outside}/kept", f"{inside}/moved"))
    """
    told = await pen.tries(code, fence=pen.fence(fenced=READ))
    assert told == {"outside": "done", "to where it may be read": "EXDEV"}


NFC, NFD = unicodedata.normalize("NFC", "é"), unicodedata.normalize("NFD", "é")


@pytest.mark.parametrize(
    ("granted", "sibling"),
    [
        ("proj", "proj-evil"),
        ("proj", "proj."),
        ("proj", "PROJ"),
        ("proj", "proj\n"),
        (NFC, NFD),
        (NFD, NFC),
        ("a\nb", "a"),
        ("-rf *", "-rf"),
        ("\udcff", "\ufffd"),
    ],
    ids=ascii,
)
async def test_f4_a_name_grants_itself_and_no_other(pen, granted, sibling):
    for name in (granted, sibling):
        os.mkdir(pen.inside / name)
    told = await pen.tries(
        """
        granted, sibling = (os.fsdecode(bytes.fromhex(name)) for name in more)
        attempt("granted", lambda: open(f"{inside}/{granted}/new", "w"))
        attempt("sibling", lambda: open(f"{inside}/{sibling}/new", "w"))
        attempt("by way of it", lambda: open(f"{inside}/{granted}/../{sibling}/new", "w"))
        attempt("above", lambda: open(f"{inside}/{granted}/../new", "w"))
        attempt("from below", lambda: open(f"{inside}/{granted}/./../../out/new", "w"))
        """,
        *(os.fsencode(name).hex() for name in (granted, sibling)),
        fence=pen.fence((f"{pen.inside}/{granted}", pen.ALL)),
    )
    assert told.pop("granted") == "done"
    assert set(told.values()) == {"EACCES"}, told


async def test_f8_a_program_inherits_no_open_file(pen):
    handle = os.open(pen.outside / "kept", os.O_WRONLY)
    try:
        os.set_inheritable(handle, True)
        code = """
        for number in range(3, 256):
            attempt(number, lambda: os.write(number, b"x"))
        """
        told = await pen.tries(code)
    finally:
        os.close(handle)
    assert set(told.values()) == {"EBADF"}
    assert (pen.outside / "kept").read_text() == "kept"


async def test_f11_the_folder_of_another_worker_is_shut(pen):
    code = f"{EVERY_CHANGE}{LOOKS}changes(outside)"
    one, other = pen.fence(), pen.fence((str(pen.outside), pen.ALL))
    told = await pen.tries(code, fence=one)
    assert set(told.values()) == {"EACCES"}, told
    told = await pen.tries(code, fence=other)
    assert set(told.values()) == {"done"}, told


async def test_names_can_be_listed_without_reading_files_where_that_is_granted(pen):
    told = await pen.tries(LOOKS, fence=pen.fence((str(pen.outside), LIST)))
    assert told == {"list": "done", "read": "EACCES"}


async def test_a_granted_file_can_be_changed_in_place_and_not_replaced(pen):
    told = await pen.tries(
        """
        attempt("change", lambda: open(f"{inside}/kept", "w").write("changed"))
        attempt("replace", lambda: os.rename(f"{inside}/second", f"{inside}/kept"))
        attempt("remove", lambda: os.unlink(f"{inside}/kept"))
        attempt("change another", lambda: open(f"{inside}/second", "w"))
        """,
        fence=pen.fence((f"{pen.inside}/kept", pen.ALL)),
    )
    refused = dict.fromkeys(["replace", "remove", "change another"], "EACCES")
    assert told == {"change": "done"} | refused


async def test_a_program_outside_what_may_be_executed_is_refused(pen):
    program = pen.outside / "program"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    code = """
    import subprocess
    attempt("run", lambda: subprocess.run([f"{outside}/program"]))
    """
    reads = (str(pen.outside), READ)
    assert await pen.tries(code, fence=pen.fence(reads)) == {"run": "EACCES"}
    runs = (str(pen.outside), READ | EXECUTE)
    assert await pen.tries(code, fence=pen.fence(runs)) == {"run": "done"}


async def test_nobody_makes_a_device_however_much_is_granted(pen):
    code = """
    attempt("device", lambda: os.mknod(f"{inside}/null", 0o20666, os.makedev(1, 3)))
    """
    everything = Fence((("/", pen.ALL),), pen.ALL)
    assert await pen.tries(code, fence=everything) in ({"device": "EACCES"}, {"device": "EPERM"})
