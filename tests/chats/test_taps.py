"""A button does one thing, once, for a while."""

import pytest

from amiral.chats.taps import TAP_S, TAPS, Choice, Taps
from amiral.store.journal import Journal

CHOICES = [
    Choice("✓ Allow", "/approve_request a allow"),
    Choice("✗ Deny", "/approve_request a deny"),
]


class Clock:
    time_ms = 1_800_000_000_000

    def now_ms(self):
        return self.time_ms

    def monotonic_s(self):
        return self.time_ms / 1000

    async def sleep(self, seconds):
        raise AssertionError(seconds)


@pytest.fixture
async def taps(tmp_path):
    clock = Clock()
    journal = await Journal.open(tmp_path / "journal.db", clock, (TAPS,))
    yield Taps(journal, clock), journal, clock
    await journal.close()


async def offered(taps, **more):
    made, journal, _ = taps
    events, buttons = made.offer(CHOICES, "k1", **more)
    await journal.append(*events)
    return [button.tap for button in buttons]


async def test_one_choice_is_made_and_the_other_is_gone_with_it(taps):
    allow, deny = await offered(taps)
    assert len(allow.encode()) <= 64
    first = await taps[0].press(allow, "9", "telegram:1")
    assert (first.action, first.key) == (CHOICES[0].action, "k1")
    for number, data in (("10", allow), ("11", deny)):
        late = await taps[0].press(data, number, "telegram:2")
        assert (late.action, late.used_by) == ("", "telegram:1")


async def test_what_a_button_stands_for_is_known_before_it_is_used_up(taps):
    allow, _ = await offered(taps)
    assert taps[0].action(allow) == CHOICES[0].action
    assert taps[0].action("v1:made-up") == taps[0].action("") == ""
    assert (await taps[0].press(allow, "9", "telegram:1")).action == CHOICES[0].action
    assert taps[0].action(allow) == CHOICES[0].action


async def test_the_same_update_handled_again_gets_the_same_answer(taps):
    allow, _ = await offered(taps)
    await taps[0].press(allow, "9", "telegram:1")
    assert (await taps[0].press(allow, "9", "telegram:1")).action == CHOICES[0].action


async def test_one_that_is_somebodys_own_is_pressed_by_nobody_else(taps):
    allow, _ = await offered(taps, person="telegram:1")
    assert (await taps[0].press(allow, "9", "telegram:2")).action == ""
    assert (await taps[0].press(allow, "10", "telegram:1")).action != ""


async def test_what_is_old_unknown_or_made_up_does_nothing(taps):
    allow, _ = await offered(taps)
    taps[2].time_ms += TAP_S * 1000
    for data in (allow, "v1:made-up", "/emergency_stop", ""):
        assert (await taps[0].press(data, "9", "telegram:1")).action == ""
