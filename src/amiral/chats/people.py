"""Who may: by the number a service gives, never by a name; whoever is not listed is nobody.

The owner lists people in the settings, or pairs them by a one-time code, kept in the home's
`people.json`. Nothing in a project's folder counts.
"""

import hmac
import secrets
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Final

import msgspec

from amiral.base.clock import MS_PER_S, Clock
from amiral.base.errors import AmiralError, Broken, NotFound
from amiral.commands.registry import Role
from amiral.store.claim import exclusive
from amiral.store.files import Absent, Salvaged, ensure_private_folder, read_json, write_json

CODE_S: Final = 600
EVERYWHERE: Final = "*"

_FILE: Final = "people.json"
_VERSION: Final = 1
_MOST_CODES: Final = 16
_STRENGTH: Final = {Role.OWNER: 3, Role.MEMBER: 2, Role.VIEWER: 1}


@dataclass(frozen=True)
class Paired:
    """Somebody and their roles by project name; `*` counts for all of them."""

    name: str = ""
    roles: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class _Code:
    """Kept until it expires, used or not: its user may be told again what it gave."""

    hash: str
    role: str
    project: str
    expires_ms: int
    used_by: str = ""


@dataclass(frozen=True)
class _File:
    version: int = _VERSION
    people: Mapping[str, Paired] = field(default_factory=dict)
    codes: tuple[_Code, ...] = ()


class People:
    """One home. `owners` and `members` come from its settings: ids like `telegram:123`.

    `trouble` says what is wrong with the file of those who were paired, "" when it is well.
    """

    def __init__(
        self,
        home: Path,
        clock: Clock,
        owners: Iterable[str] = (),
        members: Mapping[str, Mapping[str, str]] | None = None,
    ) -> None:
        self._path, self._clock = home / "config" / _FILE, clock
        self._owners = frozenset(owners)
        self._members = members or {}
        self.trouble = ""

    def owners(self) -> frozenset[str]:
        """Give those who may do everything everywhere."""
        paired = self._known().items()
        return self._owners | {one for one, it in paired if it.roles.get(EVERYWHERE) == Role.OWNER}

    def role(self, person: str, project: str = "") -> Role | None:
        """Tell what somebody may in a project, or, without one, in the fleet; None: nothing.

        A file that cannot be read pairs nobody: those of the settings stay.
        """
        if person in self._owners:
            return Role.OWNER
        paired = self._known().get(person, Paired()).roles
        listed = self._members.get(project, {}).get(person, "")
        named = (paired.get(EVERYWHERE, ""), paired.get(project, "") if project else "", listed)
        roles = [Role(one) for one in named if one in _STRENGTH]
        return max(roles, key=_STRENGTH.__getitem__, default=None)

    def paired(self) -> Mapping[str, Paired]:
        """Give those who came by a code."""
        return self._read().people

    def offer(self, role: Role, project: str = EVERYWHERE) -> str:
        """Make a code for one use within ten minutes; of many unused ones the newest count."""
        code, now_ms = secrets.token_hex(4), self._clock.now_ms()
        kept = _Code(_hash(code), role, project, now_ms + CODE_S * MS_PER_S)
        with self._changing():
            file = self._read()
            left = (one for one in file.codes if one.expires_ms > now_ms)
            self._write(_File(_VERSION, file.people, (*left, kept)[-_MOST_CODES:]))
        return code

    def pair(self, code: str, person: str, name: str) -> Role | None:
        """Use a code up; gives the role, None when the code does not count.

        Whoever has used it gets the same answer again, since an update may be handled twice.
        """
        hashed, now_ms = _hash(code.strip().lower()), self._clock.now_ms()
        with self._changing():
            file = self._read()
            found = [one for one in file.codes if hmac.compare_digest(one.hash, hashed)]
            if not found or found[0].expires_ms <= now_ms or found[0].used_by not in ("", person):
                return None
            used = replace(found[0], used_by=person)
            codes = tuple(used if one is found[0] else one for one in file.codes)
            had = file.people.get(person, Paired()).roles
            paired = Paired(name, {**had, used.project: used.role})
            self._write(_File(_VERSION, {**file.people, person: paired}, codes))
        return Role(used.role)

    def drop(self, person: str) -> None:
        """Forget somebody who was paired; NotFound names who is."""
        with self._changing():
            file = self._read()
            if person not in file.people:
                known = ", ".join(sorted(file.people)) or "nobody"
                raise NotFound(f"{person} is not paired; paired: {known}")
            people = {one: paired for one, paired in file.people.items() if one != person}
            codes = tuple(one for one in file.codes if one.used_by != person)
            self._write(_File(_VERSION, people, codes))

    def _changing(self) -> AbstractContextManager[None]:
        ensure_private_folder(self._path.parent)
        return exclusive(self._path)

    def _known(self) -> Mapping[str, Paired]:
        """Give those who were paired; a file that cannot be used keeps nobody else from being."""
        try:
            found = read_json(self._path, _check)
        except AmiralError as error:
            self.trouble = error.message
            return {}
        self.trouble = found.warning if isinstance(found, Salvaged) else ""
        return {} if isinstance(found, Absent) else found.value.people

    def _read(self) -> _File:
        """Read what is about to be changed; raises Broken rather than write over a mistake."""
        match read_json(self._path, _check):
            case Absent():
                return _File()
            case Salvaged(warning=warning):
                raise Broken(warning)
            case intact:
                return intact.value

    def _write(self, file: _File) -> None:
        write_json(self._path, file)


def _check(document: object) -> _File:
    file = msgspec.convert(document, _File)
    if file.version != _VERSION:
        raise ValueError(f"its version is not {_VERSION}")
    return file


def _hash(code: str) -> str:
    return sha256(code.encode("utf-8", "surrogateescape")).hexdigest()
