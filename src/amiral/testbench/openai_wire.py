"""Pure: turns of a scenario in the form of OpenAI's Responses API, as Codex speaks it."""

from collections.abc import Iterator, Mapping
from itertools import count
from posixpath import join
from shlex import quote

import msgspec

from amiral.base.errors import Invalid
from amiral.testbench.anthropic_wire import Call, Piece
from amiral.testbench.scenario import Turn, Use

_OWN_WORDS = ("<environment_context>", "# AGENTS.md instructions", "<turn_aborted>")
_ABOUT_THE_TURN = "x-codex-turn-metadata"
_WINDOWS = {"five_hour": ("primary", 300), "seven_day": ("secondary", 10_080)}
_CODES = {429: "rate_limit_exceeded", 503: "server_is_overloaded"}
_PATIENCE_MS = 30_000
_CHARS_PER_TOKEN = 4


class _Content(msgspec.Struct):
    type: str = ""
    text: str = ""


class _Tool(msgspec.Struct):
    type: str = ""
    name: str = ""
    tools: list["_Tool"] = []


class _Item(msgspec.Struct):
    type: str = "message"
    role: str = ""
    content: str | list[_Content] | None = None
    tools: list[_Tool] = []


class _Request(msgspec.Struct):
    model: str
    input: list[_Item]
    tools: list[_Tool] = []
    instructions: str = ""
    stream: bool = False
    client_metadata: dict[str, str] = {}


class _AboutTheTurn(msgspec.Struct):
    request_kind: str = "turn"


_REQUEST = msgspec.json.Decoder(_Request)


def read_call(body: bytes) -> Call:
    """Read a request. Raises Invalid for what is none.

    Newer models get their tools as the first item of the input, and an `exec` that runs
    JavaScript which calls them. Requests that are no turn (a summary) count as without tools.
    """
    try:
        request = _REQUEST.decode(body)
        about = request.client_metadata.get(_ABOUT_THE_TURN, "{}")
        kind = msgspec.json.decode(about, type=_AboutTheTurn).request_kind
    except (ValueError, RecursionError) as error:
        raise Invalid(f"not a request of the Responses API: {error}") from error
    offered = (request.tools, *(item.tools for item in request.input))
    names = tuple(name for tools in offered for name in _names(tools))
    texts = [(item.role, text) for item in request.input for text in _texts(item)]
    told = [text for role, text in texts if role != "user" or text.startswith(_OWN_WORDS)]
    said = [text for role, text in texts if role == "user" and not text.startswith(_OWN_WORDS)]
    return Call(
        model=request.model,
        tools=names if kind == "turn" else (),
        text=said[-1] if said else "",
        system="\n".join((request.instructions, *told)),
        is_stream=request.stream,
        tokens=len(body) // _CHARS_PER_TOKEN,
    )


def refusal(turn: Turn, now_s: int) -> tuple[int, bytes]:
    """Give status and body of an error, which may be a reached limit."""
    if turn.error is not None:
        status = turn.error.status
        message = f"The scenario answers with {status}."
        error: dict[str, object] = {"message": message, "code": _CODES.get(status)}
        return status, msgspec.json.encode({"error": error})
    error = {"type": "usage_limit_reached", "message": "The usage limit has been reached"}
    error["plan_type"] = "plus"
    if turn.limit is not None and turn.limit.resets_in_s is not None:
        error["resets_at"] = now_s + turn.limit.resets_in_s
        error["resets_in_seconds"] = turn.limit.resets_in_s
    return 429, msgspec.json.encode({"error": error})


def headers(turn: Turn, now_s: int) -> dict[str, str]:
    """Give the headers that tell how full the account's window is, none when the turn is silent."""
    limit = turn.limit
    if limit is None:
        return {}
    slot, minutes = _WINDOWS.get(limit.window, ("primary", 0))
    told = {"used-percent": f"{limit.utilization * 100:.1f}"}
    if minutes:
        told["window-minutes"] = str(minutes)
    if limit.resets_in_s is not None:
        told["reset-at"] = str(now_s + limit.resets_in_s)
    return {f"x-codex-{slot}-{name}": value for name, value in told.items()}


def whole_response(turn: Turn, call: Call, name: str, root: str = "") -> bytes:
    """Give the answer's body for a request without streaming."""
    items = [item for item, _ in _items(turn, call, name, root)]
    return msgspec.json.encode(_response(turn, call, name, items))


