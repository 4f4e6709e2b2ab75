"""The vault: what was kept comes back; what is not what was kept is refused by its name (K2)."""

import json
import shutil
import stat
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amiral.base.errors import AmiralError, Broken, Invalid, NotFound
from amiral.store.vault import LONGEST_VALUE, Report, Vault
from amiral.store.vault_keys import KeyGone


def file_of(home):
    return home / "vault" / "vault.json"


def seen_of(home):
    return home / "vault_revision.json"


def keys_of(home):
    return sorted((home / "vault" / "keys").iterdir())


def edit(home, change):
    """Change the file as somebody would who knows its form and has no key."""
    found = json.loads(file_of(home).read_bytes())
    change(found)
    file_of(home).write_text(json.dumps(found, separators=(",", ":"), sort_keys=True) + "\n")


# ------------------------------------------------------------------ kept and given back


def test_what_was_kept_comes_back_changes_count_and_the_rest_is_not_there(home):
    vault = Vault(home)
    assert vault.names() == {}
    assert vault.check() == Report(0, (), ())
    assert not (home / "vault").exists(), "looking makes nothing"
    assert [vault.put("telegram/master", "1234:AA"), vault.put("b", "two\nlines\n")] == [1, 2]
    assert [vault.get("telegram/master"), Vault(home).get("b")] == ["1234:AA", "two\nlines\n"]
    assert vault.put("b", "new") == 3
    assert vault.names() == {"b": 3, "telegram/master": 1}
    assert vault.remove("telegram/master") == 4
    assert vault.names() == {"b": 3}
    with pytest.raises(NotFound, match="no secret telegram/master"):
        vault.get("telegram/master")
    with pytest.raises(NotFound, match="no secret telegram/master"):
        vault.remove("telegram/master")
    assert vault.check() == Report(4, ("b",), ())


def test_nothing_is_in_the_open_and_everything_is_private(home, vault):
    for path in (home / "vault").rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600)
        if path.is_file():
            assert b"value of" not in path.read_bytes()
    assert vault.put("a", "value of a") == 4
    assert (
        len(
            {
                record["data"]
                for record in json.loads(file_of(home).read_bytes())["records"].values()
            }
        )
        == 3
    )


@given(
    texts=st.dictionaries(
        st.from_regex(r"[a-z0-9][a-z0-9_./-]{0,20}", fullmatch=True),
        st.text(min_size=1).filter(lambda text: text.strip() and "\0" not in text),
        min_size=1,
        max_size=4,
    )
)
@settings(max_examples=25)
def test_p10_every_name_and_value_comes_back_also_under_a_new_key(tmp_path_factory, texts):
    home = tmp_path_factory.mktemp("round")
    vault = Vault(home)
    for name, text in texts.items():
        vault.put(name, text)
    for _ in range(2):
        assert {name: vault.get(name) for name in vault.names()} == texts
        vault.rotate()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *((name, "x") for name in ("", "A", "../a", "a b", "a" * 101, "a\n")),
        *(("a", value) for value in ("", " \n", "a\0b", "\ud800", "x" * (LONGEST_VALUE + 1))),
    ],
)
def test_a_name_or_value_that_cannot_be_is_refused_and_nothing_is_made(home, name, value):
    with pytest.raises(Invalid):
        Vault(home).put(name, value)
    assert list(home.iterdir()) == []


def test_a_near_miss_is_named(vault):
    with pytest.raises(NotFound, match=r"no secret c/e, did you mean c/d\?|c/d"):
        vault.get("c/e")


# ------------------------------------------------------------------ tampered with (K2)


def test_k2_records_that_were_swapped_are_refused_by_name_and_the_others_are_given(home, vault):
    def swap(found):
        records = found["records"]
        records["a"], records["b"] = records["b"], records["a"]

    edit(home, swap)
    for name in "ab":
        with pytest.raises(Broken, match=rf"secret {name} "):
            vault.get(name)
    assert vault.get("c/d") == "value of c/d"
    problems = vault.check().problems
    assert [problem.split()[1] for problem in problems] == ["a", "b"]
    with pytest.raises(Broken, match="secret a "):
        vault.rotate()


