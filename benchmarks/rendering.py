"""What an answer costs until it is messages for Telegram: `python -m benchmarks rendering`."""

import time
from pathlib import Path

from benchmarks.figures import Figure, spread
from benchmarks.footprint import of_part

from amiral.telegram.render import answer

ANSWERS = Path(__file__).resolve().parent.parent / "tests" / "telegram" / "answers"
LENGTH = 10_000
TIMES = 200


def markdown() -> str:
    """Give answers of all kinds, one behind the other, cut at 10 KB."""
    texts = [path.read_text(encoding="utf-8") for path in sorted(ANSWERS.glob("*.txt"))]
    return "\n\n".join(texts)[:LENGTH]


def rendered_ms(text: str) -> float:
    """Measure one."""
    began = time.perf_counter()
    answer(text)
    return (time.perf_counter() - began) * 1e3


def figures() -> list[Figure]:
    """Measure all of it."""
    mixed, plain = markdown(), ("word " * LENGTH)[:LENGTH]
    answer(mixed)
    return [
        spread(
            "10 KB answer of all kinds → messages",
            [rendered_ms(mixed) for _ in range(TIMES)],
            "ms",
            5,
        ),
        spread("10 KB of words → messages", [rendered_ms(plain) for _ in range(TIMES)], "ms"),
        Figure(
            "memory of a Python that has the renderer",
            of_part("import amiral.telegram.render"),
            "MB",
        ),
        Figure("memory of a bare Python", of_part("pass"), "MB"),
    ]
