"""Approved specs carried out: by whom, where, what ends an attempt, what a crash changes."""

import asyncio
import shutil

import pytest

from amiral.base import events as ev
from amiral.processes import tree
from amiral.specs.transition import Wish, may

PASSES = "import unittest\n\nclass T(unittest.TestCase):\n    def test_x(self): pass\n"


# ------------------------------------------------------------------ carried out


async def test_an_approved_spec_is_given_to_the_developer_in_its_own_worktree(project):
    await project.write()
    message = await project.given()
    assert (message.worker, message.place, message.sender) == ("developer", "s1", "amiral")
    assert message.conversation == "spec-s1"
    assert message.text.startswith("Carry out spec s1: Title of s1\n")
    await project.until(lambda: project.woken == ["developer"], "the wake")
    spec = project.spec()
    assert (spec.status, spec.attempt, spec.worker) == ("executing", 1, "developer")
    assert (spec.branch, spec.base) == ("amiral/s1", project.git("rev-parse", "main"))
    assert project.git("branch", "--show-current", at=project.place()) == "amiral/s1"


async def test_what_was_done_is_tested_committed_and_ticked(project):
    await project.write(criteria=("It works", "It is tested"))
    await project.carry_out(cart_py="total = 1\n", test_x_py=PASSES)
    spec = await project.done()
    assert project.git("rev-parse", "amiral/s1") == spec.commit
    assert project.git("rev-parse", "amiral/s1^") == spec.base
    assert project.git("log", "-1", "--format=%an|%B", spec.commit) == (
        "developer|Title of s1\n\nA problem\n\n- It works\n- It is tested\n\nSpec: s1"
    )
    (done,) = project.events(ev.SpecDone)
    assert done.files == ("cart.py", "test_x.py")
    assert spec.tests.startswith("Ran 1 test in ")
    assert spec.ticks[0] == f"by cart.py · {spec.commit[:12]}"
    assert spec.ticks[1].startswith("nothing said · tests: ")
    assert project.git("status", "--porcelain") == ""
    assert (project.root / "cart.py").read_text() == "total = 0\n"


async def test_what_the_tests_leave_behind_is_no_part_of_the_commit(make_project):
    project = await make_project(is_open=False)
    project.command = "echo 3 passed; touch report.xml; echo z >>cart.py"
    await project.open()
    await project.write()
    await project.carry_out(cart_py="total = 1\n")
    spec = await project.done()
    assert spec.tests == "3 passed"
    assert project.git("show", f"{spec.commit}:cart.py") == "total = 1"
    assert project.events(ev.SpecDone)[0].files == ("cart.py",)
    assert (project.place() / "report.xml").exists()


async def test_commits_of_the_worker_count(project):
    await project.write()
    message = await project.given()
    commit = project.commit(at=project.place(), cart_py="total = 1\n")
    await project.end(message)
    spec = await project.done()
    assert spec.commit == commit
    assert project.events(ev.SpecDone)[0].files == ("cart.py",)


async def test_specs_are_carried_out_one_by_one_in_the_order_of_their_approval(project):
    await project.write("s1", is_approved=False)
    await project.write("s2")
    await project.given("s2")
    await project.specs.approve("s1", "owner")
    await project.write("s3", is_approved=False)
    assert project.spec("s1").status == "approved"
    await project.carry_out("s2", cart_py="total = 2\n")
    await project.done("s2")
    await project.carry_out("s1", cart_py="total = 1\n")
    await project.done("s1")
    assert project.spec("s3").status == "draft"
    moves = [one.spec for one in project.events(ev.SpecExecuting | ev.SpecDone)]
    assert moves == ["s2", "s2", "s1", "s1"]


async def test_a_project_without_git_is_worked_on_in_place(make_project):
    project = await make_project(is_git=False)
    await project.write()
    message = await project.given()
    spec = project.spec()
    assert (spec.branch, spec.base, message.place) == ("", "", "s1")
    (project.root / "test_x.py").write_text(PASSES)
    await project.end(message)
    spec = await project.done()
    assert (spec.commit, spec.ticks) == ("", ("by cart.py",))
    assert spec.tests.startswith("Ran 1 test")


async def test_without_git_tests_wait_until_no_other_worker_writes(make_project):
    project = await make_project(is_git=False)
    await project.write()
    message = await project.given()
    async with project.worktrees.lock(""):
        await project.end(message)
        await asyncio.sleep(0.2)
        assert project.spec().status == "executing"
    await project.done()


