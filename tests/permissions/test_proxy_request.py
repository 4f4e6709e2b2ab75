"""N3: what a program asks of the proxy is read in one way, or refused."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amiral.permissions.domains import Place
from amiral.permissions.proxy_request import (
    Fetch,
    Head,
    Refused,
    Tunnel,
    read_head,
    read_request,
)


def head(first, *fields):
    return "\r\n".join([first, *fields, "", ""]).encode()


def basic(pair):
    return f"Proxy-Authorization: Basic {base64.b64encode(pair.encode()).decode()}"


def asked(first, *fields):
    read = read_head(head(first, *fields))
    return read if isinstance(read, Refused) else read_request(read)


def passed_on(first, *fields):
    request = asked(first, *fields)
    assert isinstance(request, Fetch)
    return request.head.decode("latin-1").split("\r\n")


def test_a_head_is_read_as_it_is_written():
    read = read_head(head("GET http://a.example/ HTTP/1.0", "A: b c \t", "x:", "A:\tb:c"))
    assert read == Head(
        "GET", "http://a.example/", "HTTP/1.0", (("a", "b c"), ("x", ""), ("a", "b:c"))
    )


@pytest.mark.parametrize(
    "data",
    [
        *(b"", b"\r\n\r\n", b"CONNECT a.example:443 HTTP/1.1\r\n", b"\x16\x03\x01\0\0\r\n\r\n"),
        *(head("CONNECT a.example:443"), head("CONNECT  a.example:443 HTTP/1.1")),
        *(head("CONNECT a.example:443 HTTP/2"), head("CONNECT a.example:443 HTTP/1.1 ")),
        *(head(" CONNECT a.example:443 HTTP/1.1"), head("C@NNECT a.example:443 HTTP/1.1")),
        *(head("GET http://a.example/a b HTTP/1.1"), head("GET http://a.example/\t HTTP/1.1")),
        head("CONNECT a.example:443\rX HTTP/1.1"),
        *(head("CONNECT a:443 HTTP/1.1", line) for line in ("A : b", " a: b", "a", ": b", "")),
        *(head("CONNECT a:443 HTTP/1.1", line) for line in ("a: b\nc: d", "a: b\rc: d", "a: \0")),
        head("CONNECT a:443 HTTP/1.1", "a: b", " folded"),
    ],
)
def test_n3_what_is_not_written_as_the_standard_says_is_refused(data):
    match read_head(data):
        case Refused(reason, 400):
            assert reason
        case other:
            pytest.fail(f"{other} was read")


@pytest.mark.parametrize(
    ("fields", "token"),
    [
        ([basic("amiral:secret")], "secret"),
        ([basic(":secret:more")], "secret:more"),
        ([basic("amiral:secret").replace("Basic", "bAsIc")], "secret"),
        ([], ""),
        ([basic("amiral:secret"), basic("amiral:secret")], ""),
        ([basic("secret")], ""),
        ([basic("amiral:é")], ""),
        ([basic("amiral:secret").replace("Basic", "Bearer")], ""),
        ([basic("amiral:secret").replace("Proxy-", "")], ""),
        (["Proxy-Authorization: Basic !"], ""),
        (["Proxy-Authorization: Basic"], ""),
        (["Proxy-Authorization: Basic YTpi\x7f".replace("\x7f", "Y")], ""),
    ],
)
def test_n3_the_token_is_the_password_of_the_one_field_that_can_hold_it(fields, token):
    read = read_head(head("CONNECT a.example:443 HTTP/1.1", *fields))
    assert isinstance(read, Head)
    assert read.token == token


@pytest.mark.parametrize(
    ("target", "place"),
    [
        ("example.com:443", Place("example.com", 443)),
        ("EXAMPLE.com.:443", Place("example.com", 443)),
        ("bücher.example:443", Place("xn--bcher-kva.example", 443)),
        ("example.com:8443", Place("example.com", 8443)),
    ],
)
def test_a_tunnel_names_its_place(target, place):
    assert asked(f"CONNECT {target} HTTP/1.1") == Tunnel(place)


@pytest.mark.parametrize(
    "target",
    [
        *(
            "example.com",
            "example.com:",
            ":443",
            "https://example.com",
            "/",
            "*",
            "me@a.example:443",
        ),
        *("2130706433:443", "0x7f000001:443", "0177.0.0.1:443", "127.1:443", "::1:443", "[::1:443"),
        *(
            "a%2eexample:443",
            "a.example:443,b.example:443",
            "a.example:443#b",
        ),
    ],
)
def test_n3_a_tunnel_to_what_is_not_clear_is_refused(target):
    request = asked(f"CONNECT {target} HTTP/1.1")
    assert isinstance(request, Refused)
    assert request.status == 403


def test_n3_a_name_that_is_no_utf8_is_refused():
    read = read_head(b"CONNECT \xff.example:443 HTTP/1.1\r\n\r\n")
    assert isinstance(read, Head)
    assert isinstance(read_request(read), Refused)


@pytest.mark.parametrize(
    ("target", "place", "first", "host"),
    [
        ("http://a.example/b?c=d", Place("a.example", 80), "/b?c=d", "a.example"),
        ("HTTP://A.Example.:80", Place("a.example", 80), "/", "a.example"),
        ("http://a.example?c", Place("a.example", 80), "/?c", "a.example"),
        ("http://a.example:8080/", Place("a.example", 8080), "/", "a.example:8080"),
        ("http://a.example/@b.example", Place("a.example", 80), "/@b.example", "a.example"),
        ("http://a.example//b", Place("a.example", 80), "//b", "a.example"),
    ],
)
def test_plain_http_is_passed_on_with_the_path_alone_and_the_host_that_was_judged(
    target, place, first, host
):
    request = asked(f"GET {target} HTTP/1.1", "Host: evil.io")
    assert isinstance(request, Fetch)
    assert request.place == place
    assert request.head == head(f"GET {first} HTTP/1.1", f"Host: {host}", "Connection: close")
    assert request.body_bytes == 0


@pytest.mark.parametrize(
    "target",
    [
        *("/", "*", "a.example:80", "https://a.example/", "ws://a.example/", "ftp://a.example/"),
        *("http://", "http:///a.example", "http:/a.example", "http://a.example@evil.io/"),
        *("http://evil.io:80@a.example/", "http://a.example:b/", "http://a.example#.evil.io/"),
        *("http://a.example\\@evil.io/", "http://0x7f.1/", "http://[::1/", "http://a..example/"),
    ],
)
def test_n3_plain_http_to_what_is_not_clear_is_refused(target):
    request = asked(f"GET {target} HTTP/1.1")
    assert isinstance(request, Refused)
    assert request.status == 403


def test_n3_the_server_learns_no_token_and_nothing_of_this_connection():
    lines = passed_on(
        "POST http://a.example/ HTTP/1.1",
        basic("amiral:secret"),
        "Proxy-Connection: keep-alive",
        "Connection: keep-alive, X-Of-This-One",
        "Connection: content-length",
        "Keep-Alive: 5",
        "x-of-this-one: 1",
        "TE: trailers",
        "Upgrade: h2c",
        "Authorization: Bearer for-the-server",
        "Content-Length: 3",
        "X: \u00e9",
    )
    assert lines == [
        "POST / HTTP/1.1",
        "Host: a.example",
        "authorization: Bearer for-the-server",
        "content-length: 3",
        "x: \u00c3\u00a9",
        "Connection: close",
        "",
        "",
    ]


def test_the_size_of_a_body_is_what_its_one_field_says():
    request = asked("POST http://a.example/ HTTP/1.1", "Content-Length: 1234")
    assert isinstance(request, Fetch)
    assert request.body_bytes == 1234


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        (["Content-Length: 3", "Content-Length: 3"], 400),
        (["Content-Length: 3, 3"], 400),
        (["Content-Length: +3"], 400),
        (["Content-Length: -3"], 400),
        (["Content-Length: 0x3"], 400),
        (["Content-Length: "], 400),
        (["Content-Length: " + "9" * 19], 400),
        (["Transfer-Encoding: chunked"], 411),
        (["Transfer-Encoding: chunked", "Content-Length: 3"], 411),
        (["Transfer-Encoding:"], 411),
    ],
)
def test_n3_a_body_whose_end_is_not_clear_could_hide_a_request_and_is_refused(fields, status):
    request = asked("POST http://a.example/ HTTP/1.1", *fields)
    assert isinstance(request, Refused)
    assert request.status == status


@given(st.binary(max_size=200) | st.binary(max_size=200).map(lambda data: data + b"\r\n\r\n"))
def test_n3_reading_never_raises_whatever_the_bytes(data):
    read = read_head(data)
    if isinstance(read, Head):
        assert isinstance(read.token, str)
        assert isinstance(read_request(read), Tunnel | Fetch | Refused)


@given(
    st.sampled_from(["CONNECT", "GET", "POST"]),
    st.text(st.characters(min_codepoint=0x21, max_codepoint=0xFF, exclude_characters="\x7f")),
    st.lists(
        st.tuples(
            st.sampled_from(["content-length", "connection", "proxy-authorization", "x"]),
            st.text(st.characters(min_codepoint=0x20, max_codepoint=0xFF)),
        )
    ),
)
def test_n3_reading_never_raises_and_passes_on_one_head_alone(method, target, fields):
    for shown in (target, f"http://{target}", f"http://a.example/{target}"):
        lines = [f"{method} {shown} HTTP/1.1", *(f"{name}: {value}" for name, value in fields)]
        read = read_head(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))
        if isinstance(read, Head):
            assert isinstance(read.token, str)
            request = read_request(read)
            if isinstance(request, Fetch):
                assert request.head.count(b"\r\n\r\n") == 1
                assert request.head.endswith(b"\r\n\r\n")
                assert request.head.lower().count(b"\r\nhost: ") == 1
                assert b"\r\nproxy-authorization:" not in request.head.lower()
