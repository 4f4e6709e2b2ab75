"""What a stop is about, found by what people call it; nothing is stopped in place of it."""

import json
from pathlib import Path

import pytest

from amiral.base.errors import NotFound
from amiral.safety.scope import Place, known_workers, project_names, scope_at, scope_named


@pytest.fixture
def place(tmp_path):
    (tmp_path / "config").mkdir()
    rows = [{"name": "Shop front", "path": "/s", "id": "shop-1"}]
    (tmp_path / "config" / "bot_registry.json").write_text(json.dumps({"children": rows}))
    for name in ("shop-1/workers/developer", "shop-1/workers/tester", "lost-2/workers/developer"):
        (tmp_path / "projects" / name).mkdir(parents=True)
    return Place(str(tmp_path), "abcdef012345")


@pytest.mark.parametrize(
    ("text", "key", "shown"),
    [
        ("", "all", "all"),
        (" ALL ", "all", "all"),
        ("shop front", "shop-1", "Shop front"),
        ("Shop Front/developer", "shop-1/developer", "Shop front/developer"),
        ("shop-1/developer", "shop-1/developer", "Shop front/developer"),
        ("shop-1/", "shop-1", "Shop front"),
        ("lost-2", "lost-2", "lost-2"),
    ],
)
def test_a_scope_is_found_by_name_or_id_registered_or_not(place, text, key, shown):
    found = scope_named(place, text)
    assert (found.key, found.shown) == (key, shown)
    assert scope_at(place, key).shown == shown


@pytest.mark.parametrize("text", ["shop", "shop-", "..", "../shop-1", "all/developer"])
def test_what_is_not_there_is_refused_naming_what_is(place, text):
    with pytest.raises(NotFound, match="no project") as caught:
        scope_named(place, text)
    assert caught.value.next_step == "`all`, or one of: Shop front, lost-2"


def test_a_worker_named_alone_is_answered_with_its_whole_name(place):
    with pytest.raises(NotFound, match="no project 'tester'; is Shop front/tester meant"):
        scope_named(place, "tester")


@pytest.mark.parametrize("damage", ["", "[", "{}", '{"children": 5}', '{"children": [{}]}'])
def test_r38_a_registry_that_cannot_be_read_hides_no_project(place, damage):
    Path(place.home, "config", "bot_registry.json").write_text(damage)
    assert project_names(place) == {"shop-1": "shop-1", "lost-2": "lost-2"}
    assert scope_named(place, "shop-1").key == "shop-1"


def test_a_new_home_has_neither_projects_nor_workers(tmp_path):
    place = Place(str(tmp_path), "abcdef012345")
    assert (project_names(place), known_workers(place, "shop-1")) == ({}, [])
    with pytest.raises(NotFound) as caught:
        scope_named(place, "shop")
    assert caught.value.next_step == "`all`: there is no project yet"
