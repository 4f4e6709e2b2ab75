"""Commands that do without a project process: help, the router's decision, codes for people."""

import os
from collections.abc import Sequence
from pathlib import Path

from amiral import __version__
from amiral.agents.declared import Declared, load_declared, shipped
from amiral.agents.worker import parse_registry
from amiral.base.errors import AmiralError, Broken, NotFound
from amiral.commands.grammar import as_data, describe, route
from amiral.commands.help import explain, overview
from amiral.commands.output import print_reply
from amiral.commands.registry import Parsed, Reply, Runs, Unavailable
from amiral.commands.table import TABLE
from amiral.config import find_home
from amiral.local.terminal import answer, show
from amiral.projects.project import Project
from amiral.projects.store import Projects
from amiral.projects.trust import Trust

_HELP = ("-h", "--help", "help")


class Unreached(AmiralError):
    """No project process answers, and the command needs one."""

    kind = "unreachable"
    exit_code = 3


def run(argv: Sequence[str]) -> int:
    """Answer help, `--version`, `workers check` and `route`."""
    if list(argv) in (["--version"], ["--version", "--json"]):
        return show(print_reply(Reply(f"amiral {__version__}"), as_json="--json" in argv))
    if not argv or all(word in (*_HELP, "--json") for word in argv):
        return show(print_reply(Reply(overview(TABLE, __version__)), as_json=False))
    return answer(argv, _carry_out)


def run_unreached(argv: Sequence[str], reason: str) -> int:
    """Do without the project process what can be done, else say that it is not there."""

    def carry_out(parsed: Parsed) -> Reply:
        row = TABLE.by_name()[parsed.command]
        if parsed.project:
            _projects().named(parsed.project)
        if row.runs is Runs.PROJECT and not row.later:
            raise Unreached(reason, "run `amiral up`")
        return _carry_out(parsed)

    return answer(argv, carry_out)


def _carry_out(parsed: Parsed) -> Reply:
    match parsed.command, parsed.arguments:
        case "help", {"command": str() as name}:
            return Reply(explain(TABLE, name))
        case "help", _:
            return Reply(overview(TABLE, __version__))
        case "route", {"text": str() as text}:
            return _route(text, parsed.project)
        case "workers check", {"file": str() as file}:
            return _check_workers(Path(file))
        case "pair", _:
            return _pair(parsed)
        case _:
            raise Unavailable(f"`{parsed.command}` is not available in this version")


def _route(text: str, project: str) -> Reply:
    declared = _declared_here(project)
    workers = [worker.id for worker in declared.workers]
    routed = route(text, workers, TABLE.by_chat_name(), declared.roles.active_role)
    return Reply(describe(routed), as_data(routed))


def _pair(parsed: Parsed) -> Reply:
    # It costs an event loop, which help need not load.
    from amiral.local.pairing import pair  # noqa: PLC0415

    return pair(parsed, _project_here(parsed.project))


def _project_here(name: str) -> Project | None:
    return _projects().named(name) if name else _projects().find(Path.cwd())


def _declared_here(name: str) -> Declared:
    project = _project_here(name)
    return load_declared(Trust(find_home(os.environ)), project) if project else shipped()


def _projects() -> Projects:
    return Projects(find_home(os.environ), Path.home())


def _check_workers(file: Path) -> Reply:
    try:
        text = file.read_text("utf-8", "replace")
    except FileNotFoundError:
        raise NotFound(f"there is no file {file}") from None
    except OSError as error:
        raise Broken(f"cannot read {file}: {os.strerror(error.errno or 0)}") from None
    registry = parse_registry(text, str(file))
    data = {
        "ok": not registry.errors,
        "workers": [worker.id for worker in registry.workers],
        "errors": registry.errors,
    }
    if registry.errors:
        return Reply("\n".join(registry.errors), data, exit_code=1)
    return Reply(f"✓ {len(registry.workers)} workers, no mistake", data)