def test_k2_a_record_under_anothers_revision_does_not_pass_either(home, vault):
    def swap(found):
        found["records"]["a"] = {**found["records"]["b"], "rev": 1}

    edit(home, swap)
    with pytest.raises(Broken, match="secret a was changed or damaged"):
        vault.get("a")


def test_k2_an_older_record_of_the_same_name_is_refused(home, vault):
    old = json.loads(file_of(home).read_bytes())["records"]["a"]
    vault.put("a", "new value")
    edit(home, lambda found: found["records"].update(a=old))
    with pytest.raises(Broken, match="secret a is of revision 1, where 4 was written last"):
        vault.get("a")
    assert vault.get("b") == "value of b"


def test_k2_a_record_taken_out_or_put_in_is_told_by_name(home, vault):
    edit(home, lambda found: found["records"].update(x=found["records"].pop("a")))
    with pytest.raises(Broken, match="secret a was taken out of the file"):
        vault.get("a")
    with pytest.raises(Broken, match="secret x was put into the file"):
        vault.get("x")
    assert len(vault.check().problems) == 2
    vault.put("a", "again")
    vault.remove("x")
    assert vault.check().problems == ()


def test_k2_a_damaged_secret_is_put_in_again_or_removed_and_the_vault_is_well(home, vault):
    def damage(found):
        for name in ("a", "b"):
            found["records"][name]["data"] = found["records"]["c/d"]["data"]

    edit(home, damage)
    vault.put("a", "again")
    vault.remove("b")
    assert (vault.get("a"), vault.check().problems) == ("again", ())


@pytest.mark.parametrize("field", ["id", "kid", "rev", "version", "list"])
def test_k2_what_holds_for_the_whole_vault_cannot_be_changed(home, vault, field):
    def change(found):
        values = {"id": "x" * 16, "kid": "y" * 16, "rev": 9, "version": 2}
        values["list"] = {**found["list"], "rev": 2}
        found[field] = values[field]

    edit(home, change)
    for act in (lambda: vault.get("a"), vault.names, lambda: vault.put("z", "z"), vault.rotate):
        with pytest.raises(Broken):
            act()
    with pytest.raises(Broken):
        vault.check()


def test_p10_no_flipped_bit_is_ever_accepted(home):
    """What was put in comes back, or an error does: never another value, never a shorter list."""
    vault = Vault(home)
    vault.put("a", "value of a")
    vault.put("b", "value of b")
    whole = file_of(home).read_bytes()
    for place, bit in product(range(len(whole)), range(8)):
        file_of(home).write_bytes(_flipped(whole, place, bit))
        found = [told(vault, name) for name in ("a", "b")]
        problems = told(vault, "")
        assert found[0] in ("value of a", "refused")
        assert found[1] in ("value of b", "refused")
        assert "refused" in found and problems, f"bit {bit} of byte {place} was accepted"
    file_of(home).write_bytes(whole)
    assert vault.check().problems == ()


def told(vault, name):
    """Give a secret, or without a name the problems of all; "refused" when an error says which."""
    try:
        return vault.get(name) if name else "".join(vault.check().problems)
    except AmiralError as error:
        named = f"secret {name} " if name else "vault"
        return "refused" if named in error.message or "vault" in error.message else error.message


def _flipped(data, place, bit):
    return data[:place] + bytes([data[place] ^ 1 << bit]) + data[place + 1 :]


def test_p10_every_flipped_bit_of_the_key_is_refused(home, vault):
    (key,) = keys_of(home)
    whole = key.read_bytes()
    for place, bit in product(range(len(whole)), range(8)):
        key.write_bytes(_flipped(whole, place, bit))
        with pytest.raises(Broken, match="the key is another one's"):
            vault.get("a")