async def test_a_spec_of_a_part_of_a_repository_is_tested_there(make_project):
    project = await make_project(is_open=False)
    (project.root / "part").mkdir()
    (project.root / "part" / "x.py").write_text("")
    project.commit()
    project.root = project.root / "part"
    project.command = "test -f x.py"
    await project.open()
    await project.write()
    message = await project.given()
    (project.place() / "part" / "y.py").write_text("y\n")
    await project.end(message)
    await project.done()
    assert project.events(ev.SpecDone)[0].files == ("part/y.py",)


# ------------------------------------------------------------------ by whom


@pytest.mark.parametrize(
    ("crew", "chosen"),
    [
        ([("builder", "all"), ("developer", "all")], "developer"),
        ([("builder", "all"), ("developer", ("Read", "Edit"))], "developer"),
        ([("builder", "all"), ("developer", ("Read",))], "builder"),
        ([("writer", ("Edit",)), ("builder", "all"), ("other", "all")], "builder"),
    ],
)
async def test_the_developer_carries_out_else_the_first_worker_with_all_tools(
    make_project, hire, crew, chosen
):
    project = await make_project()
    project.crew.hired = [hire(*one) for one in crew]
    await project.write()
    assert (await project.given()).worker == chosen


async def test_without_an_able_worker_the_spec_comes_back_and_can_be_run_later(project, hire):
    able, project.crew.hired = project.crew.hired, [hire("consultant", ("Read",))]
    await project.write()
    spec = await project.failed()
    assert spec.reason == "no worker has all tools. add a developer to workers_registry.json"
    assert (spec.attempt, spec.worker, spec.branch) == (1, "", "")
    project.crew.hired = able
    await project.specs.run_again("s1", "owner")
    assert (await project.given(attempt=2)).worker == "developer"


# ------------------------------------------------------------------ not carried out


@pytest.mark.parametrize(
    ("outcome", "reason", "told"),
    [
        ("interrupted", "interrupted by owner", "interrupted: interrupted by owner"),
        ("failed", "the model said no", "failed: the model said no"),
        ("stopped", "emergency stop 7f: enough", "stopped: emergency stop 7f: enough"),
        ("timed_out", "the turn ran longer", "timed_out: the turn ran longer"),
        ("cancelled", "cancelled while limited", "cancelled: cancelled while limited"),
        ("unsure", "", "unsure"),
    ],
)
async def test_a_turn_that_was_not_done_puts_the_spec_back(project, outcome, reason, told):
    await project.write()
    message = await project.given()
    (project.place() / "cart.py").write_text("half = 1\n")
    await project.end(message, outcome, reason=reason)
    spec = await project.failed()
    assert spec.reason == told
    assert spec.branch == "amiral/s1"
    assert project.events(ev.SpecTested) == []
    assert (project.place() / "cart.py").read_text() == "half = 1\n", "for the next attempt"


async def test_a_message_that_was_taken_back_puts_the_spec_back(project):
    await project.write()
    message = await project.given()
    await project.journal.append(ev.MessageCancelled(message.message, "developer", "by owner"))
    assert (await project.failed()).reason == "cancelled: the message was taken back"


async def test_a_criterion_that_was_not_met_puts_the_spec_back(project):
    await project.write(criteria=("It works", "It is fast"))
    denial = "```done\n1: yes\n2: NOT MET: it takes a minute\n```"
    await project.carry_out(text=denial, cart_py="total = 1\n")
    assert (await project.failed()).reason == "criterion 2: it takes a minute"
    assert project.events(ev.SpecTested) == []


async def test_a_worker_that_changed_nothing_has_not_carried_it_out(project):
    await project.write()
    await project.carry_out()
    assert (await project.failed()).reason == "developer said done and changed nothing"
    assert project.git("rev-parse", "amiral/s1") == project.git("rev-parse", "main")


@pytest.mark.parametrize("where", ["newer", "older", "elsewhere"])
async def test_what_the_user_did_meanwhile_is_no_change_of_the_workers(project, where):
    project.commit(cart_py="total = 5\n")
    await project.write()
    message = await project.given()
    if where == "newer":
        project.commit(cart_py="total = 9\n")
    elif where == "older":
        project.git("checkout", "--quiet", "--detach", "HEAD~1")
    else:
        project.git("checkout", "--quiet", "--orphan", "pages")
        project.commit(index_html="<p>")
    await project.end(message)
    assert (await project.failed()).reason == "developer said done and changed nothing"


