"""Behaviour of finding the CLIs: their programs, logins and the owner's options."""

import pytest

from amiral.agents.clis import find_cli, find_clis, look_at
from amiral.agents.drivers import scripted
from amiral.agents.drivers.claude import driver as claude
from amiral.agents.drivers.codex import driver as codex
from amiral.base.errors import AmiralError, NotFound
from amiral.base.settings import DriverSettings, Settings
from amiral.processes.spawn import Spawner
from amiral.store.brake import Brake
from amiral.store.redact import REDACTED, Redactor
from amiral.store.references import Secrets
from amiral.store.vault import Vault

MINE = {"model_provider": "mine", "model_providers": {"mine": {"env_key": "MY_KEY"}}}


@pytest.fixture
def program(tmp_path):
    """Give a function that makes a program that prints a version."""

    def make(name, version):
        path = tmp_path / "clis" / "node_modules" / ".bin" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\necho '{version}'\n")
        path.chmod(0o755)
        return path

    return make


@pytest.fixture
def find(tmp_path):
    def found(settings=None, **environ):
        settings = settings or DriverSettings(("codex",))
        environ["AMIRAL_CLIS"] = str(tmp_path / "clis")
        return find_cli(codex.DRIVER, settings, environ, tmp_path / "logins")

    return found


def test_a_cli_is_found_with_the_login_its_options_ask_for(program, find, tmp_path):
    path = program("codex", "codex-cli 0.171.0")
    bare = find(OPENAI_API_KEY="x", MY_KEY="m")
    assert (bare.command, bare.env, bare.is_logged_in) == ((str(path),), {}, False)
    by_key = find(CODEX_API_KEY="k", MY_KEY="m")
    assert (by_key.env, by_key.is_logged_in) == ({"CODEX_API_KEY": "k"}, True)
    settings = DriverSettings(("codex", "-c", "x=1"), {"EXTRA": "e"}, config=MINE)
    own = find(settings=settings, CODEX_API_KEY="k", MY_KEY="m")
    assert own.command == (str(path), "-c", "x=1")
    assert own.env == {"MY_KEY": "m", "EXTRA": "e"}
    assert (own.is_logged_in, own.options) == (True, MINE)
    folder = tmp_path / "logins" / "codex"
    folder.mkdir(parents=True)
    (folder / "auth.json").touch()
    assert find().is_logged_in


def test_what_the_owner_sets_wins_over_the_environment(program, find):
    program("codex", "x")
    settings = DriverSettings(("codex",), {"CODEX_API_KEY": "ours"})
    assert find(settings=settings, CODEX_API_KEY="theirs").env == {"CODEX_API_KEY": "ours"}


def test_a_secret_is_named_until_it_is_needed_and_counts_as_a_login(program, find, tmp_path):
    program("codex", "x")
    cli = find(settings=DriverSettings(("codex",), {"CODEX_API_KEY": "vault:codex", "A": "a"}))
    assert (cli.env["CODEX_API_KEY"], cli.is_logged_in) == ("vault:codex", True)
    redact = Redactor()
    with pytest.raises(NotFound, match=r"\[drivers.codex\] env CODEX_API_KEY: .* no secret codex"):
        cli.with_secrets(Secrets(tmp_path, redact))
    Vault(tmp_path).put("codex", "the real one")
    assert cli.with_secrets(Secrets(tmp_path, redact)).env == {
        "CODEX_API_KEY": "the real one",
        "A": "a",
    }
    assert redact.text("the real one") == REDACTED


def test_all_are_looked_for_and_each_missing_one_says_why(program, tmp_path):
    program("codex", "x")
    drivers = {one.name: one for one in (claude.DRIVER, codex.DRIVER, scripted.DRIVER)}
    environ = {"AMIRAL_CLIS": str(tmp_path / "clis"), "PATH": ""}
    found = find_clis(drivers, Settings(), environ, tmp_path / "logins")
    assert isinstance(found["claude"], NotFound)
    assert not isinstance(found["codex"], AmiralError)


async def test_a_person_is_told_version_and_how_to_log_in(program, find, tmp_path):
    program("codex", "codex-cli 0.171.0")
    brake = Brake(tmp_path / "brake")
    brake.prepare()
    state = await look_at(codex.DRIVER, find(), Spawner(brake, "h:p"), tmp_path)
    assert (state.version, state.is_logged_in, state.problem) == ("0.171.0", False, "")
    assert state.fix.startswith("run `amiral login codex`")
    state = await look_at(codex.DRIVER, find(CODEX_API_KEY="k"), Spawner(brake, "h:p"), tmp_path)
    assert (state.is_logged_in, state.fix) == (True, "")
