"""One finding of `amiral doctor`, and how it is looked for so that a fault hides nothing else."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from amiral.base.errors import AmiralError

_REPORT = "mend what it names, or report it as a defect of amiral"


@dataclass(frozen=True)
class Check:
    """One thing looked at: without a `needed` one amiral does not work, the others are told.

    `detail` says what was found, `fix` what a person can do about it ("" when nothing is to do).
    """

    name: str
    ok: bool
    detail: str
    fix: str = ""
    needed: bool = False

    @property
    def has_failed(self) -> bool:
        """Tell whether it keeps amiral from working."""
        return self.needed and not self.ok

    def data(self) -> dict[str, object]:
        """Give its JSON; `fix` stands there only when there is one."""
        told: dict[str, object] = {"name": self.name, "ok": self.ok, "needed": self.needed}
        return told | {"detail": self.detail} | ({"fix": self.fix} if self.fix else {})

    def lines(self, width: int) -> list[str]:
        """Write it for people: what was found, and the fix below."""
        mark = "✓" if self.ok else "✗" if self.needed else "?"
        first = f"{mark} {self.name:<{width}}  {self.detail}"
        return [first, *([" " * (width + 4) + self.fix] if self.fix else [])]


def guarded(name: str, look: Callable[[], Iterable[Check]]) -> Iterator[Check]:
    """Make one look; what goes wrong in it is told in its place, under `name`."""
    try:
        yield from look()
    except AmiralError as error:
        fix = error.next_step or _REPORT
        yield Check(name, ok=False, detail=error.message, fix=fix, needed=True)
    except Exception as fault:  # noqa: BLE001 - whatever is broken, the rest is looked at
        detail = f"cannot be looked at: {fault!r}"
        yield Check(name, ok=False, detail=detail, fix=_REPORT, needed=True)