async def test_failed_tests_put_the_spec_back_and_the_next_attempt_is_told_why(make_project):
    project = await make_project(is_open=False)
    project.command = "sh check.sh"
    await project.open()
    await project.write()
    await project.carry_out(cart_py="total = 1\n", check_sh="echo too dear; exit 3\n")
    spec = await project.failed()
    assert spec.reason == "tests failed (sh check.sh): too dear · exit code 3\ntoo dear"
    assert spec.commit == ""
    assert project.git("rev-parse", "amiral/s1") == spec.base
    assert not project.events(ev.SpecTested)[0].passed
    await project.specs.run_again("s1", "owner")
    message = await project.given(attempt=2)
    assert "An earlier attempt came back: tests failed (sh check.sh): too dear" in message.text
    assert (project.place() / "cart.py").read_text() == "total = 1\n", "the same worktree"
    await project.carry_out(attempt=2, check_sh="echo 1 passed\n")
    spec = await project.done()
    assert spec.attempt == 2
    assert project.events(ev.SpecDone)[0].files == ("cart.py", "check.sh")
    assert project.git("rev-list", "--count", f"main..{spec.commit}") == "1"


async def test_tests_that_hang_put_the_spec_back(make_project):
    project = await make_project(is_open=False)
    project.command, project.longest_s = "sleep 300", 0.3
    await project.open()
    await project.write()
    await project.carry_out(cart_py="total = 1\n")
    assert (await project.failed()).reason == "tests failed (sleep 300): stopped after 0.3 s"


async def test_a_repository_without_a_commit_puts_the_spec_back_with_the_next_step(make_project):
    project = await make_project(is_git=False, is_open=False)
    project.git("init", "--quiet")
    await project.open()
    await project.write()
    spec = await project.failed()
    assert "has no commit yet" in spec.reason
    assert spec.reason.endswith("make a first one: git add -A && git commit")
    project.commit(cart_py="x\n")
    await project.specs.run_again("s1", "owner")
    await project.given(attempt=2)


@pytest.mark.parametrize("how", ["nested", "left", "conflict", "locked"])
async def test_work_that_cannot_be_committed_puts_the_spec_back_and_can_be_mended(project, how):
    await project.write()
    message = await project.given()
    place = project.place()
    commit = project.commit(at=place, cart_py="total = 1\n")
    told = ""
    if how == "nested":
        (place / "lib").mkdir()
        project.git("init", "--quiet", at=place / "lib")
        told = "a repository of its own"
    elif how == "left":
        project.git("checkout", "--quiet", "--detach", "HEAD^", at=place)
        told = "has left its branch"
    elif how == "conflict":
        project.commit(cart_py="total = 2\n")
        with pytest.raises(AssertionError):
            project.git("merge", "main", at=place)
        told = "a merge was left half done: cart.py"
    else:
        (place / ".git").unlink()
        (place / ".git").mkdir()
        told = "became a folder"
    await project.end(message)
    spec = await project.failed()
    assert told in spec.reason
    if how == "nested":
        shutil.rmtree(place / "lib")
    elif how == "left":
        project.git("checkout", "--quiet", "amiral/s1", at=place)
    elif how == "conflict":
        project.git("checkout", "--ours", "cart.py", at=place)
        project.git("add", "cart.py", at=place)
    else:
        (place / ".git").rmdir()
    await project.specs.run_again("s1", "owner")
    await project.carry_out(attempt=2)
    spec = await project.done()
    assert how == "conflict" or spec.commit == commit


async def test_a_refused_attempt_keeps_the_work_of_earlier_ones(project, hire):
    await project.write()
    await project.end(await project.given(), "failed")
    branch = (await project.failed()).branch
    able, project.crew.hired = project.crew.hired, []
    await project.specs.run_again("s1", "owner")
    await project.until(
        lambda: project.spec().attempt == 2 and project.spec().is_failed, "a refusal"
    )
    spec = project.spec()
    assert (spec.branch, spec.worker) == (branch, "developer")
    assert may(spec, Wish.DISCARD)
    project.crew.hired = able


async def test_one_that_failed_waits_while_others_go_on(project):
    await project.write("s1")
    await project.end(await project.given("s1"), "failed")
    await project.failed("s1")
    await project.write("s2")
    await project.carry_out("s2", cart_py="total = 2\n")
    await project.done("s2")
    assert project.spec("s1").is_failed


