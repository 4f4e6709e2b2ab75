"""N2, N3: a list means the hosts it names and no others, however a name or an address is spelt."""

import string
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amiral.base.errors import Invalid
from amiral.permissions.domains import (
    Place,
    is_listed,
    is_public,
    is_same_host,
    read_allowed,
    read_host,
    read_place,
    why_not,
)

NAT64 = ip_network("64:ff9b::/96")
ALLOWED = read_allowed(["example.com", "*.example.org", "forge.example:8443", "10.0.0.7"])
labels = st.text(string.ascii_lowercase + string.digits, min_size=1, max_size=8).filter(
    lambda label: not label.isdigit() and not label.startswith("0x")
)
names = st.lists(labels, min_size=1, max_size=4).map(".".join)


def wide(text):
    return "".join(chr(ord(letter) + 0xFEE0) for letter in text)


def goes(target, default=None):
    return not why_not(ALLOWED, read_place(target, default))


@pytest.mark.parametrize(
    "target",
    [
        *("example.com:443", "example.com:80", "EXAMPLE.Com:443", "example.com.:443"),
        *("a.example.org:443", "a.b.example.org:80", "A.Example.ORG.:443"),
        *("forge.example:8443", "10.0.0.7:443"),
    ],
)
def test_n3_what_is_listed_is_reached_in_any_case_and_with_a_dot_at_the_end(target):
    assert goes(target)


@pytest.mark.parametrize(
    "target",
    [
        *(
            "evil-example.com:443",
            "example.com.evil.io:443",
            "a.example.com:443",
            "xexample.com:443",
        ),
        *("example.org:443", "evil-example.org:443", "example.org.evil.io:443", "com:443"),
        *("10.0.0.8:443", "[::ffff:10.0.0.7]:443", "[::ffff:a00:7]:443", "8.8.8.8:443"),
        *("localhost:443", "127.0.0.1:443", "[::1]:443"),
    ],
)
def test_n3_nothing_else_is_reached_however_alike_it_looks(target):
    assert not goes(target)


@pytest.mark.parametrize(
    "target", ["example.com:22", "a.example.org:8080", "forge.example:443", "10.0.0.7:22"]
)
def test_n3_no_other_port_is_reached_than_the_listed_one_or_those_of_the_web(target):
    assert why_not(ALLOWED, read_place(target)).startswith(f"port {target.split(':')[1]} of ")


def test_a_refusal_says_what_is_missing():
    assert why_not(ALLOWED, Place("evil.io", 443)) == (
        "evil.io is not on the list of hosts of this worker"
    )
    assert "is an address" in why_not(ALLOWED, read_place("8.8.8.8:443"))
    assert why_not((), Place("example.com", 443))


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("Example.COM", "example.com"),
        ("example.com.", "example.com"),
        ("bücher.example", "xn--bcher-kva.example"),
        ("BÜCHER.example.", "xn--bcher-kva.example"),
        ("xn--bcher-kva.example", "xn--bcher-kva.example"),
        ("XN--BCHER-KVA.EXAMPLE", "xn--bcher-kva.example"),
        ("例え。テスト", "xn--r8jz45g.xn--zckzah"),
        (wide("example.com"), "example.com"),
        ("_dmarc.a-b.example", "_dmarc.a-b.example"),
        ("localhost", "localhost"),
        ("10.0.0.7", IPv4Address("10.0.0.7")),
        ("10.0.0.7.", IPv4Address("10.0.0.7")),
        (wide("10.0.0.7"), IPv4Address("10.0.0.7")),
        ("[FD00::1]", IPv6Address("fd00::1")),
        ("[::ffff:1.2.3.4]", IPv6Address("::ffff:1.2.3.4")),
    ],
)
def test_n3_a_host_is_what_dns_would_make_of_it(text, host):
    assert read_host(text) == host
    assert is_same_host(text, host)


