"""What a fenced program can do to others: nothing, by socket, signal or /proc (S1–S3, F9)."""

import json
import os
import socket

import pytest

from amiral.processes.spawn import base_environment


@pytest.fixture
def listening(pen):
    """Sockets of a server that anybody of this user may talk to: tmux, docker, D-Bus, ours."""
    stream, datagrams = pen.inside / "stream", pen.outside / "datagrams"
    unix, datagram = socket.AF_UNIX, socket.SOCK_DGRAM
    with socket.socket(unix) as one, socket.socket(unix, datagram) as other:
        one.bind(str(stream))
        one.listen()
        other.bind(str(datagrams))
        yield [str(stream), str(datagrams)]


CONNECTS = """
import socket
stream, datagrams = more
U = socket.AF_UNIX

def pointed(kind, act):
    for one in socket.socketpair(U, kind):
        act(one)

attempt("stream", lambda: socket.socket(U).connect(stream))
attempt("datagram", lambda: socket.socket(U, socket.SOCK_DGRAM).sendto(b"x", datagrams))
attempt("packets", lambda: socket.socket(U, socket.SOCK_SEQPACKET))
attempt("pair sends", lambda: pointed(socket.SOCK_DGRAM, lambda s: s.sendto(b"x", datagrams)))
attempt("pair connects", lambda: pointed(socket.SOCK_DGRAM, lambda s: s.connect(datagrams)))
attempt("raw pair", lambda: pointed(socket.SOCK_RAW, lambda s: s.sendto(b"x", datagrams)))
attempt("stream pair", lambda: pointed(socket.SOCK_STREAM, lambda s: s.connect(stream)))
"""


async def test_s1_no_unix_socket_is_reached_not_even_by_one_of_a_pair(pen, listening):
    told = await pen.tries(CONNECTS, *listening)
    assert told.pop("stream pair") == "EISCONN"
    assert set(told.values()) == {"EPERM"}, told
    free = await pen.tries_freely(CONNECTS, *listening)
    assert free.pop("stream pair") == "EISCONN"
    assert set(free.values()) == {"done"}, free


async def test_s1_a_pair_whose_other_end_is_gone_leads_nowhere_either(pen, listening):
    code = """
    import socket
    for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET):
        one, other = socket.socketpair(socket.AF_UNIX, kind)
        other.close()
        attempt(f"connect {kind}", lambda: one.connect(more[0]))
        attempt(f"send {kind}", lambda: one.sendto(b"x", more[0]))
    """
    told = await pen.tries(code, *listening)
    assert len(told) == 4
    assert "done" not in told.values()


async def test_s1_a_pair_of_streams_still_serves_a_program_and_its_children(pen):
    code = """
    import array, socket
    for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET):
        one, other = socket.socketpair(socket.AF_UNIX, kind)
        if os.fork() == 0:
            other.send(b"from the child")
            os._exit(0)
        attempt(f"hear {kind}", lambda: one.recv(100) == b"from the child" or os.stat("/none"))
    """
    assert set((await pen.tries(code)).values()) == {"done"}


async def test_s2_no_abstract_socket_is_reached(pen):
    name = f"\0amiral-test-{os.getpid()}"
    code = f"""
    import ctypes, socket
    attempt("stream", lambda: socket.socket(socket.AF_UNIX).connect({name!r}))
    """
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(name)
        listener.listen()
        assert await pen.tries(code) == {"stream": "EPERM"}
        assert await pen.tries_freely(code) == {"stream": "done"}


SIGNALS = """
import resource, signal
target = int(more[0]) if more else os.getppid()
attempt("kill", lambda: os.kill(target, 0))
attempt("continue", lambda: os.kill(target, signal.SIGCONT))
attempt("by its handle", lambda: signal.pidfd_send_signal(os.pidfd_open(target), signal.SIGCONT))
attempt("its group", lambda: os.killpg(os.getpgid(target), 0))
attempt("a limit of its", lambda: resource.prlimit(target, resource.RLIMIT_CORE, (0, 0)))
"""


