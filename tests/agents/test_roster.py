"""The workers as they are now: reloaded on change, the last good ones kept."""

from dataclasses import replace

import pytest

from amiral.agents.declared import Declared, shipped
from amiral.agents.roster import ROLE, Roster
from amiral.agents.worker import Roles
from amiral.base import events as ev
from amiral.base.errors import NotFound
from amiral.store.journal import Journal
from amiral.testbench.fake_clock import FakeClock


@pytest.fixture
async def journal(tmp_path):
    journal = await Journal.open(tmp_path / "j" / "journal.db", FakeClock(), (ROLE,))
    yield journal
    await journal.close()


class Files:
    """What the project's files say now."""

    def __init__(self, make_worker):
        self.make_worker = make_worker
        self.now = self.of("dev", "two")

    def of(self, *names, **more) -> Declared:
        workers = tuple(self.make_worker(name) for name in names)
        identities = {name: f"I am {name}." for name in names}
        return Declared(workers, Roles("dev"), identities, **more)

    def __call__(self) -> Declared:
        return self.now


@pytest.fixture
def files(works):
    return Files(works.make_worker)


@pytest.fixture
async def roster(journal, files):
    roster = Roster(journal, files, "claude")
    await roster.refresh()
    return roster


def told(journal):
    return [one.event for one in journal.read(0)]


async def test_before_the_files_were_read_the_shipped_workers_are_there(journal, files):
    assert Roster(journal, files, "claude").ids() == [one.id for one in shipped().workers]


async def test_a_registry_takes_effect_once_it_changes_and_is_told_once(journal, roster, files):
    assert roster.ids() == ["dev", "two"]
    assert told(journal) == [ev.WorkersLoaded(("dev", "two"), "project")]
    await roster.refresh()
    assert len(told(journal)) == 1
    files.now = files.of("dev", "three")
    await roster.refresh()
    assert roster.ids() == ["dev", "three"]
    assert len(told(journal)) == 2


async def test_a_broken_registry_keeps_the_last_good_workers_and_is_told_once(
    journal, roster, files
):
    files.now = files.of("evil", errors=("w.json:3: id is missing",))
    await roster.refresh()
    await roster.refresh()
    assert roster.ids() == ["dev", "two"]
    assert roster.notices() == ("w.json:3: id is missing",)
    assert told(journal)[1:] == [ev.WorkersRefused("project", ("w.json:3: id is missing",))]
    files.now = files.of("dev", "two")
    await roster.refresh()
    assert roster.notices() == ()
    assert told(journal)[2:] == [ev.WorkersLoaded(("dev", "two"), "project")]


async def test_an_unknown_worker_is_answered_with_the_known_ones(roster):
    with pytest.raises(NotFound) as caught:
        roster.find("devil")
    assert "dev" in caught.value.next_step
    assert "two" in caught.value.next_step


async def test_a_worker_that_names_no_driver_gets_the_projects(roster, files):
    files.now = replace(files.now, workers=(files.make_worker("dev", driver=""),))
    await roster.refresh()
    assert roster.find("dev").driver == "claude"
    assert [one.driver for one in roster.workers()] == ["claude"]


async def test_a_worker_that_names_its_driver_keeps_it(roster):
    assert roster.find("dev").driver == "scripted"


async def test_a_worker_wears_its_identity_and_may_have_none(roster, files):
    assert roster.identity(roster.find("dev")) == "I am dev."
    assert roster.identity(files.make_worker("stranger")) == ""


async def test_plain_text_goes_to_the_worker_chosen_last_while_it_is_there(journal, roster, files):
    assert roster.active() == "dev"
    await journal.append(ev.RoleChosen("two"))
    assert roster.active() == "two"
    files.now = files.of("dev")
    await roster.refresh()
    assert roster.active() == "dev"
    await journal.rebuild()
    files.now = files.of("dev", "two")
    await roster.refresh()
    assert roster.active() == "two"


async def test_what_has_no_effect_is_told(roster, files):
    files.now = files.of("dev", notices=("skills/x.md is not trusted",))
    await roster.refresh()
    assert roster.notices() == ("skills/x.md is not trusted",)
    assert roster.roles() == Roles("dev")
