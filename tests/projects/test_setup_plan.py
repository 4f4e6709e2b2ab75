"""What is made of the answers: whole files and settings (S1.29)."""

import json

from amiral.projects.onboarding import Answers
from amiral.projects.project import project_at
from amiral.projects.setup_plan import PlannedFile, Shipped, plan_setup
from amiral.projects.skills import Skill

REGISTRY = '{"version": 1, "workers": [{"id": "consultant"}, {"id": "developer"}]}'
SHIPPED = Shipped(
    REGISTRY,
    {"guarded": '{"version": 1}\n', "open": ""},
    (Skill("web", "the web", (), (), "WEB"), Skill("rust", "rust", (), (), "RUST")),
)
PROJECT = project_at("/code/tea", "tea")
FULL = Answers(
    *("A shop for tea", "rust", "axum", "gitlab ci", "cargo test", "make ship"),
    git=True,
    skills=("web",),
    cli="codex",
    active="consultant",
    members={"telegram:1": "viewer"},
    rights="guarded",
)
BARE = Answers(
    *("", "", "", "", "", ""),
    git=False,
    skills=(),
    cli="",
    active="developer",
    members={},
    rights="open",
)


def files(answers: Answers) -> dict[str, str]:
    return {one.file: one.text for one in plan_setup(PROJECT, answers, SHIPPED).files}


def test_everything_answered_is_somewhere():
    plan = plan_setup(PROJECT, FULL, SHIPPED)
    told = files(FULL)
    for word in ("A shop for tea", "rust", "axum", "cargo test", "gitlab ci", ".amiral/skills/web"):
        assert word in told["AGENTS.md"]
    assert told["CLAUDE.md"] == "@AGENTS.md\n"
    assert "codex; consultant active" in told["MANIFEST.md"]
    rows = json.loads(told[".amiral/config/workers_registry.json"])["workers"]
    assert [row["driver"] for row in rows] == ["codex", "codex"]
    roles = json.loads(told[".amiral/config/project_roles.json"])
    assert roles == {"version": 1, "defaults": {"activeRole": "consultant"}}
    assert told[".amiral/config/permissions.json"] == '{"version": 1}\n'
    assert told[".amiral/skills/web.md"] == "WEB"
    assert ".amiral/skills/rust.md" not in told
    assert plan.settings == {
        "path": "/code/tea",
        "test": "cargo test",
        "deploy": "make ship",
        "members": {"telegram:1": "viewer"},
    }
    assert plan.makes_repository


def test_what_was_not_answered_leaves_nothing():
    plan = plan_setup(PROJECT, BARE, SHIPPED)
    told = files(BARE)
    assert ".amiral/config/permissions.json" not in told
    assert told["AGENTS.md"].startswith("# tea\n\n`.amiral/`")
    assert "the first CLI found" in told["MANIFEST.md"]
    assert json.loads(told[".amiral/config/workers_registry.json"]) == json.loads(REGISTRY)
    assert (plan.settings, plan.makes_repository) == ({"path": "/code/tea"}, False)


def test_the_same_answers_give_the_same_plan():
    assert plan_setup(PROJECT, FULL, SHIPPED) == plan_setup(PROJECT, FULL, SHIPPED)


def test_state_is_no_work_of_the_project():
    assert PlannedFile(".amiral/.gitignore", "state/\n") in plan_setup(PROJECT, BARE, SHIPPED).files
