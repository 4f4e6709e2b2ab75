"""Which names secrets may have, and which settings name one."""

import pytest

from amiral.base.errors import Invalid
from amiral.base.secret_names import LONGEST, check_name, is_reference, referred, sounds_secret

GOOD = ("a", "0", "telegram/master", "a.b-c_d/e", "a" * LONGEST)
BAD = ("", "A", "/a", ".a", "-a", "_a", "a b", "a\n", "é", "a:b", "a" * (LONGEST + 1), "a\x1b[2J")


@pytest.mark.parametrize("name", GOOD)
def test_a_name_is_taken_and_referred_to(name):
    check_name(name)
    assert referred(f"vault:{name}") == name


@pytest.mark.parametrize("name", BAD)
def test_a_name_is_refused_in_one_safe_line_and_refers_to_nothing(name):
    with pytest.raises(Invalid, match="cannot be the name of a secret") as caught:
        check_name(name)
    assert caught.value.message.isprintable()
    assert caught.value.next_step
    assert referred(f"vault:{name}") == ""
    assert is_reference(f"vault:{name}")


def test_other_values_stand_for_themselves():
    for value in ("", "vault", "Vault:a", " vault:a", "http://vault:8200"):
        assert referred(value) == ""
        assert not is_reference(value)


def test_a_variable_is_called_a_secret_or_it_is_not():
    for name in ("OPENAI_API_KEY", "my_token", "SECRET", "DB_PASSWD"):
        assert sounds_secret(name)
    for name in ("", "PATH", "EDITOR"):
        assert not sounds_secret(name)
