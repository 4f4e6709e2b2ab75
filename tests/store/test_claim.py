"""One process at a time."""

import os

import pytest

from amiral.base.errors import Broken, Conflict
from amiral.store.claim import Claim, exclusive


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
