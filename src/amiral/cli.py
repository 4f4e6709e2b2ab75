"""The `amiral` command: sends what was typed to the running project and prints what comes back.

Only `sys` and `os` are imported before it is known what is asked: a hot command costs little more
than starting Python.
"""

import os
import sys

from amiral.base.home import home_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    import _socket
    from collections.abc import Iterator
    from types import ModuleType

LOCAL = {
    "help": "answers",
    "workers check": "answers",
    "config": "settings",
    "up": "start",
    "hub": "start",
    "child": "child",
    "drivers": "drivers",
    "demo": "demo",
    "doctor": "doctor",
    "login": "login",
    "permissions show": "permissions",
    "permissions check": "permissions",
    "permissions project": "permissions",
    "permissions plan": "plan",
    "permissions probe": "permissions",
    "sandbox run": "fenced",
    "project new": "project",
    "project remove": "project",
    "deploy": "deploy",
    **dict.fromkeys(
        ("vault set", "vault get", "vault list", "vault remove", "vault rotate", "vault check"),
        "vault",
    ),
    "emergency-stop": "stop",
    "release": "stop",
    "freeze": "stop",
    "thaw": "stop",
    "guard": "guard",
}
"""Commands carried out here, without a project process, each with its module of `amiral.local`."""

FLEET = ("status", "list", "health", "watchdog", "projects", "restart", "url", "down")
"""Commands that the hub answers for all projects, where it runs and no project is named."""

INTERRUPTED = 130
PIPE_CLOSED = 141

_CHUNK = 1 << 16
_DIGEST_LENGTH = 16
_LONGEST_SOCKET_PATH = 100
_LONGEST_NAME = 2
_GONE = "amiral went away before it had answered"
_RED, _GREEN, _PLAIN = "\x1b[31m", "\x1b[32m", "\x1b[0m"


class Unreachable(Exception):
    """No project process answers; the text says which folder or project was meant."""


def main() -> int:
    """Run what `sys.argv` asks for and give the exit code (docs/reference/commands.md)."""
    try:
        _open_streams()
        code = run(sys.argv[1:])
        sys.stdout.flush()
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_CLOSED
    except OSError as error:
        return _cannot(error)
    return code


def _open_streams() -> None:
    """Have both streams, and no character that they cannot take."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w"))
        getattr(sys, name).reconfigure(errors="replace")


def _cannot(error: OSError) -> int:
    """Say what the machine refused: output to a full disk, a folder that is gone."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    where = f"{error.filename}: " if error.filename else "writing the answer: "
    sys.stderr.write(f"✗ {where}{error.strerror}\n")
    return 1


def run(argv: list[str]) -> int:
    """Carry out one command line, here or in the project process."""
    words, project, wants_help = _look_over(argv)
    module = LOCAL.get(" ".join(words)) or LOCAL.get(words[0] if words else "help")
    if module or wants_help:
        return int(_local(module if module and not wants_help else "answers").run(argv))
    try:
        link = None if project or not words or words[0] not in FLEET else _hub()
        return _ask(link or _connect(_socket_of(project)), argv)
    except Unreachable as missing:
        return int(_local("answers").run_unreached(argv, str(missing)))


def _local(module: str) -> "ModuleType":
    """Import one module of `amiral.local`, and only when its command is asked for."""
    from importlib import import_module

    return import_module(f"amiral.local.{module}")


def _look_over(argv: list[str]) -> tuple[list[str], str, bool]:
    """Find the first two words, the project named, and whether help or version is asked for."""
    words: list[str] = []
    project = ""
    left = list(argv)
    while left and left[0] != "--":
        word = left.pop(0)
        if word in ("-h", "--help", "--version"):
            return words, project, True
        if word in ("-p", "--project") and left:
            project = left.pop(0)
        elif word.startswith("--project="):
            project = word.partition("=")[2]
        elif not word.startswith("-"):
            words.append(word)
    return words[:_LONGEST_NAME], project, False


def _hub() -> "_socket.socket | None":
    """Connect to the hub, None when none runs."""
    try:
        return _connect(os.path.join(home_folder(), "run", "hub.sock"))
    except Unreachable:
        return None


