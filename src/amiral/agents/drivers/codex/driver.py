"""Pure: the driver of Codex, over `codex app-server`; docs/reference/codex.md has its facts."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from amiral.agents import driver as d
from amiral.agents.drivers.codex import launch, projection, questions, rollout
from amiral.agents.drivers.codex.launch import LOG_IN, OPEN, request
from amiral.agents.fields import Fields, clean_text, json_line, plain_text, read_fields, summary
from amiral.agents.instants import read_instant
from amiral.agents.needs import Needs
from amiral.agents.transcript import literal
from amiral.permissions.projection import Projection
from amiral.permissions.sandbox import Access

TESTED = ("0.171.0",)
QUIET = re.compile(
    r"(?:thread|turn|item|account|mcpServer|remoteControl|serverRequest|skills|hook|app)/.*|"
    r"configWarning|deprecationNotice"
)
WINDOWS = {300: "five_hour", 10_080: "seven_day"}
NEARING, FULL = 90, 100
CONTEXT_LOST = "no rollout found"
LIMITED = "usageLimitExceeded"
HOW = {"completed": "done", "interrupted": "interrupted"}
HELD_BACK = "Codex's own sandbox holds this worker back, and no command may leave it"
UNASKED = d.Noise("Codex ended a turn that nobody asked for")
NOTHING = d.Usage()
UNAUTHORIZED, NOT_SERVED = 401, -32601
_VERSION = re.compile(r"\d+\.\d+\.\d+", re.ASCII)


@dataclass(frozen=True)
class Window:
    """How full one window of the account is, in percent."""

    name: str
    used: int
    resets_at_ms: int | None


@dataclass(frozen=True)
class CodexState:
    """The thread, the turn asked for with its tokens, the windows, the last patch announced.

    `marks` are those of the stance it was opened with.
    """

    thread: str = ""
    turn: str = ""
    usage: d.Usage = NOTHING
    windows: tuple[Window, ...] = ()
    patch: questions.Patch = questions.NO_PATCH
    marks: tuple[str, ...] = ()


_Read = d.Read[CodexState]


class Codex:
    """The driver; it holds nothing."""

    name = "codex"
    state_type = CodexState
    owned: tuple[str, ...] = projection.OWNED
    needs = Needs(frozenset({Access.READ}), services=("api.openai.com", "chatgpt.com"))

    def version_command(self, command: tuple[str, ...]) -> tuple[str, ...]:
        return (*command, "--version")

    def version_of(self, output: str) -> str:
        return found[0] if (found := _VERSION.search(output)) else ""

    def warning_for(self, version: str) -> str:
        if version in TESTED:
            return ""
        return f"Codex {version or '(version unknown)'} is untested; tested: {TESTED[-1]}"

    def login(self, options: Mapping[str, object]) -> d.Login:
        return launch.login(options)

    def project(self, seat: d.Seat) -> Projection:
        return projection.project(seat)

    def merged(self, found: str, text: str) -> str:
        return projection.merged(found, text)

    def open(self, seat: d.Seat) -> tuple[CodexState, d.Launch]:
        return CodexState(), launch.plan(seat, self.project(seat))

    def in_terminal(self, seat: d.Seat) -> d.Launch:
        return launch.plan_in_terminal(seat, self.project(seat))

    def is_ready(self, state: CodexState) -> bool:
        return bool(state.thread)

    def read(self, state: CodexState, line: bytes) -> _Read:
        event = read_fields(line) or Fields({})
        method, params = event.text("method"), event.inner("params")
        if not method and event.text("id"):
            return _take_response(state, event)
        if method and event.value("id") is not None:
            return _take_request(state, event)
        if method in _TAKE and params.text("threadId") in ("", state.thread):
            return _TAKE[method](state, params)
        is_quiet = method in _TAKE or QUIET.fullmatch(method)
        text = "" if is_quiet else plain_text(line)
        return d.Read(state, (d.Noise(text),) if text else ())

    def say(self, state: CodexState, message: str, text: str) -> tuple[d.Input, ...]:
        content = [{"type": "text", "text": clean_text(text)}]
        told = {"threadId": state.thread, "clientUserMessageId": message, "input": content}
        return (request(message, "turn/start", told),)

    def answer(
        self, state: CodexState, asked: d.Asked, *, allow: bool, reason: str
    ) -> tuple[d.Input, ...]:
        """Codex has no place for the reason."""
        del state, reason
        word = "accept" if allow else "decline"
        result: dict[str, object] = {"decision": word}
        if asked.tool.startswith("mcp__"):
            result = {"action": word, "content": {} if allow else None}
        return (_response(f"answer-{asked.ask}", asked.ask, {"result": result}),)

    def interrupt(self, state: CodexState, turn: str) -> tuple[d.Input, ...]:
        if not state.turn:
            return ()
        told = {"threadId": state.thread, "turnId": state.turn}
        return (request(f"interrupt-{turn}", "turn/interrupt", told),)

    def transcript(self, seat: d.Seat, key: str) -> str:
        folder = f"{literal(seat.config_home)}/sessions/*/*/*"
        return f"{folder}/rollout-*-{literal(key)}.jsonl"

    def settle(self, lines: Iterable[bytes], message: str, text: str) -> d.Settlement:
        return rollout.settle(lines, message, clean_text(text))


def _response(name: str, request: str, told: Mapping[str, object]) -> d.Input:
    number = int(request) if request.isdecimal() and request.isascii() else request
    return d.Input(name, json_line({"id": number, **told}))


def _take_response(state: CodexState, event: Fields) -> _Read:
    name, result = event.text("id"), event.inner("result")
    is_opening, marks = name.partition(" ")[0] == OPEN, tuple(name.split()[1:])
    if name.startswith("interrupt-"):
        return d.Read(state)
    if event.value("error") is not None:
        reason = event.inner("error").text("message") or "Codex refused it without a reason"
        is_lost = is_opening and reason.startswith(CONTEXT_LOST)
        return d.Read(state, (d.Finished("context_lost" if is_lost else "failed", "", reason),))
    turn, thread = result.inner("turn").text("id"), result.inner("thread")
    if turn:
        return d.Read(replace(_rested(state), turn=turn))
    if not is_opening or not thread.text("id"):
        return d.Read(state)
    opened = d.Opened(thread.text("id"), thread.text("cliVersion"), result.text("model"))
    return d.Read(replace(state, thread=opened.session_id, marks=marks), (opened,))


def _rested(state: CodexState) -> CodexState:
    """Give what stays between two turns."""
    return CodexState(state.thread, windows=state.windows, marks=state.marks)


def _take_request(state: CodexState, event: Fields) -> _Read:
    """Whatever is asked is answered, else Codex would wait for ever."""
    ask = str(event.value("id"))
    is_announced = event.inner("params").text("itemId") == state.patch.item
    patch = state.patch if is_announced else questions.NO_PATCH
    asked = questions.question(event, patch, state.marks)
    if asked is None:
        error = {"error": {"code": NOT_SERVED, "message": "not served"}}
        return d.Read(state, (), (_response(f"refuse-{ask}", ask, error),))
    if "held" in state.marks and asked.tool == "Bash":
        refusal = _response(f"answer-{ask}", ask, {"result": {"decision": "decline"}})
        return d.Read(state, (d.Refused("Bash", HELD_BACK),), (refusal,))
    return d.Read(state, (asked,))


def _take_begun(state: CodexState, params: Fields) -> _Read:
    item = params.inner("item")
    match item.text("type"):
        case "userMessage" if item.text("clientId"):
            return d.Read(state, (d.Seen(item.text("clientId")),))
        case "commandExecution":
            return _used(state, "Bash", Fields({"command": questions.bare(item.text("command"))}))
        case "fileChange":
            patch = questions.patch(item)
            return d.Read(replace(state, patch=patch), (d.Used(patch.tool, patch.summary),))
        case "mcpToolCall":
            tool = f"mcp__{item.text('server')}__{item.text('tool')}"
            return _used(state, tool, item.inner("arguments"))
        case "webSearch":
            return _used(state, "WebSearch", Fields({"query": item.text("query")}))
        case _:
            return d.Read(state)


def _used(state: CodexState, tool: str, given: Fields) -> _Read:
    return d.Read(state, (d.Used(tool, summary(given)),))


def _take_done(state: CodexState, params: Fields) -> _Read:
    item = params.inner("item")
    text = item.text("text") if item.text("type") == "agentMessage" else ""
    is_ours = bool(text) and params.text("turnId") == state.turn
    return d.Read(state, (d.Said(text),) if is_ours else ())


def _take_tokens(state: CodexState, params: Fields) -> _Read:
    if not state.turn or params.text("turnId") != state.turn:
        return d.Read(state)
    last, so_far = params.inner("tokenUsage").inner("last"), state.usage
    read = so_far.input_tokens + last.whole("inputTokens")
    written = so_far.output_tokens + last.whole("outputTokens")
    return d.Read(replace(state, usage=d.Usage(read, written)))


def _take_windows(state: CodexState, params: Fields) -> _Read:
    """This comes before the error of a limit, which itself tells no time."""
    told = params.inner("rateLimits")
    found = [(slot, told.inner(slot)) for slot in ("primary", "secondary")]
    windows = tuple(_window(slot, window) for slot, window in found if window)
    news = [one for one in windows if NEARING <= one.used < FULL and one not in state.windows]
    signals = [d.Nearing(one.name, one.used / FULL, one.resets_at_ms) for one in news]
    return d.Read(replace(state, windows=windows), tuple(signals))


def _window(slot: str, told: Fields) -> Window:
    name = WINDOWS.get(told.whole("windowDurationMins"), slot)
    return Window(name, told.whole("usedPercent"), read_instant(told.value("resetsAt")))


def _take_error(state: CodexState, params: Fields) -> _Read:
    """What is not tried again is told once more at the turn's end."""
    error = params.inner("error")
    text = error.text("additionalDetails") or error.text("message")
    is_waiting = params.value("willRetry") is True
    return d.Read(state, (d.Retrying(text, 0),) if is_waiting else ())


