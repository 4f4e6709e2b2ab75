"""Files that people and bots send: kept in memory, fetched by the path that getFile tells."""

import re
from dataclasses import dataclass
from itertools import count

from amiral.testbench.bot_api.wire import Json, Parameters, SentFile, bad_request

MOST_DOWNLOADED = 20 << 20
MOST_UPLOADED = 50 << 20
_MOST_OF_A_PHOTO = 10 << 20
_IMAGES = (b"\x89PNG", b"\xff\xd8", b"GIF8", b"RIFF", b"BM")
_FOLDERS = {"photo": "photos", "voice": "voice", "video": "videos", "audio": "music"}
_ENDING = re.compile(r"\.\w{1,8}$", re.ASCII)


@dataclass(frozen=True)
class Stored:
    """`size` may be told without content: it is made up of zeros then."""

    id: str
    kind: str
    name: str
    type: str
    size: int
    content: bytes

    @property
    def path(self) -> str:
        """Where it is fetched."""
        ending = _ENDING.search(self.name)
        return f"{_FOLDERS.get(self.kind, 'documents')}/{self.id}{ending[0] if ending else ''}"

    @property
    def bytes(self) -> bytes:
        """What is in it."""
        return self.content or bytes(self.size)

    def media(self) -> Json | list[Json]:
        """Give its JSON in a message."""
        told: Json = {"file_id": self.id, "file_unique_id": f"U{self.id}", "file_size": self.size}
        if self.kind == "photo":
            small = {**told, "width": 90, "height": 60}
            return [small, {**told, "width": 900, "height": 600}]
        if self.kind in {"voice", "video", "audio"}:
            told["duration"] = 1
        if self.kind == "video":
            told |= {"width": 900, "height": 600}
        if self.kind in {"document", "audio", "video"} and self.name:
            told["file_name"] = self.name
        return {**told, "mime_type": self.type} if self.type else told


class Files:
    """All files of all bots."""

    def __init__(self) -> None:
        self._stored: dict[str, Stored] = {}
        self._numbers = count(1)

    def add(
        self, kind: str, content: bytes, name: str = "", type_: str = "", size: int = 0
    ) -> Stored:
        """Keep a file under a new id."""
        stored = Stored(f"F{next(self._numbers)}", kind, name, type_, size or len(content), content)
        self._stored[stored.id] = stored
        return stored

    def get(self, file_id: str) -> Stored:
        """Find one; raises a Refusal."""
        try:
            return self._stored[file_id]
        except KeyError:
            raise bad_request("Wrong file_id or the file is temporarily unavailable") from None

    def at(self, path: str) -> Stored | None:
        """Find one by its path."""
        return next((one for one in self._stored.values() if one.path == path), None)

    def taken(self, kind: str, parameters: Parameters, source: object) -> Stored:
        """Keep a file that a call sends: `attach://` one of its own, or an id known already."""
        if isinstance(source, str) and source.startswith("attach://"):
            source = source.removeprefix("attach://")
            sent = parameters.files.get(source)
        elif isinstance(source, str) and source in self._stored:
            return self._stored[source]
        else:
            sent = None
        if sent is None:
            raise bad_request("Wrong file identifier/HTTP URL specified")
        return self.sent(kind, sent)

    def sent(self, kind: str, sent: SentFile) -> Stored:
        """Keep what came in a request."""
        if not sent.content:
            raise bad_request("File must be non-empty")
        if kind == "photo":
            _check_photo(sent.content)
        return self.add(kind, sent.content, sent.name, sent.type)


def _check_photo(content: bytes) -> None:
    if len(content) > _MOST_OF_A_PHOTO:
        size = f"File of size {len(content)} bytes is too big for a photo"
        raise bad_request(f"{size}; the maximum size is {_MOST_OF_A_PHOTO} bytes")
    if not content.startswith(_IMAGES):
        raise bad_request("IMAGE_PROCESS_FAILED")
