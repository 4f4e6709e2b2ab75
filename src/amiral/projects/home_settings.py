"""Changes one project's table in the home's amiral.toml; every other byte of it stays."""

import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from amiral.projects.settings_table import Cut, without_table
from amiral.store.claim import exclusive
from amiral.store.files import cannot, write_atomic

FILE = "amiral.toml"
_PRIVATE = 0o600


class HomeSettings:
    """The settings file as text; bytes that are no UTF-8 survive a change."""

    def __init__(self, home: Path, check: Callable[[str], None]) -> None:
        """`check` raises Invalid for a text that nobody could start with."""
        self._home, self._check = home, check

    def text(self) -> str:
        """Read it, "" when there is none."""
        try:
            return self._file().read_bytes().decode("utf-8", "surrogateescape")
        except FileNotFoundError:
            return ""
        except OSError as error:
            raise cannot("read", self._file(), error) from error

    def add(self, block: str) -> None:
        """Put a text at its end; Invalid, and nothing changed, when the whole cannot be used."""
        with self._held():
            text = self.text() + block
            self._check(text)
            self._write(text)

    def take(self, block: str) -> None:
        """Take away what `add` put there, where it still stands as it was put."""
        with self._held():
            text = self.text()
            if block and text.count(block) == 1:
                self._write(text.replace(block, ""))

    def cut(self, name: str) -> Cut:
        """Take away all that is said of a project; what cannot be cut stays and is told."""
        with self._held():
            cut = without_table(self.text(), name, FILE)
            if cut.taken:
                self._write(cut.text)
        return cut

    def _file(self) -> Path:
        """One that is a link to a person's own files stays one."""
        return (self._home / FILE).resolve()

    @contextmanager
    def _held(self) -> Iterator[None]:
        with exclusive(self._home / FILE):
            yield

    def _write(self, text: str) -> None:
        file = self._file()
        if not text:
            file.unlink(missing_ok=True)
            return
        mode = stat.S_IMODE(file.stat().st_mode) if file.exists() else _PRIVATE
        write_atomic(file, text.encode("utf-8", "surrogateescape"), mode=mode)
