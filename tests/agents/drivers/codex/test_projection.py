"""What Codex may do by itself, by a worker's permissions and what holds them."""

import tomllib
from dataclasses import replace

import pytest

from amiral.agents.driver import Seat
from amiral.agents.drivers.codex.projection import NO_RENEWAL, Stance, merged, project, stance
from amiral.permissions.projection import Enforcement, Projection
from amiral.permissions.rules import Capability, Permissions, Posture, Rule

ALLOW, ASK, DENY = Posture
READ, WRITE, DELETE, EXECUTE = Capability
ENFORCED, DEGRADED, NONE = Enforcement
SEAT = Seat("w", ("codex",), "/work/shop", "/w/home", "/w/tmp", "", "all", 0, "", {})
FLOOR = "tools of consultant"
CONSULTANT = ("Read", "Glob", "Grep", "WebSearch", "WebFetch")
BOTH = ("reads", "searches")


def rule(capability: Capability, match: str, posture: Posture, source="permissions.json:1") -> Rule:
    return Rule(capability, match, posture, source)


def seat(*rules: Rule, default=ALLOW, held=ENFORCED, tools: tuple[str, ...] | str = "all") -> Seat:
    permissions = Permissions(default, rules)
    return replace(SEAT, tools=tools, permissions=permissions, enforcement=held)


NO_SHELL, NO_WRITE, NO_DELETE = (
    rule(EXECUTE, "*", DENY, FLOOR),
    rule(WRITE, "**", DENY, FLOOR),
    rule(DELETE, "**", DENY, FLOOR),
)


@pytest.mark.parametrize("held", Enforcement)
def test_nothing_configured_is_nothing_told_s3_11(held):
    assert project(replace(SEAT, enforcement=held)) == Projection()
    assert stance(SEAT) == Stance("workspace-write", "on-request", True, True)


@pytest.mark.parametrize("held", [ENFORCED, DEGRADED])
@pytest.mark.parametrize("rules", [(), (NO_WRITE,), (rule(EXECUTE, "git*", ASK),)])
def test_behind_our_fence_it_has_no_sandbox_and_asks_for_everything(held, rules):
    found = stance(seat(*rules, held=held))
    assert found == Stance("danger-full-access", "untrusted", True, True, BOTH)


def test_what_may_be_asked_of_reading_is_asked_by_path_and_images_cannot():
    for one in (seat(default=ASK), seat(rule(READ, "secret/**", ASK))):
        assert stance(one).marks == ("reads",)
        assert not stance(one).sees_images
        assert any("image" in note for note in project(one).diagnostics)
    assert stance(seat(rule(READ, "secret/**", DENY))) == stance(seat()), "the kernel holds it"


@pytest.mark.parametrize(
    ("match", "posture", "is_judged_as_reading"),
    [
        ("cat*", DENY, False),
        ("/bin/CAT *", ASK, False),
        ("*", DENY, False),
        ("c?t x", DENY, False),
        ("cat*", ALLOW, True),
        ("git push*", DENY, True),
        ("rmdir*", DENY, True),
    ],
)
def test_a_rule_about_a_reading_command_is_heeded(match, posture, is_judged_as_reading):
    found = stance(seat(rule(EXECUTE, match, posture)))
    assert (found.marks == BOTH) is is_judged_as_reading


def test_who_may_run_nothing_reads_by_commands_all_the_same():
    consultant = seat(NO_SHELL, NO_WRITE, NO_DELETE, tools=CONSULTANT)
    expected = Stance("danger-full-access", "untrusted", True, True, BOTH)
    assert stance(consultant) == expected
    closed = seat(rule(READ, "**", ALLOW), NO_SHELL, default=DENY, tools=CONSULTANT)
    assert stance(closed) == expected
    assert project(consultant).diagnostics == ()


