"""What `amiral doctor` looks at in the vault: all of it is read, and what settings ask of it."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from amiral.agents.clis import Cli
from amiral.base.errors import AmiralError
from amiral.base.settings import Settings
from amiral.installed import installed_clis
from amiral.local.check import Check
from amiral.store.redact import Redactor
from amiral.store.references import Secrets

_MASTER = "telegram.master_token"


def look_at_vault(settings: Settings, environ: Mapping[str, str], home: Path) -> Iterator[Check]:
    """Prove every secret, then look for those that settings name."""
    yield from _prove(home)
    secrets = Secrets(home, Redactor())
    for key, text in _named(settings, environ, home):
        try:
            secrets.value(key, text)
        except AmiralError as error:
            yield Check("vault", ok=False, detail=error.message, fix=error.next_step)


def _prove(home: Path) -> Iterator[Check]:
    if not (home / "vault").exists() and not (home / "vault_revision.json").exists():
        yield Check("vault", ok=True, detail="none yet")
        return
    from amiral.store.vault import Vault  # noqa: PLC0415 encryption is loaded where it is used

    report = Vault(home).check()
    for problem in report.problems:
        fix = "`amiral vault set` it again, or `amiral vault remove` it"
        yield Check("vault", ok=False, detail=problem, fix=fix, needed=True)
    if not report.problems:
        detail = f"{len(report.names)} secrets, each can be read"
        yield Check("vault", ok=True, detail=detail)


def _named(settings: Settings, environ: Mapping[str, str], home: Path) -> Iterator[tuple[str, str]]:
    """Give every setting that may name a secret; a token nobody has set is not missed."""
    clis = installed_clis(settings, environ, home).values()
    for cli in (one for one in clis if isinstance(one, Cli)):
        yield from ((cli.key(name), text) for name, text in cli.env.items())
    if _MASTER in settings.sources:
        yield "[telegram] master_token", settings.telegram.master_token
