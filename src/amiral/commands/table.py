"""Pure: the command table: every command there is, for terminal, chat, page and MCP alike."""

from amiral.commands.parameter import Kind, choice, many, may, option, switch, text, words
from amiral.commands.registry import (
    AGENTS,
    EVERYBODY,
    MEMBERS,
    VIEWERS,
    Command,
    Group,
    Runs,
    Table,
)
from amiral.commands.table_work import WORK

_RUNNING = Group(
    "Running",
    (
        Command(
            "up",
            "start everything for this folder, or for each PATH",
            (
                may(many("PATH")),
                option("--port", "N", Kind.NUMBER),
                switch("--detach"),
                switch("--sample"),
            ),
            runs=Runs.LOCAL,
        ),
        Command(
            "down",
            "stop amiral; agents in mid turn go on unless --agents",
            (switch("--agents"),),
        ),
        Command("url", "a new address of the page, valid once"),
        Command(
            "demo",
            "play the whole journey on a throw-away project",
            (switch("--keep"),),
            runs=Runs.LOCAL,
        ),
        Command(
            "doctor",
            "check everything amiral needs, each with its fix",
            runs=Runs.LOCAL,
        ),
        Command("init", "prepare the home folder", runs=Runs.LOCAL, later=True),
        Command("guard", "run the independent stopper in the foreground", runs=Runs.LOCAL),
        Command(
            "hub",
            "run the hub alone: it keeps the process of every registered project running",
            (option("--port", "N", Kind.NUMBER),),
            runs=Runs.LOCAL,
        ),
        Command(
            "child",
            "run one project's process, as the hub does for each",
            (
                may(text("NAME")),
                switch("--page"),
                option("--port", "N", Kind.NUMBER),
                switch("--sample"),
            ),
            runs=Runs.LOCAL,
        ),
        Command("restart", "end a project's process at once and start it again", (text("NAME"),)),
    ),
)

_TALKING = Group(
    "Talking",
    (
        Command(
            "say",
            "send one chat message and wait for the first reply",
            (
                words("TEXT"),
                option("--as", "USER"),
                option("--wait", "SECONDS", Kind.SECONDS),
                option("--reply-to", "ID"),
            ),
            roles=MEMBERS,
        ),
        Command(
            "route",
            "tell what the router would do with a message, doing nothing",
            (words("TEXT"),),
            roles=VIEWERS,
            runs=Runs.EITHER,
        ),
        Command(
            "role",
            "show the active worker, or choose another",
            (may(text("WORKER")),),
            roles=MEMBERS,
            chat=("role",),
        ),
        Command(
            "interrupt",
            "end the running turn of a worker; its session stays",
            (text("WORKER"),),
            roles=MEMBERS,
            chat=("interrupt",),
        ),
        Command(
            "cancel",
            "take a waiting message back",
            (text("ID"),),
            roles=MEMBERS,
            chat=("cancel",),
        ),
        Command(
            "help",
            "list the commands, or explain one",
            (may(words("COMMAND")),),
            roles=EVERYBODY,
            chat=("help", "start"),
            runs=Runs.LOCAL,
        ),
    ),
)

_LOOKING = Group(
    "Looking",
    (
        Command("status", "what needs you, runs, waits", roles=VIEWERS, chat=("status",)),
        Command("list", "all projects and their workers", roles=VIEWERS, chat=("list",)),
        Command("health", "what is well and what is not", roles=VIEWERS, chat=("health",)),
        Command(
            "watchdog",
            "live state of every process, what was healed",
            roles=VIEWERS,
            chat=("watchdog",),
        ),
        Command(
            "events",
            "the journal, one event a line",
            (switch("--follow"), option("--since", "SEQ", Kind.NUMBER)),
        ),
        Command("cost", "what the work has cost", roles=VIEWERS, chat=("cost",), later=True),
        Command(
            "recall",
            "search journal, conversations and library",
            (words("QUERY"), option("--limit", "N", Kind.NUMBER)),
            roles=MEMBERS | AGENTS,
            chat=("recall",),
            later=True,
        ),
    ),
)

