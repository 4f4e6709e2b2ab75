"""Release a stop by its name, and say that it is done."""

import sys

from amiral.store.brake import Brake

Brake(sys.argv[1]).release(sys.argv[2])
sys.stdout.write("released")
