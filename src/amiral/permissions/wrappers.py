"""Pure: programs that run the command they are given, and which one that is (C2, C3)."""

import posixpath
import re
from dataclasses import dataclass
from itertools import takewhile

from amiral.permissions.shell_line import UNKNOWN, Words

MOST_SUFFIXES = 64
_MOST_WORDS = 1000

SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "fish", "rbash"})
# How many operands come before the command, and the options that take a value.
_PLAIN: dict[str, tuple[int, frozenset[str]]] = {
    "builtin": (0, frozenset()),
    "busybox": (0, frozenset()),
    "command": (0, frozenset()),
    "coproc": (0, frozenset()),
    "doas": (0, frozenset({"-u", "-C"})),
    "env": (0, frozenset({"-u", "-C", "--unset", "--chdir"})),
    "exec": (0, frozenset({"-a"})),
    "ionice": (0, frozenset({"-c", "-n"})),
    "nice": (0, frozenset({"-n", "--adjustment"})),
    "nohup": (0, frozenset()),
    "setsid": (0, frozenset()),
    "stdbuf": (0, frozenset({"-i", "-o", "-e", "--input", "--output", "--error"})),
    "sudo": (0, frozenset({"-u", "-g", "--user", "--group"})),
    "time": (0, frozenset({"-f", "-o", "--format", "--output"})),
    "timeout": (1, frozenset({"-k", "-s", "--kill-after", "--signal"})),
    "toybox": (0, frozenset()),
}
_RUNNERS = frozenset(
    {
        *("alias", "at", "batch", "chroot", "chrt", "crontab", "eval", "fd", "flock", "nsenter"),
        *("parallel", "runuser", "screen", "script", "ssh", "strace", "su", "systemd-run"),
        *("taskset", "tmux", "trap", "unshare", "watch", "xargs"),
    }
)
_FED = frozenset({"at", "batch", "eval", "parallel"})
_ARGUMENTS_COME = frozenset({"xargs", "parallel", "fd"})
_FIND_ACTIONS = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_FIND_WRITES = frozenset({"-delete", "-fls", "-fprint", "-fprint0", "-fprintf"})
# They do other things too: what they carry can be denied, and is never needed for an allow. The
# number is the first argument that can begin a command.
_CARRIERS = {
    **dict.fromkeys(("bunx", "dumb-init", "entr", "npx", "tini", "uvx", "watchexec"), 1),
    **dict.fromkeys(("docker", "kubectl", "nix", "npm", "pipx", "pnpm", "podman", "poetry"), 2),
    **dict.fromkeys(("uv", "yarn"), 2),
}
_GLOBS = ("*", "?", "[")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
_HARMLESS_SHELL_OPTION = re.compile(r"[-+][exuvnl]+")
_RUNS_TEXT = re.compile(r"-[A-Za-z]*c[A-Za-z]*")
_NO_WORD = re.compile(r"[^\w@%+=:,./~{}-]")


@dataclass(frozen=True)
class Wrapped:
    """What a command runs besides itself.

    `inner` is surely run, `candidates` may be, `scripts` are run as lines of shell. Nothing is
    allowed when `opaque` says why it cannot be known; `is_fed` when it runs text of the line that
    is not its own argument.
    """

    inner: Words = ()
    candidates: tuple[Words, ...] = ()
    scripts: tuple[str, ...] = ()
    opaque: str = ""
    is_fed: bool = False


def unwrapped(words: Words) -> Wrapped:
    """Say what a command runs; the command itself is not in it."""
    name = posixpath.basename(words[0]).casefold()
    if UNKNOWN in name:
        opaque = "a program whose name is not known"
        return Wrapped((), suffixes(words), scripts(words), opaque, is_fed=True)
    if name in _PLAIN:
        return _plain(name, words)
    if name in SHELLS:
        return _shell(name, words)
    if name in ("source", "."):
        candidates = (words[1:], *_unknown(words)) if words[1:] else ()
        return Wrapped(candidates=candidates, is_fed=True)
    if name in _RUNNERS:
        return _runner(name, words)
    if name == "find":
        return _find(words)
    first = _CARRIERS.get(name, len(words))
    return Wrapped(candidates=suffixes(words[first - 1 :]))


