"""claude-agent-sdk in a throw-away environment under build/, for benchmarks alone."""

import subprocess
import sys
import venv
from pathlib import Path

PACKAGE = "claude-agent-sdk"
FOLDER = Path(__file__).resolve().parent.parent / "build" / "bench-sdk"
TIMEOUT_S = 300


def sdk_python() -> str:
    """Give an interpreter that has the package, "" when none can be had: why is told on stderr.

    It is installed by pip, from whatever index pip is set up for, the first time it is wanted.
    """
    python = FOLDER / "bin" / "python"
    if not _has_it(python):
        try:
            venv.create(FOLDER, clear=True, with_pip=True)
            pip = [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
            command = [*pip, PACKAGE]
            subprocess.run(command, check=True, capture_output=True, timeout=TIMEOUT_S)
        except (OSError, subprocess.SubprocessError) as error:
            print(
                f"{PACKAGE} cannot be installed, its figures are left out: {error}", file=sys.stderr
            )
            return ""
    return str(python)


def _has_it(python: Path) -> bool:
    if not python.exists():
        return False
    ran = subprocess.run(
        [python, "-c", "import claude_agent_sdk"], capture_output=True, check=False
    )
    return ran.returncode == 0
