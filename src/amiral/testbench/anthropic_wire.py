"""Pure: turns of a scenario in the form of Anthropic's Messages API, as Claude Code speaks it."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from posixpath import join

import msgspec

from amiral.base.errors import Invalid
from amiral.testbench.scenario import Limit, Scenario, Turn, Use

_TOOLS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "write": ("Write", {"path": "file_path", "text": "content"}),
    "edit": ("Edit", {"path": "file_path", "old": "old_string", "new": "new_string"}),
    "read": ("Read", {"path": "file_path"}),
    "bash": ("Bash", {"command": "command"}),
}
_WINDOWS = {"five_hour": "5h", "seven_day": "7d"}
_ERRORS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}
_CWD = re.compile(r"[Ww]orking directory: (/[^\n]*)")
_REMINDER = "<system-reminder>"
_SUMMARY = "CRITICAL: Respond with TEXT ONLY."
_LIMITS = "anthropic-ratelimit-unified-"
_CHARS_PER_TOKEN = 4


class _Block(msgspec.Struct):
    type: str = ""
    text: str = ""


class _Message(msgspec.Struct):
    role: str
    content: str | list[_Block]


class _Tool(msgspec.Struct):
    name: str = ""


class _Request(msgspec.Struct):
    model: str
    messages: list[_Message]
    tools: list[_Tool] = []
    system: str | list[_Block] = ""
    stream: bool = False


_REQUEST = msgspec.json.Decoder(_Request)


@dataclass(frozen=True)
class Call:
    """One request to the model. No header is kept, so no secret is.

    `text` is the last text of the user, `system` all that the CLI tells the model about its task,
    `tokens` an estimate. Only requests that offer tools carry on the scenario (`is_main`); the
    others are for titles and the like, and a summary of the conversation is none either.
    """

    model: str
    tools: tuple[str, ...]
    text: str
    system: str
    is_stream: bool
    tokens: int

    @property
    def is_main(self) -> bool:
        """Tell a call of the worker from a side call."""
        return bool(self.tools) and not self.text.startswith(_SUMMARY)


@dataclass(frozen=True)
class Piece:
    """Bytes of the answer's body, after a pause."""

    data: bytes
    pause_ms: int = 0


def check_playable(scenario: Scenario) -> None:
    """Raise Invalid for what a model cannot do: bytes and processes of a CLI, MCP, talk at a limit.

    Questions to other workers (`ask`) go through MCP tools, which are not served yet.
    """
    turns = [*((f"turn {n}", turn) for n, turn in enumerate(scenario.turns, 1))]
    for where, turn in (*turns, ("default", scenario.default)):
        parts = {"raw": turn.raw, "process": turn.process, "ask": turn.ask}
        wrong = [name for name, part in parts.items() if part is not None]
        if turn.say is not None and turn.limit is not None and turn.limit.is_reached:
            wrong.append("say together with a reached limit")
        if wrong:
            message = f"{where}: a scripted model does not do {' and '.join(wrong)}"
            raise Invalid(message, "Use the scripted CLI, or take it out of the scenario.")


def read_call(body: bytes) -> Call:
    """Read a request. Raises Invalid for what is none."""
    try:
        request = _REQUEST.decode(body)
    except (ValueError, RecursionError) as error:
        raise Invalid(f"not a request of the Messages API: {error}") from error
    told = [_text_of(message.content) for message in request.messages if message.role == "system"]
    return Call(
        model=request.model,
        tools=tuple(tool.name for tool in request.tools),
        text=_last_text(request.messages),
        system="\n".join((_text_of(request.system), *told)),
        is_stream=request.stream,
        tokens=len(body) // _CHARS_PER_TOKEN,
    )


def is_refused(turn: Turn) -> bool:
    """Tell whether the answer to this turn is an error."""
    return turn.error is not None or (turn.limit is not None and turn.limit.is_reached)


def refusal(turn: Turn) -> tuple[int, bytes]:
    """Give status and body of an error."""
    status = turn.error.status if turn.error else 429
    kind = _ERRORS.get(status, "api_error")
    error = {"type": kind, "message": f"The scenario answers with {status}."}
    return status, msgspec.json.encode({"type": "error", "error": error})


def headers(turn: Turn, now_s: int) -> dict[str, str]:
    """Give the headers that tell how full the account's window is, none when the turn is silent."""
    limit = turn.limit
    if limit is None:
        return {}
    status = "rejected" if limit.is_reached else "allowed_warning"
    told = {"status": status, "representative-claim": limit.window}
    window = _WINDOWS.get(limit.window)
    for prefix in ("", f"{window}-") if window else ("",):
        told |= _window_headers(prefix, limit, status, now_s)
    return {f"{_LIMITS}{name}": value for name, value in told.items()}


