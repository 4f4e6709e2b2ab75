"""One process at a time."""

import os

import pytest

from amiral.base.errors import Broken, Conflict
from amiral.store.claim import Claim, exclusive, holder_of


def test_a_claim_refuses_a_second_one_and_names_the_holder(tmp_path):
    claim = Claim(tmp_path / "x.lock", "the thing")
    with pytest.raises(Conflict, match=f"the thing is in use by process {os.getpid()}"):
        Claim(tmp_path / "x.lock", "the thing")
    claim.release()


def test_a_released_claim_can_be_made_again(tmp_path):
    Claim(tmp_path / "x.lock", "the thing").release()
    again = Claim(tmp_path / "x.lock", "the thing")
    assert (tmp_path / "x.lock").read_text().split() == [str(os.getpid())]
    again.release()


def test_r30_a_lock_file_left_by_a_dead_process_claims_nothing(tmp_path):
    (tmp_path / "x.lock").write_text("1\n")
    Claim(tmp_path / "x.lock", "the thing").release()


def test_a_lock_that_cannot_be_made_is_told_plainly(tmp_path):
    with pytest.raises(Broken, match="cannot lock"):
        Claim(tmp_path / "missing" / "x.lock", "the thing")
    with pytest.raises(Broken, match="cannot lock"), exclusive(tmp_path / "missing" / "x"):
        pass


def test_r30_who_holds_a_claim_is_told_without_taking_it(tmp_path):
    path = tmp_path / "x.lock"
    assert holder_of(path) is None
    claim = Claim(path, "the thing")
    assert holder_of(path) == os.getpid()
    claim.release()
    assert holder_of(path) is None
    assert path.read_text().split() == [str(os.getpid())]


def test_a_holder_that_left_no_number_still_holds(tmp_path):
    claim = Claim(tmp_path / "x.lock", "the thing")
    (tmp_path / "x.lock").write_text("")
    assert holder_of(tmp_path / "x.lock") == 0
    claim.release()


def test_a_lock_that_cannot_be_looked_at_is_told_plainly(tmp_path):
    (tmp_path / "x.lock").mkdir()
    with pytest.raises(Broken, match="cannot look at"):
        holder_of(tmp_path / "x.lock")
