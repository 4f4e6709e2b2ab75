"""Pure: which targets of links can be tapped, and which are shown since the text would mislead."""

import re
import unicodedata

_WEB = re.compile(
    r"https?://(?:[a-z0-9_-]+\.)+[a-z0-9_-]+(?::[0-9]{1,4})?(?:[/?#]\S*)?", re.ASCII | re.IGNORECASE
)
_ADDRESS = re.compile(r"\w[.。۔·∙⋅]\w|://|@")  # noqa: RUF001 - other dots are what a liar writes
_SCHEME = re.compile(r"https?://", re.IGNORECASE)


def is_link(shown: str, target: str) -> bool:
    """Tell whether a text can stand for its target: not where it is none, or names another one."""
    is_other = _ADDRESS.search(_seen(shown)) is not None and _bare(shown) != _bare(target)
    return shown != "" and is_web(target) and not is_other


def is_web(target: str) -> bool:
    """Tell whether Telegram takes it as a link's target, and it leads where it seems to lead.

    It refuses the whole message for one target that it cannot read. No host without a dot, no
    user before a host, no letters that look like others.
    """
    return _WEB.fullmatch(target) is not None


def _seen(text: str) -> str:
    """Give what the eye has of a text: no invisible letters, and other forms as the plain ones."""
    usual = unicodedata.normalize("NFKC", text)
    return "".join(one for one in usual if unicodedata.category(one) not in ("Cf", "Mn"))


def _bare(address: str) -> str:
    return _SCHEME.sub("", address, count=1).removesuffix("/").casefold()
