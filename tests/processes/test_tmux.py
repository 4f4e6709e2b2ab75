"""Programs in terminals of real tmux servers: a person gets in, and nothing gets out."""

import json
import os
import secrets
import shlex
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from amiral.base.clock import SystemClock
from amiral.base.errors import Broken, Conflict, NotFound
from amiral.processes import cgroup, tree
from amiral.processes.spawn import base_environment
from amiral.processes.tmux import Host, Stage, Terminal

# What is tried from inside a terminal, with the tmux server's own socket known.
ESCAPE = """
import json, os, socket, subprocess, sys
server, users, outside, told = sys.argv[1:]

def attempt(action):
    try:
        action()
        return "done"
    except OSError as error:
        return error.strerror

def drive(socket_path, *words):
    done = subprocess.run(["tmux", "-S", socket_path, *words], capture_output=True, text=True)
    return (done.returncode, done.stderr.strip())

answers = {
    "write": attempt(lambda: open(f"{outside}/written", "w")),
    "socket": attempt(lambda: socket.socket(socket.AF_UNIX)),
    "terminals": attempt(lambda: os.open("/dev/ptmx", os.O_RDWR)),
    "kill": attempt(lambda: os.kill(os.getppid(), 0)),
    "variables": [name for name in os.environ if name.startswith("TMUX")],
    "is a terminal": os.isatty(0),
    "own": [
        drive(server, "run-shell", f"touch {outside}/own"),
        drive(server, "new-window", "-d", f"touch {outside}/own"),
    ],
    "users": [
        drive(users, "run-shell", f"touch {outside}/users"),
        drive(users, "new-window", "-d", f"touch {outside}/users"),
    ],
}
with open(told + ".new", "w") as file:
    json.dump(answers, file)
os.rename(told + ".new", told)
print("told", flush=True)
input()
"""
# Leaves its session, its parents, its environment and its terminal.
SLIPS = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        if not os.environ.get("BARE"):
            argv = [sys.executable, "-c", sys.argv[1], sys.argv[1]]
            os.execve(sys.executable, argv, {"BARE": "1"})
"""


class Desk:
    """Opens terminals under one home."""

    def __init__(self, yard):
        self.yard = yard
        self.host = Host(yard.spawner, yard.pool, SystemClock(), yard.run)

    def terminal(self, worker="dev") -> Terminal:
        session = f"terminal-{worker}"
        folder = self.yard.home / "sessions" / session
        folder.parent.mkdir(exist_ok=True)
        return Terminal(self.host, worker, folder, f"{self.yard.tag}:{session}")

    async def open(self, *argv, worker="dev", fence=None, **env) -> Terminal:
        terminal = self.terminal(worker)
        told = {**base_environment(), "HOME": str(self.yard.home), **env}
        cwd = str(self.yard.home / "in") if fence else str(self.yard.home)
        await terminal.open(Stage(argv, told, cwd, fence))
        return terminal

    async def shows(self, terminal: Terminal, text: str) -> str:
        for _ in range(1000):
            screen: str = client(terminal, "capture-pane", "-p").stdout
            if text in screen:
                return screen
            await SystemClock().sleep(0.01)
        pytest.fail(f"{text!r} is not shown:\n{screen}")


@pytest.fixture
def desk(yard):
    return Desk(yard)


def client(terminal, *words):
    """Be the person's own client, as the attach command is."""
    told = shlex.split(terminal.attach)
    before = told[1 : told.index("attach")]
    return subprocess.run([*before, *words], capture_output=True, text=True, check=False)


def types(terminal, text):
    """Type a line, as the person does."""
    assert client(terminal, "send-keys", "-l", text).returncode == 0
    assert client(terminal, "send-keys", "Enter").returncode == 0


def panes(terminal) -> list[int]:
    shown = client(terminal, "list-panes", "-a", "-F", "#{pane_pid}")
    return [int(line) for line in shown.stdout.split()]


async def test_r27_the_words_of_the_program_arrive_as_they_are(desk):
    words = ("fix it;", "-x", "a\\;", "Enter", "#{pid}", "$HOME", ";", 'it\'s "so"', "é")
    code = "import json, sys; print(json.dumps(sys.argv[1:])); input()"
    terminal = await desk.open(*desk.yard.PYTHON, code, *words)
    screen = await desk.shows(terminal, "]")
    assert json.loads(screen.replace("\n", "")) == list(words)


async def test_r27_who_is_dead_is_not_taken_for_another_whose_name_begins_so(desk):
    one, ten = desk.terminal("bot-1"), await desk.open("cat", worker="bot-10")
    assert not one.is_open
    assert client(one, "has-session").returncode != 0
    await one.close()
    assert ten.is_open
    short = client(ten, "kill-session", "-t", f"={ten.name[:-1]}")
    assert short.returncode != 0
    types(ten, "still here")
    await desk.shows(ten, "still here")