def _take_end(state: CodexState, params: Fields) -> _Read:
    turn = params.inner("turn")
    if not state.turn or turn.text("id") != state.turn:
        return d.Read(state, (UNASKED,))
    after, usage = _rested(state), state.usage
    how, error = HOW.get(turn.text("status"), "failed"), turn.inner("error")
    if how == "done":
        said = [item.text("text") for item in turn.items("items")]
        done = d.Finished(how, said[-1] if said else "", "", state.thread, usage)
        return d.Read(after, (done,))
    reason = error.text("message") or f"Codex ended the turn: {turn.text('status')}"
    if error.text("codexErrorInfo") == LIMITED:
        ended = d.Finished("limited", "", reason, state.thread, usage)
        return d.Read(after, (_limited(state.windows, reason), ended))
    reason += _hint(error)
    return d.Read(after, (d.Finished(how, "", reason, state.thread, usage),))


def _limited(windows: tuple[Window, ...], reason: str) -> d.Limited:
    """Of several full windows the last to open again counts."""
    full = [one for one in windows if one.used >= FULL]
    if not full:
        return d.Limited("", None, reason)
    last = max(full, key=lambda one: one.resets_at_ms or 0)
    return d.Limited(last.name, last.resets_at_ms, reason)


def _hint(error: Fields) -> str:
    details = error.inner("codexErrorInfo").inners()
    statuses = [detail.whole("httpStatusCode") for detail in details]
    is_login = UNAUTHORIZED in statuses or error.text("codexErrorInfo") == "unauthorized"
    return f"; log Codex in: {LOG_IN}" if is_login else ""


_TAKE: Mapping[str, Callable[[CodexState, Fields], _Read]] = {
    "item/started": _take_begun,
    "item/completed": _take_done,
    "thread/tokenUsage/updated": _take_tokens,
    "account/rateLimits/updated": _take_windows,
    "error": _take_error,
    "serverRequest/resolved": lambda state, params: d.Read(
        state, (d.Withdrawn(str(params.value("requestId"))),)
    ),
    "turn/completed": _take_end,
    "warning": lambda state, params: d.Read(state, (d.Noise(params.text("message")),)),
}

DRIVER = Codex()
