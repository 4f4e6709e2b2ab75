"""`amiral demo`: the whole journey on a throw-away project, scripted worker, no account, no key."""

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from amiral.base.clock import SystemClock
from amiral.base.errors import AmiralError, Broken
from amiral.base.plain import one_line
from amiral.commands.output import print_reply
from amiral.commands.registry import Parsed, Reply
from amiral.local.sample import make_sample
from amiral.local.terminal import answer, show
from amiral.testbench.rig import Answer, Rig, scripted_config, until

_SCENARIO = Path(__file__).parent.parent / "framework" / "demo" / "scenario.yaml"
_QUESTION = "/c How should the shop take discount codes?"
_SLOW = "/c Think slowly, please"
_PATIENCE_S = 20.0
_CONFLICT = 6


def run(argv: list[str]) -> int:
    """Play it and tell each stage as it is reached."""
    return answer(argv, lambda parsed: _demo(parsed, as_json="--json" in argv))


def _demo(parsed: Parsed, *, as_json: bool) -> Reply:
    folder = Path(tempfile.mkdtemp(prefix="amiral-demo-")).resolve()
    is_kept = bool(parsed.arguments.get("keep"))
    try:
        rig = Rig(folder, scripted_config(_SCENARIO))
        make_sample(rig.home, rig.project)
        is_ok = _played(rig, as_json=as_json)
        text = "✓ the demo has played" if is_ok else "✗ the demo failed"
        data: dict[str, object] = {"stage": "demo", "ok": is_ok}
        if is_kept:
            text += f"\nkept in {folder}: AMIRAL_HOME={rig.home} amiral up {rig.project}"
            data |= {"home": str(rig.home), "project": str(rig.project)}
        return Reply(text, data, 0 if is_ok else 1)
    finally:
        if not is_kept:
            shutil.rmtree(folder, ignore_errors=True)


def _played(rig: Rig, *, as_json: bool) -> bool:
    """Play all stages; whatever becomes of them, nothing is left running, nor stopped for ever."""
    try:
        return all(_told(stage, as_json=as_json) for stage in _play(rig))
    finally:
        rig.run("release", str(rig.stop().json()["stop_id"]))


@dataclass(frozen=True)
class _Stage:
    stage: str
    ok: bool
    ms: int
    detail: str


def _play(rig: Rig) -> Iterator[_Stage]:
    """Go through the stages in order; after one that fails, those that need it are not tried."""
    journey = _Journey(rig)
    clock = SystemClock()
    for name, step in journey.steps():
        began_s = clock.monotonic_s()
        try:
            detail, is_ok = step(), True
        except AmiralError as error:
            detail, is_ok = error.message, False
        except (LookupError, TypeError, ValueError, OSError) as error:
            detail, is_ok = f"an answer was not as expected: {error!r}", False
        yield _Stage(name, is_ok, round((clock.monotonic_s() - began_s) * 1000), detail)
        if not is_ok:
            return


def _told(stage: _Stage, *, as_json: bool) -> bool:
    mark = "✓" if stage.ok else "✗"
    text = f"{mark} {stage.stage:<21} {stage.ms / 1000:5.1f} s  {one_line(stage.detail, 200)}"
    show(print_reply(Reply(text, stage), as_json=as_json))
    sys.stdout.flush()
    return stage.ok


