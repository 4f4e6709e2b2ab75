"""Behaviour of trust: a repository never takes over the host."""

import json
from pathlib import Path

import pytest

from amiral.base.errors import Conflict, NotFound
from amiral.projects.project import project_at
from amiral.projects.trust import State, Trust

REGISTRY = "config/workers_registry.json"


@pytest.fixture
def project(tmp_path):
    (tmp_path / "shop" / ".amiral" / "config").mkdir(parents=True)
    return project_at(str(tmp_path / "shop"), "shop")


@pytest.fixture
def trust(tmp_path):
    return Trust(tmp_path / "home")


def put(project, text, file=REGISTRY):
    path = Path(project.path) / ".amiral" / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def trust_as_shown(trust, project, file=REGISTRY):
    shown = trust.show(project, file)
    trust.trust(project, shown.file, shown.sha256, 1000)
    return shown


def test_a_file_nobody_trusted_has_no_effect_and_says_how_to_change_that(trust, project):
    put(project, "one")
    now = trust.in_force(project, REGISTRY)
    assert (now.state, now.text, now.found) == (State.NEW, None, "one")
    assert now.notice == f"{REGISTRY} has no effect until you trust it: `amiral trust {REGISTRY}`"


def test_a_file_that_is_not_there_is_nothing_to_tell(trust, project):
    now = trust.in_force(project, REGISTRY)
    assert (now.state, now.text, now.notice) == (State.ABSENT, None, "")


def test_a_trusted_file_is_in_force_after_a_restart(trust, project, tmp_path):
    put(project, "one")
    trust_as_shown(trust, project)
    now = Trust(tmp_path / "home").in_force(project, REGISTRY)
    assert (now.state, now.text, now.notice) == (State.TRUSTED, "one", "")


def test_a_changed_file_falls_back_to_the_trusted_version_with_a_notice(trust, project):
    put(project, "one")
    trust_as_shown(trust, project)
    put(project, "two")
    now = trust.in_force(project, REGISTRY)
    assert (now.state, now.text, now.found) == (State.CHANGED, "one", "two")
    assert "the version you trusted stays in force (it has changed)" in now.notice
    trust_as_shown(trust, project)
    assert trust.in_force(project, REGISTRY).text == "two"


def test_deleting_or_replacing_a_trusted_file_lifts_nothing(trust, project):
    path = put(project, "one")
    trust_as_shown(trust, project)
    path.unlink()
    now = trust.in_force(project, REGISTRY)
    assert (now.state, now.text) == (State.GONE, "one")
    assert "it is gone" in now.notice
    path.symlink_to("/etc/passwd")
    now = trust.in_force(project, REGISTRY)
    assert (now.state, now.text, now.found) == (State.CHANGED, "one", None)
    assert "symbolic link" in now.notice


def test_content_that_changed_after_it_was_shown_is_not_trusted(trust, project):
    put(project, "one")
    shown = trust.show(project, REGISTRY)
    put(project, "two")
    with pytest.raises(Conflict, match="has changed since it was shown"):
        trust.trust(project, REGISTRY, shown.sha256, 1)
    assert trust.in_force(project, REGISTRY).state is State.NEW


def test_the_owner_sees_a_diff_with_what_is_in_force(trust, project):
    put(project, "a\nb\n")
    assert "+a" in trust_as_shown(trust, project).diff
    put(project, "a\nc\n")
    lines = trust.show(project, REGISTRY).diff.split("\n")
    assert lines[:2] == [f"--- {REGISTRY} (in force)", f"+++ {REGISTRY} (now)"]
    assert "-b" in lines
    assert "+c" in lines


def test_a_long_text_is_shown_whole_rather_than_compared_for_minutes(trust, project):
    text = "\n".join(str(number % 7) for number in range(4000))
    put(project, text)
    assert trust.show(project, REGISTRY).diff.endswith(text)


@pytest.mark.parametrize(
    "typed",
    [
        REGISTRY,
        "workers_registry.json",
        ".amiral/config/workers_registry.json",
        "./.amiral/config/workers_registry.json",
        "{path}/.amiral/config/workers_registry.json",
    ],
)
def test_a_file_is_named_in_any_clear_way(trust, project, typed):
    put(project, "one")
    assert trust.show(project, typed.format(path=project.path)).file == REGISTRY


def test_what_is_not_there_or_not_clear_is_refused(trust, project):
    put(project, "x", "skills/a.md")
    put(project, "x", "agents/a.md")
    with pytest.raises(NotFound, match=r"no file 'a\.md' waits"):
        trust.show(project, "a.md")
    with pytest.raises(NotFound, match=r"did you mean skills/a.md\?"):
        trust.show(project, "skill/a.md")
    put(project, "one").unlink()
    (put(project, "one")).unlink()
    with pytest.raises(NotFound):
        trust.show(project, REGISTRY)


def test_a_file_that_cannot_be_used_cannot_be_trusted(trust, project):
    path = put(project, "one")
    path.unlink()
    path.symlink_to("/etc/passwd")
    assert trust.in_force(project, REGISTRY).notice == (
        f"{REGISTRY} has no effect: it is a symbolic link, or lies behind one"
    )
    with pytest.raises(NotFound, match="cannot be trusted: it is a symbolic link"):
        trust.show(project, REGISTRY)


def test_everything_that_waits_is_listed(trust, project):
    put(project, "one")
    put(project, "x", "skills/ui.md")
    trust_as_shown(trust, project)
    assert [one.file for one in trust.waiting(project)] == ["skills/ui.md"]
    trust_as_shown(trust, project, "skills/ui.md")
    assert trust.waiting(project) == ()
    put(project, "one").unlink()
    assert [one.state for one in trust.waiting(project)] == [State.GONE]
    assert set(trust.files(project)) == {REGISTRY, "skills/ui.md"}


def test_trust_can_be_taken_back(trust, project):
    put(project, "one")
    trust_as_shown(trust, project)
    assert trust.forget(project, "workers_registry.json") == REGISTRY
    assert trust.in_force(project, REGISTRY).state is State.NEW


def test_trust_is_of_one_project_only(trust, project, tmp_path):
    put(project, "one")
    trust_as_shown(trust, project)
    (tmp_path / "other" / ".amiral" / "config").mkdir(parents=True)
    other = project_at(str(tmp_path / "other"), "shop")
    put(other, "one")
    assert trust.in_force(other, REGISTRY).state is State.NEW


def test_a_damaged_copy_is_never_in_force(trust, project, tmp_path):
    put(project, "one")
    shown = trust_as_shown(trust, project)
    copy = tmp_path / "home" / "projects" / project.id / "trusted" / shown.sha256
    assert copy.read_text() == "one"
    copy.write_text("evil")
    put(project, "two")
    now = trust.in_force(project, REGISTRY)
    assert (now.state, now.text) == (State.CHANGED, None)
    assert "its trusted copy is lost" in now.notice
    copy.unlink()
    assert trust.in_force(project, REGISTRY).text is None


def test_the_trust_file_is_private_and_a_broken_one_falls_back_loudly_r37(trust, project, tmp_path):
    put(project, "one")
    shown = trust_as_shown(trust, project)
    file = tmp_path / "home" / "trust.json"
    document = json.loads(file.read_text())
    entry = {"sha256": shown.sha256, "trusted_ms": 1000}
    assert document == {"version": 1, "projects": {project.id: {REGISTRY: entry}}}
    assert file.stat().st_mode & 0o077 == 0
    assert trust.warning() == ""
    file.write_text('{"version": 9, "projects": {}}')
    assert trust.in_force(project, REGISTRY).state is State.TRUSTED
    assert "trust.json" in trust.warning()
