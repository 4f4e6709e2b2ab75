"""What is said of each CLI in a few words."""

import pytest

from amiral.agents.clis import CliState
from amiral.local.drivers import described


@pytest.mark.parametrize(
    ("cli", "shown"),
    [
        (CliState("claude", "2.1.332", is_logged_in=True), "claude 2.1.332 (logged in)"),
        (CliState("scripted", "1.0.0"), "scripted 1.0.0"),
        (
            CliState("claude", problem="driver claude: no program `claude` on this machine"),
            "claude (not installed)",
        ),
        (
            CliState("claude", problem="/bin/cli does not tell its version"),
            "claude (/bin/cli does not tell its version)",
        ),
    ],
)
def test_each_cli_is_described_in_a_few_words(cli, shown):
    assert described(cli) == shown


def test_a_cli_without_a_login_says_what_to_do():
    needy = CliState("claude", "2.1.332", fix="set CLAUDE_CODE_OAUTH_TOKEN")
    assert "login needed" in described(needy)
    assert "CLAUDE_CODE_OAUTH_TOKEN" in described(needy)
