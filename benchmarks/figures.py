"""One measured figure beside its goal, and the table of them."""

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Figure:
    """`goal` is the most (or with `at_least` the least) that is wanted, None when none is set.

    `low` and `high` are the spread: the tenth and the ninetieth of a hundred. `value` is None for
    what could not be measured here; `note` says why, or what the figure stands beside.
    """

    name: str
    value: float | None
    unit: str
    goal: float | None = None
    at_least: bool = False
    low: float | None = None
    high: float | None = None
    note: str = ""

    @property
    def ratio(self) -> float | None:
        """How many times the goal it is; more is worse, or better with `at_least`."""
        return self.value / self.goal if self.value is not None and self.goal else None

    @property
    def verdict(self) -> str:
        """Met, missed, or nothing."""
        if self.value is None:
            return "not measured"
        if self.goal is None:
            return ""
        is_met = self.value >= self.goal if self.at_least else self.value <= self.goal
        return "met" if is_met else "MISSED"

    def data(self) -> dict[str, object]:
        """Its JSON."""
        fields = {"name": self.name, "value": self.value, "unit": self.unit, "goal": self.goal}
        fields |= {"low": self.low, "high": self.high, "ratio": self.ratio}
        return {**fields, "verdict": self.verdict, "note": self.note}


def spread(
    name: str, values: Sequence[float], unit: str, goal: float | None = None, note: str = ""
) -> Figure:
    """Make a figure of many measurements: their median, with the spread; less is better."""
    low, high = min(values), max(values)
    if len(values) > 2:
        tenths = statistics.quantiles(values, n=10)
        low, high = max(low, tenths[0]), min(high, tenths[-1])
    return Figure(name, statistics.median(values), unit, goal, low=low, high=high, note=note)


def ratios(
    name: str,
    ours: Sequence[float],
    beside: Sequence[float],
    goal: float | None,
    *,
    at_least: bool = False,
) -> Figure:
    """Make a figure of pairs measured one after the other: how many times the second the first."""
    pairs = [one / other for one, other in zip(ours, beside, strict=True)]
    return replace(spread(name, pairs, "x", goal), at_least=at_least)


def table(figures: Iterable[Figure]) -> str:
    """Write figures for people, one a line."""
    head: tuple[str, ...] = ("", "measured", "spread", "goal", "of goal", "")
    rows = [head, *map(_row, figures)]
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    return "\n".join(_aligned(row, widths) for row in rows)


def _row(figure: Figure) -> tuple[str, ...]:
    goal = "" if figure.goal is None else f"{'≥' if figure.at_least else '≤'} {_short(figure.goal)}"
    between = "" if figure.low is None else f"{_short(figure.low)} … {_short(figure.high)}"
    measured = f"{_short(figure.value)} {figure.unit}"
    ratio = "" if figure.ratio is None else f"{figure.ratio:.2f}"
    return (
        figure.name,
        measured,
        between,
        goal,
        ratio,
        "  ".join(word for word in (figure.verdict, figure.note) if word),
    )


def _short(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def _aligned(row: tuple[str, ...], widths: list[int]) -> str:
    first, *numbers, last = row
    shown = [f"{first:<{widths[0]}}"]
    shown += [f"{cell:>{width}}" for cell, width in zip(numbers, widths[1:-1], strict=True)]
    return "  ".join([*shown, last]).rstrip()
