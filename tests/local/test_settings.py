"""Behaviour of `amiral config`."""

import json
import tempfile
from pathlib import Path

import pytest

from amiral.local import settings


@pytest.fixture
def home(monkeypatch):
    with tempfile.TemporaryDirectory() as folder:
        monkeypatch.setenv("AMIRAL_HOME", folder)
        yield Path(folder).resolve()


def test_every_value_is_shown_with_its_source(capsys, home, monkeypatch):
    (home / "amiral.toml").write_text("[hub]\nport = 9000\n[projects.shop]\ntest = 'make'\n")
    monkeypatch.setenv("AMIRAL_UI_LANGUAGE", "fr")
    assert settings.run(["config", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["home"] == str(home)
    shown = document["settings"]
    assert shown["hub.port"] == {"value": 9000, "source": "amiral.toml:2"}
    assert shown["ui.language"] == {"value": "fr", "source": "AMIRAL_UI_LANGUAGE"}
    assert shown["projects.shop.test"] == {"value": "make", "source": "amiral.toml:4"}
    assert shown["sandbox.mode"] == {"value": "auto", "source": "default"}
    assert shown["drivers.codex.command"] == {"value": ["codex"], "source": "default"}


def test_people_get_one_line_a_value(capsys, home):
    assert settings.run(["config"]) == 0
    assert "hub.port = 8787  (default)\n" in capsys.readouterr().out


def test_values_that_may_be_secrets_are_not_shown_r50(capsys, home):
    (home / "amiral.toml").write_text(
        "[drivers.claude]\nenv = {A = 'canary'}\nconfig = {b = 'canary'}\n"
        "[telegram]\nmaster_token = 'vault:x'\n"
    )
    for argv in (["config"], ["config", "--json"]):
        assert settings.run(argv) == 0
        out = capsys.readouterr().out
        assert "canary" not in out
        assert "(set)" in out
        assert "vault:x" in out


def test_a_broken_file_is_told_line_by_line(capsys, home):
    (home / "amiral.toml").write_text("[hub]\nprot = 1\nport = 'x'\n")
    assert settings.run(["config"]) == 2
    assert "amiral.toml:2: unknown key hub.prot" in capsys.readouterr().err
    assert settings.run(["config", "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["error"]["kind"] == "usage"
    assert settings.run(["config", "--help"]) == 0
