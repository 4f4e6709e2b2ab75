"""A key of the vault is used only when nobody else can reach it (K2)."""

import os
from pathlib import Path

import pytest

from amiral.base.errors import Broken, Denied
from amiral.store.vault_keys import read_key


def keys_of(home):
    return sorted((home / "vault" / "keys").iterdir())


def test_k2_a_key_that_others_may_read_is_refused_until_it_is_mended(home, vault):
    (key,) = keys_of(home)
    for mode in (0o640, 0o604, 0o660, 0o610):
        key.chmod(mode)
        with pytest.raises(Denied, match=rf"open to others \(mode {mode:04o}\)"):
            vault.get("a")
        with pytest.raises(Denied):
            vault.put("a", "x")
    key.chmod(0o600)
    assert vault.get("a") == "value of a"


def test_k2_a_link_in_place_of_the_key_or_its_folder_is_refused(home, vault, tmp_path):
    (key,) = keys_of(home)
    key.rename(tmp_path / "elsewhere")
    key.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(Denied, match="cannot be opened"):
        vault.get("a")
    key.unlink()
    (tmp_path / "elsewhere").rename(key)
    key.parent.rename(tmp_path / "keys")
    key.parent.symlink_to(tmp_path / "keys")
    with pytest.raises(Denied, match="cannot be opened"):
        vault.get("a")


def test_k2_a_key_with_a_second_name_is_refused(home, vault, tmp_path):
    (key,) = keys_of(home)
    os.link(key, tmp_path / "second")
    with pytest.raises(Denied, match="has 2 names"):
        vault.get("a")
    (tmp_path / "second").unlink()
    assert vault.get("a") == "value of a"


def test_k2_a_folder_that_others_may_change_is_refused(home, vault):
    for mode in (0o770, 0o702, 0o777):
        (home / "vault" / "keys").chmod(mode)
        with pytest.raises(Denied, match="others could change"):
            vault.get("a")
    (home / "vault" / "keys").chmod(0o755)
    assert vault.get("a") == "value of a"


def test_k2_what_belongs_to_somebody_else_is_refused(home, vault):
    if os.geteuid() != 0:
        with pytest.raises(Denied, match="others could change /usr/bin"):
            read_key(Path("/usr/bin"), "env")
        return
    (key,) = keys_of(home)
    for path in (key, key.parent):
        os.chown(path, 12345, 12345)
        with pytest.raises(Denied, match="user 12345"):
            vault.get("a")
        os.chown(path, 0, 0)


@pytest.mark.parametrize("size", [0, 31, 33, 4096])
def test_k2_a_key_of_another_length_is_refused(home, vault, size):
    (key,) = keys_of(home)
    key.write_bytes(bytes(size))
    with pytest.raises(Broken, match=r"key .* is damaged"):
        vault.get("a")


def test_k2_a_pipe_or_folder_in_place_of_the_key_is_refused_and_hangs_nobody(home, vault):
    (key,) = keys_of(home)
    key.unlink()
    os.mkfifo(key, 0o600)
    with pytest.raises(Denied, match="is no file"):
        vault.get("a")
    key.unlink()
    key.mkdir(0o700)
    with pytest.raises(Denied, match="is no file"):
        vault.get("a")
