"""Behaviour of the registry of projects (R37, R57)."""

import json
import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from amiral.base.errors import Conflict, Invalid, NotFound
from amiral.projects.store import Projects


@pytest.fixture
def place(tmp_path):
    for name in ("user", "code"):
        (tmp_path / name).mkdir()
    return tmp_path


@pytest.fixture
def projects(place):
    return Projects(place / "user" / ".amiral", place / "user")


def folder(place, name):
    made = place / "code" / name
    made.mkdir(parents=True)
    return made


def test_a_folder_is_registered_once_whatever_the_way_it_is_written(place, projects):
    shop = folder(place, "shop")
    (place / "link").symlink_to(shop)
    first = projects.register(shop)
    assert projects.register(place / "link") == first
    assert projects.register(shop / ".." / "shop") == first
    assert projects.all() == (first,)
    assert (first.name, first.path) == ("shop", str(shop.resolve()))


def test_the_file_has_the_form_of_the_seed_and_is_private_s1_10(place, projects):
    shop = projects.register(folder(place, "shop"))
    file = place / "user" / ".amiral" / "config" / "bot_registry.json"
    document = json.loads(file.read_text())
    assert document == {
        "version": 1,
        "children": [{"name": "shop", "path": shop.path, "id": shop.id}],
    }
    assert file.stat().st_mode & 0o077 == 0


def test_the_project_is_found_from_any_folder_upwards(place, projects):
    shop = projects.register(folder(place, "shop"))
    inner = projects.register(folder(place, "shop/apps/web"))
    deep = folder(place, "shop/src/deep")
    assert projects.find(deep) == shop
    assert projects.find(deep / "not" / "there") == shop
    assert projects.find(place / "code" / "shop" / "apps" / "web") == inner
    assert projects.find(place / "code") is None


def test_a_project_is_found_by_name_or_id_and_the_nearest_is_named(place, projects):
    shop = projects.register(folder(place, "shop"))
    assert projects.named("shop") == projects.named(shop.id) == shop
    with pytest.raises(NotFound, match=r"did you mean shop\?"):
        projects.named("shpo")


def test_names_are_unique_and_derived_when_not_given(place, projects):
    projects.register(folder(place, "a/shop"))
    assert projects.register(folder(place, "b/shop")).name == "shop 2"
    with pytest.raises(Conflict, match="SHOP"):
        projects.register(folder(place, "c/shop"), "SHOP")
    with pytest.raises(Invalid, match="dash"):
        projects.register(folder(place, "d/shop"), "-rf")
    assert projects.register(folder(place, "e/shop"), "third").name == "third"


@pytest.mark.parametrize(
    "label", ["a'b\"$(touch P)", "-rf", "a\nb", "é" * 100, "\u202egnp", "e\u0301"]
)
def test_hostile_folder_names_come_back_exactly_r57(place, projects, label):
    made = folder(place, label)
    project = projects.register(made)
    assert project.path == os.path.realpath(made)
    assert projects.find(made) == project
    assert not (place / "P").exists()
    assert not os.path.exists("P")


def test_homes_missing_folders_and_unreadable_names_are_refused(place, projects):
    for bad in (place / "user", place, place / "user" / ".amiral", place / "code" / "gone"):
        with pytest.raises(Invalid):
            projects.register(bad)
    odd = os.fsencode(place / "code") + b"/\xff"
    os.mkdir(odd)
    with pytest.raises(Invalid, match="no UTF-8"):
        projects.register(type(place)(os.fsdecode(odd)))
    assert projects.all() == ()


def test_a_home_reached_by_a_link_is_still_no_project(place, projects):
    (place / "code" / "sly").symlink_to(place / "user")
    with pytest.raises(Invalid, match="home folder of the user"):
        projects.register(place / "code" / "sly")


def test_a_removed_project_keeps_its_files(place, projects):
    shop = projects.register(folder(place, "shop"))
    assert projects.remove("shop") == shop
    assert projects.all() == ()
    assert os.path.isdir(shop.path)
    with pytest.raises(NotFound):
        projects.remove("shop")


def test_removing_from_an_empty_home_is_a_clean_error(projects):
    with pytest.raises(NotFound):
        projects.remove("shop")


def test_two_writers_lose_no_project_r37(place, projects):
    folders = [folder(place, f"p{number}") for number in range(12)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(projects.register, folders))
    assert {project.name for project in projects.all()} == {f"p{number}" for number in range(12)}


@pytest.mark.parametrize(
    "broken",
    [
        "{",
        '{"version": 2, "children": []}',
        '{"version": 1, "children": [{"name": "x", "path": "/x", "id": "../x"}]}',
        '{"version": 1, "children": [{"name": "x", "path": "/x"}]}',
        (
            '{"version": 1, "children": [{"name": "x", "path": "/x", "id": "x"},'
            ' {"name": "y", "path": "/y", "id": "x"}]}'
        ),
    ],
)
def test_a_broken_file_gives_the_last_good_one_and_says_so_r37(place, projects, broken):
    shop = projects.register(folder(place, "shop"))
    assert projects.warning() == ""
    (place / "user" / ".amiral" / "config" / "bot_registry.json").write_text(broken)
    assert projects.all() == (shop,)
    assert "bot_registry.json" in projects.warning()