async def test_s3_neither_amiral_nor_another_agent_can_be_signalled_or_limited(pen):
    other = pen.yard.spawner.start(
        ["sleep", "1000"], kind="test", env=base_environment(), cwd="/", fence=pen.fence()
    )
    for target in (os.getpid(), other.pid):
        told = await pen.tries(SIGNALS, str(target))
        assert set(told.values()) == {"EPERM"}, (target, told)
    free = await pen.tries_freely(SIGNALS, str(other.pid))
    assert set(free.values()) == {"done"}, free
    assert not other.has_ended
    other.kill()


async def test_s3_its_shim_cannot_be_signalled(pen):
    run = await pen.session(SIGNALS)
    await run.exited()
    told = json.loads(run.out())
    assert set(told.values()) == {"EPERM"}, told


async def test_s3_a_program_signals_its_own_children(pen):
    code = """
    import signal, time
    child = os.fork()
    if child == 0:
        time.sleep(1000)
    attempt("kill", lambda: os.kill(child, signal.SIGKILL))
    attempt("wait", lambda: os.waitpid(child, 0))
    attempt("limit itself", lambda: __import__("resource").setrlimit(4, (0, 0)))
    """
    assert set((await pen.tries(code)).values()) == {"done"}


LOOKS = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)

def take():
    if libc.syscall(438, os.pidfd_open(int(supervisor)), int(more[1]), 0) < 0:
        raise OSError(ctypes.get_errno(), "")

supervisor = more[0]
held = f"/proc/{supervisor}/fd/{more[1]}"
attempt("environ", lambda: open(f"/proc/{supervisor}/environ").read())
attempt("maps", lambda: open(f"/proc/{supervisor}/maps").read())
attempt("mem", lambda: open(f"/proc/{supervisor}/mem", "rb"))
attempt("writable mem", lambda: open(f"/proc/{supervisor}/mem", "r+b"))
attempt("an open file", lambda: open(held, "rb"))
attempt("a copy of an open file", take)
attempt("root", lambda: open(f"/proc/{supervisor}/root/{outside}/kept"))
attempt("cwd", lambda: os.listdir(f"/proc/{supervisor}/cwd"))
"""


async def test_f9_amirals_memory_environment_and_files_are_not_seen_through_proc(pen):
    kept = pen.outside / "kept"
    kept.write_text("kept")
    with kept.open() as held:
        arguments = str(os.getpid()), str(held.fileno())
        told = await pen.tries(LOOKS, *arguments)
        free = await pen.tries_freely(LOOKS, *arguments)
    assert set(told.values()) <= {"EACCES", "EPERM"}, told
    seen = {"environ", "an open file", "root", "a copy of an open file"}
    assert seen <= {name for name, went in free.items() if went == "done"}


async def test_no_program_types_into_the_terminal_it_was_given(pen):
    """What it typed would be read, outside the fence, by the shell that started it."""
    code = """
    import fcntl
    attempt("type", lambda: fcntl.ioctl(0, 0x5412, b"x"))
    attempt("console", lambda: fcntl.ioctl(0, 0x541C, b"x"))
    attempt("another", lambda: fcntl.ioctl(0, 0x5401, bytes(64)))
    """
    refused = {"type": "EPERM", "console": "EPERM", "another": "ENOTTY"}
    assert await pen.tries(code) == refused
    assert await pen.tries_freely(code) == dict.fromkeys(refused, "ENOTTY")


async def test_h4_what_a_cli_starts_cannot_answer_the_clis_questions(pen):
    code = """
    import subprocess
    open_again = "import os; os.open(f'/proc/{os.getppid()}/fd/0', os.O_WRONLY)"
    ran = subprocess.run([sys.executable, "-c", open_again], capture_output=True)
    told["answer"] = "done" if ran.returncode == 0 else ran.stderr.decode()[-90:]
    """
    running = await pen.session(code)
    assert b"No such device or address" in await running.prints(b"answer")
