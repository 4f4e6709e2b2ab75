"""What one capability may touch, walked down a name at a time."""

import pytest

from amiral.permissions.globs import parse_glob
from amiral.permissions.scope import Denial, Scope, shown, start


def scope(*, strict=True, change=True, inert=()):
    allow = tuple(map(parse_glob, ("src/**", "*.md")))
    deny = (Denial(parse_glob("**/.env"), "permissions.json:2: deny write **/.env"),)
    return Scope(allow, deny, is_strict=strict, is_change=change, inert=frozenset(inert))


def place_at(scope, *names):
    place = start(scope)
    for name in names:
        place = place.into(name)
    return place


@pytest.mark.parametrize(
    ("path", "is_allowed"),
    [
        ("src/a.py", True),
        ("src/.env", False),
        ("src/.ENV/below", False),
        ("README.md", True),
        ("docs/README.md", False),
        ("src/.vscode", False),
    ],
)
def test_a_name_is_allowed_by_an_allow_without_a_deny_or_protection(path, is_allowed):
    *above, name = path.split("/")
    assert scope().allows((*above, name), place_at(scope(), *above)) is is_allowed


def test_what_means_nothing_further_down_is_left_out():
    assert [str(glob) for glob, _ in place_at(scope(), "docs").allow] == []
    assert [str(glob) for glob, _ in place_at(scope(), "src").allow] == ["src/**"]
    assert place_at(scope(), "src").is_open
    assert not place_at(scope()).is_open
    denial = place_at(scope(), "src", ".env", "below").denial
    assert denial is not None
    assert denial.source == "permissions.json:2: deny write **/.env"


def test_protection_is_from_change_alone_and_waived_for_what_is_inert():
    settings = (".vscode", "settings.json")
    assert scope().shields(settings)
    assert scope().protects(settings[:1])
    assert not scope().protects(settings)
    assert not scope(change=False).shields(settings)
    assert not scope(inert=[".vscode"]).shields(settings)
    assert scope(inert=[".git"]).shields(settings)
    assert not scope().shields(())


def test_a_deny_in_the_way_names_its_rule_and_what_can_be_done():
    (denial,) = scope().deny
    assert scope().denied(denial).why == denial.source
    assert "snapshot" in scope().denied(denial).instead
    assert "snapshot" not in scope(strict=False).denied(denial).instead


def test_names_are_shown_on_one_line():
    assert shown(()) == "the root"
    assert shown(("a\nb", "c")) == "a b/c"
