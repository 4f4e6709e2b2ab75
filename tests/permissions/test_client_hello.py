"""N3: the server that a TLS client names is read as servers read it, or not at all."""

import ssl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amiral.permissions.client_hello import Hello, Unreadable, read_hello


def hello(name, *, newest=ssl.TLSVersion.TLSv1_3):
    """Give what a client really sends first."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.maximum_version = newest
    sent = ssl.MemoryBIO()
    client = context.wrap_bio(ssl.MemoryBIO(), sent, server_hostname=name)
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()
    return sent.read()


def counted(size, *parts):
    data = b"".join(parts)
    return len(data).to_bytes(size) + data


def record(data, kind=22):
    return bytes([kind, 3, 1]) + counted(2, data)


def message(*extensions, kind=1, after=b""):
    """Write a first message whose parts are as small as they may be."""
    start = bytes(34) + counted(1) + counted(2, b"\x13\x01") + counted(1, b"\0")
    end = counted(2, *extensions) if extensions else b""
    return bytes([kind]) + counted(3, start, end, after)


def server_name(name, kind=0, after=b""):
    return bytes(2) + counted(2, counted(2, bytes([kind]), counted(2, name), after))


REAL = hello("example.com")


@pytest.mark.parametrize("newest", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
@pytest.mark.parametrize("name", ["example.com", "xn--bcher-kva.example", "a." * 100 + "example"])
def test_n3_the_name_is_read_from_what_a_real_client_sends(name, newest):
    assert read_hello(hello(name, newest=newest)) == Hello(name)


@pytest.mark.parametrize("name", [None, "127.0.0.1"])
def test_n3_a_client_that_goes_to_an_address_names_no_server(name):
    assert read_hello(hello(name)) == Hello("")


@pytest.mark.parametrize("size", range(0, len(REAL), 7))
def test_as_long_as_not_all_of_it_has_come_more_is_needed(size):
    assert read_hello(REAL[:size]) is None


@pytest.mark.parametrize("at", [1, 3, 4, 5, 60, -1])
def test_n3_a_message_in_several_records_is_one(at):
    whole = REAL[5:]
    assert read_hello(record(whole[:at]) + record(whole[at:])) == Hello("example.com")
    assert read_hello(record(whole[:at])) is None


def test_n3_a_record_is_waited_for_even_when_the_message_in_it_is_whole():
    longer = record(message() + b"\x01")
    assert read_hello(longer[:-1]) is None
    assert isinstance(read_hello(longer), Unreadable)


def test_what_follows_in_a_record_of_its_own_is_not_looked_at():
    assert read_hello(REAL + b"\x17\x03\x03early data") == Hello("example.com")


def test_a_message_without_extensions_names_no_server():
    assert read_hello(record(message())) == Hello("")
    assert read_hello(record(message(b"\x00\x17" + counted(2)))) == Hello("")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", "another kind of bytes"),
        (b"SSH-2.0-OpenSSH_9\r\n", "another kind of bytes"),
        (b"\x80\x2e\x01\x03\x01", "another kind of bytes"),
        (b"\x16\x02", "another kind of bytes"),
        (record(message(), kind=23), "another kind of bytes"),
        (record(message(kind=2)), "another message"),
        (b"\x16\x03\x01\0\0", "a record of no valid size"),
        (b"\x16\x03\x01\x40\x01", "a record of no valid size"),
        (record(b"\x01\x01\x00\x01"), "too long a message"),
        (b"".join(record(bytes([byte])) for byte in REAL[5:30]), "too many pieces"),
        (record(message() + b"\x01"), "more than one message"),
        (record(message() * 2), "more than one message"),
        (record(b"\x01\0\0\0"), "a length in it is wrong"),
        (record(b"\x01\0\0\x23" + bytes(34) + b"\x05"), "a length in it is wrong"),
        (record(message(server_name(b"a.io"), after=b"x")), "does not belong there"),
        (record(message(b"\0\0" + counted(2, counted(2), b"x"))), "does not belong there"),
        (record(message(server_name(b"a.io", after=b"\0\0\x01b"))), "does not belong there"),
        (record(message(b"\0\0" + counted(2))), "a length in it is wrong"),
        (record(message(server_name(b"a.io"), server_name(b"b.io"))), "more than one server"),
        (record(message(server_name(b"a.io"), server_name(b"a.io"))), "more than one server"),
        (record(message(server_name(b"a.io", kind=1))), "in another way"),
        (record(message(server_name(b"a.io\0.example.com"))), "in another way"),
        (record(message(server_name("é.io".encode()))), "in another way"),
    ],
)
def test_n3_what_two_servers_could_read_differently_is_refused(data, reason):
    match read_hello(data):
        case Unreadable(said):
            assert reason in said
        case other:
            pytest.fail(f"{other} was read")


@given(st.binary(max_size=300) | st.binary(max_size=300).map(lambda data: b"\x16\x03\x01" + data))
def test_n3_reading_never_raises_whatever_the_bytes(data):
    assert isinstance(read_hello(data), Hello | Unreadable | None)


@given(st.binary(max_size=300))
def test_n3_reading_never_raises_whatever_the_message(data):
    assert isinstance(read_hello(record(b"\x01" + counted(3, data))), Hello | Unreadable)


@given(st.integers(0, len(REAL) - 1), st.integers(0, 255))
def test_n3_reading_never_raises_when_a_byte_is_changed(at, byte):
    changed = REAL[:at] + bytes([byte]) + REAL[at + 1 :]
    assert isinstance(read_hello(changed), Hello | Unreadable | None)


@given(st.binary(min_size=1, max_size=300), st.integers(0, 300))
def test_n3_what_has_been_read_stays_so_however_the_bytes_arrive(data, size):
    early = read_hello(data[:size])
    assert early is None or read_hello(data) == early


@given(st.text("abcdefghij0123456789-.", min_size=1, max_size=60))
def test_n3_a_name_is_read_as_it_was_written(name):
    assert read_hello(record(message(server_name(name.encode())))) == Hello(name)
