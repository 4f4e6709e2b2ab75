"""The fence around a program: applied by a thread to itself, inherited by all it starts, for ever.

Standard library only. Landlock refuses files, ports, signals and abstract sockets, a seccomp filter
the ways around it; capabilities are given up, since root's see through both. What this promises,
and what it cannot, is told in docs/reference/fence.md.
"""

import os
from collections.abc import Iterable

from amiral.processes import capabilities, landlock, seccomp, syscalls
from amiral.processes.covers import Cover, cover_of, uncovered

READ, WRITE, DELETE, EXECUTE, DEVICE, LIST = 1, 2, 4, 8, 16, 32
LEAST_ABI = 3

_MOVE = WRITE | DELETE
_LEAST_ABI_FOR_PORTS = 4
_HIGHEST_PORT = 65535
_RIGHTS = {
    READ: landlock.READ_FILE | landlock.READ_DIR,
    LIST: landlock.READ_DIR,
    WRITE: landlock.WRITE_FILE
    | landlock.TRUNCATE
    | landlock.MAKE_REG
    | landlock.MAKE_DIR
    | landlock.MAKE_SYM
    | landlock.MAKE_FIFO
    | landlock.MAKE_SOCK,
    DELETE: landlock.REMOVE_FILE | landlock.REMOVE_DIR,
    EXECUTE: landlock.EXECUTE,
    DEVICE: landlock.IOCTL_DEV,
}
_ALL = READ | WRITE | DELETE | EXECUTE | DEVICE | LIST
_NEVER_GRANTED = landlock.MAKE_CHAR | landlock.MAKE_BLOCK

_PROGRAMS = (
    *("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt"),
    *("/nix/store", "/snap", "/home/linuxbrew/.linuxbrew"),
)
# Of folders that hold a login too (.cargo, .local) only the part that holds programs.
_TOOLCHAINS = (
    *(".pyenv", ".rbenv", ".nvm", ".fnm", ".volta", ".asdf", ".sdkman", ".rustup", ".nix-profile"),
    *(".cargo/bin", ".bun/bin", ".deno/bin", "go/bin", "bin", ".local/bin", ".npm-global"),
    *(".local/share/mise", ".local/share/fnm", ".local/share/pnpm", ".local/share/uv"),
    *(".local/lib", ".local/pipx"),
)
_TOLD_BY_THE_SYSTEM = ("/proc", "/sys", "/run/systemd/resolve", "/run/resolvconf")
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty")

_SET_NO_NEW_PRIVILEGES = 38


class FenceError(Exception):
    """The fence cannot be put up whole; what was to run in it must not run."""


class Fence:
    """What a program may do; a value that travels as JSON.

    `grants`: absolute canonical paths with the bits allowed at and below each (of a file: there).
    `fenced`: the bits that are refused elsewhere; what is not fenced stays as the system has it.
    `ports`: the only TCP ports that may be connected to; None leaves the network open.
    `root`: a grant that must be there; the others may have vanished, and grant nothing then.
    `covers`: what must lie under a read-only mount already: the program is started in a box then.
    `has_unix`: may speak and listen by Unix sockets, only for what puts others behind a whole one.
    """

    __slots__ = ("covers", "fenced", "grants", "has_unix", "ports", "root")

    def __init__(
        self,
        grants: tuple[tuple[str, int], ...],
        fenced: int,
        ports: tuple[int, ...] | None = None,
        root: str = "",
        covers: tuple[Cover, ...] = (),
        *,
        has_unix: bool = False,
    ) -> None:
        self.grants = grants
        self.fenced = fenced
        self.ports = ports
        self.root = root
        self.covers = covers
        self.has_unix = has_unix

    def as_json(self) -> dict[str, object]:
        """Give the object that `from_json` reads."""
        return {
            "grants": [list(grant) for grant in self.grants],
            "fenced": self.fenced,
            "ports": None if self.ports is None else list(self.ports),
            "root": self.root,
            "covers": [list(cover) for cover in self.covers],
            "has_unix": self.has_unix,
        }

    @classmethod
    def from_json(cls, told: object) -> "Fence":
        """Read what `as_json` gave; ValueError for anything else."""
        match told:
            case {"grants": [*grants], "fenced": fenced, "ports": ports, **rest}:
                return cls(
                    tuple(map(_grant, grants)),
                    _number(fenced, _ALL),
                    None if ports is None else _ports(ports),
                    _text(rest.get("root", "")),
                    _covers(rest.get("covers", [])),
                    has_unix=rest.get("has_unix") is True,
                )
            case _:
                raise ValueError("a fence has grants, fenced and ports")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Fence) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return f"Fence{self._key()}"

    def _key(self) -> tuple[object, ...]:
        told = (self.grants, self.fenced, self.ports, self.root)
        return (*told, self.covers, self.has_unix)


def abi() -> int:
    """Give the ABI of this kernel's Landlock, 0 where there is none."""
    return landlock.version() if syscalls.machine() else 0