def _socket_of(project: str) -> str:
    """Find the socket of the project named, or of the folder we are in, from here upwards."""
    from hashlib import sha256

    run = os.path.join(home_folder(), "run")
    here = _here()
    if not project and not here:
        raise Unreachable("the folder you are in is gone")
    folder = _folder_of(project) if project else os.path.realpath(here)
    for root in [folder] if project else _upwards(folder):
        name = sha256(root.encode("utf-8", "surrogateescape")).hexdigest()[:_DIGEST_LENGTH]
        path = os.path.join(run, f"{name}.sock")
        if os.path.exists(path):
            return path
    where = f"project {project}" if project else "this folder"
    raise Unreachable(f"amiral is not running for {where}")


def _here() -> str:
    """Name the folder we are in, "" when it is gone."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        return ""


def _upwards(folder: str) -> "Iterator[str]":
    while True:
        yield folder
        above = os.path.dirname(folder)
        if above == folder:
            return
        folder = above


def _folder_of(project: str) -> str:
    """Look a project's folder up by name or id in the registry."""
    import json

    try:
        with open(os.path.join(home_folder(), "config", "bot_registry.json"), "rb") as file:
            children = json.load(file)["children"]
        named = [row["path"] for row in children if project in (row["name"], row["id"])]
    except (OSError, ValueError, LookupError, TypeError):
        named = []
    if not named:
        raise Unreachable(f"no project {project} is registered")
    return str(named[0])


def _connect(path: str) -> "_socket.socket":
    # The module `socket` around it takes a third of a bare Python's start.
    import _socket

    link = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        if len(path) > _LONGEST_SOCKET_PATH:
            _connect_from(os.path.dirname(path), os.path.basename(path), link)
        else:
            link.connect(path)
    except OSError:
        raise Unreachable("amiral is not running for this folder") from None
    return link


def _connect_from(folder: str, name: str, link: "_socket.socket") -> None:
    """Connect to a socket by its short name, and be in the folder we were in afterwards."""
    here = os.open(".", os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.chdir(folder)
        link.connect(name)
    finally:
        os.fchdir(here)
        os.close(here)


def _ask(link: "_socket.socket", argv: list[str]) -> int:
    """Send one request and print the frames of the answer as they come (docs: commands)."""
    import json

    has_colour = _has_colour()
    request = {
        "argv": [_utf8(word) for word in argv],
        "cwd": _utf8(_here()),
        "tty": sys.stdout.isatty(),
        "colour": has_colour,
        "language": _language(),
    }
    _send(link, request)
    for line in _lines(link):
        frame = json.loads(line)
        if "exit" in frame:
            return int(frame["exit"])
        for name, stream in (("out", sys.stdout), ("err", sys.stderr)):
            if name in frame:
                stream.write(_painted(frame[name]) if has_colour else frame[name])
                stream.flush()
        if "ask" in frame:
            _send(link, {"stdin": _utf8(sys.stdin.read())})
    raise Unreachable(_GONE)


def _send(link: "_socket.socket", message: dict[str, object]) -> None:
    import json

    try:
        link.sendall(json.dumps(message).encode() + b"\n")
    except ConnectionError:
        raise Unreachable(_GONE) from None


def _lines(link: "_socket.socket") -> "Iterator[bytes]":
    """Read on until the other side is gone; a killed process may reset the connection."""
    pieces: list[bytes] = []
    try:
        while chunk := link.recv(_CHUNK):
            first, *others = chunk.split(b"\n")
            pieces.append(first)
            for part in others:
                yield b"".join(pieces)
                pieces = [part]
    except ConnectionError:
        return


def _painted(text: str) -> str:
    return text.replace("✗", f"{_RED}✗{_PLAIN}").replace("✓", f"{_GREEN}✓{_PLAIN}")


def _utf8(text: str) -> str:
    return os.fsencode(text).decode("utf-8", "replace")


def _has_colour() -> bool:
    is_dumb = os.environ.get("TERM") == "dumb"
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and not is_dumb


def _language() -> str:
    """Give en or fr, as the environment asks for."""
    names = ("LC_ALL", "LC_MESSAGES", "LANG")
    asked = next((value for name in names if (value := os.environ.get(name))), "")
    return "fr" if asked.startswith("fr") else "en"
