"""Pure: what is made of a new project's answers: files and its settings."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from amiral.projects.onboarding import Answers
from amiral.projects.project import FOLDER, Project
from amiral.projects.skills import Skill

IGNORED = "state/\n"
"""What `.amiral/.gitignore` holds: the mirrors are no work of the project's."""


@dataclass(frozen=True)
class PlannedFile:
    """A file of the project, by its path in it, whole."""

    file: str
    text: str


@dataclass(frozen=True)
class Shipped:
    """What amiral brings: its workers as a registry, the text of each kind of rights or ""."""

    registry: str
    rights: Mapping[str, str]
    skills: tuple[Skill, ...]


@dataclass(frozen=True)
class Plan:
    """All that is to be there."""

    project: Project
    files: tuple[PlannedFile, ...]
    settings: Mapping[str, object]
    makes_repository: bool


def plan_setup(project: Project, answers: Answers, shipped: Shipped) -> Plan:
    """Plan a project. The same answers give the same plan: it names no hour and no machine."""
    skills = tuple(skill for skill in shipped.skills if skill.name in answers.skills)
    files = {
        "AGENTS.md": _agents(project.name, answers, skills),
        "CLAUDE.md": "@AGENTS.md\n",
        "MANIFEST.md": _manifest(project.name, answers),
        f"{FOLDER}/.gitignore": IGNORED,
        f"{FOLDER}/config/workers_registry.json": _registry(shipped.registry, answers.cli),
        f"{FOLDER}/config/project_roles.json": _roles(answers.active),
        f"{FOLDER}/config/permissions.json": shipped.rights[answers.rights],
        **{f"{FOLDER}/{skill.file}": skill.text for skill in skills},
    }
    return Plan(
        project,
        tuple(PlannedFile(file, text) for file, text in files.items() if text),
        dict(_settings(project.path, answers)),
        answers.git,
    )


def _settings(path: str, answers: Answers) -> Iterator[tuple[str, object]]:
    yield "path", path
    for key in ("test", "deploy", "members"):
        if value := getattr(answers, key):
            yield key, value


def _agents(name: str, answers: Answers, skills: tuple[Skill, ...]) -> str:
    lines = [f"# {name}", *(["", answers.about] if answers.about else [])]
    lines += ["", *stack] if (stack := [*_stack(answers)]) else []
    if skills:
        lines += ["", "Read first, where it fits what you do:", ""]
        lines += [f"- `{FOLDER}/{skill.file}`: {skill.description}" for skill in skills]
    lines += ["", f"`{FOLDER}/` is the owner's: read it, change nothing in it."]
    return "\n".join(lines) + "\n"


def _manifest(name: str, answers: Answers) -> str:
    lines = [f"# What amiral was told of {name}", "", *_stack(answers)]
    lines += [
        f"- Workers: driven by {answers.cli or 'the first CLI found'}; {answers.active} active"
    ]
    lines += [f"- Rights: {answers.rights}"]
    lines += [f"- Skills: {', '.join(answers.skills) or 'none'}", ""]
    lines += [f"Workers, roles and rights are set in `{FOLDER}/config/`, commands in the home of"]
    lines += ["amiral. Nothing reads this page: change it as you like."]
    return "\n".join(lines) + "\n"


def _stack(answers: Answers) -> Iterator[str]:
    for title, value in (
        ("Language", answers.language),
        ("Framework", answers.framework),
        ("Tests", f"`{answers.test}`" if answers.test else ""),
        ("CI", answers.ci),
    ):
        if value:
            yield f"- {title}: {value}"


def _registry(shipped: str, cli: str) -> str:
    document = json.loads(shipped)
    driver = {"driver": cli} if cli else {}
    document["workers"] = [{**row, **driver} for row in document["workers"]]
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"


def _roles(active: str) -> str:
    return json.dumps({"version": 1, "defaults": {"activeRole": active}}, indent=2) + "\n"
