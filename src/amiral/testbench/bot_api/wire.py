"""What goes over the wire: parameters as they come in many forms, refusals in Telegram's words."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from amiral.base.errors import AmiralError

Json = dict[str, Any]


class Refusal(AmiralError):
    """The answer to a call that is not carried out."""

    def __init__(self, code: int, description: str, **parameters: int) -> None:
        super().__init__(description)
        self.code = code
        self.description = description
        self.parameters = parameters

    def data(self) -> Json:
        """Its JSON."""
        told = {"ok": False, "error_code": self.code, "description": self.description}
        return {**told, "parameters": self.parameters} if self.parameters else told


def bad_request(message: str) -> Refusal:
    """Refuse as the server does: an error of the library below it gets a prefix and a small letter.

    A name in capitals (`TOPIC_CLOSED`) stays as it is.
    """
    is_name = message[1:2].isupper() or message[1:2] == "_"
    return Refusal(400, f"Bad Request: {message if is_name else message[:1].lower() + message[1:]}")


def flood(seconds: int) -> Refusal:
    """Ask for patience."""
    return Refusal(429, f"Too Many Requests: retry after {seconds}", retry_after=seconds)


@dataclass(frozen=True)
class SentFile:
    """A file of a multipart request."""

    name: str
    content: bytes
    type: str


@dataclass(frozen=True)
class Parameters:
    """The parameters of one call, whether they came in the query, a form or as JSON."""

    given: Mapping[str, object]
    files: Mapping[str, SentFile] = field(default_factory=dict)

    def text(self, name: str) -> str:
        """Give it as text, "" when it is not there."""
        value = self.given.get(name)
        if value is None:
            return ""
        return value if isinstance(value, str) else json.dumps(value)

    def whole(self, name: str, default: int = 0) -> int:
        """Give it as a whole number; what is none counts as 0, as with the server."""
        text = self.text(name)
        if not text:
            return default
        try:
            return int(text)
        except ValueError:
            return 0

    def flag(self, name: str) -> bool:
        """Tell whether it is set."""
        return self.text(name).lower() in {"true", "yes", "1"}

    def document(self, name: str, what: str) -> Any:  # noqa: ANN401 any JSON
        """Give it as JSON, None when it is not there; `what` names it in the refusal."""
        value = self.given.get(name)
        if not isinstance(value, str):
            return value
        try:
            return json.loads(value) if value else None
        except ValueError:
            raise bad_request(f"Can't parse {what} JSON object") from None

    def shown(self) -> Json:
        """All of it for the record, files by name and size."""
        files = {name: f"<file {one.name} {len(one.content)}>" for name, one in self.files.items()}
        return {**self.given, **files}
