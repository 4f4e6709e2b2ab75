"""Pure: read a scenario from YAML, telling every mistake with its line."""

import base64
import binascii
import re
import warnings
from collections.abc import Callable, Mapping
from typing import TypeVar

from amiral.base.errors import Invalid
from amiral.base.fences import fenced
from amiral.base.marked_yaml import Checker, MappingNode, Node, compose, in_file, write
from amiral.base.plain import one_line
from amiral.testbench import scenario as sc

PartT = TypeVar("PartT")

_CHUNKING = ("chunk", "pause_ms")
_PARTS = ("process", "raw", "hang", "error", "say", "spec", "limit", "use", "ask")
_TURN = ("match", *_PARTS, *_CHUNKING)
_DEFAULT = tuple(key for key in _TURN if key not in ("match", "use", "ask"))
_SPEC = ("title", "problem", "approach", "acceptance", "files", "complexity")
_SIGNALS = ("TERM", "INT", "HUP")
_DAY_S = 86_400
_MOST_TIMES = 1000
_MOST_RAW = 128 * 1024 * 1024


def parse_scenario(text: str, file_name: str) -> sc.Scenario:
    """Read a scenario. Raises Invalid whose message lists every mistake as `file:line: message`."""
    place = in_file(file_name)
    root = compose(text, place)
    check = Checker(place)
    scenario = sc.Scenario()
    if root is None:
        check.fail(None, "empty: a scenario has turns, a default or both")
    else:
        scenario = _scenario(check, root)
    if check.errors():
        raise Invalid("\n".join(check.errors()), "docs/reference/scenario.md has every key.")
    return scenario


def _scenario(check: Checker, root: Node) -> sc.Scenario:
    found = check.fields(root, "scenario", ("turns", "default"))
    if not found:
        check.fail(root, "a scenario has turns, a default or both")
    turns: list[sc.Turn] = []
    for node in check.items(found["turns"], "turns") if "turns" in found else []:
        turn, times = _turn(check, node, "turn", _TURN)
        turns += [turn] * times
    if "default" not in found:
        return sc.Scenario(tuple(turns))
    default, times = _turn(check, found["default"], "default", _DEFAULT)
    if times > 1:
        check.fail(found["default"], "default: error.times means nothing here, it always happens")
    return sc.Scenario(tuple(turns), default)


def _turn(check: Checker, node: Node, what: str, known: tuple[str, ...]) -> tuple[sc.Turn, int]:
    """Read one turn, and how often it stands in the scenario."""
    found = check.fields(node, what, known)
    _check_together(check, node, what, found)
    error, times = _error(check, found["error"]) if "error" in found else (None, 1)
    turn = sc.Turn(
        match=_match(check, found["match"]) if "match" in found else "",
        process=_part(check, found, "process", _process),
        raw=_part(check, found, "raw", _raw),
        hang=_part(check, found, "hang", _hang),
        error=error,
        say=_say(check, found),
        limit=_part(check, found, "limit", _limit),
        use=_part(check, found, "use", _use),
        ask=_part(check, found, "ask", _ask),
    )
    if turn.limit and turn.limit.is_reached and turn.goes_on:
        check.fail(node, f"{what}: a reached limit ends the turn, so it has no use or ask")
    return turn, times


def _part(
    check: Checker, found: Mapping[str, Node], key: str, read: Callable[[Checker, Node], PartT]
) -> PartT | None:
    return read(check, found[key]) if key in found else None


def _check_together(check: Checker, node: Node, what: str, found: Mapping[str, Node]) -> None:
    is_understood = isinstance(node, MappingNode) and len(node.value) == len(found)
    if is_understood and not any(key in found for key in _PARTS):
        check.fail(node, f"{what} does nothing: it needs one of {', '.join(_PARTS)}")
    if "use" in found and "ask" in found:
        check.fail(node, f"{what}: use and ask are two model calls, so two turns")
    if "error" in found and not {"error", "match", "hang"}.issuperset(found):
        check.fail(node, f"{what}: error goes with match and hang alone")
    if any(key in found for key in _CHUNKING) and "say" not in found and "spec" not in found:
        check.fail(node, f"{what}: chunk and pause_ms cut what say or spec says")


def _match(check: Checker, node: Node) -> str:
    pattern = check.text(node, "match")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        check.fail(node, f"match is no regular expression: {one_line(str(error))}")
    return pattern


def _say(check: Checker, found: Mapping[str, Node]) -> sc.Say | None:
    texts = []
    if "say" in found:
        texts.append(check.text(found["say"], "say", may_be_empty=True))
    if "spec" in found:
        texts.append(_spec(check, found["spec"]))
    chunk = check.whole(found["chunk"], "chunk", 1, 1_000_000) if "chunk" in found else 0
    pause = check.whole(found["pause_ms"], "pause_ms", 0, 60_000) if "pause_ms" in found else 0
    return sc.Say("\n\n".join(texts), chunk, pause) if texts else None


