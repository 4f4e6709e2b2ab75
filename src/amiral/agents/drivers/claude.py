"""Pure: the driver of Claude Code; docs/reference/claude.md has the facts it stands on."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

import msgspec

from amiral.agents import driver as d
from amiral.agents.fields import Fields, clean_text, plain_text, read_fields
from amiral.agents.instants import read_instant

TESTED = ("2.1.332",)
FLAGS = (
    *("-p", "--verbose", "--input-format=stream-json", "--output-format=stream-json"),
    *("--replay-user-messages", "--permission-prompt-tool=stdio", "--permission-mode=default"),
    *("--setting-sources=", "--strict-mcp-config", "--system-prompt-snapshot=off"),
)
ENV = {
    "DISABLE_AUTOUPDATER": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",
    "CLAUDE_CODE_DISABLE_CRON": "1",
    "CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD": "1",
}
# They wait for a person at a terminal, move the worker elsewhere, or start turns by themselves.
UNSERVED = (
    *("AskUserQuestion", "EnterPlanMode", "ExitPlanMode", "EnterWorktree", "ExitWorktree"),
    *("CronCreate", "CronDelete", "CronList", "ScheduleWakeup", "Monitor", "RemoteTrigger"),
)
TOOLS = (
    *("Agent", "Task", "Bash", "Edit", "Glob", "Grep", "ListAgents", "NotebookEdit", "Read"),
    *("ReportFindings", "SendMessage", "Skill", "TaskStop", "ToolSearch", "WebFetch", "WebSearch"),
    *("Workflow", "Write", *UNSERVED),
)
QUIET_TYPES = (
    *("control_response", "control_cancel_request", "stream_event", "keep_alive"),
    *("conversation_reset", "tool_progress"),
)
QUIET_SYSTEM = (
    *("status", "task_started", "task_progress", "task_updated", "task_notification"),
    *("background_tasks_changed", "hook_started", "hook_response", "compact_boundary"),
)
SUMMED_UP_BY = (
    *("command", "file_path", "notebook_path", "pattern", "url", "query", "description"),
    *("skill", "prompt"),
)
CONTEXT_LOST = "No conversation found"
IDENTITY_FILE = "identity.md"

_VERSION = re.compile(r"\d+\.\d+\.\d+", re.ASCII)
_GLOB = re.compile(r"([*?\[])")
_LONGEST_SUMMARY = 200
_LONGEST_NOISE = 2000
_LIMITED = 429


@dataclass(frozen=True)
class ClaudeState:
    """What the lines so far have told.

    `running`: the message being worked on; `is_echo`: only its echo was seen, no start of work.
    `tracks`: this version tells when work on a message starts. `is_limited`: a limit was told.
    """

    session: str = ""
    running: str = ""
    is_echo: bool = False
    tracks: bool = False
    is_limited: bool = False

    @property
    def is_asked(self) -> bool:
        """Tell whether what happens now was asked for; the CLI may start turns by itself."""
        return bool(self.running) or not self.tracks


_Read = d.Read[ClaudeState]


class Claude:
    """The driver; it holds nothing."""

    name = "claude"
    state_type = ClaudeState

    def version_command(self, command: tuple[str, ...]) -> tuple[str, ...]:
        return (*command, "--version")

    def version_of(self, output: str) -> str:
        found = _VERSION.search(output)
        return found[0] if found else ""

    def warning_for(self, version: str) -> str:
        if version in TESTED:
            return ""
        return f"Claude Code {version or '(version unknown)'} is untested; tested: {TESTED[-1]}"

    def open(self, seat: d.Seat) -> tuple[ClaudeState, d.Launch]:
        """HOME is the worker's own too: nothing of the person's settings is read or touched."""
        home = seat.config_home
        env = {**seat.login, **ENV, "HOME": home, "CLAUDE_CONFIG_DIR": home, "TMPDIR": seat.tmp}
        person = f"[user]\n\tname = {seat.worker}\n\temail = {seat.worker}@amiral.invalid\n"
        files = [d.FileToWrite(".gitconfig", person)]
        if seat.identity:
            files.append(d.FileToWrite(IDENTITY_FILE, clean_text(seat.identity)))
        argv = (*seat.command, *FLAGS, *_options(seat), *_tool_options(seat.tools))
        return ClaudeState(), d.Launch(argv, env, seat.cwd, tuple(files))

    def is_ready(self, state: ClaudeState) -> bool:
        """It says nothing before the first message, and keeps messages that come early."""
        del state
        return True

    def read(self, state: ClaudeState, line: bytes) -> _Read:
        event = read_fields(line)
        if event is None:
            text = plain_text(line, _LONGEST_NOISE)
            return d.Read(state, (d.Noise(text),) if text else ())
        match event.text("type"):
            case "command_lifecycle":
                return _take_lifecycle(state, event)
            case "system":
                return _take_system(state, event, line)
            case "user":
                return _take_user(state, event)
            case "assistant":
                return _take_assistant(state, event)
            case "rate_limit_event":
                return _take_rate_limit(state, event.inner("rate_limit_info"))
            case "control_request":
                return _take_request(state, event)
            case "result":
                return _take_result(state, event)
            case kind if kind in QUIET_TYPES:
                return d.Read(state)
        return d.Read(state, (d.Noise(plain_text(line, _LONGEST_NOISE)),))

    def say(self, state: ClaudeState, message: str, text: str) -> tuple[d.Input, ...]:
        """A text that begins with a slash would be taken as a command of the CLI (/clear, /model)."""
        del state
        content = clean_text("\n" + text if text.startswith("/") else text)
        told = {"role": "user", "content": content}
        return (_input(message, {"type": "user", "uuid": message, "message": told}),)

    def answer(
        self, state: ClaudeState, asked: d.Asked, *, allow: bool, reason: str
    ) -> tuple[d.Input, ...]:
        del state
        decision: dict[str, object] = {"behavior": "deny", "message": clean_text(reason)}
        if allow:
            arguments = msgspec.Raw(clean_text(asked.arguments).encode())
            decision = {"behavior": "allow", "updatedInput": arguments}
        return (_response(f"answer-{asked.ask}", asked.ask, "success", {"response": decision}),)

    def interrupt(self, state: ClaudeState, turn: str) -> tuple[d.Input, ...]:
        del state
        name = f"interrupt-{turn}"
        request = {"subtype": "interrupt"}
        line = {"type": "control_request", "request_id": name, "request": request}
        return (_input(name, line),)

    def transcript(self, seat: d.Seat, key: str) -> str:
        folder, name = (_GLOB.sub(r"[\1]", part) for part in (seat.config_home, key))
        return f"{folder}/projects/*/{name}.jsonl"

    def settle(self, lines: Iterable[bytes], message: str, text: str) -> d.Settlement:
        """The message stands there under its id; what follows, up to the next one, is its turn."""
        del text
        found = d.Settlement("absent")
        for line in lines:
            entry = read_fields(line)
            if entry is None:
                if message.encode() in line:
                    found = d.Settlement("unknown")
            elif entry.text("type") == "user" and entry.text("uuid") == message:
                found = d.Settlement("received")
            elif found.proof != "absent":
                if _is_prompt(entry):
                    break
                found = _settle_further(found, entry)
        return found


def _options(seat: d.Seat) -> Iterable[str]:
    yield f"--resume={seat.resume_key}" if seat.resume_key else f"--session-id={seat.fresh_key}"
    yield f"--add-dir={seat.cwd}"
    if seat.model:
        yield f"--model={seat.model}"
    if seat.max_turns > 0:
        yield f"--max-turns={seat.max_turns}"
    if seat.identity:
        yield f"--append-system-prompt-file={seat.config_home}/{IDENTITY_FILE}"


def _tool_options(tools: tuple[str, ...] | str) -> tuple[str, ...]:
    """`--allowedTools` removes nothing, so it is not used: `--tools` names what is there at all."""
    if tools == "all":
        return (f"--disallowedTools={','.join(UNSERVED)}",)
    kept = (tools,) if isinstance(tools, str) else tools
    gone = (tool for tool in TOOLS if tool not in kept)
    return (f"--tools={','.join(kept)}", f"--disallowedTools={','.join(gone)}")


def _input(name: str, line: object) -> d.Input:
    return d.Input(name, msgspec.json.encode(line).decode() + "\n")


def _response(name: str, request: str, subtype: str, more: dict[str, object]) -> d.Input:
    response = {"subtype": subtype, "request_id": request, **more}
    return _input(name, {"type": "control_response", "response": response})


def _take_lifecycle(state: ClaudeState, event: Fields) -> _Read:
    state = replace(state, tracks=True)
    message = event.text("command_uuid")
    match event.text("state"):
        case "started" if message:
            return _start(state, message, is_echo=False)
        case "completed" | "cancelled" if state.is_echo and state.running == message:
            reason = "Claude Code has had this message before and did nothing with it now"
            finished = d.Finished("failed", "", reason, event.text("session_id"))
            return d.Read(replace(state, running="", is_echo=False), (finished,))
    return d.Read(state)


def _start(state: ClaudeState, message: str, *, is_echo: bool) -> _Read:
    if state.running == message:
        return d.Read(state)
    state = replace(state, running=message, is_echo=is_echo, is_limited=False)
    return d.Read(state, (d.Seen(message),))


def _take_user(state: ClaudeState, event: Fields) -> _Read:
    if event.value("isReplay") is True and event.text("uuid"):
        return _start(state, event.text("uuid"), is_echo=True)
    return d.Read(state)


def _take_system(state: ClaudeState, event: Fields, line: bytes) -> _Read:
    match event.text("subtype"):
        case "init" if event.text("session_id") != state.session:
            session, tools = event.text("session_id"), event.texts("tools")
            opened = d.Opened(
                session, event.text("claude_code_version"), event.text("model"), tools
            )
            return d.Read(replace(state, session=session), (opened,))
        case "api_retry":
            delay_ms = event.whole("retry_delay_ms")
            return d.Read(state, (d.Retrying(event.text("error"), delay_ms),))
        case "permission_denied":
            return d.Read(state, (d.Refused(event.text("tool_name"), event.text("message")),))
        case kind if kind == "init" or kind in QUIET_SYSTEM:
            return d.Read(state)
    return d.Read(state, (d.Noise(plain_text(line, _LONGEST_NOISE)),))


def _take_assistant(state: ClaudeState, event: Fields) -> _Read:
    """Errors of the service come as if the model had said them; they are told by the result."""
    if event.text("error") or event.value("is_api_error_message") is True:
        return _take_rate_limit(state, event.inner("api_error_params").inner("rate_limit_info"))
    is_subagent = bool(event.text("parent_tool_use_id"))
    signals: list[d.Signal] = []
    for block in event.inner("message").items("content"):
        match block.text("type"):
            case "text" if block.text("text") and state.is_asked and not is_subagent:
                signals.append(d.Said(block.text("text")))
            case "tool_use" | "server_tool_use":
                tool = block.text("name")
                signals.append(d.Used(tool, _summary(block.inner("input"))))
    return d.Read(replace(state, is_echo=False), tuple(signals))


def _take_rate_limit(state: ClaudeState, info: Fields) -> _Read:
    window, resets_at_ms = info.text("rateLimitType"), read_instant(info.value("resetsAt"))
    match info.text("status"):
        case "rejected" if not state.is_limited and info.value("isUsingOverage") is not True:
            limited = d.Limited(window, resets_at_ms)
            return d.Read(replace(state, is_limited=True), (limited,))
        case "allowed_warning":
            return d.Read(state, (d.Nearing(window, info.number("utilization"), resets_at_ms),))
    return d.Read(state)


def _take_request(state: ClaudeState, event: Fields) -> _Read:
    """Whatever is asked is answered, else the CLI would wait for ever."""
    ask, request = event.text("request_id"), event.inner("request")
    tool = request.text("tool_name")
    if ask and tool and request.text("subtype") == "can_use_tool":
        arguments = request.inner("input")
        asked = d.Asked(ask, tool, _summary(arguments), arguments.as_json())
        return d.Read(state, (asked,))
    refusal = _response(f"refuse-{ask}", ask, "error", {"error": "not served"})
    return d.Read(state, (), (refusal,))


def _take_result(state: ClaudeState, event: Fields) -> _Read:
    if not state.is_asked:
        return d.Read(state, (d.Noise("Claude Code ended a turn that nobody asked for"),))
    how = _how(state, event)
    words = event.text("result") or "; ".join(event.texts("errors"))
    text, reason = (words, "") if how == "done" else ("", words or event.text("terminal_reason"))
    signals: tuple[d.Signal, ...] = ()
    if how == "limited" and not state.is_limited:
        signals = (d.Limited("", None, words),)
    key = "" if how == "context_lost" else event.text("session_id")
    finished = d.Finished(how, text, reason, key, _usage(event))
    state = replace(state, running="", is_echo=False, is_limited=False)
    return d.Read(state, (*signals, finished))


def _how(state: ClaudeState, event: Fields) -> str:
    """The subtype is not asked: errors of the service come as "success"."""
    del state
    if event.text("terminal_reason").startswith("aborted"):
        return "interrupted"
    if event.value("is_error") is False:
        return "done"
    if event.whole("api_error_status") == _LIMITED:
        return "limited"
    if any(error.startswith(CONTEXT_LOST) for error in event.texts("errors")):
        return "context_lost"
    return "failed"


def _usage(event: Fields) -> d.Usage:
    usage = event.inner("usage")
    kinds = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    models = event.inner("model_usage_since_last_result").inners()
    return d.Usage(
        sum(usage.whole(kind) for kind in kinds),
        usage.whole("output_tokens"),
        sum(model.number("costUSD") for model in models),
    )


def _summary(arguments: Fields) -> str:
    told = next((arguments.text(name) for name in SUMMED_UP_BY if arguments.text(name)), "")
    words = " ".join((told or arguments.as_json())[: _LONGEST_SUMMARY * 2].split())
    return words if len(words) <= _LONGEST_SUMMARY else words[: _LONGEST_SUMMARY - 1] + "…"


def _is_prompt(entry: Fields) -> bool:
    """Results of tools and notices of an interrupt are kept as lists; a message is a text."""
    content = entry.inner("message").value("content")
    is_ours = entry.value("isMeta") is not True and entry.value("isSidechain") is not True
    return entry.text("type") == "user" and isinstance(content, str) and is_ours


def _settle_further(found: d.Settlement, entry: Fields) -> d.Settlement:
    message = entry.inner("message")
    is_reply = entry.text("type") == "assistant" and entry.value("isSidechain") is not True
    if not is_reply or entry.value("isApiErrorMessage") is True:
        return found
    if message.text("stop_reason") not in ("end_turn", "stop_sequence", "max_tokens", "refusal"):
        return d.Settlement("received")
    texts = (block.text("text") for block in message.items("content"))
    return d.Settlement("answered", found.text + "".join(texts))


DRIVER = Claude()
