"""Instants however they are written, or unknown: never 1970, never the year 58000 (R09)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amiral.agents.instants import plausible_reset, read_instant

NOW_S = 1767225600
NOW_MS = NOW_S * 1000
HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS


@pytest.mark.parametrize(
    "value",
    [
        *(NOW_S, NOW_MS, float(NOW_S), float(NOW_MS), str(NOW_S), str(NOW_MS), f"{NOW_S}.0"),
        *(f" {NOW_S} ", f"limit reached|{NOW_S}", f"a|b\n|{NOW_MS}"),
        *("2026-01-01T00:00:00Z", "2026-01-01T01:00:00+01:00", "2025-12-31 19:00:00-05:00"),
    ],
)
def test_an_instant_is_read_in_any_unit_and_form_r09(value):
    assert read_instant(value) == NOW_MS


@pytest.mark.parametrize(
    "value",
    [
        *(0, -1, 1, 9e18, 9 * 10**18, -NOW_S, NOW_S * 10**6, 1e308, float("nan"), float("inf")),
        *(10**400, None, True, [], {}, b"1767225600", "", "soon", "|", "text|", "1767225600 s"),
        *("2026-01-01T00:00:00", "2026-01-01", "1970-01-01T00:00:00Z", "9999-12-31T23:59:59-23:00"),
        *("0001-01-01T00:00:00+23:00", "1" * 5000, "\uff11" * 10, "resets 7:04am (UTC)"),
    ],
)
def test_everything_else_is_unknown_r09(value):
    assert read_instant(value) is None


def test_a_fraction_of_a_second_is_kept():
    assert read_instant(f"{NOW_S}.25") == NOW_MS + 250
    assert read_instant(NOW_S + 0.25) == NOW_MS + 250


@pytest.mark.parametrize(
    ("offset_ms", "is_kept"),
    [
        *((0, True), (-HOUR_MS, True), (8 * DAY_MS, True)),
        *((-HOUR_MS - 1, False), (8 * DAY_MS + 1, False)),
    ],
)
def test_a_reset_is_kept_from_an_hour_ago_to_eight_days_ahead_r09(offset_ms, is_kept):
    instant = NOW_MS + offset_ms
    assert plausible_reset(instant, NOW_MS) == (instant if is_kept else None)


def test_an_unknown_reset_stays_unknown():
    assert plausible_reset(None, NOW_MS) is None


@given(st.one_of(st.none(), st.integers(), st.floats(), st.text(), st.datetimes().map(str)))
def test_it_never_fails_and_never_leaves_this_century_p12(value):
    instant = read_instant(value)
    assert instant is None or 1577836800000 <= instant <= 4102444800000