@pytest.mark.parametrize("held", [ENFORCED, NONE])
def test_whoever_may_neither_run_nor_read_has_no_shell(held):
    for one in (
        seat(rule(EXECUTE, "*", DENY), held=held),
        seat(default=DENY, held=held),
        seat(NO_SHELL, default=ALLOW, held=held, tools=("Grep", "Bash")),
    ):
        assert not stance(one).has_shell
        assert "reads nothing" in project(one).diagnostics[0]
    writer = seat(NO_SHELL, held=held, tools=("Write",))
    assert not stance(writer).has_shell
    assert not any("reads nothing" in note for note in project(writer).diagnostics)


def test_alone_it_writes_in_the_folder_only_when_all_may_be_written():
    free = Stance("workspace-write", "on-request", True, True)
    assert stance(seat(held=NONE)) == free
    for kept in (rule(WRITE, "**/.env", DENY), rule(DELETE, "a", ASK), rule(WRITE, "**", DENY)):
        held_back = Stance("read-only", "on-request", True, True, ("held",))
        assert stance(seat(kept, held=NONE)) == held_back
        assert "no file" in project(seat(kept, held=NONE)).diagnostics[0]


def test_alone_it_asks_for_everything_where_not_every_command_is_allowed():
    for one in (
        seat(rule(EXECUTE, "git push*", DENY), held=NONE),
        seat(rule(READ, "secret/**", DENY), held=NONE),
        seat(default=ASK, held=NONE),
    ):
        assert stance(one).approval == "untrusted"
        assert stance(one).has_shell
    assert stance(seat(rule(READ, "secret/**", DENY), held=NONE)).marks == ("reads",)
    assert stance(seat(rule(EXECUTE, "git push*", DENY), held=NONE)).marks == BOTH


def test_alone_a_worker_without_a_shell_of_its_own_reads_in_its_sandbox():
    consultant = seat(NO_SHELL, NO_WRITE, NO_DELETE, held=NONE, tools=CONSULTANT)
    assert stance(consultant) == Stance("read-only", "never", True, True, ("held",))
    editor = seat(NO_SHELL, held=NONE, tools=("Read", "Write"))
    assert stance(editor) == Stance("read-only", "on-request", True, True, ("held",))
    kept = seat(NO_SHELL, NO_WRITE, rule(READ, "a", DENY), held=NONE, tools=CONSULTANT)
    assert stance(kept) == Stance("read-only", "untrusted", True, False, ("reads",))


def test_the_configuration_has_what_can_be_said_there():
    (file,) = project(seat()).files
    assert (file.path, file.is_merged) == ("config.toml", True)
    assert tomllib.loads(file.text) == {
        "sandbox_mode": "danger-full-access",
        "features": {"shell_tool": True, "view_image": True},
    }


def test_behind_a_fence_it_renews_no_login_itself():
    assert project(seat()).env == project(seat(held=DEGRADED)).env == NO_RENEWAL
    assert project(seat(held=NONE)).env == {}


def test_what_codex_wrote_itself_survives_ours_s3_17():
    found = (
        'personality = "x"\nsandbox_mode = "danger-full-access"\n[tui]\na = [1]\n[notice]\nb = 1\n'
    )
    told = tomllib.loads(merged(found, 'sandbox_mode = "read-only"\n[features]\na = true\n'))
    assert told == {
        "personality": "x",
        "notice": {"b": 1},
        "sandbox_mode": "read-only",
        "features": {"a": True},
    }


@pytest.mark.parametrize(
    "key",
    [
        *("mcp_servers", "hooks", "notify", "approval_policy", "permissions", "projects"),
        *("features", "tui", "desktop", "experimental", "of_a_later_version"),
    ],
)
def test_what_would_start_programs_or_open_doors_does_not_survive_f6(key):
    assert tomllib.loads(merged(f"{key} = {{x = 1}}\npersonality = 1\n", "a = 1\n")) == {
        "personality": 1,
        "a": 1,
    }


@pytest.mark.parametrize("found", ["not toml", "a = [" * 3000, "\ud800", ""])
def test_what_cannot_be_read_is_replaced(found):
    assert merged(found, "a = 1\n") == '"a" = 1\n'
