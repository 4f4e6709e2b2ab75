"""Add one to a number in a JSON file, many times, among others who do the same."""

import sys
from pathlib import Path

from amiral.store.claim import exclusive
from amiral.store.files import Intact, read_json, write_json


def to_number(value):
    if not isinstance(value, int):
        raise TypeError(f"{value!r} is no number")
    return value


path, times = Path(sys.argv[1]), int(sys.argv[2])
for _ in range(times):
    with exclusive(path):
        found = read_json(path, to_number)
        write_json(path, found.value + 1 if isinstance(found, Intact) else 1)
