"""Pure: the driver of Claude Code; docs/reference/claude.md has the facts it stands on."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

import msgspec

from amiral.agents import driver as d
from amiral.agents.drivers.claude import launch, projection
from amiral.agents.fields import Fields, clean_text, json_line, plain_text, read_fields, summary
from amiral.agents.instants import read_instant
from amiral.agents.needs import Needs
from amiral.agents.transcript import find_turn, literal
from amiral.permissions.projection import Projection

TESTED = ("2.1.332",)
QUIET = re.compile(
    r"control_response|stream_event|keep_alive|conversation_reset|"
    r"tool_progress|system/(?:status|task_\w+|background_tasks_changed|compact_boundary)"
)
CONTEXT_LOST = "No conversation found"
KNOWN = d.Finished("failed", "", "Claude Code had this message before and did nothing with it now")
UNASKED = d.Noise("Claude Code ended a turn that nobody asked for")
FINAL_STOPS = ("end_turn", "stop_sequence", "max_tokens", "refusal")
LIMITED_STATUS = 429
_VERSION = re.compile(r"\d+\.\d+\.\d+", re.ASCII)


@dataclass(frozen=True)
class ClaudeState:
    """What was told: the last message taken in, the one being worked on, a limit in this turn."""

    session: str = ""
    queued: str = ""
    running: str = ""
    is_limited: bool = False

    @property
    def is_asked(self) -> bool:
        """Tell whether what happens now was asked for; the CLI may start turns by itself."""
        return bool(self.running) or not self.queued


_Read = d.Read[ClaudeState]


class Claude:
    """The driver; it holds nothing."""

    name = "claude"
    state_type = ClaudeState
    owned: tuple[str, ...] = launch.OWNED
    needs = Needs(services=("api.anthropic.com",))

    def version_command(self, command: tuple[str, ...]) -> tuple[str, ...]:
        return (*command, "--version")

    def version_of(self, output: str) -> str:
        return found[0] if (found := _VERSION.search(output)) else ""

    def warning_for(self, version: str) -> str:
        if version in TESTED:
            return ""
        return f"Claude Code {version or '(version unknown)'} is untested; tested: {TESTED[-1]}"

    def login(self, options: Mapping[str, object]) -> d.Login:
        """Whatever its options, it is the same."""
        del options
        return d.Login(launch.LOGIN)

    def project(self, seat: d.Seat) -> Projection:
        return projection.project(seat)

    def merged(self, found: str, text: str) -> str:
        """No file is merged."""
        del found
        return text

    def open(self, seat: d.Seat) -> tuple[ClaudeState, d.Launch]:
        return ClaudeState(), launch.plan(seat, self.project(seat))

    def in_terminal(self, seat: d.Seat) -> d.Launch:
        return launch.plan_in_terminal(seat, self.project(seat))

    def is_ready(self, state: ClaudeState) -> bool:
        del state
        return True

    def read(self, state: ClaudeState, line: bytes) -> _Read:
        event, kind = read_fields(line), ""
        if event is not None:
            kind = event.text("type")
            kind = f"system/{event.text('subtype')}" if kind == "system" else kind
            if kind in _TAKE:
                return _TAKE[kind](state, event)
        text = "" if QUIET.fullmatch(kind) else plain_text(line)
        return d.Read(state, (d.Noise(text),) if text else ())

    def say(self, state: ClaudeState, message: str, text: str) -> tuple[d.Input, ...]:
        """A text that begins with a slash would be a command of the CLI itself (/clear, /model)."""
        del state
        content = clean_text("\n" + text if text.startswith("/") else text)
        line = {"type": "user", "uuid": message, "message": {"role": "user", "content": content}}
        return (d.Input(message, json_line(line)),)

    def answer(
        self, state: ClaudeState, asked: d.Asked, *, allow: bool, reason: str
    ) -> tuple[d.Input, ...]:
        del state
        decision: dict[str, object] = {"behavior": "deny", "message": clean_text(reason)}
        if allow:
            decision = {"behavior": "allow", "updatedInput": msgspec.Raw(asked.arguments.encode())}
        return (_response(f"answer-{asked.ask}", asked.ask, "success", {"response": decision}),)

    def interrupt(self, state: ClaudeState, turn: str) -> tuple[d.Input, ...]:
        del state
        request = {"request_id": f"interrupt-{turn}", "request": {"subtype": "interrupt"}}
        return (d.Input(f"interrupt-{turn}", json_line({"type": "control_request", **request})),)

    def transcript(self, seat: d.Seat, key: str) -> str:
        return f"{literal(seat.config_home)}/projects/*/{literal(key)}.jsonl"

    def settle(self, lines: Iterable[bytes], message: str, text: str) -> d.Settlement:
        del text
        turn = find_turn(lines, message, _begun)
        return turn if isinstance(turn, d.Settlement) else _outcome(turn)


def _response(name: str, request: str, subtype: str, more: dict[str, object]) -> d.Input:
    response = {"subtype": subtype, "request_id": request, **more}
    return d.Input(name, json_line({"type": "control_response", "response": response}))


def _take_lifecycle(state: ClaudeState, event: Fields) -> _Read:
    message, stage = event.text("command_uuid"), event.text("state")
    if stage == "queued":
        return d.Read(replace(state, queued=message))
    if stage == "started":
        return _start(state, message)
    is_known = not state.queued and message == state.running != ""
    return d.Read(replace(state, running=""), (KNOWN,)) if is_known else d.Read(state)


def _take_echo(state: ClaudeState, event: Fields) -> _Read:
    """A message that is echoed but was not queued is one the CLI had before."""
    message = event.text("uuid")
    if event.value("isReplay") is not True:
        return d.Read(state)
    is_known = state.queued and message not in (state.queued, state.running)
    return d.Read(state, (KNOWN,)) if is_known else _start(state, message)


def _start(state: ClaudeState, message: str) -> _Read:
    if message in ("", state.running):
        return d.Read(state)
    return d.Read(replace(state, running=message, is_limited=False), (d.Seen(message),))


def _take_init(state: ClaudeState, event: Fields) -> _Read:
    session = event.text("session_id")
    if session == state.session:
        return d.Read(state)
    version, model = event.text("claude_code_version"), event.text("model")
    opened = d.Opened(session, version, model, event.texts("tools"))
    return d.Read(replace(state, session=session), (opened,))


def _take_assistant(state: ClaudeState, event: Fields) -> _Read:
    """Errors of the service come as if the model had said them; they are told by the result."""
    if event.text("error") or event.value("is_api_error_message") is True:
        return _take_rate_limit(state, event.inner("api_error_params"))
    is_own = state.is_asked and not event.text("parent_tool_use_id")
    signals: list[d.Signal] = []
    for block in event.inner("message").items("content"):
        kind, text = block.text("type"), block.text("text")
        if kind == "text" and text and is_own:
            signals.append(d.Said(text))
        elif kind in ("tool_use", "server_tool_use"):
            signals.append(d.Used(block.text("name"), summary(block.inner("input"))))
    return d.Read(state, tuple(signals))


def _take_rate_limit(state: ClaudeState, event: Fields) -> _Read:
    info = event.inner("rate_limit_info")
    window, resets_at_ms = info.text("rateLimitType"), read_instant(info.value("resetsAt"))
    is_held = info.text("status") == "rejected" and info.value("isUsingOverage") is not True
    if is_held and not state.is_limited:
        return d.Read(replace(state, is_limited=True), (d.Limited(window, resets_at_ms),))
    if info.text("status") == "allowed_warning":
        return d.Read(state, (d.Nearing(window, info.number("utilization"), resets_at_ms),))
    return d.Read(state)


def _take_request(state: ClaudeState, event: Fields) -> _Read:
    """Whatever is asked is answered, else the CLI would wait for ever."""
    ask, request = event.text("request_id"), event.inner("request")
    tool, given = request.text("tool_name"), request.inner("input")
    if ask and tool and request.text("subtype") == "can_use_tool":
        return d.Read(state, (d.Asked(ask, tool, summary(given), given.as_json()),))
    refusal = _response(f"refuse-{ask}", ask, "error", {"error": "not served"})
    return d.Read(state, (), (refusal,))


def _take_result(state: ClaudeState, event: Fields) -> _Read:
    if not state.is_asked:
        return d.Read(state, (UNASKED,))
    how, text, why = _how(event), event.text("result"), event.text("terminal_reason")
    reason = why if how == "interrupted" else text or "; ".join(event.texts("errors")) or why
    said, reason = (text, "") if how == "done" else ("", reason)
    key = "" if how == "context_lost" else event.text("session_id")
    finished = d.Finished(how, said, reason, key, _usage(event))
    is_new = how == "limited" and not state.is_limited
    signals = (d.Limited("", None, reason), finished) if is_new else (finished,)
    return d.Read(replace(state, running="", is_limited=False), signals)


def _how(event: Fields) -> str:
    """The subtype is not asked: errors of the service come as "success"."""
    if event.text("terminal_reason").startswith("aborted"):
        return "interrupted"
    if event.value("is_error") is False:
        return "done"
    if event.whole("api_error_status") == LIMITED_STATUS:
        return "limited"
    is_lost = any(error.startswith(CONTEXT_LOST) for error in event.texts("errors"))
    return "context_lost" if is_lost else "failed"


def _usage(event: Fields) -> d.Usage:
    usage, models = event.inner("usage"), event.inner("model_usage_since_last_result").inners()
    kinds = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    cost_usd = sum(model.number("costUSD") for model in models)
    return d.Usage(sum(map(usage.whole, kinds)), usage.whole("output_tokens"), cost_usd)


def _begun(entry: Fields) -> str | None:
    """A message is kept as text; results of tools and notices of an interrupt are lists."""
    is_message = entry.text("type") == "user" and bool(entry.inner("message").text("content"))
    return entry.text("uuid") if is_message and entry.value("isMeta") is not True else None


def _outcome(turn: list[Fields]) -> d.Settlement:
    """A reply has a line for each of its blocks; errors and fillings of gaps are synthetic."""
    own = [e for e in turn if e.text("type") == "assistant" and e.value("isSidechain") is not True]
    replies = [r for e in own if (r := e.inner("message")).text("model") != "<synthetic>"]
    if not replies or replies[-1].text("stop_reason") not in FINAL_STOPS:
        return d.Settlement("received")
    last = [reply for reply in replies if reply.text("id") == replies[-1].text("id")]
    blocks = [block for reply in last for block in reply.items("content")]
    return d.Settlement("answered", "".join(block.text("text") for block in blocks))


_TAKE: Mapping[str, Callable[[ClaudeState, Fields], _Read]] = {
    "command_lifecycle": _take_lifecycle,
    "system/init": _take_init,
    "system/api_retry": lambda state, event: d.Read(
        state, (d.Retrying(event.text("error"), event.whole("retry_delay_ms")),)
    ),
    "system/permission_denied": lambda state, event: d.Read(
        state, (d.Refused(event.text("tool_name"), event.text("message")),)
    ),
    "user": _take_echo,
    "assistant": _take_assistant,
    "rate_limit_event": _take_rate_limit,
    "control_request": _take_request,
    "control_cancel_request": lambda state, event: d.Read(
        state, (d.Withdrawn(event.text("request_id")),)
    ),
    "result": _take_result,
}

DRIVER = Claude()
