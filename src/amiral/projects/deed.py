"""What a setup is about to make, on disk before anything is made, and what it made (P01, P02)."""

from dataclasses import dataclass
from pathlib import Path

import msgspec

from amiral.base.errors import Broken
from amiral.store.files import cannot, ensure_private_folder, write_atomic

MADE = "setup.json"
"""Its name among a project's state, once the project is registered."""


@dataclass(frozen=True)
class Made:
    """One file, by its path in the project, and the text that was written."""

    file: str
    text: str


@dataclass(frozen=True)
class Deed:
    """Everything named here was not there before; taking it away again restores the rest.

    `folders` are whole paths, outer ones first. `repository` is the id of a repository that is
    made, `contents` the digest of what it holds ("" until it is made). `settings` is the text put
    at the end of amiral.toml, `trusted` the files trusted.
    """

    name: str
    path: str
    was_registered: bool
    folders: tuple[str, ...] = ()
    files: tuple[Made, ...] = ()
    repository: str = ""
    contents: str = ""
    settings: str = ""
    trusted: tuple[str, ...] = ()
    version: int = 1

    @property
    def is_empty(self) -> bool:
        """Tell whether there is nothing to make at all."""
        made = (self.folders, self.files, self.repository, self.settings, self.trusted)
        return self.was_registered and not any(made)

    def added(self, later: "Deed") -> "Deed":
        """Put what a later setup made of the same project to what this one did."""
        return Deed(
            later.name,
            later.path,
            was_registered=self.was_registered,
            folders=(*self.folders, *later.folders),
            files=(*self.files, *later.files),
            repository=later.repository or self.repository,
            contents=later.contents or self.contents,
            settings=later.settings or self.settings,
            trusted=(*self.trusted, *later.trusted),
        )


def read_deed(path: Path) -> Deed | None:
    """Read one back, None when there is none; Broken when it cannot be used."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Deed)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise cannot("read", path, error) from error
    except msgspec.MsgspecError as error:
        raise Broken(
            f"{path} cannot be used ({error})", f"see what it names, then remove {path}"
        ) from error


def write_deed(path: Path, deed: Deed) -> None:
    """Write one down, whole or not at all."""
    ensure_private_folder(path.parent)
    write_atomic(path, msgspec.json.format(msgspec.json.encode(deed), indent=2) + b"\n")
