"""What came from a chat, in words of our own."""

from amiral.chats.incoming import Spot


def test_a_lane_is_a_place_and_each_thread_has_its_own():
    assert Spot("telegram:1", "-100").lane == "-100/"
    assert Spot("telegram:1", "-100", "7").lane == "-100/7"
