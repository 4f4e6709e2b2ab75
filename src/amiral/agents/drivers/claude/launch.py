"""Pure: how Claude Code is started: its options, its variables, its files."""

from collections.abc import Iterable
from dataclasses import replace

from amiral.agents import driver as d
from amiral.agents.fields import clean_text
from amiral.permissions.projection import Projection
from amiral.permissions.tools import ALL_TOOLS

LOGIN = ("CLAUDE_CODE_OAUTH_TOKEN", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")
FLAGS_ANYWHERE = (
    *("--permission-mode=default", "--setting-sources=", "--strict-mcp-config"),
    "--system-prompt-snapshot=off",
)
FLAGS = (
    *("-p", "--verbose", "--input-format=stream-json", "--output-format=stream-json"),
    *("--replay-user-messages", "--permission-prompt-tool=stdio"),
    *FLAGS_ANYWHERE,
)
ENV = (
    *("DISABLE_AUTOUPDATER", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"),
    *("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS", "CLAUDE_CODE_DISABLE_CRON"),
    "CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD",
)
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
IDENTITY_FILE = "identity.md"
OWNED = (".gitconfig", IDENTITY_FILE, "settings.json", "settings.local.json")


def plan(seat: d.Seat, told: Projection, flags: tuple[str, ...] = FLAGS) -> d.Launch:
    """HOME is the worker's own too: nothing of the person's settings is read or touched."""
    home = seat.config_home
    env = {**seat.login, **dict.fromkeys(ENV, "1")}
    env |= {"HOME": home, "CLAUDE_CONFIG_DIR": home, "TMPDIR": seat.tmp}
    person = f"[user]\n\tname = {seat.worker}\n\temail = {seat.worker}@amiral.invalid\n"
    identity = d.FileToWrite(IDENTITY_FILE, clean_text(seat.identity))
    files = (d.FileToWrite(".gitconfig", person), identity)
    argv = (*seat.command, *flags, *_options(seat), *_tool_options(seat.tools), *told.args)
    return d.Launch(argv, {**env, **told.env}, seat.cwd, files)


def plan_in_terminal(seat: d.Seat, told: Projection) -> d.Launch:
    """Plan it for a person at a terminal, who answers what it asks; turns are not counted there."""
    return plan(replace(seat, max_turns=0), told, FLAGS_ANYWHERE)


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
    if tools == ALL_TOOLS:
        return (f"--disallowedTools={','.join(UNSERVED)}",)
    kept = (tools,) if isinstance(tools, str) else tools
    gone = (tool for tool in TOOLS if tool not in kept)
    return (f"--tools={','.join(kept)}", f"--disallowedTools={','.join(gone)}")
