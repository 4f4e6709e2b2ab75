"""The bwrap command that makes the box for a fenced program (ADR 0017).

Standard library only, and nothing is done here. In the box all that is there is read-only but what
the fence grants for change; its covers lie over that. Devices, processes and IPC are its own.
"""

from collections.abc import Iterable, Mapping, Sequence

from amiral.processes.covers import HIDDEN_FILE, HIDDEN_FOLDER, KEPT
from amiral.processes.fence import DELETE, WRITE, Fence

Words = tuple[str, ...]

_ALONE = ("--unshare-pid", "--unshare-ipc", "--die-with-parent")
# May be gone since: then nothing is laid there.
_BIND, _KEEP = "--bind-try", "--ro-bind-try"
_HIDE = ("--perms", "0111", "--tmpfs")
_MADE = ("/dev", "/proc")


def bwrap_command(
    bwrap: str, fence: Fence, tools: Iterable[str], cwd: str, argv: Sequence[str]
) -> list[str]:
    """Give the command that runs `argv` in the box of a fence, in the folder `cwd`.

    `bwrap` is that program; `tools` are paths that `argv` itself needs to be seen.
    """
    laid = _laid(fence, tools)
    words = [word for path in sorted(laid, key=_depth) for word in laid[path]]
    for path in laid:
        # Last, since the places to mount in are made in them.
        words += ("--remount-ro", path) if laid[path][0] == _HIDE[0] else ()
    return [bwrap, *_ALONE, *words, "--chdir", cwd, "--", *argv]


def _laid(fence: Fence, tools: Iterable[str]) -> Mapping[str, Words]:
    """Say what is laid at each path; what lies deeper is laid later, over it."""
    laid: dict[str, Words] = {"/": ("--ro-bind", "/", "/")}
    for path, bits in fence.grants:
        if bits & (WRITE | DELETE) and not _is_made(path):
            laid[path] = (_BIND, path, path)
    laid |= {path: _cover(path, kind) for path, kind in fence.covers}
    laid |= {"/dev": ("--dev", "/dev"), "/proc": ("--proc", "/proc")}
    for path in sorted(path for path, _ in fence.covers):
        laid |= _held(path, laid)
    seen = [path for path, bits in fence.grants if bits & ~(WRITE | DELETE)]
    for path in sorted((*tools, *seen), key=_depth):
        if path not in laid and _around(path, laid)[0] == _HIDE[0]:
            laid[path] = (_KEEP, path, path)
    return laid


def _cover(path: str, kind: int) -> Words:
    return {
        KEPT: (_KEEP, path, path),
        HIDDEN_FILE: (_KEEP, "/dev/null", path),
        HIDDEN_FOLDER: (*_HIDE, path),
    }[kind]


def _held(path: str, laid: Mapping[str, Words]) -> Mapping[str, Words]:
    """Hold the folders above a cover where they are: a mount cannot be moved, a folder can."""
    above = [path[:end] for end in range(1, len(path)) if path[end] == "/"]
    return {
        folder: (_BIND, folder, folder)
        for folder in above
        if folder not in laid and _around(folder, laid)[0] == _BIND
    }


def _around(path: str, laid: Mapping[str, Words]) -> Words:
    """Say what is laid over the nearest folder above a path."""
    while (path := path.rpartition("/")[0]) not in laid:
        if not path:
            return laid["/"]
    return laid[path]


def _is_made(path: str) -> bool:
    return any(f"{path}/".startswith(f"{made}/") for made in _MADE)


def _depth(path: str) -> tuple[int, str]:
    return path.rstrip("/").count("/"), path
