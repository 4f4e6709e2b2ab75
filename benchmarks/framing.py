"""How fast bytes of a CLI become signals: beside json.loads, and beside claude-agent-sdk.

`python -m benchmarks.framing [--sdk PYTHON]`: PYTHON is an interpreter that has claude-agent-sdk.
Rates are messages a second of CPU time of the reading process; all read the same pipe.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from amiral.agents.drivers.claude.driver import DRIVER, ClaudeState
from amiral.agents.fields import read_fields
from amiral.agents.framing import Framer, Line

ROOT = Path(__file__).resolve().parent.parent
MESSAGES = 60_000
ROUNDS = 5
CHUNK = 256 * 1024
GOAL = 4.0
MIB = 1024 * 1024
# Answers the one question the SDK asks first, then writes the file it finds beside itself.
FAKE_CLI = """#!{python}
import json, pathlib, sys
if "-v" in sys.argv or "--version" in sys.argv:
    print("2.1.332 (Claude Code)")
    raise SystemExit
asked = json.loads(sys.stdin.readline()) if "--input-format" in sys.argv else {{}}
inner = {{"subtype": "success", "request_id": asked.get("request_id"), "response": {{}}}}
print(json.dumps({{"type": "control_response", "response": inner}}), flush=True)
sys.stdout.buffer.write(pathlib.Path(__file__).with_name("lines").read_bytes())
"""


def message(size: int) -> bytes:
    """One line of `size` bytes as Claude Code writes it."""
    usage = {"input_tokens": 1200, "cache_read_input_tokens": 0, "output_tokens": 1}
    inner = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "usage": usage}
    event = {"type": "assistant", "message": inner, "parent_tool_use_id": None, "session_id": "s"}
    empty = len(json.dumps({**event, "message": {**inner, "content": [text("")]}})) + 1
    words = "x" * (size - empty)
    return json.dumps({**event, "message": {**inner, "content": [text(words)]}}).encode() + b"\n"


def text(words: str) -> dict[str, str]:
    return {"type": "text", "text": words}


def final() -> bytes:
    told = {"duration_ms": 1, "duration_api_ms": 1, "num_turns": 1, "session_id": "s"}
    ended = {"type": "result", "subtype": "success", "is_error": False, "result": "x"}
    return json.dumps({**ended, **told}).encode() + b"\n"


def chunks_of(cli: Path):
    with subprocess.Popen([str(cli)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        while chunk := os.read(child.stdout.fileno(), CHUNK):
            yield chunk


def read_with_driver(cli: Path) -> int:
    """Framer and driver: every signal the product gets."""
    framer, state, count = Framer(), ClaudeState(running="m"), 0
    for chunk in chunks_of(cli):
        for line in framer.feed(chunk):
            assert isinstance(line, Line)
            read = DRIVER.read(state, line.data)
            state = read.state
            count += len(read.signals)
    return count


def read_envelopes(cli: Path) -> int:
    """Framer and the decoding of each line alone."""
    framer, count = Framer(), 0
    for chunk in chunks_of(cli):
        for line in framer.feed(chunk):
            assert isinstance(line, Line)
            fields = read_fields(line.data)
            count += fields is not None and fields.text("type") in ("assistant", "result")
    return count


def read_plainly(cli: Path) -> int:
    """What one would write first."""
    rest, count = b"", 0
    for chunk in chunks_of(cli):
        *lines, rest = (rest + chunk).split(b"\n")
        count += sum(json.loads(line)["type"] in ("assistant", "result") for line in lines)
    return count


READERS = {"json": read_plainly, "envelope": read_envelopes, "driver": read_with_driver}


def rate(name: str, cli: Path) -> float:
    """The best of some rounds, in messages a second of our own CPU time."""
    best = 0.0
    for _ in range(ROUNDS):
        began = time.process_time()
        count = READERS[name](cli)
        assert count in (MESSAGES + 1, MESSAGES), f"{name} read {count}"
        best = max(best, count / (time.process_time() - began))
    return best


def long_line(mebibytes: int) -> dict[str, float]:
    """One line of that size in 64 KiB chunks: CPU seconds, and growth of this process."""
    framer = Framer()
    size = 65536
    before = peak_kib()
    began = time.process_time()
    for _ in range(mebibytes * MIB // size):
        assert framer.feed(b"x" * size) == []
    (line,) = framer.feed(b"\n")
    cpu_s = time.process_time() - began
    growth = (peak_kib() - before) / 1024
    kept = len(line.data) / MIB if isinstance(line, Line) else 0
    return {"cpu_ms": round(cpu_s * 1000, 1), "growth_mib": round(growth), "kept_mib": kept}


def peak_kib() -> int:
    """The most memory this process has had; unlike ru_maxrss nothing is inherited."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition("VmHWM:")[2].split()[0])


def in_child(*command: str) -> str:
    """Run one measurement alone, so that peaks are its own."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    child = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
    return child.stdout


def compare(sdk: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        cli = Path(folder, "claude")
        cli.write_text(FAKE_CLI.format(python=sys.executable))
        cli.chmod(0o755)
        Path(folder, "lines").write_bytes(message(1024) * MESSAGES + final())
        ours = (sys.executable, __file__, "--cli", str(cli), "--rate")
        rates = {name: float(in_child(*ours, name)) for name in READERS}
        if sdk:
            beside = str(ROOT / "benchmarks" / "framing_sdk.py")
            rates["sdk"] = float(in_child(sdk, beside, str(cli), str(ROUNDS)))
    for name, found in rates.items():
        print(f"{name:10} {found:10,.0f} messages of 1 KiB a second")
    beside = "sdk" if sdk else "json"
    for name in ("envelope", "driver"):
        ratio = rates[name] / rates[beside]
        goal = f" (goal {GOAL})" if sdk and name == "envelope" else ""
        print(f"{name} / {beside} = {ratio:.1f}{goal}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.framing")
    parser.add_argument("--sdk", default="", metavar="PYTHON")
    parser.add_argument("--rate", choices=READERS, help=argparse.SUPPRESS)
    parser.add_argument("--cli", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--long", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.rate:
        print(rate(options.rate, options.cli))
    elif options.long:
        print(json.dumps(long_line(options.long)))
    else:
        compare(options.sdk)
        for mebibytes in (1, 16, 64, 256):
            measured = in_child(sys.executable, __file__, "--long", str(mebibytes))
            print(f"line of {mebibytes:3} MiB", measured, end="")


if __name__ == "__main__":
    main()
