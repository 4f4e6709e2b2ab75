"""Whether the fence holds on this machine, by trying it: what must fail fails, what must pass does.

A program is run behind a fence and tries both. That the kernel knows Landlock is not enough: a
container's own filter, a file system or an odd kernel may still make the difference (R49).
"""

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import msgspec

from amiral.base.errors import AmiralError
from amiral.processes import fence as fences
from amiral.processes.covers import HIDDEN_FILE, KEPT, Cover, shared_folders
from amiral.processes.fence import DELETE, READ, WRITE, Fence
from amiral.processes.spawn import Spawner, base_environment

WHOLE_ABI = 6
_PORTS_ABI = 4
_TIMEOUT_S = 20.0
_FENCED = READ | WRITE | DELETE
_ALLOWED = (
    *("write inside", "move inside", "remove inside", "talk to a child"),
    "write beside what is denied",
)
_FORBIDDEN = (
    *("read outside", "write outside", "empty outside", "remove outside", "move out"),
    *("connect by TCP", "open a Unix socket", "read the environment of amiral"),
)
_FORBIDDEN_WHEN_WHOLE = ("signal amiral",)
_ATTEMPTS = """
import json, os, socket, sys
inside, outside, parent = sys.argv[1:]
done, denied = [], f"{inside}/denied/kept"

def attempt(name, action):
    try:
        action()
    except ConnectionRefusedError:
        done.append(name)
    except OSError:
        return
    else:
        done.append(name)

attempt("write inside", lambda: open(f"{inside}/one", "w").close())
attempt("move inside", lambda: os.rename(f"{inside}/one", f"{inside}/folder/one"))
attempt("remove inside", lambda: os.unlink(f"{inside}/folder/one"))
attempt("talk to a child", socket.socketpair)
# Where processes have other numbers it may bear this one itself.
if int(parent) != os.getpid():
    attempt("signal amiral", lambda: os.kill(int(parent), 0))
    attempt("read the environment of amiral", lambda: open(f"/proc/{parent}/environ", "rb").read())
attempt("connect by TCP", lambda: socket.socket().connect(("127.0.0.1", 1)))
attempt("open a Unix socket", lambda: socket.socket(socket.AF_UNIX))
attempt("read outside", lambda: open(f"{outside}/kept").close())
attempt("write outside", lambda: open(f"{outside}/one", "w").close())
attempt("empty outside", lambda: os.truncate(f"{outside}/kept", 0))
attempt("move out", lambda: os.rename(f"{inside}/kept", f"{outside}/moved"))
attempt("remove outside", lambda: os.unlink(f"{outside}/kept"))
attempt("write beside what is denied", lambda: open(f"{inside}/denied/one", "w").close())
attempt("write what is denied", lambda: open(denied, "w").close())
attempt("replace what is denied", lambda: os.rename(f"{inside}/denied/one", denied))
attempt("move what is denied away", lambda: os.rename(f"{inside}/denied", f"{inside}/away"))
attempt("read what is hidden", lambda: open(f"{inside}/hidden").close())
attempt("list shared folders", lambda: os.listdir("/tmp"))
print(json.dumps(done))
"""
_DENIED_IN_A_BOX = (
    *("write what is denied", "replace what is denied", "move what is denied away"),
    *("read what is hidden", "list shared folders"),
)


@dataclass(frozen=True)
class Probed:
    """How far the fence holds here, the ABI of the kernel's Landlock, and what is missing.

    "enforced": all of it; "degraded": files hold, but a program behind the fence can signal other
    processes of its user; "none": nothing may be promised. `enforcer` is what was tried.
    """

    status: Literal["enforced", "degraded", "none"]
    abi: int
    reasons: tuple[str, ...] = ()
    enforcer: Literal["landlock", "bwrap"] = "landlock"


