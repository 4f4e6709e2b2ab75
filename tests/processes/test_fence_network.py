"""What a fenced program reaches of the network: TCP to the ports it was given, or all that is open.

All of it on the loopback of a network namespace (N1).
"""

import json
import platform

import pytest

from amiral.testbench.netns import isolating

SERVERS = """
import ctypes, socket, struct, threading
INET, INET6, STREAM, DATAGRAM = socket.AF_INET, socket.AF_INET6, socket.SOCK_STREAM, 2
libc = ctypes.CDLL(None, use_errno=True)

def serving(family, kind, address):
    server = socket.socket(family, kind)
    server.bind((address, 0))
    if kind == STREAM:
        server.listen()
    return server, server.getsockname()[1]

(given, given_port), (other, other_port) = (serving(INET, STREAM, "127.0.0.1") for _ in range(2))
sixth, sixth_port = serving(INET6, STREAM, "::1")
names, names_port = serving(INET, DATAGRAM, "127.0.0.1")
HERE = "127.0.0.1", other_port

def checked(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), "")

def by_message(flags):
    \"\"\"Send with `sendmmsg`, which Python does not wrap.\"\"\"
    address = struct.pack("=HH", INET, socket.htons(other_port)) + socket.inet_aton("127.0.0.1")
    kept = ctypes.create_string_buffer(address + bytes(8), 16)
    text = ctypes.create_string_buffer(b"x", 1)
    part = struct.pack("@PN", ctypes.addressof(text), 1)
    parts = ctypes.create_string_buffer(part, len(part))
    head = struct.pack("@PI4xPNPNi4xI4x", ctypes.addressof(kept), 16, ctypes.addressof(parts), 1,
                       0, 0, 0, 0)
    with socket.socket() as one:
        checked(libc.sendmmsg(one.fileno(), head, 1, flags))

if more[0]:
    sys.path.append(more[1])
    from amiral.processes import fence
    wish = json.loads(more[0])
    if wish["ports"] is not None:
        wish["ports"] = [given_port]
    fence.apply(fence.Fence.from_json(wish))
"""
TCP = """
attempt("the port given", lambda: socket.create_connection(("127.0.0.1", given_port)))
attempt("another", lambda: socket.create_connection(HERE))
attempt("another by IPv6", lambda: socket.create_connection(("::1", sixth_port)))

def opening_fast():
    one = socket.socket()
    one.setsockopt(socket.IPPROTO_TCP, 30, 1)
    one.connect(HERE)

attempt("connect that opens fast", opening_fast)
attempt("serve", lambda: socket.socket().bind(("127.0.0.1", 0)))
attempt("listen anywhere", lambda: socket.socket().listen())
"""
UDP = """
attempt("ask for a name", lambda: socket.socket(INET, DATAGRAM).sendto(b"x", HERE))
attempt("ask by IPv6", lambda: socket.socket(INET6, DATAGRAM).sendto(b"x", ("::1", names_port)))
"""
PING = """
attempt("echo", lambda: socket.socket(INET, DATAGRAM, socket.IPPROTO_ICMP))
"""
AROUND = """
attempt("multipath", lambda: socket.socket(INET, STREAM, 262).connect(HERE))
attempt("multipath by IPv6", lambda: socket.socket(INET6, STREAM, 262))
attempt("open fast", lambda: socket.socket().sendto(b"x", 0x20000000, HERE))
attempt("open fast, by message", lambda: socket.socket().sendmsg([b"x"], [], 0x20000000, HERE))
attempt("open fast, by many", lambda: by_message(0x20000000))
attempt("raw", lambda: socket.socket(INET, socket.SOCK_RAW, socket.IPPROTO_ICMP))
attempt("packets", lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW))
attempt("packets as of old", lambda: socket.socket(INET, 10, 0x300))
attempt("events of the kernel", lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 15))
"""
# Not every kernel has these, so nothing is said of what happens without a fence.
RARE = """
attempt("machine to machine", lambda: socket.socket(40, STREAM))
attempt("streams of messages", lambda: socket.socket(INET, STREAM, 132))
attempt("ciphers", lambda: socket.socket(38, socket.SOCK_SEQPACKET))
attempt("Bluetooth", lambda: socket.socket(31, socket.SOCK_RAW))
attempt("shared memory", lambda: socket.socket(43, STREAM))
parameters = ctypes.create_string_buffer(256)
attempt("rings", lambda: checked(libc.syscall(425, 1, parameters)))
if os.uname().machine == "x86_64":
    attempt("the third instruction set", lambda: checked(libc.syscall(0x40000000 + 41, 1, 1, 0)))
"""
PLAIN = """
import asyncio
attempt("names of interfaces", lambda: socket.if_nameindex())
attempt("a name of this machine", lambda: socket.getaddrinfo("localhost", 80))
attempt("a loop", lambda: asyncio.run(asyncio.sleep(0)))
attempt("routes", lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0))
"""


async def tried(pen, code, fence=None):
    wish = json.dumps(fence.as_json()) if fence else ""
    ran = await pen.run_freely(*isolating(pen.trying(SERVERS + code, wish, pen.SOURCES)))
    assert ran.code == 0, ran.err.decode()
    return json.loads(ran.out)


def closed(pen, **changes):
    return pen.fence((pen.SOURCES, 1), ports=(1,), **changes)


async def test_n1_tcp_connects_to_the_port_given_and_to_no_other(pen):
    told = await tried(pen, TCP, closed(pen))
    assert told.pop("the port given") == "done"
    assert told.pop("listen anywhere") == "EPERM"
    assert set(told.values()) == {"EACCES"}, told


async def test_n1_no_other_socket_is_to_be_had(pen):
    told = await tried(pen, UDP + PING + AROUND + RARE, closed(pen))
    assert set(told.values()) == {"EPERM"}, told


async def test_n1_an_open_network_is_open_to_tcp_and_udp_and_to_nothing_else(pen):
    fence = pen.fence((pen.SOURCES, 1))
    told = await tried(pen, TCP + UDP, fence)
    assert set(told.values()) == {"done"}, told
    told = await tried(pen, AROUND + RARE, fence)
    assert set(told.values()) == {"EPERM"}, told


async def test_n1_without_a_fence_all_of_it_goes_through(pen):
    told = await tried(pen, TCP + UDP + AROUND)
    assert set(told.values()) == {"done"}, told


@pytest.mark.parametrize("ports", [(1,), None])
async def test_what_programs_ask_of_the_network_at_their_start_still_works(pen, ports):
    told = await tried(pen, PLAIN, pen.fence((pen.SOURCES, 1), ports=ports))
    assert set(told.values()) == {"done"}, told


FOREIGN_CALL = """
import ctypes, mmap
page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
page.write(bytes.fromhex("b814000000cd80c3"))
call = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))
told["pid"] = call() == os.getpid()
"""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="another machine has other calls")
async def test_n1_a_call_of_a_foreign_instruction_set_ends_the_program(pen):
    free = await pen.run_freely(*pen.trying(FOREIGN_CALL))
    fenced = await pen.run(*pen.trying(FOREIGN_CALL))
    assert free.code != 0 or json.loads(free.out) == {"pid": True}
    assert fenced.code < 0
