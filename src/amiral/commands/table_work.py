"""Pure: the rows of the command table that carry work out: specs, pipelines, rights, sprints."""

from amiral.commands.parameter import choice, many, may, option, switch, text, words
from amiral.commands.registry import (
    AGENTS,
    MEMBERS,
    VIEWERS,
    Command,
    Group,
    Runs,
)

_SPECS = Group(
    "Specs",
    (
        Command("specs", "all specs with their state", roles=VIEWERS, chat=("specs",)),
        Command("spec show", "one spec in full", (text("ID"),), roles=VIEWERS, chat=("spec",)),
        Command(
            "approve",
            "approve a spec; without ID, list what waits",
            (may(text("ID")),),
            chat=("approve",),
            aliases=("spec approve",),
        ),
        Command(
            "reject",
            "reject a spec; without ID, list what waits",
            (may(text("ID")), option("--reason", "TEXT")),
            chat=("reject",),
            chat_rest="--reason",
            aliases=("spec reject",),
        ),
        Command(
            "spec revise",
            "send a spec back to be written again",
            (text("ID"), option("--reason", "TEXT")),
            chat=("revise",),
            chat_rest="--reason",
        ),
        Command(
            "spec run", "carry a spec out again after a failure", (text("ID"),), chat=("retry",)
        ),
        Command("diff", "what a worker changed", (text("SPEC_OR_WORKER"),)),
        Command("merge", "take a worker's changes over", (text("SPEC_OR_WORKER"),)),
        Command("discard", "drop a worker's changes", (text("SPEC_OR_WORKER"),)),
    ),
)

_PROFILE = option("--profile", "NAME", many=True)

_PIPELINES = Group(
    "Pipelines",
    (
        Command("runs", "all runs with their state", roles=VIEWERS, later=True),
        Command(
            "run start",
            "start a pipeline: -a auto, -e economy, -x review, -t tests",
            (
                text("PIPELINE"),
                words("TASK"),
                switch("-a"),
                switch("-e"),
                switch("-x"),
                switch("-t"),
                _PROFILE,
            ),
            later=True,
        ),
        Command("run show", "one run in full", (text("ID"),), roles=VIEWERS, later=True),
        Command("run cancel", "end a run", (text("ID"),), later=True),
        Command("run resume", "go on with a run", (text("ID"),), later=True),
        Command(
            "gate",
            "answer a gate",
            (text("ID"), choice("ANSWER", "approve", "reject"), option("--note", "TEXT")),
            chat=("gate",),
            chat_rest="--note",
            later=True,
        ),
        Command(
            "pipeline check",
            "check steps, agents and profiles; every mistake with its line",
            (text("DIR"),),
            roles=VIEWERS,
            runs=Runs.LOCAL,
            later=True,
        ),
        Command(
            "prompt",
            "the assembled prompt of a step, by section",
            (text("PIPELINE"), text("STEP"), _PROFILE),
            roles=VIEWERS,
            runs=Runs.LOCAL,
            later=True,
        ),
    ),
)

_DELEGATION = Group(
    "Between workers",
    (
        Command("asks", "what workers asked each other", roles=VIEWERS, later=True),
        Command(
            "ask", "ask another worker", (text("WORKER"), words("TEXT")), roles=AGENTS, later=True
        ),
        Command("reply", "answer an ask", (text("ASK"), words("TEXT")), roles=AGENTS, later=True),
        Command("conversations", "all conversations", roles=MEMBERS),
        Command("conversation show", "one in full", (text("ID"),), roles=MEMBERS),
        Command(
            "conversation rotate",
            "go on in a new session",
            (text("ID"),),
            later=True,
        ),
    ),
)

_ROLE = option("--role", "ROLE")

_SPRINTS = Group(
    "Sprint workspaces",
    (
        Command("sprint open", "open a sprint workspace", (text("NAME"),), later=True),
        Command("sprint close", "close it", (text("NAME"),), later=True),
        Command("sprint show", "its state", (text("NAME"),), roles=VIEWERS, later=True),
        Command("sprint check", "check its files", (text("NAME"),), roles=VIEWERS, later=True),
        Command("sprint read", "one section", (text("SECTION"), _ROLE), roles=AGENTS, later=True),
        Command(
            "sprint note",
            "write a line into a section",
            (text("SECTION"), words("TEXT"), _ROLE),
            roles=AGENTS,
            later=True,
        ),
    ),
)

_WHOSE = (option("--worker", "W"), option("--policy", "FILE"))
_HERE = switch("--here")

_PERMISSIONS = Group(
    "Permissions and secrets",
    (
        Command(
            "permissions show",
            "the rules in force for a worker",
            _WHOSE,
            roles=VIEWERS,
            runs=Runs.LOCAL,
        ),
        Command(
            "permissions check",
            "the decision on a path or a command, with its rule",
            (
                choice("ACTION", "read", "write", "delete", "command"),
                words("TARGET"),
                *_WHOSE,
                _HERE,
            ),
            roles=VIEWERS,
            runs=Runs.LOCAL,
        ),
        Command(
            "permissions set",
            "write a rule into permissions.json",
            (
                choice("POSTURE", "allow", "ask", "deny"),
                choice("CAPABILITY", "read", "write", "delete", "execute-bash"),
                words("MATCH"),
                option("--worker", "W"),
            ),
        ),
        Command(
            "permissions project",
            "what a CLI is given for these rules",
            (text("DRIVER"), *_WHOSE),
            roles=VIEWERS,
            runs=Runs.LOCAL,
        ),
        Command(
            "permissions plan",
            "the compiled sandbox, as a worker gets it; --here: in this folder, not a worktree",
            (*_WHOSE, _HERE),
            roles=VIEWERS,
            runs=Runs.LOCAL,
        ),
        Command(
            "permissions probe",
            "prove the sandbox both ways, live",
            roles=VIEWERS,
            runs=Runs.LOCAL,
        ),
        Command(
            "sandbox run",
            "run one command inside the fence",
            (many("CMD"), option("--policy", "FILE"), option("--project-root", "DIR")),
            runs=Runs.LOCAL,
        ),
        Command("vault set", "keep a secret, read from stdin", (text("NAME"),), runs=Runs.LOCAL),
        Command("vault get", "write a secret out", (text("NAME"),), runs=Runs.LOCAL),
        Command("vault list", "the names of the secrets", runs=Runs.LOCAL),
        Command("vault remove", "forget a secret", (text("NAME"),), runs=Runs.LOCAL),
        Command("vault rotate", "encrypt all with a new key", runs=Runs.LOCAL),
        Command("vault check", "prove that every secret can be read", runs=Runs.LOCAL),
    ),
)

WORK = (_SPECS, _PIPELINES, _DELEGATION, _SPRINTS, _PERMISSIONS)
