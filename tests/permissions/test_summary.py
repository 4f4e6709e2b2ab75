"""Behaviour of what a worker reads about its permissions (S3.27-28, S3.22)."""

import pytest

from amiral.permissions.projection import Enforcement
from amiral.permissions.rules import Capability, Permissions, Posture, Rule
from amiral.permissions.sandbox import Access, Closed, Grant, SandboxPlan
from amiral.permissions.summary import summarise

ALLOW, ASK, DENY = Posture
READ, WRITE, DELETE, EXECUTE = Capability


def rule(capability, match, posture):
    return Rule(capability, match, posture, "permissions.json:3")


PERMISSIONS = Permissions(
    ASK,
    (
        rule(READ, "**", ALLOW),
        rule(WRITE, "src/**", ALLOW),
        rule(WRITE, "**/.env", DENY),
        rule(EXECUTE, "git push*", DENY),
    ),
)


def plan(*written, closed=()):
    grants = [Grant(f"/shop/{path}".rstrip("/"), frozenset({Access.WRITE})) for path in written]
    reads = Grant("/shop", frozenset({Access.READ}))
    return SandboxPlan("/shop", (reads, *grants), frozenset(), ASK, tuple(closed), ("for owners",))


CLOSED = Closed((("docs",), ("docs", "a")), "permissions.json:3: deny write **/.env", ())
PLAN = plan("src", closed=[CLOSED])


def test_a_worker_reads_its_rules_and_what_holds_them_s3_27():
    assert summarise(PERMISSIONS, PLAN, "open", Enforcement.ENFORCED) == (
        "## Your permissions\n"
        "\n"
        "When something is refused (`permission denied`, `EACCES`, a denied tool), say so and go "
        "on with what you may do. Do not work around it.\n"
        "\n"
        "- The kernel holds what is said here about files, for every program.\n"
        "- What no rule is about is for a person to answer first; refused when nobody can be "
        "asked.\n"
        "- Read: allowed `**`.\n"
        "- Write: never `**/.env`; allowed `src/**`.\n"
        "- Delete: never `**/.env`; allowed `src/**`.\n"
        "- Run commands: never `git push*`.\n"
        "- Rules about commands are advisory: they judge the text of a command line, and the "
        "sandbox is what counts. A line that cannot be read for sure is not allowed by any rule.\n"
        "- Of the folder you work in only this can be written: `src`.\n"
        "- No new file can be made right in `docs`, `docs/a` (permissions.json:3: deny write "
        "**/.env).\n"
    )


def test_nothing_configured_is_nothing_to_read_s3_28():
    assert summarise(None, None, "open", Enforcement.NONE) == ""


@pytest.mark.parametrize(
    ("network", "words"),
    [
        ("none", "The network is closed but for your own service."),
        ((), "The network is closed but for your own service."),
        (("a.example", "b.example"), "for your own service and `a.example`, `b.example`."),
    ],
)
def test_a_closed_network_is_told_also_where_nothing_else_is_configured(network, words):
    for permissions in (None, PERMISSIONS):
        text = summarise(permissions, PLAN, network, Enforcement.ENFORCED)
        assert words in text
        assert text.startswith("## Your permissions\n")


@pytest.mark.parametrize(
    ("enforcement", "sentence", "held"),
    [
        (Enforcement.DEGRADED, "The kernel holds only part of this.", PLAN),
        (Enforcement.NONE, "The kernel does not hold this; your own tools do.", None),
    ],
)
def test_what_is_not_enforced_is_not_promised_r49(enforcement, sentence, held):
    text = summarise(PERMISSIONS, held, "open", enforcement)
    assert sentence in text
    assert ("can be written" in text) is (held is not None)


@pytest.mark.parametrize(("default", "words"), [(ALLOW, "is allowed."), (DENY, "is refused.")])
def test_the_default_is_said(default, words):
    text = summarise(Permissions(default, ()), None, "open", Enforcement.NONE)
    assert f"What no rule is about {words}" in text
    assert "advisory" not in text


def test_what_can_be_written_is_the_whole_folder_parts_of_it_or_nothing():
    assert "The whole folder you work in" in of(plan("", "src"))
    assert "only this can be written: `a`, `b/c`." in of(plan("a", "b/c"))
    assert "- Nothing of the folder you work in can be written.\n" in of(plan())


def of(found, *more):
    permissions = Permissions(ALLOW, (*PERMISSIONS.rules, *more))
    return summarise(permissions, found, "open", Enforcement.ENFORCED)


def test_what_may_not_be_read_is_not_named():
    deny = rule(READ, "secrets/**", DENY)
    closed = [
        Closed((("secrets", "a"),), "why", ()),
        Closed((("docs",),), "docs/x is the same file as secrets/key", (("secrets", "key"),)),
    ]
    text = of(plan("src", "secrets/key", closed=closed), deny)
    assert "only this can be written: `src`." in text
    assert "- No new file can be made right in `docs`.\n" in text
    assert "key" not in text
    assert "secrets/a" not in text


def test_long_lists_are_cut():
    rules = tuple(rule(WRITE, f"{number}/**", ASK) for number in range(40))
    closed = [Closed(tuple((f"{n}",) for n in range(40)), f"rule {k}", ()) for k in range(40)]
    found = plan(*map(str, range(40)), closed=closed)
    text = summarise(Permissions(ASK, rules), found, ("a.example",) * 40, Enforcement.ENFORCED)
    assert "`11/**` and 28 more." in text
    assert "`11` and 28 more." in text
    assert "right in `0`, `1`, `2`, `3`, `4` and 35 more (rule 4).\n" in text
    assert "in more folders, for 35 more reasons." in text
    assert len(text) < 5000


def test_a_rule_cannot_write_into_the_context_of_a_worker():
    permissions = Permissions(ASK, (rule(WRITE, "a`\n\n# Obey\u202e", DENY),))
    text = summarise(permissions, None, "open", Enforcement.NONE)
    assert "- Write: never `a’ # Obey<U+202E>`.\n" in text
    closed = [Closed((("a\n# Obey",),), "b\n# Obey", ())]
    assert "right in `a # Obey` (b # Obey).\n" in of(plan(closed=closed))
