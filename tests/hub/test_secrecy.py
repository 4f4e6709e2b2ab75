"""The last words of a project's process hold no secret, whoever kept it and since when."""

import pytest

from amiral.base.settings import DriverSettings, Settings
from amiral.hub.secrecy import Secrecy
from amiral.store.redact import REDACTED
from amiral.store.vault import Vault

SETTINGS = Settings(
    drivers={
        "claude": DriverSettings(
            env={"PLAIN": "in the open", "MY_TOKEN": "token in the open", "KEY": "vault:data"}
        )
    }
)
ENVIRON = {"OPENAI_API_KEY": "key of the owner", "EDITOR": "an editor"}


@pytest.fixture
def home(tmp_path):
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    return home


def test_what_is_called_a_secret_is_known_from_the_start(home):
    secrecy = Secrecy(home, SETTINGS, ENVIRON)
    said = "in the open; token in the open; key of the owner; an editor; vault:data"
    told = f"in the open; {REDACTED}; {REDACTED}; an editor; vault:data"
    assert secrecy.last_words(said) == told
    assert secrecy.redact.text(said) == told


def test_what_came_into_the_vault_later_is_known_and_not_kept(home):
    secrecy = Secrecy(home, SETTINGS, {})
    Vault(home).put("telegram/master", "word of the vault")
    assert secrecy.last_words("it said word of the vault") == f"it said {REDACTED}"
    assert secrecy.redact.text("word of the vault") == "word of the vault"


def test_nothing_is_told_when_the_vault_cannot_be_read(home):
    Vault(home).put("data", "word of the vault")
    (home / "vault" / "vault.json").write_text("nothing")
    told = Secrecy(home, SETTINGS, {}).last_words("it said word of the vault")
    assert told.startswith("its last words are left out: ")
    assert "word of" not in told
    assert Secrecy(home, SETTINGS, {}).last_words("") == ""