def apply(fence: Fence) -> None:
    """Restrict the calling thread, for ever; FenceError, and no access changed, when it cannot be.

    Never on a thread that goes on to do other work: only one that starts the program and ends.
    """
    try:
        _check(fence)
        ruleset = _ruleset(fence)
        try:
            capabilities.drop_capabilities()
            syscalls.prctl(_SET_NO_NEW_PRIVILEGES, 1)
            landlock.restrict(ruleset)
        finally:
            os.close(ruleset)
        seccomp.restrict(tcp_only=fence.ports is not None, has_unix=fence.has_unix)
    except OSError as error:
        raise FenceError(f"{error.filename or 'the kernel'}: {error.strerror}") from error


def rehearse() -> None:
    """Do what `apply` does before it restricts anything, so that it is quicker soon after.

    A forked child gets its own copy of what it touches first: this takes longer than all the rest.
    """
    try:
        fence = Fence.from_json(Fence((("/", _ALL),), _ALL, ()).as_json())
        _check(fence)
        os.close(_ruleset(fence))
        capabilities.is_in_bound(0)
        for tcp_only in (True, False):
            seccomp.code_of(tcp_only=tcp_only)
    except (OSError, FenceError):
        # Whoever applies one is told.
        return


def system_grants(home: str = "", programs: Iterable[str] = ()) -> tuple[tuple[str, int], ...]:
    """Give what running programs need of this system: what is there, without symbolic links.

    `home`: whose toolchains may be read and run too, save those that are links, which may have been
    put there; `programs`: more folders of that kind.
    """
    run = READ | EXECUTE
    listed = [(path, run) for path in (*_PROGRAMS, *programs)]
    listed += [(path, run) for path in _toolchains(home)]
    listed += [(path, READ) for path in _TOLD_BY_THE_SYSTEM]
    listed += [(path, READ | WRITE | DEVICE) for path in _DEVICES]
    return _each_once((os.path.realpath(path), bits) for path, bits in listed)


def _toolchains(home: str) -> list[str]:
    paths = [f"{os.path.realpath(home)}/{name}" for name in _TOOLCHAINS if home]
    return [path for path in paths if os.path.realpath(path) == path]


def _each_once(grants: Iterable[tuple[str, int]]) -> tuple[tuple[str, int], ...]:
    """Leave out what is not there, and what a grant before it allows already."""
    kept: list[tuple[str, int]] = []
    for path, bits in grants:
        is_granted = any(
            bits | more == more and f"{path}/".startswith(f"{above}/") for above, more in kept
        )
        if os.path.exists(path) and not is_granted:
            kept.append((path, bits))
    return tuple(kept)


def _check(fence: Fence) -> None:
    if not syscalls.machine():
        raise FenceError(f"there is no fence for this system ({os.uname().machine})")
    needed = LEAST_ABI if fence.ports is None else _LEAST_ABI_FOR_PORTS
    if (have := abi()) < needed:
        raise FenceError(f"this kernel has Landlock ABI {have}, the fence needs {needed}")
    seccomp.check()
    if path := uncovered(fence.covers):
        raise FenceError(f"{path} is not covered")


def _ruleset(fence: Fence) -> int:
    version = abi()
    handled = landlock.known_rights(_handled(fence.fenced), version)
    ruleset = landlock.new_ruleset(handled, version, with_ports=fence.ports is not None)
    try:
        _allow(ruleset, fence, handled)
    except BaseException:
        os.close(ruleset)
        raise
    return ruleset


def _allow(ruleset: int, fence: Fence, handled: int) -> None:
    is_rooted = not fence.root
    for path, bits in (("/", 0), *fence.grants):
        is_there = landlock.allow_path(ruleset, path, _granted(bits, fence.fenced) & handled)
        is_rooted = is_rooted or (is_there and path == fence.root)
    if not is_rooted:
        raise FenceError(f"{fence.root}: there is no such folder to work in")
    for port in fence.ports or ():
        landlock.allow_port(ruleset, port)


def _handled(fenced: int) -> int:
    # Moving between folders is refused by any ruleset, so it is always handled, to be allowed.
    return _rights(fenced) | _NEVER_GRANTED | landlock.REFER


def _granted(bits: int, fenced: int) -> int:
    is_free_to_move = (bits | ~fenced) & _MOVE == _MOVE
    return _rights(bits) | (landlock.REFER if is_free_to_move else 0)


def _rights(bits: int) -> int:
    rights = 0
    for bit, meant in _RIGHTS.items():
        rights |= meant if bits & bit else 0
    return rights


def _grant(told: object) -> tuple[str, int]:
    match told:
        case [str(path), bits] if path.startswith("/"):
            return path, _number(bits, _ALL)
        case _:
            raise ValueError("a grant is an absolute path and its bits")


def _ports(told: object) -> tuple[int, ...]:
    match told:
        case [*ports]:
            return tuple(_number(one, _HIGHEST_PORT) for one in ports)
        case _:
            raise ValueError("ports are a list or null")


def _covers(told: object) -> tuple[Cover, ...]:
    match told:
        case [*covers]:
            return tuple(map(cover_of, covers))
        case _:
            raise ValueError("covers are a list")


def _number(told: object, most: int) -> int:
    match told:
        case int() if 0 <= told <= most and not isinstance(told, bool):
            return told
        case _:
            raise ValueError(f"{told} is no whole number up to {most}")


def _text(told: object) -> str:
    match told:
        case str():
            return told
        case _:
            raise ValueError(f"{told} is no text")