def _spec(check: Checker, node: Node) -> str:
    found = check.fields(node, "spec", _SPEC)
    check.need(node, found, "spec", ("title", "problem", "approach", "acceptance"))
    body: dict[str, str | list[str]] = {}
    for key, value in found.items():
        if key in ("acceptance", "files"):
            body[key] = [
                check.text(item, f"spec.{key}") for item in check.items(value, f"spec.{key}")
            ]
        elif key == "complexity":
            body[key] = check.choice(value, "spec.complexity", ("low", "medium", "high"))
        else:
            body[key] = check.text(value, f"spec.{key}")
    return fenced("spec", write(body))


def _use(check: Checker, node: Node) -> sc.Use:
    found = check.fields(node, "use", ("tool", "args"))
    if not check.need(node, found, "use", ("tool", "args")):
        return sc.Use("read", {"path": "x"})
    tool = check.choice(found["tool"], "use.tool", tuple(sc.TOOLS))
    names = sc.TOOLS[tool]
    args = check.fields(found["args"], f"args of {tool}", names)
    check.need(found["args"], args, f"args of {tool}", names)
    empty = ("text", "new")
    values = {key: check.text(args[key], key, may_be_empty=key in empty) for key in args}
    return sc.Use(tool, values)


def _ask(check: Checker, node: Node) -> sc.Ask:
    found = check.fields(node, "ask", ("worker", "text"))
    if not check.need(node, found, "ask", ("worker", "text")):
        return sc.Ask("x", "x")
    return sc.Ask(check.text(found["worker"], "worker"), check.text(found["text"], "text"))


def _limit(check: Checker, node: Node) -> sc.Limit:
    found = check.fields(node, "limit", ("window", "resets_in_s", "utilization"))
    check.need(node, found, "limit", ("window",))
    window = check.text(found["window"], "window") if "window" in found else ""
    resets, full = found.get("resets_in_s"), found.get("utilization")
    return sc.Limit(
        window,
        None if resets is None else check.whole(resets, "resets_in_s", 0, 90 * _DAY_S),
        1.0 if full is None else check.number(full, "utilization", 1.0),
    )


def _error(check: Checker, node: Node) -> tuple[sc.Error, int]:
    found = check.fields(node, "error", ("status", "times"))
    check.need(node, found, "error", ("status",))
    status = check.whole(found["status"], "status", 400, 599) if "status" in found else 500
    times = check.whole(found["times"], "times", 1, _MOST_TIMES) if "times" in found else 1
    return sc.Error(status), times


def _hang(check: Checker, node: Node) -> sc.Hang:
    return sc.Hang(check.number(node, "hang", _DAY_S))


def _raw(check: Checker, node: Node) -> sc.Raw:
    found = check.fields(node, "raw", ("bytes", "base64", "split", "pause_ms", "times", "to"))
    data = _raw_data(check, node, found)
    pause, times, to = found.get("pause_ms"), found.get("times"), found.get("to")
    raw = sc.Raw(
        data,
        _split(check, found["split"], len(data)) if "split" in found else (),
        5 if pause is None else check.whole(pause, "pause_ms", 0, 60_000),
        1 if times is None else check.whole(times, "times", 1, _MOST_RAW),
        "stdout" if to is None else check.choice(to, "to", ("stdout", "stderr")),
    )
    if len(data) * raw.times > _MOST_RAW:
        check.fail(node, f"raw would write more than {_MOST_RAW} bytes")
    return raw


def _raw_data(check: Checker, node: Node, found: Mapping[str, Node]) -> bytes:
    if ("bytes" in found) == ("base64" in found):
        check.fail(node, "raw needs bytes (a text, written as UTF-8) or base64, and only one")
        return b""
    if "bytes" in found:
        return check.text(found["bytes"], "bytes").encode()
    try:
        return base64.b64decode(check.text(found["base64"], "base64"), validate=True)
    except (binascii.Error, ValueError):
        check.fail(found["base64"], "base64 is not valid base64")
        return b""


def _split(check: Checker, node: Node, size: int) -> tuple[int, ...]:
    cuts = [check.whole(item, "split", 0, size) for item in check.items(node, "split")]
    if cuts != sorted(set(cuts)):
        check.fail(node, "split: offsets must grow")
    return tuple(cuts)


def _process(check: Checker, node: Node) -> sc.Process:
    found = check.fields(node, "process", ("fork", "ignore", "hold_stdout", "lives_s", "exit"))
    fork, holds = found.get("fork"), found.get("hold_stdout")
    ignored = check.items(found["ignore"], "ignore") if "ignore" in found else []
    lives, code = found.get("lives_s"), found.get("exit")
    process = sc.Process(
        "" if fork is None else check.choice(fork, "fork", ("setsid", "double")),
        tuple(check.choice(item, "ignore", _SIGNALS) for item in ignored),
        holds is not None and check.choice(holds, "hold_stdout", ("true", "false")) == "true",
        600 if lives is None else check.whole(lives, "lives_s", 1, _DAY_S),
        None if code is None else check.whole(code, "exit", 0, 255),
    )
    if not process.fork and (holds is not None or lives is not None):
        check.fail(node, "process: hold_stdout and lives_s are about a child, so they need fork")
    return process