@pytest.mark.parametrize("damage", [b"", b"{", b"\xff", b"[" * 100_000, b"{}", b"null\n"])
def test_p02_a_damaged_file_is_told_and_never_begun_anew(home, vault, damage):
    file_of(home).write_bytes(damage)
    for act in (lambda: vault.get("a"), lambda: vault.put("a", "x"), vault.rotate, vault.check):
        with pytest.raises(Broken, match=r"vault\.json is damaged"):
            act()
    assert file_of(home).read_bytes() == damage


def test_what_reads_the_same_but_was_not_written_by_amiral_is_refused(home, vault):
    found = json.loads(file_of(home).read_bytes())
    file_of(home).write_text(json.dumps(found, indent=1))
    with pytest.raises(Broken, match="something else than amiral"):
        vault.get("a")


# ------------------------------------------------------------------ rolled back (K2)


def test_k2_an_older_vault_in_place_of_the_newest_is_refused(home, vault):
    old = file_of(home).read_bytes()
    vault.remove("a")
    file_of(home).write_bytes(old)
    for act in (lambda: vault.get("a"), lambda: vault.put("z", "z"), vault.check):
        with pytest.raises(Broken, match="is of revision 3, and 4 was seen here already") as caught:
            act()
    assert str(seen_of(home)) in caught.value.next_step
    seen_of(home).unlink()
    assert vault.get("a") == "value of a", "the owner has said that this one is meant"
    vault.put("z", "z")
    assert json.loads(seen_of(home).read_bytes())["revision"] == 4


def test_k2_an_older_vault_whose_revision_was_raised_is_refused(home, vault):
    old = file_of(home).read_bytes()
    vault.remove("a")
    file_of(home).write_bytes(old)
    edit(home, lambda found: found.update(rev=4, list={**found["list"], "rev": 4}))
    with pytest.raises(Broken, match="the vault's list of its secrets was changed"):
        vault.get("a")


def test_k2_another_vault_with_its_own_key_is_not_taken_for_this_one(home, vault, tmp_path):
    other = tmp_path / "other"
    for number in range(5):
        Vault(other).put("a", f"theirs {number}")
    shutil.rmtree(home / "vault")
    shutil.copytree(other / "vault", home / "vault")
    with pytest.raises(Broken, match="is not the vault that was seen here last"):
        vault.get("a")


def test_a_vault_that_is_gone_is_not_an_empty_one(home, vault):
    file_of(home).unlink()
    for act in (vault.names, lambda: vault.put("a", "x"), lambda: vault.remove("a")):
        with pytest.raises(Broken, match="is gone, it was there at revision 3"):
            act()
    seen_of(home).unlink()
    assert vault.names() == {}
    with pytest.raises(Broken, match="holds keys, and the vault they belong to is gone"):
        vault.put("a", "x")
    assert len(keys_of(home)) == 1, "the key may still be needed"


def test_a_damaged_note_of_the_revision_is_told(home, vault):
    seen_of(home).write_text("{")
    with pytest.raises(Broken, match=r"vault_revision\.json is damaged"):
        vault.get("a")


# ------------------------------------------------------------------ rotation


def test_rotation_encrypts_all_with_a_new_key_and_the_old_one_is_gone(home, vault):
    (old,) = keys_of(home)
    before = old.read_bytes()
    assert vault.rotate() == Report(4, ("a", "b", "c/d"), ())
    (new,) = keys_of(home)
    assert new.name != old.name
    assert new.read_bytes() != before
    assert vault.names() == {"a": 4, "b": 4, "c/d": 4}
    assert [vault.get(name) for name in vault.names()] == [f"value of {n}" for n in vault.names()]


def test_there_is_nothing_to_rotate_where_nothing_was_kept(home):
    with pytest.raises(NotFound, match="no vault yet"):
        Vault(home).rotate()
    assert list(home.iterdir()) == []


def test_a_key_that_is_gone_is_told_with_its_place(home, vault):
    (key,) = keys_of(home)
    key.unlink()
    with pytest.raises(KeyGone, match=str(key)):
        vault.get("a")
    with pytest.raises(KeyGone):
        vault.put("z", "z")