async def probe(spawner: Spawner, folder: Path, enforcer: str = "auto") -> Probed:
    """Try the fence out, in a folder of its own below this one; takes about a program's start.

    `enforcer` is that of `[sandbox]`: "bwrap" has it tried in a box, all others without one.
    """
    found = await _tried(spawner, folder, is_boxed=enforcer == "bwrap")
    return replace(found, enforcer="bwrap") if enforcer == "bwrap" else found


async def _tried(spawner: Spawner, folder: Path, *, is_boxed: bool) -> Probed:
    abi = fences.abi()
    if abi < fences.LEAST_ABI:
        return Probed("none", abi, (_too_old(abi),))
    try:
        ground = Path(tempfile.mkdtemp(prefix="probe-", dir=folder)).resolve()
    except OSError as error:
        return Probed("none", abi, (f"the trial could not be made: {error}",))
    try:
        done = await _attempted(spawner, _laid_out(ground), abi, is_boxed=is_boxed)
    except (AmiralError, OSError, ValueError) as error:
        return Probed("none", abi, (f"the trial could not be made: {error}",))
    finally:
        shutil.rmtree(ground)
    return _judged(done, abi, is_boxed=is_boxed)


def _too_old(abi: int) -> str:
    has = f"Landlock ABI {abi}" if abi else "no Landlock, or is not known"
    return f"this system has {has}: a fence needs ABI {fences.LEAST_ABI} (Linux 6.2)"


def _laid_out(ground: Path) -> Path:
    for name in ("inside/folder", "inside/denied", "outside"):
        (ground / name).mkdir(parents=True)
    for name in ("inside/kept", "inside/denied/kept", "inside/hidden", "outside/kept"):
        (ground / name).write_text("kept", "utf-8")
    return ground


async def _attempted(spawner: Spawner, ground: Path, abi: int, *, is_boxed: bool) -> set[str]:
    inside, outside = str(ground / "inside"), str(ground / "outside")
    granted = fences.system_grants(programs=(sys.prefix, sys.base_prefix))
    ran = await spawner.run(
        [sys.executable, "-I", "-S", "-c", _ATTEMPTS, inside, outside, str(os.getpid())],
        kind="own",
        env=base_environment(),
        cwd="/",
        timeout_s=_TIMEOUT_S,
        fence=Fence(
            ((inside, _FENCED), *granted),
            _FENCED,
            ports=() if abi >= _PORTS_ABI else None,
            root=inside,
            covers=_covers(inside) if is_boxed else (),
        ),
    )
    if ran.code != 0:
        raise ValueError(ran.err.decode(errors="replace").strip() or f"exit code {ran.code}")
    return set(msgspec.convert(json.loads(ran.out), list[str]))


def _covers(inside: str) -> tuple[Cover, ...]:
    denied, hidden = f"{inside}/denied/kept", f"{inside}/hidden"
    return (*shared_folders(), (denied, KEPT), (hidden, HIDDEN_FILE))


def _judged(done: set[str], abi: int, *, is_boxed: bool = False) -> Probed:
    is_whole = abi >= WHOLE_ABI
    forbidden = {*_FORBIDDEN, *(_FORBIDDEN_WHEN_WHOLE if is_whole else ())}
    forbidden |= {*_DENIED_IN_A_BOX} if is_boxed else set()
    if abi < _PORTS_ABI:
        forbidden.remove("connect by TCP")
    reasons = [*_told("could", forbidden & done), *_told("could not", set(_ALLOWED) - done)]
    if reasons:
        return Probed("none", abi, tuple(reasons))
    return Probed("enforced", abi) if is_whole else Probed("degraded", abi, _missing(abi))


def _told(verb: str, names: Iterable[str]) -> list[str]:
    return [f"a program behind the fence {verb} {name}" for name in sorted(names)]


def _missing(abi: int) -> tuple[str, ...]:
    signals = "a program behind the fence can signal other processes of this user"
    network = "it cannot be kept from the network (Linux 6.7 has that)"
    reasons = (f"{signals} (Linux 6.12 forbids that)",)
    return reasons if abi >= _PORTS_ABI else (*reasons, network)
