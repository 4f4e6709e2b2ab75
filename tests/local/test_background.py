"""`amiral up --detach`: when it ends it has told where the page is, or why there is none."""

import shutil
import socket
import tempfile
import urllib.request
from pathlib import Path

import pytest

from amiral.testbench.rig import Rig, is_running, scripted_config, until


@pytest.fixture
def rig():
    folder = Path(tempfile.mkdtemp(prefix="amiral-"))
    one = Rig(folder, scripted_config())
    yield one
    one.run("down", "--agents")
    one.stop()
    shutil.rmtree(folder, ignore_errors=True)


def test_the_address_it_tells_opens_the_page_and_is_written_nowhere(rig):
    started = rig.run("up", str(rig.project), "--detach", "--json")
    assert (started.code, started.err) == (0, "")
    told = started.json()
    assert told["projects"][0]["path"] == str(rig.project)
    assert is_running(told["pid"])
    assert told["missing"] == []
    assert told["found"][:2] == ["claude (not installed)", "codex (not installed)"]
    assert "no agent CLI found: the scripted worker answers" in told["notices"]
    code = told["url"].partition("?code=")[2]
    files = [path for path in rig.home.rglob("*") if path.is_file()]
    assert not [path for path in files if code.encode() in path.read_bytes()]
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    with opener.open(told["url"], timeout=30) as page:
        assert page.status == 200
        assert b"shop" in page.read()
    assert rig.run("down").code == 0
    until(lambda: not is_running(told["pid"]), "the end of the process")
    log = rig.home / "hub" / "process.log"
    assert log.read_text() == "", "it never writes into the pipe that is closed"


def test_people_read_where_to_look(rig):
    started = rig.run("up", str(rig.project), "--detach")
    first, found, second, *notices = started.out.split("\n")
    assert first.startswith("✓ amiral serves shop: process ")
    assert found.startswith("  found claude (not installed) · codex (not installed) · scripted")
    assert second.startswith("  open http://127.0.0.1:")
    assert notices == ["  notice no agent CLI found: the scripted worker answers", ""]


def test_the_port_is_handed_on(rig):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        started = rig.run("up", str(rig.project), "--detach", "--json", "--port", str(port))
        assert started.code == 0
        assert started.json()["url"] == ""
        assert any(f"port {port} of" in notice for notice in started.json()["notices"])
        refused = rig.run("url", "--json")
        assert (refused.code, refused.json()["error"]["kind"]) == (1, "broken")


def test_what_it_complains_of_is_told_with_its_own_code(rig):
    for words in ((), ("--json",)):
        wrong = rig.run("up", str(rig.project), "--detach", "--port", "70000", *words)
        assert wrong.code == 2
        assert "--port must be a port from 0 to 65535 (got 70000)" in wrong.out + wrong.err


def test_what_stops_it_later_is_told_too(rig):
    started = rig.run("up", str(rig.project), "--detach", "--json").json()
    rig.run("down")
    until(lambda: not is_running(started["pid"]), "the end of the process")
    (journal,) = rig.home.glob("projects/*/journal.db")
    journal.write_bytes(b"no database at all" * 1000)
    broken = rig.run("up", str(rig.project), "--detach", "--json")
    assert broken.code == 1
    (missing,) = broken.json()["missing"]
    assert missing.startswith("shop does not run: parked")
    assert "journal.db" in missing
    assert not rig.is_listening()
    rig.run("down")