@pytest.mark.parametrize(
    "text",
    [
        *("2130706433", "0x7f000001", "0x7F.1", "017700000001", "0177.0.0.1", "127.1", "0x"),
        *("127.0.0.01", "256.1.1.1", "1.2.3.4.5", "example.1", "example.0x7f"),
    ],
)
def test_n3_an_address_in_an_odd_form_is_neither_an_address_nor_a_name(text):
    with pytest.raises(Invalid, match="is an address in a form that is not accepted"):
        read_host(text)


@pytest.mark.parametrize(
    "text",
    [
        *("", ".", "a..b", ".a", "a..", "-a.example", "a-.example", "a b", "a\0b", "a/b", "a@b"),
        *("a%41.example", "*", "*.example", "a:1", "a\\b", "a" * 64, "a." * 127 + "ab", "a\n"),
        *(
            "℀.example",
            "straße.example",
            "a\u200db.example",
            "\u2028",
            "é" * 300,
            "\ud800",
        ),
        *("[::1", "[::1]]", "[]", "[1.2.3.4]", "[fe80::1%eth0]", "[::1].", "::1"),
    ],
)
def test_n3_what_is_not_clear_as_a_host_is_none(text):
    with pytest.raises(Invalid):
        read_host(text)
    assert not is_same_host(text, "example.com")


@given(st.text() | st.from_regex(r"[\[\]0-9a-fx:.%@]*"))
def test_whatever_is_read_is_a_plain_name_or_an_address_and_reads_the_same_again(text):
    try:
        host = read_host(text)
    except Invalid:
        return
    again = f"[{host}]" if isinstance(host, IPv6Address) else str(host)
    assert read_host(again) == host
    assert not isinstance(host, str) or set(host) <= set(f"{string.ascii_lowercase}0123456789-_.")


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("example.com:443", Place("example.com", 443)),
        ("example.com", Place("example.com", 80)),
        ("[::1]:8443", Place(IPv6Address("::1"), 8443)),
        ("[::1]", Place(IPv6Address("::1"), 80)),
    ],
)
def test_a_place_is_a_host_with_a_port(text, place):
    assert read_place(text, 80) == place


@pytest.mark.parametrize(
    "text",
    [
        *("example.com:", "example.com:0", "example.com:65536", "example.com:123456", ":443"),
        *(
            "example.com:+80",
            "example.com:8 0",
            f"example.com:{wide('80')}",
            "::1:443",
            "a:b:443",
            "[::1]443",
        ),
        *("example.com:443:443", "me@example.com:443", "example.com:443/", ""),
    ],
)
def test_n3_a_place_that_can_be_read_in_two_ways_is_none(text):
    with pytest.raises(Invalid):
        read_place(text, 80)


def test_a_place_without_a_port_and_without_a_default_is_none():
    with pytest.raises(Invalid, match="names no port"):
        read_place("example.com")


@pytest.mark.parametrize(
    ("place", "authority"),
    [
        (Place("example.com", 80), "example.com"),
        (Place("example.com", 8080), "example.com:8080"),
        (Place(IPv6Address("fd00::1"), 80), "[fd00::1]"),
        (Place(IPv6Address("fd00::1"), 8080), "[fd00::1]:8080"),
        (Place(IPv4Address("10.0.0.7"), 81), "10.0.0.7:81"),
    ],
)
def test_a_place_is_named_as_a_host_header_does(place, authority):
    assert place.authority == authority


def test_a_list_may_be_written_in_any_spelling():
    allowed = read_allowed(["BÜCHER.example.", "*.Пример.example", "[FD00::1]:8443"])
    assert not why_not(allowed, read_place("xn--bcher-kva.example:443"))
    assert not why_not(allowed, read_place("a.xn--e1afmkfd.example:443"))
    assert not why_not(allowed, read_place("[fd00:0::1]:8443"))