def stream(turn: Turn, call: Call, name: str, root: str = "") -> Iterator[Piece]:
    """Give the answer's body as server-sent events. `name` is unique, for the ids."""
    numbers = count()
    begun = {**_response(turn, call, name, []), "status": "in_progress"}
    yield _event("response.created", next(numbers), response=begun)
    done = []
    for index, (item, pieces) in enumerate(_items(turn, call, name, root)):
        hollow = {**item, "status": "in_progress", **({"content": []} if pieces else {})}
        yield _event("response.output_item.added", next(numbers), output_index=index, item=hollow)
        pause_ms = 0
        for piece in pieces:
            where = {"output_index": index, "content_index": 0, "item_id": item["id"]}
            kind = "response.output_text.delta"
            yield _event(kind, next(numbers), pause_ms, **where, delta=piece)
            pause_ms = turn.say.pause_ms if turn.say else 0
        yield _event("response.output_item.done", next(numbers), output_index=index, item=item)
        done.append(item)
    yield _event("response.completed", next(numbers), response=_response(turn, call, name, done))


def _names(tools: list[_Tool]) -> Iterator[str]:
    for tool in tools:
        if tool.tools:
            yield from _names(tool.tools)
        else:
            yield tool.name or tool.type


def _texts(item: _Item) -> list[str]:
    if item.type != "message" or not item.content:
        return []
    content = item.content
    texts = [content] if isinstance(content, str) else [part.text for part in content]
    return [text for text in texts if text]


def _items(
    turn: Turn, call: Call, name: str, root: str
) -> Iterator[tuple[dict[str, object], list[str]]]:
    """Give each item of the output, with the pieces of its text when it is streamed."""
    done = {"status": "completed"}
    if turn.say is not None and turn.say.text:
        part = {"type": "output_text", "text": turn.say.text, "annotations": []}
        head: dict[str, object] = {"type": "message", "id": f"msg_{name}", "role": "assistant"}
        yield {**head, "content": [part], **done}, list(turn.say.pieces())
    if turn.use is not None:
        ids = {"id": f"item_{name}", "call_id": f"call_{name}"}
        yield {**_tool_call(turn.use, call, root), **ids, **done}, []


def _tool_call(use: Use, call: Call, root: str) -> dict[str, object]:
    """Files are changed by patches and read by the shell, as Codex does it."""
    is_patch = use.tool in ("write", "edit")
    given = _patch(use.tool, use.args, root) if is_patch else _command(use.tool, use.args, root)
    tool = "apply_patch" if is_patch else "exec_command"
    if tool not in call.tools and "exec" in call.tools:
        script = f"text(await tools.{tool}({msgspec.json.encode(given).decode()}));"
        return {"type": "custom_tool_call", "name": "exec", "input": script}
    if is_patch:
        return {"type": "custom_tool_call", "name": tool, "input": given}
    return {
        "type": "function_call",
        "name": tool,
        "arguments": msgspec.json.encode(given).decode(),
    }


def _patch(tool: str, args: Mapping[str, str], root: str) -> str:
    path = join(root, args["path"])
    if tool == "write":
        body = [f"*** Add File: {path}", *_lines("+", args["text"])]
    else:
        change = (*_lines("-", args["old"]), *_lines("+", args["new"]))
        body = [f"*** Update File: {path}", "@@", *change]
    return "\n".join(("*** Begin Patch", *body, "*** End Patch", ""))


def _lines(sign: str, text: str) -> list[str]:
    return [sign + line for line in text.removesuffix("\n").split("\n")] if text else []


def _command(tool: str, args: Mapping[str, str], root: str) -> dict[str, object]:
    command = args["command"] if tool == "bash" else f"cat {quote(join(root, args['path']))}"
    return {"cmd": command, "yield_time_ms": _PATIENCE_MS}


def _response(
    turn: Turn, call: Call, name: str, items: list[dict[str, object]]
) -> dict[str, object]:
    output_tokens = max(1, len(turn.text) // _CHARS_PER_TOKEN)
    usage = {
        "input_tokens": call.tokens,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": output_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": call.tokens + output_tokens,
    }
    told: dict[str, object] = {"id": f"resp_{name}", "object": "response", "created_at": 0}
    return told | {"status": "completed", "model": call.model, "output": items, "usage": usage}


def _event(kind: str, number: int, pause_ms: int = 0, **fields: object) -> Piece:
    data = msgspec.json.encode({"type": kind, "sequence_number": number, **fields})
    return Piece(b"event: " + kind.encode() + b"\ndata: " + data + b"\n\n", pause_ms)
