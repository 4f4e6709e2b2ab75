"""What a command costs beside a bare Python: the hot ones, help, and a project process.

`python -m benchmarks startup`. Each round runs every command once, so that all meet the same noise.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.figures import Figure, ratios, spread

from amiral.testbench.rig import Rig, scripted_config, until

AMIRAL = str(Path(sys.executable).with_name("amiral"))
BARE = (sys.executable, "-c", "pass")
ROUNDS = 25
STARTS = 5
HOT = {
    "status": (AMIRAL, "status"),
    "say --wait 0": (AMIRAL, "say", "--wait", "0", "/c hi"),
    # One word too many: all is there and nothing is stopped.
    "emergency-stop, start-up": (AMIRAL, "emergency-stop", "too", "many"),
}
OTHERS = {
    "emergency-stop, with its proof": (AMIRAL, "emergency-stop"),
    "--help": (AMIRAL, "--help"),
}
# The worker is busy for the whole time, so that `say` is measured and not the turn it starts.
SCENARIO = "default: {hang: 3600}\n"


def cost_ms(argv: tuple[str, ...], rig: Rig) -> float:
    """Run one command to its end."""
    began = time.perf_counter()
    subprocess.run(argv, cwd=rig.project, env=rig.environ, capture_output=True, check=False)
    return (time.perf_counter() - began) * 1000


def hot_commands(folder: Path) -> list[Figure]:
    """Serve one project; stop another home where nothing runs, its proof of that included."""
    (folder / "scenario.yaml").write_text(SCENARIO)
    served = Rig(folder / "served", scripted_config(folder / "scenario.yaml")).start()
    idle = Rig(folder / "idle", "")
    took: dict[str, list[float]] = {name: [] for name in ("bare", *HOT, *OTHERS)}
    try:
        served.ask("say", "--wait", "0", "/c hi")
        until(lambda: served.told("TurnStarted"), "a busy worker")
        for _ in range(ROUNDS):
            took["bare"].append(cost_ms(BARE, served))
            for name, argv in (HOT | OTHERS).items():
                is_stop = name.startswith("emergency-stop")
                took[name].append(cost_ms(argv, idle if is_stop else served))
    finally:
        served.stop()
    bare = took["bare"]
    return [
        spread("python -c pass", bare, "ms"),
        *(ratios(f"amiral {name} / python -c pass", took[name], bare, 3.0) for name in HOT),
        *(ratios(f"amiral {name} / python -c pass", took[name], bare, None) for name in OTHERS),
    ]


def first_answers(folder: Path) -> list[Figure]:
    """From the start of a project process to its first answer, its journal there already."""
    rig = Rig(folder / "cold", scripted_config())
    starts, bare = [], []
    for _ in range(STARTS):
        bare.append(cost_ms(BARE, rig))
        began = time.perf_counter()
        rig.start().ask("health")
        starts.append((time.perf_counter() - began) * 1000)
        rig.kill()
    rig.stop()
    return [
        spread("amiral up → first answer", starts, "ms"),
        ratios("amiral up → first answer / python -c pass", starts, bare, 40.0),
    ]


def figures() -> list[Figure]:
    """Measure all of it."""
    with tempfile.TemporaryDirectory(prefix="amiral-bench-") as name:
        folder = Path(name).resolve()
        for part in ("served", "idle", "cold"):
            (folder / part).mkdir()
        return [*hot_commands(folder), *first_answers(folder)]
