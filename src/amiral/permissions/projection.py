"""Pure: what a policy becomes for one CLI: files, arguments and variables (S3.9-10)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Enforcement(StrEnum):
    """How much of a sandbox the kernel really holds here, as the live probe found it (R49)."""

    ENFORCED = "enforced"
    DEGRADED = "degraded"
    NONE = "none"


@dataclass(frozen=True)
class ProjectedFile:
    """A file of the worker's config home, `path` relative to it.

    It is ours as a whole, rewritten at each launch, unless `is_merged`: then `text` holds the
    managed keys alone, the others of the file stay, and it is never deleted (S3.17).
    """

    path: str
    text: str
    is_merged: bool


@dataclass(frozen=True)
class Projection:
    """All that a launch gives a CLI; `diagnostics` name what the CLI cannot express (S3.14).

    What cannot be expressed is made stricter, never wider.
    """

    files: tuple[ProjectedFile, ...] = ()
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    diagnostics: tuple[str, ...] = ()
