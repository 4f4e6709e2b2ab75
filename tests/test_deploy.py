"""What lies in deploy/ can be read by what will read it, and calls only commands that exist.

Nothing of it is run here: there is neither systemd nor Docker on the machines that test.
"""

import configparser
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from amiral.base.setting_keys import NAMED, PLAIN
from amiral.commands.table import TABLE

DEPLOY = Path(__file__).parent.parent / "deploy"
UNITS = sorted(DEPLOY.glob("systemd/*/*.service"))
SECTIONS = {
    "Unit": {"Description", "After", "Wants"},
    "Service": {
        *("User", "Group", "Environment", "StateDirectory", "StateDirectoryMode"),
        *(
            "LogsDirectory",
            "LogsDirectoryMode",
            "ExecStart",
            "KillMode",
            "Restart",
            "RestartSec",
            "RestartPreventExitStatus",
        ),
        *("Delegate", "NoNewPrivileges", "LimitNOFILE", "OOMScoreAdjust"),
    },
    "Install": {"WantedBy"},
}


def unit(path: Path) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(interpolation=None, strict=True)
    parser.optionxform = str  # type: ignore[method-assign,assignment]
    parser.read_string(path.read_text("utf-8"))
    return parser


def named(path: Path) -> str:
    return f"{path.parent.name}-{path.name}"


def test_there_are_units_for_hub_guard_and_child_of_user_and_system():
    names = ["amiral-child@.service", "amiral-guard.service", "amiral-hub.service"]
    assert [path.name for path in UNITS] == names * 2


@pytest.mark.parametrize("path", UNITS, ids=named)
def test_a_unit_says_only_what_systemd_knows(path):
    read = unit(path)
    assert set(read.sections()) == set(SECTIONS)
    for section, known in SECTIONS.items():
        assert set(read[section]) <= known


@pytest.mark.parametrize("path", UNITS, ids=named)
def test_a_unit_starts_a_program_of_ours_by_an_absolute_path(path):
    program, *words = unit(path)["Service"]["ExecStart"].split()
    assert program.startswith(("/", "%h/"))
    if program.endswith("/python"):
        assert words == ["-m", "amiral.guard"]
    else:
        assert words[0] in TABLE.by_name()
        assert not TABLE.by_name()[words[0]].later


@pytest.mark.parametrize("path", UNITS, ids=named)
def test_a_unit_sets_only_variables_that_mean_something(path):
    for entry in unit(path)["Service"].get("Environment", "").split():
        variable = entry.partition("=")[0]
        section, _, key = variable.removeprefix("AMIRAL_").lower().partition("_")
        is_setting = key in {**PLAIN, **NAMED}.get(section, {})
        assert variable in ("AMIRAL_HOME", "BOT_NAME") or is_setting, variable


@pytest.mark.parametrize("path", UNITS, ids=named)
def test_ending_a_unit_never_ends_the_agents(path):
    service = unit(path)["Service"]
    assert "guard" in path.name or service["KillMode"] == "process"


def test_the_compose_file_publishes_no_port():
    told = yaml.safe_load((DEPLOY / "docker" / "compose.yaml").read_text("utf-8"))
    (service,) = told["services"].values()
    assert "ports" not in service
    assert (DEPLOY / "docker" / "Dockerfile").samefile(
        DEPLOY / "docker" / service["build"]["context"] / service["build"]["dockerfile"]
    )


def test_the_dockerfile_ends_in_a_command_of_ours_and_not_as_root():
    text = (DEPLOY / "docker" / "Dockerfile").read_text("utf-8")
    assert re.findall(r"^USER (\w+)$", text, re.MULTILINE) == ["amiral"]
    assert re.search(r'^CMD \["amiral", "hub"\]$', text, re.MULTILINE)


def test_the_setup_script_can_be_read_by_its_shell():
    script = DEPLOY / "vps-setup.sh"
    shell = shutil.which("bash")
    assert shell is not None
    assert subprocess.run([shell, "-n", script], check=False).returncode == 0
    assert script.stat().st_mode & 0o111
