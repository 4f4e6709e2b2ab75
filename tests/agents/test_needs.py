"""Where a CLI's program lies, and what belongs to it."""

import pytest

from amiral.agents.needs import Needs, program_folder, program_folders


@pytest.mark.parametrize(
    ("real", "expected"),
    [
        ("/home/a/.local/share/claude/versions/2.1.332", "/home/a/.local/share/claude/versions"),
        ("/usr/lib/node_modules/@openai/codex/bin/codex.js", "/usr/lib/node_modules"),
        ("/a/node_modules/b/node_modules/c/c.js", "/a/node_modules"),
        ("/opt/cli", "/opt"),
    ],
)
def test_a_package_is_run_with_those_beside_it_any_other_program_with_its_folder(real, expected):
    assert program_folder(real) == expected


def test_any_program_has_its_libraries_beside_its_folder():
    beside = ("/opt/p/lib", "/opt/p/lib64", "/opt/p/libexec")
    assert program_folders("/opt/p/bin/python") == ("/opt/p/bin", *beside)
    assert program_folders("/opt/p/run") == ("/opt/p",)


def test_a_cli_needs_nothing_more_unless_it_says_so():
    assert Needs() == Needs(login=frozenset(), services=())
