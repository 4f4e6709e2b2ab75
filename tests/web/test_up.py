"""A whole project process and its page: who gets in from where, whatever runs below a worker."""

import json
import re
import shutil
import socket
import sys
import tempfile
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from amiral.testbench.rig import Rig, scripted_config, until

# What a worker's CLI may try: the unix sockets of its home, with whatever it likes to claim.
INTRUDER = """
import json, pathlib, socket, sys
told = {}
for method, path, body in (
    ("GET", "/", ""), ("GET", "/api/stream", ""), ("GET", "/api/events", ""),
    ("GET", "/api/status", ""), ("POST", "/api/commands/url", "{}"),
    ("POST", "/api/commands/say", '{"text": "/d hi", "wait": 0}'),
    ("POST", "/api/commands/release", '{"stop_id": "x"}'), ("POST", "/api/commands/help", "{}"),
):
    (place,) = pathlib.Path(sys.argv[1]).glob("run/*.http.sock")
    link = socket.socket(socket.AF_UNIX)
    link.connect(str(place))
    head = f"{method} {path} HTTP/1.1\\r\\nHost: 127.0.0.1:8787\\r\\n"
    head += "Origin: http://127.0.0.1:8787\\r\\n"
    head += "Content-Type: application/json\\r\\nConnection: close\\r\\n"
    head += f"Content-Length: {len(body)}\\r\\n"
    link.sendall((head + "\\r\\n" + body).encode())
    told[path] = int(link.recv(1000).split()[1])
pathlib.Path(sys.argv[2]).write_text(json.dumps(told))
"""


@pytest.fixture
def folder():
    path = Path(tempfile.mkdtemp(prefix="amiral-"))
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def start(folder):
    rigs: list[Rig] = []

    def run(config="", scenario="", environ=None):
        (folder / "scenario.yaml").write_text(scenario, "utf-8")
        path = folder / "scenario.yaml" if scenario else None
        rig = Rig(folder, scripted_config(path) + config, environ)
        rigs.append(rig)
        return rig.start()

    yield run
    for rig in rigs:
        assert rig.stop().json()["survivors"] == 0


class Browser:
    """Follows redirects and keeps cookies."""

    def __init__(self):
        self._opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())

    def open(self, url, data=None, **headers):
        request = urllib.request.Request(url, data)
        for name, value in headers.items():
            request.add_header(name.replace("_", "-"), value)
        try:
            with self._opener.open(request, timeout=30) as answer:
                return answer.status, answer.geturl(), answer.read()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.geturl(), error.read()


def test_the_address_printed_at_the_start_opens_the_page_once(start, folder):
    rig = start()
    told = until(lambda: rig.log().endswith("\n") and json.loads(rig.log()), "the banner")
    url = told["url"]
    base = url.partition("?")[0]
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/\?code=[\w-]{20,}", url)
    browser = Browser()
    status, final, body = browser.open(url)
    assert (status, final) == (200, base)
    assert b"data-place=" in body
    assert Browser().open(url)[0] == 401
    assert json.loads(browser.open(f"{base}api/health")[2])["ok"] is True
    rig.kill()
    rig.start({"AMIRAL_HUB_PORT": base.rpartition(":")[2].strip("/")})
    assert browser.open(base)[0] == 200, "a browser stays in across a restart"
    assert browser.open(url)[:2] == (200, base), "and needs no code"


def test_a_new_address_is_given_to_the_owner_at_any_time(start):
    rig = start()
    first, second = (rig.run("url").out.split("\n")[0] for _ in range(2))
    assert first != second
    for url in (second, first):
        assert Browser().open(url)[0] == 200


def test_a_message_over_http_is_answered_by_the_worker(start):
    rig = start()
    browser = Browser()
    url = rig.ask("url").json()["url"]
    base = browser.open(url)[1]
    body = json.dumps({"text": "/c hello"}).encode()
    headers = {"content_type": "application/json", "origin": base.rstrip("/")}
    status, _, told = browser.open(f"{base}api/commands/say", body, **headers)
    assert status == 200
    assert json.loads(told)["outcome"] == "done"
    assert rig.told("MessageQueued")[-1]["surface"] == "web"
    assert browser.open(f"{base}api/commands/say", body, **headers, host="evil.example")[0] == 403


def test_r51_what_runs_below_a_worker_is_an_agent_whatever_it_claims(start, folder):
    (folder / "intruder.py").write_text(INTRUDER)
    found = folder / "found.json"
    command = f"{sys.executable} {folder}/intruder.py {folder}/home {found}"
    turn = f"use: {{tool: bash, args: {{command: {json.dumps(command)}}}}}"
    rig = start(scenario=f"turns:\n  - {turn}\n  - say: Done.\n")
    assert rig.answer(rig.post("/d look around"))["text"] == "Done."
    told = json.loads(found.read_text())
    assert told.pop("/api/commands/help") == 200
    assert set(told.values()) == {403}, told


def test_a_page_that_cannot_be_had_stops_nothing_else(start):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        rig = start(environ={"AMIRAL_HUB_PORT": str(port)})
        told = until(lambda: rig.log().endswith("\n") and json.loads(rig.log()), "the banner")
    assert told["url"] == ""
    assert any(f"port {port} of 127.0.0.1 in use" in notice for notice in told["notices"])
    assert rig.ask("say", "/c hello").json()["outcome"] == "done"
    assert rig.ask("url").code == 1


def test_control_off_makes_the_page_read_only(start):
    rig = start('[web]\ncontrol = "off"\n')
    browser = Browser()
    base = browser.open(rig.ask("url").json()["url"])[1]
    assert browser.open(f"{base}api/status")[0] == 200
    headers = {"content_type": "application/json", "origin": base.rstrip("/")}
    assert browser.open(f"{base}api/commands/emergency-stop", b"{}", **headers)[0] == 403
    assert rig.ask("say", "/c hello").json()["outcome"] == "done", "the terminal still may"


def test_going_down_over_http_is_answered(start):
    rig = start()
    browser = Browser()
    base = browser.open(rig.ask("url").json()["url"])[1]
    headers = {"content_type": "application/json", "origin": base.rstrip("/")}
    assert browser.open(f"{base}api/commands/down", b"{}", **headers)[0] == 200
    assert rig.wait_dead() == 0
    assert not list(rig.home.glob("run/*.sock"))
    assert "Traceback" not in rig.log()
