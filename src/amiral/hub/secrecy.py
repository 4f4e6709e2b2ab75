"""Takes out of what the projects' processes printed the secrets that they may know."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from amiral.base.errors import AmiralError
from amiral.base.secret_names import is_reference, sounds_secret
from amiral.base.settings import Settings
from amiral.store.redact import Redactor


class Secrecy:
    """`redact` knows what our own environment and settings hold; a process that died knew more.

    What the vault holds is read when such a one has left last words, and forgotten again.
    """

    def __init__(self, home: Path, settings: Settings, environ: Mapping[str, str]) -> None:
        self._home = home
        self._open = tuple(_in_the_open(settings, environ))
        self.redact = Redactor(self._open)

    def last_words(self, text: str) -> str:
        """Give what a process printed last without secrets: nothing of it when they are unknown."""
        if not text:
            return ""
        try:
            return Redactor((*self._open, *self._kept())).text(text)
        except AmiralError as error:
            return f"its last words are left out: {error.message}"

    def _kept(self) -> Iterator[str]:
        if (
            not (self._home / "vault").exists()
            and not (self._home / "vault_revision.json").exists()
        ):
            return
        # Encryption costs 7 MB, which only those pay who keep secrets.
        from amiral.store.vault import Vault  # noqa: PLC0415

        vault = Vault(self._home)
        yield from map(vault.get, vault.names())


def _in_the_open(settings: Settings, environ: Mapping[str, str]) -> Iterator[str]:
    every = (environ, *(driver.env for driver in settings.drivers.values()))
    for variables in every:
        for name, value in variables.items():
            if sounds_secret(name) and not is_reference(value):
                yield value
