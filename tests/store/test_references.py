"""A setting that names a secret gets its value, or an error that says which setting it was."""

import subprocess
import sys

import pytest

from amiral.base.errors import Broken, Invalid, NotFound
from amiral.store.redact import REDACTED, Redactor
from amiral.store.references import Secrets

KEY = "[drivers.x] env TOKEN"


@pytest.fixture
def redact():
    return Redactor()


@pytest.fixture
def secrets(home, redact):
    return Secrets(home, redact)


def test_a_value_stands_for_itself_and_a_name_for_its_secret_as_it_is_now(secrets, vault, redact):
    assert secrets.value(KEY, "http://127.0.0.1") == "http://127.0.0.1"
    assert redact.text("value of a") == "value of a", "it was not asked for yet"
    assert secrets.value(KEY, "vault:a") == "value of a"
    vault.put("a", "changed")
    assert secrets.value(KEY, "vault:a") == "changed"
    assert redact.text("value of a, changed") == f"{REDACTED}, {REDACTED}"


def test_a_secret_that_is_not_there_is_told_with_the_setting_and_the_command(secrets, vault):
    with pytest.raises(NotFound) as caught:
        secrets.value(KEY, "vault:c/f")
    assert caught.value.message.startswith(f"{KEY}: the vault has no secret c/f")
    assert caught.value.next_step == "amiral vault set c/f"


@pytest.mark.parametrize("text", ["vault:", "vault:A", "vault:a b"])
def test_what_names_no_secret_is_told_without_repeating_it(secrets, text):
    with pytest.raises(Invalid) as caught:
        secrets.value(KEY, text)
    assert KEY in caught.value.message
    assert text not in caught.value.message


def test_a_vault_that_cannot_be_trusted_gives_nothing(secrets, vault, home):
    (home / "vault" / "vault.json").write_text("{}")
    with pytest.raises(Broken, match="damaged"):
        secrets.value(KEY, "vault:a")


def test_who_names_no_secret_does_not_load_any_encryption(home):
    code = (
        "import sys; from pathlib import Path; import amiral.app; "
        "from amiral.store.redact import Redactor; from amiral.store.references import Secrets; "
        f"Secrets(Path({str(home)!r}), Redactor()).value('k', 'plain'); "
        "sys.exit('cryptography' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
