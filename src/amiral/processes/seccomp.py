"""The seccomp filter that closes what Landlock leaves open: other sockets, and other ways to them.

Standard library only. A filter is a program for the kernel's packet machine, of 8 bytes an
instruction; it sees the number and the plain arguments of a system call and gives a verdict.
"""

import errno
import struct
from functools import cache

from amiral.processes import syscalls

Instruction = tuple[int, int, int, int]
Program = list[Instruction]

_LOAD, _AND = 0x20, 0x54
_EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL, _FAIL = 0x7FFF0000, 0x80000000, 0x00050000
_AT_NUMBER, _AT_MACHINE, _AT_ARGUMENTS = 0, 4, 16
_MACHINES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_X32 = 0x40000000

_UNIX, _INET, _INET6, _NETLINK = 1, 2, 10, 16
_STREAM, _DATAGRAM, _SEQUENCED, _TYPE_BITS = 1, 2, 5, 0xF
_ANY_PROTOCOL, _TCP, _ROUTES = 0, 6, 0
_FAST_OPEN = 0x20000000
_TYPE_INTO_TERMINAL, _CONSOLE = 0x5412, 0x541C

_SET_FILTER, _HAS_ACTION = 1, 2
_INSTRUCTION = struct.Struct("=HBBI")


def check() -> None:
    """Raise OSError where no filter can be set: an unknown machine, or a kernel without."""
    syscalls.call("seccomp", _HAS_ACTION, 0, struct.pack("=I", _KILL))


def restrict(*, tcp_only: bool, has_unix: bool = False) -> None:
    """Put the filter in force for the calling thread, for ever; it must have given up privileges.

    `tcp_only`: no socket but for TCP, and none to listen with. `has_unix`: Unix streams beside, and
    listening.
    """
    code = code_of(tcp_only=tcp_only, has_unix=has_unix)
    described = struct.pack("@HP", len(code) // _INSTRUCTION.size, syscalls.address_of(code))
    syscalls.call("seccomp", _SET_FILTER, 0, described)


@cache
def code_of(*, tcp_only: bool, has_unix: bool = False) -> bytes:
    """Assemble the filter for this machine, once."""
    program = _filter(tcp_only=tcp_only, has_unix=has_unix)
    return b"".join(_INSTRUCTION.pack(*one) for one in program)


def _filter(*, tcp_only: bool, has_unix: bool) -> Program:
    machine = syscalls.machine()
    program: Program = [
        (_LOAD, 0, 0, _AT_MACHINE),
        (_EQUAL, 1, 0, _MACHINES[machine]),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _AT_NUMBER),
    ]
    if machine == "x86_64":
        program += [(_AT_LEAST, 0, 1, _X32), _refuse()]
    for name, body in _bodies(tcp_only=tcp_only, has_unix=has_unix).items():
        program += _when(syscalls.number_of(name), body)
    return [*program, _allow()]


def _bodies(*, tcp_only: bool, has_unix: bool) -> dict[str, Program]:
    bodies = {
        "socket": _socket(tcp_only=tcp_only, has_unix=has_unix),
        # A datagram socket of a pair can still be pointed at any other: streams cannot.
        "socketpair": [
            *_argument(1, _TYPE_BITS),
            *_allow_if(_STREAM),
            *_allow_if(_SEQUENCED),
            _refuse(),
        ],
        "sendto": _unless_fast_open(3),
        "sendmsg": _unless_fast_open(2),
        "sendmmsg": _unless_fast_open(3),
        "io_uring_setup": [_refuse()],
        # Typing into the terminal it was given, for the shell that reads there when it has ended.
        "ioctl": [
            *_argument(1),
            *_when(_TYPE_INTO_TERMINAL, [_refuse()]),
            *_when(_CONSOLE, [_refuse()]),
            _allow(),
        ],
        # A limit of 0 s CPU time kills a process that Landlock would not let us signal.
        "prlimit64": [*_argument(0), *_allow_if(0), _refuse()],
    }
    return bodies | ({"listen": [_refuse()]} if tcp_only and not has_unix else {})


def _socket(*, tcp_only: bool, has_unix: bool) -> Program:
    datagrams = [] if tcp_only else _allow_if(_DATAGRAM)
    stream = [*_argument(2), *_allow_if(_ANY_PROTOCOL), *_allow_if(_TCP), _refuse()]
    internet = [*_argument(1, _TYPE_BITS), *datagrams, *_when(_STREAM, stream), _refuse()]
    routes = [*_argument(2), *_allow_if(_ROUTES), _refuse()]
    families = [*_when(_INET, internet), *_when(_INET6, internet), *_when(_NETLINK, routes)]
    local = [*_argument(1, _TYPE_BITS), *_allow_if(_STREAM), _refuse()]
    families += _when(_UNIX, local) if has_unix else []
    return [*_argument(0), *families, _refuse()]


def _unless_fast_open(at: int) -> Program:
    return [*_argument(at), (_ANY_BIT, 0, 1, _FAST_OPEN), _refuse(), _allow()]


def _argument(at: int, bits: int = 0) -> Program:
    """Load the lower half of an argument: what the kernel takes of an `int`."""
    load = (_LOAD, 0, 0, _AT_ARGUMENTS + 8 * at)
    return [load, (_AND, 0, 0, bits)] if bits else [load]


def _when(value: int, body: Program) -> Program:
    """Run a body, which ends with a verdict, when the loaded value is this one."""
    return [(_EQUAL, 0, len(body), value), *body]


def _allow_if(value: int) -> Program:
    return _when(value, [_allow()])


def _allow() -> Instruction:
    return (_RETURN, 0, 0, _ALLOW)


def _refuse() -> Instruction:
    return (_RETURN, 0, 0, _FAIL | errno.EPERM)
