"""Replace a file; exit with 3 when the disk refuses."""

import sys
from pathlib import Path

from amiral.base.errors import Broken
from amiral.store.files import write_atomic

try:
    write_atomic(Path(sys.argv[1]), sys.argv[2])
except Broken as error:
    sys.stdout.write(error.message)
    sys.exit(3)