def whole_message(turn: Turn, call: Call, name: str, root: str = "") -> bytes:
    """Give the answer's body for a request without streaming."""
    blocks = [block for block, _ in _blocks(turn, call, name, root)]
    usage = {"input_tokens": call.tokens, "output_tokens": _output_tokens(turn)}
    end = {"stop_reason": _stop_reason(turn), "stop_sequence": None}
    return msgspec.json.encode({**_message(call, name), "content": blocks, "usage": usage, **end})


def stream(turn: Turn, call: Call, name: str, root: str = "") -> Iterator[Piece]:
    """Give the answer's body as server-sent events. `name` is unique, for the ids."""
    usage = {"input_tokens": call.tokens, "output_tokens": 1}
    yield _event("message_start", message={**_message(call, name), "usage": usage})
    for index, (block, deltas) in enumerate(_blocks(turn, call, name, root)):
        yield _event("content_block_start", index=index, content_block=_hollow(block))
        pause_ms = 0
        for delta in deltas:
            yield _event("content_block_delta", pause_ms, index=index, delta=delta)
            pause_ms = turn.say.pause_ms if turn.say else 0
        yield _event("content_block_stop", index=index)
    end = {"stop_reason": _stop_reason(turn), "stop_sequence": None}
    yield _event("message_delta", delta=end, usage={"output_tokens": _output_tokens(turn)})
    yield _event("message_stop")


def _hollow(block: Mapping[str, object]) -> dict[str, object]:
    """Give a block as it is before its deltas."""
    return {key: {"text": "", "input": {}}.get(key, value) for key, value in block.items()}


def _window_headers(prefix: str, limit: Limit, status: str, now_s: int) -> dict[str, str]:
    told = {f"{prefix}status": status}
    if limit.resets_in_s is not None:
        told[f"{prefix}reset"] = str(now_s + limit.resets_in_s)
    if prefix:
        told[f"{prefix}utilization"] = str(limit.utilization)
    if prefix and not limit.is_reached:
        told[f"{prefix}surpassed-threshold"] = str(limit.utilization)
    return told


def _blocks(
    turn: Turn, call: Call, name: str, root: str
) -> Iterator[tuple[dict[str, object], list[dict[str, str]]]]:
    """Give each block of content, with the deltas that carry it when streamed."""
    if turn.say is not None and turn.say.text:
        pieces = turn.say.pieces()
        deltas = [{"type": "text_delta", "text": piece} for piece in pieces]
        yield {"type": "text", "text": turn.say.text}, deltas
    if turn.use is not None:
        tool, arguments = _tool_call(turn.use, root or _cwd(call))
        json = msgspec.json.encode(arguments).decode()
        head = {"type": "tool_use", "id": f"toolu_{name}", "name": tool}
        yield {**head, "input": arguments}, [{"type": "input_json_delta", "partial_json": json}]


def _tool_call(use: Use, cwd: str) -> tuple[str, dict[str, str]]:
    """Claude Code's file tools want absolute paths."""
    tool, names = _TOOLS[use.tool]
    arguments = {names[key]: value for key, value in use.args.items()}
    if "file_path" in arguments:
        arguments["file_path"] = join(cwd, arguments["file_path"])
    return tool, arguments


def _cwd(call: Call) -> str:
    found = _CWD.search(call.system)
    return found[1].strip() if found else "/"


def _stop_reason(turn: Turn) -> str:
    return "tool_use" if turn.use is not None else "end_turn"


def _output_tokens(turn: Turn) -> int:
    return max(1, len(turn.text) // _CHARS_PER_TOKEN)


def _message(call: Call, name: str) -> dict[str, object]:
    told: dict[str, object] = {"id": f"msg_{name}", "type": "message", "role": "assistant"}
    told |= {"model": call.model, "content": [], "stop_reason": None, "stop_sequence": None}
    return told


def _event(kind: str, pause_ms: int = 0, **fields: object) -> Piece:
    data = msgspec.json.encode({"type": kind, **fields})
    return Piece(b"event: " + kind.encode() + b"\ndata: " + data + b"\n\n", pause_ms)


def _text_of(content: str | list[_Block]) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(block.text for block in content if block.text)


def _last_text(messages: list[_Message]) -> str:
    """Results of tools have no text of their own, and reminders are the CLI's own words."""
    for message in reversed(messages):
        if message.role != "user":
            continue
        content = message.content
        texts = [content] if isinstance(content, str) else [block.text for block in content]
        texts = [text for text in texts if text and not text.startswith(_REMINDER)]
        if texts:
            return texts[-1]
    return ""
