"""The box of a fence, as words for bwrap."""

from amiral.processes.bwrap import bwrap_command
from amiral.processes.covers import HIDDEN_FILE, HIDDEN_FOLDER, KEPT
from amiral.processes.fence import DELETE, DEVICE, EXECUTE, LIST, READ, WRITE, Fence

CHANGE = READ | WRITE | DELETE
ALONE = ["--unshare-pid", "--unshare-ipc", "--die-with-parent"]
SYSTEM = ("ro-bind / /", "dev /dev", "proc /proc")
MADE = ["--dev", "/dev", "--proc", "/proc"]


def laid(grants=(), covers=(), tools=()):
    """Give what is laid over the read-only system, one mount each."""
    fence = Fence(tuple(grants), CHANGE, covers=tuple(covers))
    words = bwrap_command("/b", fence, tools, "/cwd", ["program", "--word"])
    assert words[0] == "/b"
    assert words[1:4] == ALONE
    assert words[-5:] == ["--chdir", "/cwd", "--", "program", "--word"]
    return [one for one in split(words[4:-5]) if one not in SYSTEM]


def split(words):
    return [one.strip() for one in " ".join(words).replace("--tmpfs", "tmpfs").split("--") if one]


def test_a_box_without_grants_is_read_only_with_devices_and_processes_of_its_own():
    words = bwrap_command("/b", Fence((), CHANGE), (), "/", ["true"])
    assert words == ["/b", *ALONE, "--ro-bind", "/", "/", *MADE, "--chdir", "/", "--", "true"]


def test_what_may_be_written_or_deleted_is_laid_writable_and_may_be_gone():
    grants = [("/p", READ | WRITE), ("/q", DELETE), ("/r", READ | EXECUTE | LIST)]
    assert laid(grants) == ["bind-try /p /p", "bind-try /q /q"]


def test_devices_and_processes_are_those_of_the_box():
    assert laid([("/dev/null", READ | WRITE | DEVICE), ("/dev", CHANGE), ("/proc/1", CHANGE)]) == []
    assert laid([("/device", CHANGE)]) == ["bind-try /device /device"]


def test_deeper_paths_are_laid_later():
    grants = [("/p/a/b", CHANGE), ("/p", CHANGE)]
    assert laid(grants) == ["bind-try /p /p", "bind-try /p/a/b /p/a/b"]


def test_who_may_change_all_that_is_there_has_a_box_of_processes_alone():
    words = bwrap_command("/b", Fence((("/", CHANGE),), CHANGE), (), "/", ["true"])
    assert words[4:11] == ["--bind-try", "/", "/", *MADE]


def test_f5_a_cover_lies_over_its_path_in_what_is_granted():
    covers = [("/p/kept", KEPT), ("/p/file", HIDDEN_FILE), ("/p/folder", HIDDEN_FOLDER)]
    assert laid([("/p", CHANGE)], covers) == [
        "bind-try /p /p",
        "ro-bind-try /dev/null /p/file",
        "perms 0111 tmpfs /p/folder",
        "ro-bind-try /p/kept /p/kept",
        "remount-ro /p/folder",
    ]


def test_f5_the_folders_above_a_cover_are_held_where_they_are():
    assert laid([("/p", CHANGE)], [("/p/a/b/kept", KEPT)]) == [
        "bind-try /p /p",
        "bind-try /p/a /p/a",
        "bind-try /p/a/b /p/a/b",
        "ro-bind-try /p/a/b/kept /p/a/b/kept",
    ]


def test_f5_nothing_is_made_writable_again_for_a_cover_in_what_is_kept():
    covers = [("/p/.git", KEPT), ("/p/.git/a/b", HIDDEN_FILE)]
    assert laid([("/p", CHANGE)], covers) == [
        "bind-try /p /p",
        "ro-bind-try /p/.git /p/.git",
        "ro-bind-try /dev/null /p/.git/a/b",
    ]


def test_what_is_granted_in_what_is_kept_can_be_changed():
    grants = [("/p", CHANGE), ("/p/.amiral/workspace", CHANGE)]
    covers = [("/p/.amiral", KEPT), ("/p/.amiral/workspace/a/kept", KEPT)]
    assert laid(grants, covers) == [
        "bind-try /p /p",
        "ro-bind-try /p/.amiral /p/.amiral",
        "bind-try /p/.amiral/workspace /p/.amiral/workspace",
        "bind-try /p/.amiral/workspace/a /p/.amiral/workspace/a",
        "ro-bind-try /p/.amiral/workspace/a/kept /p/.amiral/workspace/a/kept",
    ]


def test_a_hidden_folder_shows_what_is_granted_in_it_and_what_the_command_needs():
    grants = [("/tmp/p", CHANGE), ("/tmp/p/x", READ), ("/tmp/seen", READ), ("/tmp", READ)]
    assert laid([*grants, ("/", LIST)], [("/tmp", HIDDEN_FOLDER)], ["/tmp/tool", "/usr"]) == [
        "perms 0111 tmpfs /tmp",
        "bind-try /tmp/p /tmp/p",
        "ro-bind-try /tmp/seen /tmp/seen",
        "ro-bind-try /tmp/tool /tmp/tool",
        "remount-ro /tmp",
    ]


def test_what_is_both_granted_and_covered_is_covered():
    covers = [("/p/a", HIDDEN_FILE)]
    assert laid([("/p/a", CHANGE)], covers) == ["ro-bind-try /dev/null /p/a"]
