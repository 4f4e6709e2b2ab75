"""Engage the brake and print the stop's name."""

import sys

from amiral.store.brake import Brake

stop = Brake(sys.argv[1]).engage("x", "owner", 1_800_000_000_000)
sys.stdout.write(stop.stop_id)
