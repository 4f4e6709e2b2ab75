"""`amiral emergency-stop` and `amiral release`: without any process of ours, and fast."""

import json
import os
import sys
from hashlib import sha256

from amiral.base.errors import AmiralError, Broken, Denied, Invalid
from amiral.base.home import home_folder
from amiral.processes.lineage import is_below_shim
from amiral.safety.stop import Place, release, report_data, report_text, stop_everything
from amiral.store.brake import Brake

_TAG_LENGTH = 12
_USAGE = "amiral emergency-stop [SCOPE], or amiral release STOP_ID"
_OPTIONS_WITH_VALUE = ("--level", "--project", "-p")


def run(argv: list[str]) -> int:
    """Carry out one of the two. Parsed by hand: the command table takes longer than the stop."""
    as_json = "--json" in argv
    try:
        verb, *rest = _words(argv)
        place = _place()
        if verb == "release":
            return _release(place, rest, as_json=as_json)
        return _stop(place, rest, as_json=as_json)
    except AmiralError as error:
        return _complain(error, as_json=as_json)
    except OSError as error:
        return _complain(Broken(f"the brake cannot be used: {error}"), as_json=as_json)


def _stop(place: Place, rest: list[str], *, as_json: bool) -> int:
    if len(rest) > 1:
        raise Invalid(f"too many words: {' '.join(rest)}", _USAGE)
    # Before the first start there is no latch yet, and the first start would make one that is off.
    # contextlib.suppress would take longer than the stop.
    try:  # noqa: SIM105
        Brake(os.path.join(place.home, "brake")).prepare()
    except OSError:
        pass
    report = stop_everything(place, "".join(rest), "emergency-stop on the terminal", "owner")
    text = json.dumps(report_data(report)) if as_json else report_text(report)
    sys.stdout.write(f"{text}\n")
    return 0 if report.survivors == 0 else 1


def _release(place: Place, rest: list[str], *, as_json: bool) -> int:
    if len(rest) != 1:
        stop = Brake(os.path.join(place.home, "brake")).state()
        if stop is None:
            raise Invalid("no stop is on", "there is nothing to release")
        way = f"amiral release {stop.stop_id}"
        raise Invalid("release needs the id of the stop it lifts", way)
    release(place, rest[0])
    told = {"stop_id": rest[0], "released": True}
    sys.stdout.write(f"{json.dumps(told) if as_json else f'✓ released stop {rest[0]}'}\n")
    return 0


def _place() -> Place:
    """Name the home and its tag; what runs below a shim is an agent, and may do neither."""
    home = home_folder()
    tag = sha256(os.fsencode(home)).hexdigest()[:_TAG_LENGTH]
    if is_below_shim(os.getpid(), tag):
        raise Denied("an agent can neither stop nor release", "ask the owner")
    if not os.path.isdir(home):
        raise Invalid(f"there is no home at {home}", "set AMIRAL_HOME, or run `amiral up` first")
    return Place(home, tag)


def _words(argv: list[str]) -> list[str]:
    words: list[str] = []
    left = list(argv)
    while left:
        word = left.pop(0)
        if word in _OPTIONS_WITH_VALUE:
            del left[:1]
        elif not word.startswith("-"):
            words.append(word)
        elif word != "--json" and "=" not in word:
            raise Invalid(f"no option {word}", _USAGE)
    return words


def _complain(error: AmiralError, *, as_json: bool) -> int:
    if as_json:
        told = {"kind": error.kind, "message": error.message, "next": error.next_step}
        sys.stdout.write(f"{json.dumps({'error': told})}\n")
    else:
        sys.stderr.write(f"✗ {error.message}\n  {error.next_step}\n".removesuffix("  \n"))
    return error.exit_code
