"""Commands of the owner alone that run here: what an agent starts is refused, as everywhere."""

import os
from pathlib import Path

from amiral.base.errors import Denied
from amiral.base.ids import digest
from amiral.processes.lineage import is_below_shim


def refuse_agents(home: Path, what: str) -> None:
    """Raise Denied when this process runs below a worker's CLI."""
    if is_below_shim(os.getpid(), digest(str(home))):
        raise Denied(f"an agent cannot {what}", "ask the owner")
