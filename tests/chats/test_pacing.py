"""Calls are spread as a chat tolerates them, short bursts apart."""

from amiral.chats.pacing import Bucket, Pacing


def test_a_burst_passes_and_then_one_call_each_gap():
    bucket = Bucket(3, 2.0)
    for _ in range(3):
        assert bucket.wait_s(10.0) == 0
        bucket.take(10.0)
    assert bucket.wait_s(10.0) == 2.0
    assert bucket.wait_s(11.0) == 1.0
    assert bucket.wait_s(12.0) == 0
    assert bucket.wait_s(12.0, spare=1) == 2.0


def test_a_long_rest_earns_no_more_than_a_burst():
    bucket = Bucket(2, 1.0)
    bucket.take(0.0)
    assert bucket.wait_s(1_000.0, spare=1) == 0
    assert bucket.wait_s(1_000.0, spare=2) == 1.0


def test_what_is_held_stays_held_to_the_later_end():
    pacing = Pacing({"7": 1.0, "-8": 3.0}.__getitem__)
    pacing.hold("7", 50.0)
    pacing.hold("7", 40.0)
    assert pacing.wait_s("7", 20.0) == 30.0
    assert pacing.wait_s("-8", 20.0) == 0
    for _ in range(3):
        pacing.take("-8", 20.0)
    assert pacing.wait_s("-8", 20.0) == 3.0


def test_all_chats_share_what_an_account_may_do():
    pacing = Pacing(lambda chat: 0.001, all_a_second=30)
    for number in range(30):
        assert pacing.wait_s(str(number), 1.0) == 0
        pacing.take(str(number), 1.0)
    assert 0 < pacing.wait_s("99", 1.0) <= 1 / 30 + 1e-9
