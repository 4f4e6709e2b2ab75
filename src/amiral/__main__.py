"""Runs the command line as `python -m amiral`."""

import sys

from amiral.cli import main

sys.exit(main())
