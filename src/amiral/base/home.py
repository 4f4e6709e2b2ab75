"""Where amiral keeps its state; one small import, since every command needs it."""

import os


def home_folder() -> str:
    """Give the home: `$AMIRAL_HOME`, or `~/.amiral`."""
    return os.path.realpath(os.path.expanduser(os.environ.get("AMIRAL_HOME") or "~/.amiral"))
