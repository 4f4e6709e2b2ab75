"""A CLI that is nothing but a clock: writes back each line, after the time at which it was there.

`python -I -S -u benchmarks/clock_cli.py`; times are nanoseconds of CLOCK_MONOTONIC.
"""

import sys
import time


def main() -> None:
    """Read until the end of stdin."""
    for line in sys.stdin:
        sys.stdout.write(f"{time.monotonic_ns()} {line}")


if __name__ == "__main__":
    main()
