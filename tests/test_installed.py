"""What amiral finds at its start: CLIs, their secrets, and what is missing of them."""

import pytest

from amiral.base.errors import NotFound
from amiral.base.settings import DriverSettings, Settings
from amiral.installed import Installed
from amiral.store.redact import REDACTED
from amiral.store.vault import Vault

SETTINGS = Settings(
    drivers={
        "scripted": DriverSettings(
            env={"PLAIN": "in the open", "MY_TOKEN": "token in the open", "DATA": "vault:data"}
        )
    }
)


@pytest.fixture
def home(tmp_path):
    return tmp_path / "home"


def test_secrets_are_known_before_anything_is_read_whatever_their_variable_is_called(home):
    Vault(home).put("data", "data of the owner")
    installed = Installed(SETTINGS, {"PATH": ""}, home)
    told = installed.redact.text("in the open; token in the open; data of the owner")
    assert told == f"in the open; {REDACTED}; {REDACTED}"
    assert installed.cli("scripted").env["DATA"] == "data of the owner"
    assert not [notice for notice in installed.notices() if "vault" in notice]


def test_a_missing_secret_is_told_at_the_start_and_is_taken_once_it_is_there(home):
    installed = Installed(SETTINGS, {"PATH": ""}, home)
    told = "[drivers.scripted] env DATA: the vault has no secret data: amiral vault set data"
    assert told in installed.notices()
    with pytest.raises(NotFound, match=r"\[drivers.scripted\] env DATA"):
        installed.cli("scripted")
    Vault(home).put("data", "data of the owner")
    assert installed.cli("scripted").env["DATA"] == "data of the owner"
    assert installed.redact.text("data of the owner") == REDACTED


def test_a_name_of_a_secret_is_no_secret(home):
    installed = Installed(SETTINGS, {"PATH": ""}, home)
    assert installed.redact.text("vault:data") == "vault:data"
    assert installed.secrets() == ["token in the open"]
