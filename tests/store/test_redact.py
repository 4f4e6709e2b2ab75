"""No secret passes, in whatever form, and ordinary text stays as it is."""

import base64
import json
import time
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amiral.store.redact import REDACTED, SHORTEST_SECRET, Redactor, map_texts

AN = "aZ09" * 12
SECRET = 'p@ss w+rd/"é\\x?'
texts = st.text(max_size=30)
secrets = st.text(min_size=SHORTEST_SECRET, max_size=40).filter(
    lambda secret: secret not in REDACTED
)

# Spelt in pieces, so that no scanner takes this file for a leak.
TOKENS = [
    "sk-" + "ant-api03-" + AN,
    "sk-" + "proj-" + AN,
    "12345678" + ":AA" + AN[:33],
    "ghp_" + AN[:36],
    "github_" + "pat_" + AN[:40],
    "glpat-" + AN[:20],
    "npm_" + AN[:36],
    "hf_" + AN[:34],
    "xoxb-" + "123456789012-" + AN[:24],
    "AKIA" + "IOSFODNN7EXAMPL0",
    "AIza" + AN[:35],
    ".".join(("eyJ" + AN, "eyJ" + AN, AN)),
    "-----BEGIN RSA " + "PRIVATE KEY-----\nMIIE\nowIB\n-----END RSA " + "PRIVATE KEY-----",
]


@pytest.mark.parametrize("token", TOKENS)
@pytest.mark.parametrize("around", ["{}", "key={}, next", '"{}"', "a\n{}\nb", "x {}"])
def test_r50_what_looks_like_a_token_is_taken_out_and_nothing_else(token, around):
    assert Redactor().text(around.format(token)) == around.format(REDACTED)


def test_r50_a_bots_token_in_the_address_of_its_api_is_taken_out():
    token = "12345678" + ":AA" + AN[:33]
    shown = Redactor().text(f"https://api.telegram.org/bot{token}/getMe")
    assert shown == f"https://api.telegram.org/bot{REDACTED}/getMe"


def test_r50_a_bearer_token_and_a_password_in_an_address_are_taken_out():
    redact = Redactor()
    assert redact.text(f"Authorization: Bearer {AN}") == f"Authorization: Bearer {REDACTED}"
    assert redact.text("https://me:pass@host/x") == f"https://{REDACTED}@host/x"
    assert redact.text(f"https://{AN}@host/x") == f"https://{REDACTED}@host/x"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "task-refactor-the-login-page-handlers",
        "ssh://git@host/project.git",
        "https://host/a:b?c=d",
        "see https://host:8080/x and mail me@host",
        "the bearer of bad news",
        "12:AA and eyJ and sk- and AKIA and -----BEGIN CERTIFICATE-----",
        "0123456789abcdef" * 4,
    ],
)
def test_ordinary_text_is_the_very_same_object(text):
    assert Redactor([SECRET]).text(text) is text


@pytest.mark.parametrize(
    "form",
    [
        SECRET,
        json.dumps(SECRET),
        json.dumps(SECRET, ensure_ascii=False),
        quote(SECRET),
        quote(SECRET, safe=""),
        quote_plus(SECRET),
        quote(SECRET, safe="").lower(),
        base64.b64encode(SECRET.encode()).decode(),
        base64.urlsafe_b64encode(SECRET.encode()).decode(),
        base64.b64encode(f"u:{SECRET}".encode()).decode(),
        base64.b64encode(f"me:{SECRET}!".encode()).decode(),
        SECRET.encode().hex(),
        SECRET.encode().hex().upper(),
    ],
)
def test_r50_a_known_value_is_found_in_every_form_it_travels_in(form):
    redacted = Redactor([SECRET]).text(f"before {form} after")
    assert REDACTED in redacted
    assert redacted.startswith("before ")
    assert redacted.endswith(" after")
    assert form[4:-4] not in redacted


@given(secrets, texts, texts)
def test_r50_no_known_value_survives_anywhere(secret, before, after):
    redact = Redactor([secret])
    assert secret not in redact.text(before + secret + after).replace(REDACTED, "\0")


@given(secrets, st.binary(max_size=9), st.binary(max_size=9))
def test_r50_no_known_value_survives_inside_base64(secret, before, after):
    encoded = base64.b64encode(before + secret.encode() + after).decode()
    redacted = Redactor([secret]).text(encoded)
    start = len(before) * 4 // 3 + 2
    end = (len(before) + len(secret.encode())) * 4 // 3 - 2
    assert encoded[start:end] not in redacted


@given(st.lists(secrets, max_size=4), texts)
def test_redacting_twice_changes_nothing_more(known, text):
    redact = Redactor(known)
    once = redact.text(text)
    assert redact.text(once) == once or any(part in REDACTED for part in redact._known)


def test_a_secret_inside_another_one_leaves_no_half_behind():
    redact = Redactor(["inner-value", "outer-inner-value-end"])
    assert redact.text("x outer-inner-value-end y") == f"x {REDACTED} y"


def test_a_value_learnt_later_is_taken_out_from_then_on():
    redact = Redactor()
    assert redact.text("open sesame") == "open sesame"
    redact.learn("sesame")
    assert redact.text("open sesame") == f"open {REDACTED}"


def test_a_value_too_short_to_be_told_from_words_is_left():
    assert Redactor(["the"]).text("the end") == "the end"


def test_values_are_redacted_text_by_text_and_keep_their_shape():
    redact = Redactor(["123456"])
    value = {"a": ["x 123456", 123456, None, ("123456",)], "123456": True}
    assert redact.value(value) == {
        "a": [f"x {REDACTED}", 123456, None, [REDACTED]],
        REDACTED: True,
    }


def test_map_texts_changes_texts_alone():
    assert map_texts(["a", 1, {"b": "c"}], str.upper) == ["A", 1, {"B": "C"}]


@pytest.mark.parametrize(
    "unit",
    [
        *("eyJ", "eyJaaaaaaaaaaaa.", "://a:", "://", "sk-", "1234567890", "bearer ", "AKIA", "gh"),
        *("-----BEGIN PRIVATE KEY-----", ":AA", "xoxb", "a" * 64, "-", "%", "hf_"),
    ],
)
def test_hostile_text_takes_linear_time(unit):
    text = unit * (300_000 // len(unit))
    began = time.process_time()
    Redactor(["secret-value"]).text(text)
    # About 20 ms; with one pattern that begins anew at every character it is minutes.
    assert time.process_time() - began < 2
