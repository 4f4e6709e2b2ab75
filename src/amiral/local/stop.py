"""`amiral emergency-stop`, `release`, `freeze`, `thaw`: without any process of ours, and fast."""

import json
import os
import sys

from amiral.base.errors import AmiralError, Broken, Denied, Invalid
from amiral.base.home import home_folder, home_tag
from amiral.processes.lineage import is_below_shim
from amiral.safety.report import released_data, released_text, report_data, report_text
from amiral.safety.scope import Place
from amiral.safety.stop import GRACE_S, KILL, Order, release, stop_agents
from amiral.store.brake import Brake

_USAGE = {
    "emergency-stop": "amiral emergency-stop [SCOPE] [--level N]",
    "release": "amiral release STOP_ID",
    "freeze": "amiral freeze [SCOPE]",
    "thaw": "amiral thaw [SCOPE]",
}
_PROJECT = ("-p", "--project")
_OPTIONS_WITH_VALUE = ("--level", "--project", "-p")


def run(argv: list[str]) -> int:
    """Carry out one of them. Parsed by hand: the command table takes longer than the stop."""
    as_json = "--json" in argv
    try:
        (verb, *rest), level = _words(argv)
        place = _place()
        if verb == "release":
            return _release(place, rest, as_json=as_json)
        if len(rest) > 1:
            raise Invalid(f"too many words: {' '.join(rest)}", _USAGE[verb])
        if verb == "emergency-stop":
            return _stop(place, "".join(rest), level, as_json=as_json)
        return _pause(place, verb, "".join(rest), as_json=as_json)
    except AmiralError as error:
        return _complain(error, as_json=as_json)
    except OSError as error:
        return _complain(Broken(f"the brake cannot be used: {error}"), as_json=as_json)


def _stop(place: Place, scope: str, level: str, *, as_json: bool) -> int:
    if not level.isdecimal():
        raise Invalid(f"--level needs a number, not {level!r}", _USAGE["emergency-stop"])
    number = int(level)
    grace_s = GRACE_S if number >= KILL else _grace_s()
    order = Order(scope, "emergency-stop on the terminal", "owner", level=number, grace_s=grace_s)
    _prepare(place)
    report = stop_agents(place, order, None if as_json else _say)
    _print(report_data(report) if as_json else report_text(report))
    return 0 if report.survivors == 0 else 1


def _release(place: Place, rest: list[str], *, as_json: bool) -> int:
    if len(rest) != 1:
        stops = [one for one in Brake(place.brake).every() if not one.is_freeze]
        if not stops:
            raise Invalid("no stop is on", "there is nothing to release")
        raise Invalid("release needs the id of the stop it lifts", stops[0].way_out)
    released = release(place, rest[0])
    _print(released_data(released) if as_json else released_text(released))
    return 0


def _pause(place: Place, verb: str, scope: str, *, as_json: bool) -> int:
    from amiral.safety import freeze, report  # noqa: PLC0415 a stop need not wait for it

    _prepare(place)
    if verb == "thaw":
        paused = freeze.thaw(place, scope)
        _print(report.paused_data(paused) if as_json else report.thawed_text(paused))
        return 0
    paused = freeze.freeze(place, scope, "freeze on the terminal", "owner")
    _print(report.paused_data(paused) if as_json else report.frozen_text(paused))
    return 1 if paused.running else 0


def _prepare(place: Place) -> None:
    """Before the first start there is no latch yet, and that would make one that is off."""
    # contextlib.suppress would take longer than the stop.
    try:  # noqa: SIM105
        Brake(place.brake).prepare()
    except OSError:
        pass


def _place() -> Place:
    """Name the home and its tag; what runs below a shim is an agent, and may do nothing of this."""
    home = home_folder()
    tag = home_tag(home)
    if is_below_shim(os.getpid(), tag):
        raise Denied("an agent can neither stop nor release", "ask the owner")
    if not os.path.isdir(home):
        raise Invalid(f"there is no home at {home}", "set AMIRAL_HOME, or run `amiral up` first")
    return Place(home, tag)


def _grace_s() -> float:
    """Give the time each gentle level has; settings with a mistake must not keep a stop away."""
    from pathlib import Path  # noqa: PLC0415 costs more than a plain kill

    from amiral.config import load_settings  # noqa: PLC0415

    try:
        return load_settings(Path(home_folder()), os.environ).safety.stop_grace_s
    except (AmiralError, OSError):
        return GRACE_S


def _words(argv: list[str]) -> tuple[list[str], str]:
    """Part the words from the options; gives them and what `--level` says."""
    words: list[str] = []
    level, project, left = str(KILL), "", list(argv)
    while left:
        word = left.pop(0)
        name, _, value = word.partition("=")
        if word in _OPTIONS_WITH_VALUE:
            value = "".join(left[:1])
            del left[:1]
        elif not word.startswith("-"):
            words.append(word)
        elif name not in _OPTIONS_WITH_VALUE and word != "--json":
            raise Invalid(f"no option {word}", _USAGE[words[0]] if words else "amiral help")
        level = value if name == "--level" else level
        project = value if name in _PROJECT else project
    return _scoped(words, project), level


def _scoped(words: list[str], project: str) -> list[str]:
    """Take the project named by `-p` for the scope; never stop more than was named."""
    if not project or words[:1] == ["release"]:
        return words
    if len(words) > 1 and words[1].partition("/")[0] != project:
        raise Invalid(f"-p names {project} and the scope is {words[1]}", _USAGE[words[0]])
    return words if len(words) > 1 else [*words, project]


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def _print(told: object) -> None:
    sys.stdout.write(f"{told if isinstance(told, str) else json.dumps(told)}\n")


def _complain(error: AmiralError, *, as_json: bool) -> int:
    if as_json:
        told = {"kind": error.kind, "message": error.message, "next": error.next_step}
        sys.stdout.write(f"{json.dumps({'error': told})}\n")
    else:
        sys.stderr.write(f"✗ {error.message}\n  {error.next_step}\n".removesuffix("  \n"))
    return error.exit_code
