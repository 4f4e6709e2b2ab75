"""Where amiral keeps its state; one small import, since every command needs it."""

import os

_TAG_LENGTH = 12


def home_folder() -> str:
    """Give the home: `$AMIRAL_HOME`, or `~/.amiral`."""
    return os.path.realpath(os.path.expanduser(os.environ.get("AMIRAL_HOME") or "~/.amiral"))


def home_tag(home: str) -> str:
    """Give the first part of the tag that every agent of this home carries (its digest).

    Without `hashlib`: what that loads of OpenSSL costs more time than a stop, and 3 MB.
    """
    try:
        from _sha2 import sha256  # type: ignore[import-not-found]  # noqa: PLC0415
    except ImportError:
        try:
            # Before Python 3.12.
            from _sha256 import sha256  # type: ignore[import-not-found]  # noqa: PLC0415
        except ImportError:
            from hashlib import sha256  # noqa: PLC0415
    return str(sha256(os.fsencode(home)).hexdigest()[:_TAG_LENGTH])
