"""How the scripted CLI misbehaves as a process: ignored signals, children that outlive it."""

import os
import signal
import time

from amiral.testbench.scenario import Process
from amiral.testbench.scripted_io import STDERR, STDIN, STDOUT


def misbehave(process: Process) -> str:
    """Ignore signals and fork as told; the result names the child."""
    for name in process.ignore:
        signal.signal(signal.Signals[f"SIG{name}"], signal.SIG_IGN)
    if not process.fork:
        return f"ignores {' '.join(process.ignore) or 'nothing'}"
    reader, writer = os.pipe()
    first = os.fork()
    if first == 0:
        _live(process, writer)
    os.close(writer)
    child = os.read(reader, 20).decode()
    os.close(reader)
    if process.fork == "double":
        os.waitpid(first, 0)
    return f"child {child}"


def _live(process: Process, writer: int) -> None:
    """Be the child. Never returns."""
    os.setsid()
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    if process.fork == "double" and os.fork():
        os._exit(0)
    nothing = os.open(os.devnull, os.O_RDWR)
    given_up = (STDIN, STDERR) if process.hold_stdout else (STDIN, STDOUT, STDERR)
    for descriptor in given_up:
        os.dup2(nothing, descriptor)
    os.write(writer, str(os.getpid()).encode())
    os.close(writer)
    time.sleep(process.lives_s)
    os._exit(0)