_WORKERS = Group(
    "Workers",
    (
        Command(
            "workers",
            "the workers one can talk to",
            roles=VIEWERS,
            chat=("workers",),
            aliases=("workers list",),
        ),
        Command("workers show", "one worker in full", (text("ID"),), roles=VIEWERS),
        Command(
            "workers check",
            "check a registry file; every mistake with its line",
            (text("FILE"),),
            roles=VIEWERS,
            runs=Runs.LOCAL,
        ),
        Command(
            "swap",
            "move a worker to another CLI, keeping its conversation",
            (text("WORKER"), text("DRIVER")),
            later=True,
        ),
        Command(
            "drivers",
            "the CLIs there are, and what each lacks",
            roles=VIEWERS,
            runs=Runs.LOCAL,
        ),
        Command("terminal", "use a worker's own CLI in a terminal", (text("WORKER"),)),
        Command("terminal close", "end a worker's terminal", (text("WORKER"),)),
        Command("login", "log a CLI in, or take a key from stdin", (text("CLI"),), runs=Runs.LOCAL),
    ),
)

_LIMITS = Group(
    "Limits",
    (
        Command("limits", "who is limited, until when", roles=VIEWERS, chat=("limits",)),
        Command("limits cancel", "give up the limited turn of a worker", (text("WORKER"),)),
        Command("limits set", "say when it ends", (text("WORKER"), words("TIME")), later=True),
        Command("limits resume", "go on now", (text("WORKER"),)),
        Command(
            "parse-limit",
            "what the reset-time parser reads in a text",
            (words("TEXT"), option("--now", "ISO"), option("--tz", "ZONE")),
            roles=VIEWERS,
            runs=Runs.LOCAL,
            later=True,
        ),
    ),
)

_SAFETY = Group(
    "Safety",
    (
        Command(
            "emergency-stop",
            "stop every agent, or those of SCOPE, and start none until released",
            (may(text("SCOPE")), option("--level", "N", Kind.NUMBER)),
            roles=MEMBERS,
            chat=("emergency_stop", "emergency", "stop"),
            runs=Runs.LOCAL,
        ),
        Command(
            "release",
            "lift a stop",
            (text("STOP_ID"),),
            chat=("release",),
            runs=Runs.LOCAL,
        ),
        Command(
            "freeze",
            "pause every agent, or those of SCOPE, and start none until thawed",
            (may(text("SCOPE")),),
            chat=("freeze",),
            runs=Runs.LOCAL,
        ),
        Command(
            "thaw",
            "let what is frozen go on",
            (may(text("SCOPE")),),
            chat=("thaw",),
            runs=Runs.LOCAL,
        ),
        Command("approvals", "permission requests that wait for you", chat=("approvals",)),
        Command(
            "approve-request",
            "answer a permission request; without ANSWER, show it",
            (
                text("ID"),
                may(choice("ANSWER", "allow", "deny")),
                option("--reason", "TEXT"),
                option("--digest", "SHA256"),
            ),
            chat=("approve_request",),
            chat_rest="--reason",
        ),
    ),
)

_PROJECTS = Group(
    "Projects and settings",
    (
        Command("projects", "the registered projects", roles=VIEWERS, chat=("projects",)),
        Command(
            "project new",
            "set up a new project by a short interview",
            (text("NAME"), may(text("PATH")), option("--answers", "FILE")),
            chat=("new_project",),
            runs=Runs.LOCAL,
        ),
        Command(
            "project remove",
            "archive a project's state and take it out; its files stay",
            (text("NAME"), option("--yes-remove", "NAME"), switch("--with-folder")),
            chat=("remove_project",),
            runs=Runs.LOCAL,
        ),
        Command(
            "deploy",
            "run the deploy command of one project, or of `all`",
            (text("NAME"), switch("--yes")),
            chat=("deploy",),
            runs=Runs.LOCAL,
        ),
        Command(
            "trust",
            "show what the project's files would change, or trust one as it is",
            (may(text("FILE")),),
        ),
        Command("config", "the settings in force and where each comes from", runs=Runs.LOCAL),
        Command("journal rebuild", "fill the tables again from the events"),
        Command("journal archive", "move old output events away", later=True),
        Command(
            "pair",
            "pair a chat account by a one-time code",
            (option("--role", "ROLE"), switch("--list"), option("--drop", "PERSON")),
            runs=Runs.EITHER,
        ),
        Command("import", "take over the state files of an older bot", later=True),
    ),
)

TABLE = Table((_TALKING, _LOOKING, _WORKERS, *WORK, _LIMITS, _SAFETY, _PROJECTS, _RUNNING))
