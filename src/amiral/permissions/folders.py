"""Pure: what stands in a project, read once and handed around as a value."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

Path = tuple[str, ...]
FileId = tuple[int, int]


class Kind(StrEnum):
    """What a name stands for when no link is followed; a folder is a `Folder`."""

    FILE = "file"
    LINK = "link"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Entry:
    """One name that is no folder; `file_id` is device and inode, `names` how many it has."""

    name: str
    kind: Kind
    file_id: FileId
    names: int


@dataclass(frozen=True, eq=False)
class Folder:
    """A folder and all below it; an unchanged one stays the same object from tree to tree.

    `path` leads to it from the root. `changed_ns` is its ctime, which nobody can set back. It is
    `is_settled` when a later change cannot have the same ctime, and `is_whole` when no more is in
    it that an agent might get at: unless it could not be read, or lies too deep.
    """

    path: Path
    file_id: FileId
    changed_ns: int
    is_settled: bool
    is_whole: bool
    entries: tuple[Entry, ...]
    folders: tuple["Folder", ...]

    @cached_property
    def shared(self) -> frozenset[FileId]:
        """Files here and below that have more than one name, somewhere."""
        own = (entry.file_id for entry in self.entries if entry.names > 1)
        return frozenset(own).union(*(folder.shared for folder in self.folders))

    @cached_property
    def file_ids(self) -> frozenset[FileId]:
        """Every file right here."""
        return frozenset(entry.file_id for entry in self.entries)

    def walk(self) -> Iterator["Folder"]:
        """Give this folder and every one below it."""
        yield self
        for folder in self.folders:
            yield from folder.walk()


@dataclass(frozen=True)
class Tree:
    """A project's folder as it was; `root` is absolute and canonical."""

    root: str
    top: Folder