class _Journey:
    """Consult, approve, execute, kill, stop: each step gives what was seen, or raises Broken."""

    def __init__(self, rig: Rig) -> None:
        self._rig = rig
        self._spec = ""

    def steps(self) -> tuple[tuple[str, Callable[[], str]], ...]:
        """Name the stages, in order."""
        return (
            ("consulted", self._consult),
            ("spec_created", self._find_spec),
            ("approved", self._approve),
            ("executing", self._execute),
            ("files_edited", self._edited),
            ("tests_passed", self._tested),
            ("done", self._done),
            ("killed_and_recovered", self._recover),
            ("stopped", self._stop),
        )

    def _consult(self) -> str:
        self._rig.start()
        said = self._asked("say", _QUESTION)
        if said["outcome"] != "done":
            raise Broken(f"the consultant ended as {said['outcome']}: {said['reason']}")
        return str(said["replies"][0]["text"]).partition("\n")[0]

    def _find_spec(self) -> str:
        spec = until(self._first_spec, "a spec", _PATIENCE_S)
        if spec["status"] != "draft":
            raise Broken(f"the spec is {spec['status']}, not a draft")
        self._spec = spec["id"]
        return f"{self._spec} draft: {spec['title']}"

    def _approve(self) -> str:
        self._asked("approve", self._spec)
        return f"amiral approve {self._spec}"

    def _execute(self) -> str:
        executing = self._event("SpecExecuting")
        return f"{executing['worker']} in a worktree on branch {executing['branch']}"

    def _edited(self) -> str:
        done = self._event("SpecDone")
        checkout = (self._rig.project / "cart.py").read_text("utf-8")
        if "CODES" in checkout or not done["files"]:
            raise Broken("the work is not in the worktree, or it is in the checkout")
        return ", ".join(done["files"])

    def _tested(self) -> str:
        tested = self._event("SpecTested")
        if not tested["passed"] or not tested["command"]:
            raise Broken(f"the tests did not pass: {tested['summary']}")
        return str(tested["command"])

    def _done(self) -> str:
        spec = self._asked("spec", "show", self._spec)
        if spec["status"] != "done" or len(spec["ticks"]) != len(spec["acceptance"]):
            raise Broken(f"the spec is {spec['status']}")
        return f"{len(spec['ticks'])} criteria met, commit {spec['commit'][:12]}"

    def _recover(self) -> str:
        """Kill the project process in mid turn; the answer must come exactly once."""
        message = self._asked("say", "--wait", "0", _SLOW)["message_id"]
        self._wait_for("MessageSeen", message)
        killed = self._rig.pid
        self._rig.kill()
        self._rig.start()
        self._wait_for("TurnEnded", message)
        ends = [one for one in self._events("TurnEnded") if one["message"] == message]
        starts = [one for one in self._events("TurnStarted") if one["message"] == message]
        if [one["outcome"] for one in ends] != ["done"] or len(starts) != 1:
            raise Broken(f"the answer came {len(ends)} times, in {len(starts)} turns")
        return f"process {killed} killed in mid turn; its answer came once: {ends[0]['text'][:40]}…"

    def _stop(self) -> str:
        report = self._rig.run("emergency-stop", "--json").json()
        refused = self._rig.ask("say", "/c Are you there?")
        if report["survivors"] or refused.code != _CONFLICT:
            raise Broken(f"the stop left {report['survivors']} processes, say gave {refused.code}")
        return f"stop {report['stop_id']}: {report['survivors']} processes left, nothing starts"

    def _first_spec(self) -> Any:  # noqa: ANN401 a JSON document
        specs = self._asked("specs")
        return specs[0] if specs else None

    def _event(self, name: str) -> Any:  # noqa: ANN401
        """Wait for the event of this name about the spec; a failure of the spec ends the wait."""

        def find() -> Any:  # noqa: ANN401
            for failed in self._events("SpecFailed"):
                raise Broken(f"the spec failed: {failed['reason']}")
            return next((one for one in self._events(name) if one["spec"] == self._spec), None)

        return until(find, name, _PATIENCE_S)

    def _wait_for(self, name: str, message: str) -> None:
        def is_there() -> bool:
            return any(one["message"] == message for one in self._events(name))

        until(is_there, name, _PATIENCE_S)

    def _events(self, name: str) -> list[Any]:
        return [one["payload"] for one in self._rig.events() if one["name"] == name]

    def _asked(self, *argv: str) -> Any:  # noqa: ANN401
        told: Answer = self._rig.ask(*argv)
        if told.code != 0:
            raise Broken(f"amiral {' '.join(argv)} answered {told.code}: {told.out}{told.err}")
        return told.json()