async def test_r27_names_are_plain_and_never_the_same(desk):
    names = [desk.terminal(worker).name for worker in ("a.b:c", "a-b-c", "a b c", "é", "bot-1")]
    assert len(set(names)) == len(names)
    assert all(set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789-") for name in names)
    terminal = await desk.open("cat", worker="a.b:c")
    types(terminal, "hello")
    await desk.shows(terminal, "hello")


async def test_r49_utf_8_is_forced_where_the_language_is_another(desk):
    terminal = await desk.open("sh", "-c", "locale charmap; cat", LC_ALL="C", LANG="")
    await desk.shows(terminal, "UTF-8")
    types(terminal, "é → 日本")
    await desk.shows(terminal, "é → 日本")


async def test_the_program_gets_exactly_its_own_home_and_variables_and_no_tmux_ones(desk):
    words = "import json, os; print(json.dumps(dict(os.environ))); input()"
    terminal = await desk.open(*desk.yard.PYTHON, words, TOKEN="s3cret", TERMINFO="/nowhere")
    told = json.loads((await desk.shows(terminal, "}")).replace("\n", ""))
    assert (told["HOME"], told["TOKEN"]) == (str(desk.yard.home), "s3cret")
    assert told["AMIRAL_TAG"] == f"{desk.yard.tag}:terminal-dev"
    assert not [name for name in told if name in ("TMUX", "TMUX_PANE", "TERMINFO")]
    lines = [Path(f"/proc/{one.pid}/cmdline").read_bytes() for one in desk.yard.left()]
    assert not [line for line in lines if b"s3cret" in line]


async def test_a_person_attaches_by_the_command_that_is_told(desk):
    terminal = await desk.open("sh", "-c", "echo hello; cat")
    attached = subprocess.Popen(
        ["script", "-qec", terminal.attach, "/dev/null"],
        env={**os.environ, "TERM": "xterm", "TMUX": "/tmp/another,1,0"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    try:
        listing = lambda: client(terminal, "list-clients").stdout
        await desk.yard.until(listing, "a client")
        assert attached.stdin is not None
        attached.stdin.write(b"typed by hand\r")
        attached.stdin.flush()
        await desk.shows(terminal, "typed by hand")
        await terminal.close()
        out, _ = attached.communicate(timeout=10)
        assert b"hello" in out
    finally:
        attached.kill()
        attached.communicate()


async def test_it_is_over_when_its_program_ends_and_nothing_is_left(desk):
    terminal = await desk.open("cat")
    other = await desk.open("sh", "-c", "read line; exit 3", worker="other")
    types(other, "go")
    await desk.yard.until(lambda: not other.is_open, "the end")
    assert terminal.is_open
    await terminal.close()
    await terminal.close()
    await other.close()
    assert not terminal.is_open
    assert desk.yard.left() == []
    assert list((desk.yard.home / "sessions").iterdir()) == []
    assert client(terminal, "has-session").returncode != 0


async def test_it_is_found_again_by_another_process(desk):
    await desk.open("cat")
    again = Desk(desk.yard).terminal()
    assert again.is_open
    types(again, "hello")
    await desk.shows(again, "hello")
    await again.close()
    assert not again.is_open


async def test_of_a_program_that_cannot_start_nothing_is_left(desk):
    with pytest.raises(Broken, match="terminal of dev"):
        await desk.open("/no/such/program")
    assert not desk.terminal().is_open
    assert list((desk.yard.home / "sessions").iterdir()) == []


async def test_without_tmux_it_says_which_package_to_install(desk, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(NotFound) as told:
        await desk.open("cat")
    assert "tmux" in told.value.next_step
    assert list((desk.yard.home / "sessions").iterdir()) == []


@pytest.fixture
def users(pen):
    """The person's own tmux server, its socket where the worker can reach it."""
    place = str(pen.inside / "users")
    start = ["tmux", "-S", place, "-f", "/dev/null", "new-session", "-d", "cat"]
    subprocess.run(start, env={**os.environ, "TMUX": ""}, check=True)
    yield place
    subprocess.run(["tmux", "-S", place, "kill-server"], check=False, capture_output=True)


def own_socket(terminal):
    return shlex.split(terminal.attach)[shlex.split(terminal.attach).index("-S") + 1]


async def tried(desk, pen, users, fence):
    told = pen.inside / "told"
    words = (own_socket(desk.terminal()), users, str(pen.outside), str(told))
    terminal = await desk.open(*desk.yard.PYTHON, ESCAPE, *words, fence=fence)
    await desk.yard.until(told.exists, "what was tried")
    return terminal, json.loads(told.read_text())


async def test_s4_what_lives_in_a_fenced_terminal_drives_no_tmux_server(desk, pen, users):
    terminal, told = await tried(desk, pen, users, pen.fence())
    assert told["is a terminal"]
    assert told["variables"] == []
    assert told["write"] == "Permission denied"
    assert told["terminals"] == "Permission denied"
    assert (told["socket"], told["kill"]) == ("Operation not permitted",) * 2
    for code, said in (*told["own"], *told["users"]):
        assert code != 0 and "error connecting" in said, told
    assert list(pen.outside.iterdir()) == []
    types(terminal, "over")
    await desk.yard.until(lambda: not terminal.is_open, "the end")


async def test_s4_without_a_fence_the_same_attempts_succeed(desk, pen, users):
    """What fails here too would prove nothing above."""
    _, told = await tried(desk, pen, users, None)
    assert told["socket"] == told["write"] == told["terminals"] == "done"
    assert [code for code, _ in told["users"]] == [0, 0]


async def test_s4_what_the_server_itself_starts_is_fenced_too(desk, pen):
    """A second wall: were the socket reached, the server would have no more rights."""
    terminal = await desk.open("cat", fence=pen.fence())
    inside, outside = pen.inside / "by-server", pen.outside / "by-server"
    for words in (["run-shell"], ["new-window", "-d"]):
        client(terminal, *words, f"touch {outside} {inside}")
        await desk.yard.until(inside.exists, "what the server was told")
        inside.unlink()
        assert not outside.exists()
    code = "import socket; socket.socket(socket.AF_UNIX)"
    window = shlex.join([*desk.yard.PYTHON, f"{code}\nopen('{inside}', 'w')"])
    client(terminal, "new-window", "-d")
    await desk.yard.until(lambda: len(panes(terminal)) == 2, "a person's window")
    client(terminal, "send-keys", "-l", "-t", f"={terminal.name}:1", window)
    client(terminal, "send-keys", "-t", f"={terminal.name}:1", "Enter")
    for _ in range(1000):
        shown = client(terminal, "capture-pane", "-p", "-t", f"={terminal.name}:1").stdout
        if "PermissionError" in shown:
            break
        await SystemClock().sleep(0.01)
    assert "PermissionError" in shown
    assert not inside.exists()


async def test_s4_with_a_closed_network_a_terminal_has_none_either(desk, pen):
    code = """
import socket, sys
try:
    socket.create_server(("127.0.0.1", 0))
    print("listens")
except OSError as error:
    print("refused:", error.strerror)
input()
"""
    terminal = await desk.open(*desk.yard.PYTHON, code, fence=pen.fence(ports=()))
    await desk.shows(terminal, "refused: Permission denied")


SOCKETS = """
import socket
attempt("stream", lambda: socket.socket(socket.AF_UNIX))
attempt("listen", lambda: socket.create_server(f"{inside}/s", family=socket.AF_UNIX))
attempt("datagram", lambda: socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
attempt("abstract", lambda: socket.socket(socket.AF_UNIX).connect("\\0" + more[0]))
attempt("tcp", lambda: socket.create_server(("127.0.0.1", 0)))
attempt("udp", lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
attempt("raw", lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW))
"""


async def test_s4_the_fence_of_a_server_opens_unix_streams_and_nothing_else(pen):
    name = secrets.token_hex(8)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"\0{name}")
        listener.listen()
        told = await pen.tries(SOCKETS, name, fence=pen.fence(ports=(), has_unix=True))
    assert (told.pop("stream"), told.pop("listen")) == ("done", "done")
    assert "done" not in told.values(), told


async def test_s4_in_a_box_too_the_terminal_is_fenced_and_driven_from_outside(desk, boxing, users):
    terminal, told = await tried(desk, boxing, users, boxing.box())
    assert (told["write"], told["socket"]) != ("done", "done")
    assert told["is a terminal"]
    for code, _ in (*told["own"], *told["users"]):
        assert code != 0, told
    assert list(boxing.outside.iterdir()) == []
    types(terminal, "over")
    await desk.yard.until(lambda: not terminal.is_open, "the end")


async def test_r29_closing_ends_what_left_its_session_and_its_parents(desk):
    slip = f"{SLIPS}\nprint('slipped', os.getpid(), flush=True)\ntime.sleep(600)"
    terminal = await desk.open(sys.executable, "-c", slip, slip)
    await desk.shows(terminal, "slipped")
    await terminal.close()
    assert desk.yard.left() == []
    assert cgroup.cgroups_under(desk.yard.home_tag) == []


async def test_under_a_stop_nothing_opens(desk):
    terminal = await desk.open("cat")
    desk.yard.brake.engage("a test", "owner", 0)
    with pytest.raises(Conflict, match="in force"):
        await desk.open("cat", worker="other")
    assert terminal.is_open


async def test_a_killed_server_takes_its_inhabitants_along(desk):
    terminal = await desk.open("cat")
    (inhabitant,) = panes(terminal)
    (server,) = [one for one in desk.yard.left() if _program(one.pid) == "tmux: server"]
    tree.send(server, 9)
    await desk.yard.until(lambda: not Path(f"/proc/{inhabitant}").exists(), "the end")
    await desk.yard.until(lambda: not terminal.is_open, "the end")
    assert tree.descendants(inhabitant) == []


def _program(pid):
    return Path(f"/proc/{pid}/comm").read_text().strip()