def suffixes(words: Words) -> tuple[Words, ...]:
    """Give every command that begins at an argument; past a bound, one that is not known.

    What begins with a glob is a pattern of files, hardly ever a program.
    """
    if len(words) > _MOST_WORDS:
        return ((UNKNOWN,),)
    begins = range(1, min(len(words), MOST_SUFFIXES))
    found = tuple(words[at:] for at in begins if not words[at].startswith(_GLOBS))
    return found if len(words) <= MOST_SUFFIXES else (*found, (UNKNOWN,))


def scripts(words: Words) -> tuple[str, ...]:
    """Give the arguments that could be lines of shell."""
    return tuple(word for word in words[1:] if _NO_WORD.search(word))


def _plain(name: str, words: Words) -> Wrapped:
    if name == "command" and words[1:2] in (("-v",), ("-V",)):
        return Wrapped()
    operands, valued = _PLAIN[name]
    at, opaque = 1, ""
    while at < len(words) and words[at].startswith("-"):
        word, at = words[at], at + 1
        if word == "--":
            break
        at += word in valued
        is_known = word in valued or word[:2] in valued or word.partition("=")[0] in valued
        opaque = opaque or ("" if is_known else f"{name} {word}")
    inner = words[at + operands :]
    if inner and _ASSIGNMENT.match(inner[0]):
        opaque = "a variable that is set"
    return Wrapped(() if opaque else inner, suffixes(words), _if(opaque, scripts(words)), opaque)


def _if(opaque: str, found: tuple[str, ...]) -> tuple[str, ...]:
    return found if opaque else ()


def _shell(name: str, words: Words) -> Wrapped:
    options = tuple(takewhile(lambda word: word.startswith(("-", "+")), words[1:]))
    if len(words) > len(options) + 1 and all(map(_HARMLESS_SHELL_OPTION.fullmatch, options)):
        # A script that is not found here is looked for as a program.
        return Wrapped(candidates=(words[len(options) + 1 :], *_unknown(words)))
    is_text = any(map(_RUNS_TEXT.fullmatch, words))
    opaque = f"{name} -c" if is_text else f"{name} with commands from elsewhere"
    unknown = _unknown(words) if is_text else ((UNKNOWN,),)
    return Wrapped((), (*suffixes(words), *unknown), _texts(words), opaque, is_fed=True)


def _runner(name: str, words: Words) -> Wrapped:
    comes = (UNKNOWN,) if name in _ARGUMENTS_COME else ()
    given = words
    if comes:
        given = tuple(word.replace("{}", UNKNOWN) for word in words)
    elif name == "alias":
        given = tuple(part for word in words for part in word.split("=", 1))
    candidates = (*((*suffix, *comes) for suffix in suffixes(given)), *_unknown(words))
    return Wrapped((), candidates, _texts(given), name, is_fed=name in _FED)


def _find(words: Words) -> Wrapped:
    actions = [at for at, word in enumerate(words) if word in _FIND_ACTIONS]
    if not actions:
        writes = next((word for word in words if word in _FIND_WRITES), "")
        return Wrapped(opaque=f"find {writes}" if writes else "")
    given = tuple(word.replace("{}", UNKNOWN) for word in words)
    found = (suffix for at in actions for suffix in suffixes(given[at:]))
    begins = {given[at + 1 :] for at in actions}
    candidates = tuple(s for s in found if not s[0].startswith(UNKNOWN) or s in begins)
    return Wrapped((), candidates, scripts(words), f"find {words[actions[0]]}")


def _unknown(words: Words) -> tuple[Words, ...]:
    """A text that is partly unknown could run anything."""
    return ((UNKNOWN,),) if any(UNKNOWN in word for word in words[1:]) else ()


def _texts(words: Words) -> tuple[str, ...]:
    return (*scripts(words), " ".join(words[1:]))
