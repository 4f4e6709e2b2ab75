"""A program that behaves like an agent CLI, with a scenario in place of a model."""

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from amiral.base.errors import AmiralError, Broken, Conflict, Invalid
from amiral.base.failpoint import failpoint
from amiral.testbench.scenario import Say, Scenario, Turn
from amiral.testbench.scripted_io import Input, Interrupted, Malformed, Message, print_event
from amiral.testbench.scripted_tools import NAMES
from amiral.testbench.scripted_transcript import Effects, Transcript
from amiral.testbench.scripted_turns import Ending, Exit, Player, Rights

VERSION = "1.0.0"
_SESSION = re.compile(r"[0-9A-Za-z-]{8,64}", re.ASCII)


def main(argv: Sequence[str] | None = None) -> int:
    """Run until stdin ends; the result is the exit code."""
    options = _options().parse_args(argv)
    try:
        return _Cli(options).run()
    except Exit as ending:
        return ending.code
    except Malformed as line:
        print(f"Error: this input line is no message: {line}", file=sys.stderr)
    except AmiralError as error:
        print(f"Error: {error.message}", file=sys.stderr)
    except KeyboardInterrupt:
        return 0
    except BrokenPipeError:
        pass
    except OSError as error:
        print(f"Error: {error}", file=sys.stderr)
    return 1


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="scripted", allow_abbrev=False)
    parser.add_argument("--version", action="version", version=f"scripted {VERSION}")
    parser.add_argument(
        "--scenario", default="", help="YAML file; without one it answers by itself"
    )
    parser.add_argument("--home", required=True, help="folder for transcripts and effects")
    session = parser.add_mutually_exclusive_group(required=True)
    session.add_argument("--session-id", default="", help="name of a new session")
    session.add_argument("--resume", default="", help="name of a session to continue")
    parser.add_argument("--tools", default="all", help="the only tools it has, by comma")
    parser.add_argument("--model", default="scripted")
    parser.add_argument("--max-turns", type=int, default=0, help="model calls a message, 0: any")
    parser.add_argument("--ask-permissions", action="store_true", help="ask before changing things")
    return parser


class _Cli:
    """One session."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self._session = options.resume or options.session_id
        if not _SESSION.fullmatch(self._session):
            raise Invalid(f"{self._session!r} is no session id.")
        home = Path(options.home)
        tools = _tools(options.tools)
        self._scenario = _read_scenario(options.scenario)
        self._transcript = Transcript(home, self._session)
        self._effects = Effects(home, self._session)
        self._input = Input()
        rights = Rights(tools, options.ask_permissions, options.max_turns)
        self._player = Player(self._input, self._effects, rights)
        self._tools = tools

    def run(self) -> int:
        """Open the session and answer its messages."""
        if self._options.resume and not self._transcript.exists():
            reason = f"No conversation found with session ID {self._session}"
            print_event("final", how="context_lost", text="", reason=reason, session="")
            return 1
        if self._options.resume:
            self._transcript.load()
        elif self._transcript.exists():
            raise Conflict(f"Session ID {self._session} is already in use.")
        tools = sorted(self._tools)
        opened = {"version": VERSION, "model": self._options.model, "tools": tools}
        self._input.heed_sigint()
        print_event("opened", session=self._session, **opened)
        return self._serve()

    def _serve(self) -> int:
        while message := self._input.next_message():
            self._answer(message)
        return 0

    def _answer(self, message: Message) -> None:
        failpoint("scripted.received")
        self._transcript.message(message.id, message.text)
        failpoint("scripted.recorded")
        self._effects.executed(message.id)
        print_event("seen", id=message.id)
        failpoint("scripted.seen")
        try:
            ending = self._player.play(message, lambda: self._next_turn(message.text))
        except Interrupted:
            ending = Ending("interrupted", "", "interrupted")
        self._finish(message, ending)

    def _next_turn(self, text: str) -> Turn:
        if self._scenario is None:
            return Turn(say=Say(_own_answer(text)))
        turn, used = self._scenario.next_turn(text, self._transcript.used)
        self._transcript.progress(used)
        return turn

    def _finish(self, message: Message, ending: Ending) -> None:
        if ending.how:
            self._tell(message, ending)
        if ending.exit_code is not None:
            raise Exit(ending.exit_code)

    def _tell(self, message: Message, ending: Ending) -> None:
        failpoint("scripted.answered")
        self._transcript.final(message.id, ending.how, ending.text)
        failpoint("scripted.final_recorded")
        usage = {"input_tokens": _tokens(message.text), "output_tokens": _tokens(ending.text)}
        print_event(
            "final",
            how=ending.how,
            text=ending.text,
            reason=ending.reason,
            session=self._session,
            usage={**usage, "cost_usd": 0.0},
        )


def _tools(wanted: str) -> frozenset[str]:
    known = frozenset(NAMES.values())
    return known if wanted == "all" else known & frozenset(wanted.split(","))


def _read_scenario(name: str) -> Scenario | None:
    if not name:
        return None
    # Reading YAML costs more time than all the rest of the start.
    from amiral.testbench.scenario_yaml import parse_scenario  # noqa: PLC0415

    try:
        return parse_scenario(Path(name).read_text(encoding="utf-8"), name)
    except (OSError, UnicodeDecodeError) as error:
        raise Broken(f"{name} cannot be read: {error}") from error


def _own_answer(text: str) -> str:
    lines = [line.strip() for line in text.split("\n")]
    after_task = lines[lines.index("TASK") + 1 :] if "TASK" in lines else lines
    asked = next((line for line in after_task if line), "nothing")
    return f"Scripted worker, no model behind it. You asked: {asked}"


def _tokens(text: str) -> int:
    return len(text) // 4 + 1


if __name__ == "__main__":
    sys.exit(main())
