"""Pure: what a CLI needs behind a fence, beside its own folders and what any program needs."""

import posixpath
from dataclasses import dataclass

from amiral.permissions.sandbox import Access

_PACKAGES = "/node_modules/"
_BESIDE_BIN = ("lib", "lib64", "libexec")


@dataclass(frozen=True)
class Needs:
    """What one CLI needs more than others (docs/adr/0015-clis-under-the-fence.md).

    `login`: what it does in the folder where the files of its login lie. `services`: the hosts it
    speaks to, where the network is closed otherwise.
    """

    login: frozenset[Access] = frozenset()
    services: tuple[str, ...] = ()


def program_folders(real: str) -> tuple[str, ...]:
    """Name the folders to be read and run for any program, given its path without any link."""
    folder = program_folder(real)
    above, _, name = folder.rpartition("/")
    libraries = tuple(f"{above}/{one}" for one in _BESIDE_BIN) if name == "bin" else ()
    return (folder, *libraries)


def program_folder(real: str) -> str:
    """Name the folder to be read and run for a program, given its path without any link.

    A program that came as a package starts others from the packages beside its own.
    """
    above, packages, _ = real.partition(_PACKAGES)
    return above + packages.rstrip("/") if packages else posixpath.dirname(real)
