"""The form of the vault's file stays: docs/reference/vault.md tells enough to read one by hand."""

import json
from base64 import b64decode

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from amiral.base.errors import Broken
from amiral.store.vault_record import Opened, Sealed, decode, unlock

MASTER = bytes(range(32))
WRITTEN = (
    b'{"id":"v0v1v2v3v4v5v6v7","kid":"k0k1k2k3k4k5k6k7","list":{"data":"Vzi2p/nKuhPNiv'
    b'i83cz/W3zzNrwcakU=","nonce":"zlc0hK5oNS6f6U/T","rev":2},"records":{"a":{"data":"'
    b'XQO4Sa2sm6up0UUxnBtSJOjjzWo3v9P+FQQ=","nonce":"SrdOfmy/JFSfe0bz","rev":2}},"rev"'
    b':2,"version":1}\n'
)


def opened():
    empty = Opened("v0v1v2v3v4v5v6v7", "k0k1k2k3k4k5k6k7", MASTER, 1, {}, {})
    return empty.holding(2, {"a": "value of a", "b/c": "é"})


def by_hand(found, name, record):
    key = HKDF(SHA256(), 32, found["id"].encode(), f"vault|v1|{name}".encode()).derive(MASTER)
    told = [1, found["id"], found["kid"], name, record["rev"]]
    aad = json.dumps(told, separators=(",", ":")).encode()
    return AESGCM(key).decrypt(b64decode(record["nonce"]), b64decode(record["data"]), aad).decode()


def test_a_file_can_be_read_by_hand_with_its_key():
    found = json.loads(opened().encoded())
    assert set(found) == {"version", "id", "kid", "rev", "list", "records"}
    assert (found["version"], found["rev"]) == (1, 2)
    assert json.loads(by_hand(found, "", found["list"])) == {"a": 2, "b/c": 2}
    assert by_hand(found, "a", found["records"]["a"]) == "value of a"
    assert by_hand(found, "b/c", found["records"]["b/c"]) == "é"


def test_a_file_of_the_first_version_can_be_read():
    again = unlock(decode(WRITTEN), MASTER)
    assert (again.rev, again.names, again.value("a")) == (2, ("a",), "value of a")


def test_no_two_nonces_and_no_two_keys_are_the_same():
    first, second = (json.loads(opened().encoded()) for _ in range(2))
    nonces = [one["nonce"] for found in (first, second) for one in found["records"].values()]
    nonces += [found["list"]["nonce"] for found in (first, second)]
    assert len(set(nonces)) == 6
    assert all(len(b64decode(nonce)) == 12 for nonce in nonces)


@pytest.mark.parametrize(("nonce", "data"), [(b"", b""), (bytes(12), b""), (bytes(7), bytes(99))])
def test_a_record_cut_short_is_refused(nonce, data):
    with pytest.raises(Broken, match="secret a was changed or damaged"):
        opened().unseal("a", Sealed(2, nonce, data))
