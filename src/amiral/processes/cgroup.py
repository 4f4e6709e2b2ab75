"""One cgroup v2 a session, made below our own where the system lets us. Standard library only.

A cgroup holds what a walk of the process tree can lose: a process that left its session, dropped its
environment and whose parents are dead is still in it. On a host of both versions (v1 and v2) the v2 tree has
no controllers, but `cgroup.procs` and `cgroup.kill` work all the same.
"""

import os

PREFIX = "amiral-"
_LAST = "cgroup.procs"


def own_cgroup_folder() -> str | None:
    """Find the folder of this process's own cgroup v2, None when there is none mounted."""
    try:
        mounts = _read("/proc/self/mountinfo").split("\n")
        inside = _path_in(_read("/proc/self/cgroup"))
    except OSError:
        return None
    for line in mounts:
        before, _, after = line.partition(" - ")
        if after.startswith("cgroup2 ") and inside is not None:
            _, _, _, root, mount = before.split(" ")[:5]
            return _below(mount, root, inside)
    return None


def cgroup_name(tag: str) -> str:
    """Name the cgroup of a tag: `amiral-<home>-<project>-<session>`."""
    return PREFIX + tag.replace(":", "-")


def make_cgroup(tag: str) -> str | None:
    """Make an empty cgroup for `tag` and return its folder, None when the system does not let us."""
    own = own_cgroup_folder()
    if own is None:
        return None
    folder = os.path.join(own, cgroup_name(tag))
    try:
        os.mkdir(folder, 0o700)
    except OSError:
        return None
    return folder


def join_cgroup(folder: str, pid: int) -> bool:
    """Move one process in; its later children are born there."""
    return _write(os.path.join(folder, _LAST), str(pid))


def cgroup_members(folder: str | None) -> set[int]:
    """List the pids in this cgroup and in those below it; empty for a folder that is not ours."""
    if not _is_ours(folder):
        return set()
    return {pid for part in _parts(folder) for pid in _pids(os.path.join(part, _LAST))}


def kill_cgroup(folder: str | None) -> bool:
    """Kill all of it at once, escapees included (Linux 5.14 and later)."""
    return _is_ours(folder) and _write(os.path.join(folder or "", "cgroup.kill"), "1")


def remove_cgroup(folder: str | None) -> None:
    """Remove an emptied cgroup with those below it; one that still holds processes stays."""
    if not _is_ours(folder):
        return
    for part in reversed(_parts(folder)):
        try:
            os.rmdir(part)
        except OSError:
            return


def cgroup_of(pid: int) -> str:
    """Tell the v2 cgroup path of a process, "" when unknown."""
    try:
        return _path_in(_read(f"/proc/{pid}/cgroup")) or ""
    except OSError:
        return ""


def _is_ours(folder: str | None) -> bool:
    return bool(folder) and os.path.basename(folder or "").startswith(PREFIX)


def _parts(folder: str | None) -> list[str]:
    return [place for place, _, _ in os.walk(folder or "")]


def _pids(path: str) -> list[int]:
    try:
        return [int(line) for line in _read(path).split()]
    except OSError:
        return []


def _path_in(listing: str) -> str | None:
    for line in listing.split("\n"):
        if line.startswith("0::"):
            return line[3:]
    return None


def _below(mount: str, root: str, inside: str) -> str:
    shown = inside[len(root) :] if root != "/" and inside.startswith(root) else inside
    return os.path.join(mount, shown.lstrip("/")).rstrip("/")


def _read(path: str) -> str:
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        return file.read()


def _write(path: str, text: str) -> bool:
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError:
        return False
    return True
