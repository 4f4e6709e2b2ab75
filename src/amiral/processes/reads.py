"""What may be read when everything may but some folders: the kernel's fence can only grant."""

import os
from collections.abc import Collection, Iterator
from pathlib import Path

_LOGINS = (
    *(".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".netrc", ".git-credentials"),
    *(".claude", ".claude.json", ".codex", ".gemini", ".config/gcloud", ".config/gh", ".pypirc"),
    *(".npmrc", ".cargo/credentials", ".cargo/credentials.toml", ".config/git/credentials"),
    *(".config/containers", ".config/rclone", ".local/share/keyrings", ".password-store"),
    *(".pgpass", ".m2", ".terraform.d", ".mozilla", ".config/google-chrome", ".config/chromium"),
    *(".bash_history", ".zsh_history", ".python_history"),
)


def private_folders(home: Path) -> tuple[Path, ...]:
    """Name what no agent may read or change: amiral's own `home`, and the person's logins.

    The vault is named as well as the home around it: parts of the home are a worker's own (K4).
    """
    vault = home / "vault"
    return (home, vault, vault / "keys", *(Path.home() / name for name in _LOGINS))


def reads_around(hidden: Collection[Path]) -> tuple[str, ...]:
    """Give the fewest paths below which all may be read but the `hidden` ones, whole, sorted.

    Beside a hidden folder every entry is named by itself, so one that is made there later cannot be
    read either. Links are left out: what they lead to is named where it lies.
    """
    told = {os.path.realpath(path) for path in hidden}
    return tuple(sorted(_below("/", told)))


def _below(folder: str, hidden: Collection[str]) -> Iterator[str]:
    if folder in hidden:
        return
    inside = folder.rstrip("/") + "/"
    inner = [path for path in hidden if path.startswith(inside)]
    if not inner:
        yield folder
        return
    try:
        with os.scandir(folder) as listed:
            entries = list(listed)
    except OSError:
        # What we cannot list ourselves is granted to nobody.
        return
    for entry in entries:
        if not entry.is_symlink():
            yield from _below(entry.path, inner)