def test_a_list_names_all_that_cannot_be_read_in_it():
    with pytest.raises(Invalid) as raised:
        read_allowed(["example.com", "*", "*.10.0.0.1", "a*.example", "https://b.example", "c:x"])
    for wrong in ("'*'", "'*.10.0.0.1'", "'a*.example'", "'https://b.example'", "'c:x'"):
        assert wrong in raised.value.message
    assert "'example.com'" not in raised.value.message
    assert raised.value.next_step


def test_a_host_may_be_listed_with_several_ports():
    allowed = read_allowed(["example.com", "example.com:8443", "*.example.com:22"])
    assert [why_not(allowed, Place("example.com", port)) for port in (80, 443, 8443)] == [""] * 3
    assert why_not(allowed, Place("example.com", 22))
    assert not why_not(allowed, Place("a.example.com", 22))


@given(names, names)
def test_n3_a_suffix_takes_what_ends_in_its_labels_and_nothing_else(name, suffix):
    taken = not why_not(read_allowed([f"*.{suffix}"]), Place(name, 443))
    assert taken == (
        name.split(".")[-suffix.count(".") - 1 :] == suffix.split(".") != name.split(".")
    )


@given(names, names)
def test_n3_a_name_takes_itself_alone(name, listed):
    assert (not why_not(read_allowed([listed]), Place(name, 443))) == (name == listed)


@pytest.mark.parametrize(
    "address",
    [
        *("0.0.0.0", "0.1.2.3", "127.0.0.1", "127.255.255.254", "10.0.0.1", "172.16.0.1"),
        *("172.31.255.255", "192.168.1.1", "169.254.169.254", "169.254.0.1", "100.64.0.1"),
        *("100.100.100.200", "100.127.255.255", "192.0.0.192", "192.0.2.1", "198.18.0.1"),
        *("198.51.100.1", "203.0.113.1", "224.0.0.251", "239.255.255.250", "240.0.0.1"),
        *("255.255.255.255", "168.63.129.16", "192.88.99.1"),
        *("::", "::1", "::ffff:10.0.0.1", "::ffff:8.8.8.8", "::8.8.8.8", "fe80::1", "fe80::1%1"),
        *("fec0::1", "fc00::1", "fd00:ec2::254", "ff02::1", "2001::1", "2001:db8::1", "3fff::1"),
        *("2002:a00:1::1", "64:ff9b::a00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::808:808"),
        *("100::1", "5f00::1", "2606:4700::1%1"),
    ],
)
def test_n2_this_machine_its_networks_and_its_metadata_are_not_public(address):
    assert not is_public(ip_address(address))


@pytest.mark.parametrize(
    "address",
    [
        *("1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0"),
        *("126.255.255.255", "128.0.0.1", "169.253.0.1", "172.15.255.255", "172.32.0.1"),
        *("192.167.0.1", "192.169.0.1", "198.17.0.1", "198.20.0.1", "223.255.255.255"),
        *("2606:4700::1111", "2a00:1450::1", "2001:4860:4860::8888", "64:ff9b::808:808"),
    ],
)
def test_n2_what_is_on_the_internet_is_public(address):
    assert is_public(ip_address(address))


@given(st.ip_addresses())
def test_n2_nothing_is_public_that_python_knows_to_be_private(address):
    if is_public(address) and address not in NAT64:
        assert not (address.is_private or address.is_multicast or address.is_reserved)


def test_n2_an_address_that_is_listed_itself_may_be_private():
    allowed = read_allowed(["10.0.0.7", "[fd00::1]:8443", "example.com", "*.example.org"])
    assert is_listed(allowed, ip_address("10.0.0.7"), 443)
    assert is_listed(allowed, ip_address("fd00::1"), 8443)
    assert not is_listed(allowed, ip_address("10.0.0.7"), 22)
    assert not is_listed(allowed, ip_address("fd00::1"), 443)
    assert not is_listed(allowed, ip_address("::ffff:10.0.0.7"), 443)
    assert not is_listed(allowed, ip_address("10.0.0.8"), 443)
