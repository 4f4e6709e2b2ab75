"""Names that are never granted for change, whatever the policy (F6)."""

import pytest

from amiral.permissions.protected import NAMES, is_protected, is_workspace, lies_protected


def path(text):
    return tuple(text.split("/")) if text else ()


@pytest.mark.parametrize(
    "text",
    [
        *NAMES,
        *(".GIT", "vendor/lib/.git", ".claude", "src/.Claude"),
        *(".amiral/config", ".amiral/agents", ".zshrc", "home/.bashrc", ".ssh", ".gitconfig"),
    ],
)
def test_f6_what_runs_later_outside_a_fence_is_protected(text):
    assert is_protected(path(text))
    assert lies_protected(path(text))
    assert lies_protected(path(text + "/below"))


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "src",
            "git",
            ".gitignore",
            ".env",
            "settings.json",
        ),
        *(".amiral/workspace", ".amiral/workspace/notes.md", "src/config", ".github/workflows/a"),
        *("node_modules/pkg/.vscode", "lib/site-packages/pkg/.vscode/settings.json"),
    ],
)
def test_anything_else_is_not(text):
    assert not is_protected(path(text))
    assert not lies_protected(path(text))


@pytest.mark.parametrize("text", [".git/config", ".git/hooks/pre-commit", ".git/.amiral/workspace"])
def test_what_lies_in_a_protected_folder_is_protected_with_it(text):
    assert lies_protected(path(text))


def test_of_the_projects_configuration_the_workspace_alone_is_free():
    assert is_workspace(path(".amiral/workspace"))
    assert not is_workspace(path("workspace"))
    assert not is_workspace(path("src/workspace"))
    assert not lies_protected(path(".amiral/workspace/a/b"))
    assert lies_protected(path(".amiral/workspace/repo/.git/hooks"))
