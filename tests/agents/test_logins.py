"""Behaviour of the logins amiral keeps: lent by links, never copied, and asked for when missing."""

import pytest

from amiral.agents.driver import Launch, Login
from amiral.agents.logins import has_login, how_to_log_in, lend_login
from amiral.base.errors import Denied


def entry(command, folder, has_terminal):
    return Launch(command, {}, folder)


KEPT = Login(("KEY",), ("auth.json", "more.json"), is_needed=True, entry=entry)


@pytest.fixture
def place(tmp_path):
    return tmp_path / "logins" / "codex"


@pytest.fixture
def home(tmp_path):
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


def keep(place, text="token"):
    place.mkdir(parents=True, exist_ok=True)
    (place / "auth.json").write_text(text)


def test_a_variable_or_a_file_is_a_login_and_an_empty_variable_is_none(place):
    assert not has_login(place, KEPT, {"OTHER": "x", "KEY": ""})
    assert has_login(place, KEPT, {"KEY": "x"})
    keep(place)
    assert has_login(place, KEPT, {})
    assert has_login(place / "nowhere", Login(), {}), "none is needed"
    assert not has_login(place, Login(("KEY",)), {}), "this one has no files"


def test_workers_get_links_so_that_one_renews_for_all(place, home, tmp_path):
    keep(place)
    other = tmp_path / "other"
    other.mkdir()
    for one in (home, other, home):
        lend_login("codex", place, KEPT, {}, one)
    (home / "auth.json").write_text("renewed")
    assert (other / "auth.json").read_text() == (place / "auth.json").read_text() == "renewed"
    assert (home / "more.json").is_symlink(), "for a file that is written later"
    assert place.stat().st_mode & 0o777 == 0o700


def test_what_is_no_link_to_the_login_makes_way(place, home, tmp_path):
    keep(place)
    (home / "auth.json").write_text("a copy of last year")
    (home / "more.json").symlink_to(tmp_path / "elsewhere")
    lend_login("codex", place, KEPT, {}, home)
    assert (home / "auth.json").read_text() == "token"
    assert (home / "more.json").readlink() == place / "more.json"


def test_a_missing_login_is_told_with_what_to_do_and_nothing_is_made(place, home):
    with pytest.raises(Denied, match="driver codex: login needed") as told:
        lend_login("codex", place, KEPT, {}, home)
    assert told.value.next_step == (
        "run `amiral login codex`, or set KEY where `amiral up` is started"
    )
    assert not place.exists() and not list(home.iterdir())


def test_who_can_do_without_is_not_refused_and_a_later_login_counts_at_once(place, home):
    lend_login("codex", place, Login((), ("auth.json",)), {}, home)
    keep(place)
    assert (home / "auth.json").read_text() == "token"
    lend_login("claude", place, Login(("KEY",)), {}, home)


@pytest.mark.parametrize(
    ("login", "words"),
    [
        (Login(), ""),
        (Login(("A", "B")), "set A or B where `amiral up` is started"),
        (Login((), ("f",), entry=entry), "run `amiral login codex`"),
    ],
)
def test_a_person_is_told_how_to_log_in(login, words):
    assert how_to_log_in("codex", login) == words