async def test_a_limit_is_no_end(project):
    """R06: the turn is parked, the spec stays in execution, whatever is started anew."""
    await project.write()
    message = await project.given()
    who = ("t1", message.message, "developer", "session")
    await project.journal.append(
        ev.TurnStarted(*who, message.message),
        ev.TurnParked(*who, (1, 0), "five_hour", None, "cli"),
    )
    await project.crash()
    await project.open()
    await project.write("s2")
    await asyncio.sleep(0.1)
    assert project.spec("s1").status == "executing"
    assert project.spec("s2").status == "approved"
    (project.place() / "cart.py").write_text("total = 1\n")
    await project.journal.append(ev.TurnEnded(*who, (1, 0), "done", "ok"))
    await project.done("s1")


# ------------------------------------------------------------------ races


async def test_a_spec_that_is_rejected_while_it_begins_is_not_begun_and_leaves_nothing(project):
    before = project.git("for-each-ref")
    async with project.worktrees.lock("s1"):
        await project.write("s1")
        await asyncio.sleep(0.05)
        await project.specs.reject("s1", "owner", "no")
    await project.write("s2")
    await project.carry_out("s2", cart_py="total = 2\n")
    await project.done("s2")
    assert project.spec("s1").status == "rejected"
    assert [one.spec for one in project.events(ev.SpecExecuting)] == ["s2"]
    assert not project.place("s1").exists()
    left = [line for line in project.git("for-each-ref").split("\n") if "amiral/s2" not in line]
    assert "\n".join(left) == before


async def test_of_two_approvals_one_counts_and_it_is_carried_out_once(project):
    await project.write("s1", is_approved=False)
    answers = await asyncio.gather(
        *(project.specs.approve("s1", "owner") for _ in range(2)), return_exceptions=True
    )
    assert sorted(type(one).__name__ for one in answers) == ["Conflict", "Spec"]
    await project.carry_out(cart_py="total = 1\n")
    await project.done()
    assert len(project.events(ev.SpecApproved)) == len(project.events(ev.SpecExecuting)) == 1


# ------------------------------------------------------------------ under a stop


async def test_under_a_stop_nothing_begins_and_after_its_release_all_goes_on(project):
    stop = project.brake.engage("enough", "owner", 1)
    await project.write()
    await asyncio.sleep(0.1)
    assert project.spec().status == "approved"
    assert not project.place().exists()
    project.brake.release(stop.stop_id)
    await project.given()


async def test_a_stop_between_turn_and_tests_holds_the_spec_where_it_is(project):
    await project.write()
    message = await project.given()
    (project.place() / "cart.py").write_text("total = 1\n")
    stop = project.brake.engage("enough", "owner", 1)
    await project.end(message)
    await asyncio.sleep(0.1)
    assert project.spec().status == "executing"
    assert project.events(ev.SpecTested) == []
    project.brake.release(stop.stop_id)
    await project.done()


async def test_a_stop_that_ends_the_tests_is_the_reason_not_the_tests(make_project):
    project = await make_project(is_open=False)
    project.command = "touch ../../running; sleep 300"
    await project.open()
    await project.write()
    await project.carry_out(cart_py="total = 1\n")
    await project.until((project.home / "running").exists, "the tests")
    stop = project.brake.engage("enough", "owner", 1)
    await asyncio.to_thread(tree.kill_tree, (), project.tag, None, 10)
    assert (await project.failed()).reason == f"stopped: emergency stop {stop.stop_id}: enough"


# ------------------------------------------------------------------ after a crash


async def test_a_crash_at_any_step_changes_nothing_but_the_time_it_takes(project):
    await project.crash()
    await project.open()
    await project.write()
    message = await project.given()
    (project.place() / "cart.py").write_text("total = 1\n")
    await project.crash()
    await project.open()
    await project.end(message)
    await project.done()
    await project.crash()
    await project.open()
    await asyncio.sleep(0.05)
    assert len(project.events(ev.SpecExecuting)) == len(project.events(ev.SpecDone)) == 1


async def test_an_end_that_came_while_we_were_away_is_judged_at_the_start(project):
    await project.write()
    message = await project.given()
    (project.place() / "cart.py").write_text("total = 1\n")
    project.task.cancel()
    await asyncio.wait([project.task])
    await project.end(message)
    await project.journal.close()
    await project.open()
    await project.done()


async def test_a_worktree_that_somebody_removed_is_no_fault_of_ours(project):
    await project.write()
    message = await project.given()
    shutil.rmtree(project.place())
    await project.end(message)
    assert (await project.failed()).reason == "developer said done and changed nothing"
