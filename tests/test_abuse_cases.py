"""Every abuse case that must be refused has a test whose name carries its id."""

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
CASES = [
    *(f"F{number}" for number in range(1, 12)),
    *(f"C{number}" for number in range(1, 5)),
    *(f"S{number}" for number in range(1, 13)),
    *("G1", "G2", "G3", "N1", "N2", "N3", "H1", "H2", "H3", "H4", "H6", "K1", "K3", "K4"),
]


def carried():
    """Give the ids that names of tests carry; `s3_11` is a line of the specification."""
    names = [
        name
        for path in TESTS.rglob("test_*.py")
        for name in re.findall(r"def (test_\w+)", path.read_text("utf-8"))
    ]
    return {
        case.upper() for name in names for case in re.findall(r"_([fcsgnhk]\d+)(?=_\D|$)", name)
    }


@pytest.mark.parametrize("case", CASES)
def test_an_abuse_case_is_carried_by_the_name_of_a_test(case):
    assert case in carried()
