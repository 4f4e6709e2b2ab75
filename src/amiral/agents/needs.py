"""Pure: what a CLI needs behind a fence, beside its own folders and what any program needs."""

import posixpath
from dataclasses import dataclass

from amiral.permissions.sandbox import Access

_PACKAGES = "/node_modules/"


@dataclass(frozen=True)
class Needs:
    """What one CLI needs more than others (docs/adr/0015-clis-under-the-fence.md).

    `login`: what it does in the folder where the files of its login lie, and `has_terminals`: it
    opens terminals for what it runs. `services`: the hosts it speaks to, where the network is
    closed otherwise.
    """

    login: frozenset[Access] = frozenset()
    has_terminals: bool = False
    services: tuple[str, ...] = ()


def program_folder(real: str) -> str:
    """Name the folder to be read and run for a program, given its path without any link.

    A program that came as a package starts others from the packages beside its own.
    """
    above, packages, _ = real.partition(_PACKAGES)
    return above + packages.rstrip("/") if packages else posixpath.dirname(real)
