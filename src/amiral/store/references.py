"""Settings that name a secret, `vault:NAME`, replaced by its value when it is needed."""

from pathlib import Path

from amiral.base.errors import Invalid, NotFound
from amiral.base.secret_names import is_reference, referred
from amiral.store.redact import Redactor


class Secrets:
    """Reads the vault of `home`; `redact` learns every value before anybody else has it."""

    def __init__(self, home: Path, redact: Redactor) -> None:
        self._home, self._redact = home, redact

    def value(self, key: str, text: str) -> str:
        """Give a setting's text, or the secret it names; `key` says where it stands.

        Invalid or NotFound naming the key; Broken or Denied when the vault cannot be trusted.
        """
        if not is_reference(text):
            return text
        name = referred(text)
        if not name:
            raise Invalid(f"{key} names no secret", 'write "vault:NAME"; see `amiral vault list`')
        # Encryption costs 8 ms and 7 MB, which only those pay who keep secrets.
        from amiral.store.vault import Vault  # noqa: PLC0415

        try:
            value = Vault(self._home).get(name)
        except NotFound as missing:
            raise NotFound(f"{key}: {missing.message}", missing.next_step) from missing
        self._redact.learn(value)
        return value
