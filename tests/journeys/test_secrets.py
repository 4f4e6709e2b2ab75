"""Secrets live in the vault alone: what a worker gives away is in nothing that amiral writes (P10).

Not redacted, because they are read back byte by byte or are the CLI's own: what a session's CLI
printed and was sent (`out.*`, `err*`, `in.jsonl`), and a worker's config home. All are private.
"""

import base64
import contextlib
import json
import sys
import urllib.parse
import urllib.request
from http.cookiejar import CookieJar
from pathlib import Path

import pytest

from amiral.testbench.rig import is_running, scripted_config, until

KEPT = "canary/of the vault+" + "9f3b" * 5
TOKEN = "canary-token-" + "7e1c" * 5
SECRETS = (KEPT, TOKEN)
ASKS = {
    "default": "allow",
    "rules": [{"capability": "execute-bash", "match": "git push*", "posture": "ask"}],
}


def plain_forms(secret: str) -> list[str]:
    data = secret.encode()
    return [secret, data.hex(), data.hex().upper(), urllib.parse.quote(secret, safe="")]


def forms(secret: str) -> list[str]:
    """Every form that is looked for; of base64 what does not depend on what stands around it."""
    encoded = (base64.b64encode(bytes(n) + secret.encode()).decode() for n in range(3))
    return [*plain_forms(secret), *(one[4:-4] for one in encoded)]


def spoken() -> str:
    """All of them as a worker would print them, in base64 with something around it."""
    lines = [form for secret in SECRETS for form in plain_forms(secret)]
    for secret in SECRETS:
        lines += [base64.b64encode(f"{'u' * n}{secret}:p".encode()).decode() for n in range(3)]
    return "\n".join(lines)


def in_pieces(text: str, to="stdout"):
    """Raw output whose secrets are parted over several writes."""
    places = [len(text[: text.index(secret)].encode()) + 7 for secret in SECRETS]
    return {"raw": {"bytes": text, "split": sorted(places), "to": to}}


def scenario() -> str:
    both = " ".join(SECRETS)
    said = json.dumps({"type": "said", "text": f"In pieces: {both}"}) + "\n"
    spec = {
        "title": f"Use {KEPT}",
        "problem": f"It needs {TOKEN}",
        "approach": f"With {both}",
        "acceptance": [f"It knows {both}"],
    }
    turns = [
        {"match": "leak", "use": {"tool": "bash", "args": {"command": f"true '{both}'"}}},
        {"match": "leak", **in_pieces(said), "say": spoken()},
        {"match": "noise", **in_pieces(f"no json: {both}\n"), "say": "There."},
        {"match": "How", "say": both, "spec": spec},
        {"match": "push", "use": {"tool": "bash", "args": {"command": f"git push {both}"}}},
        {"match": "push", "say": "Pushed."},
        {"match": "die", **in_pieces(f"fatal: {both}\n", "stderr"), "process": {"exit": "3"}},
    ]
    return json.dumps({"turns": turns, "default": {"say": f"ok {both}"}})


@pytest.fixture
def rig(yard, hire):
    """A worker of whose CLI's variables one is a secret of the vault, one a token in the open."""
    path = yard.folder / "scenario.yaml"
    path.write_text(scenario(), "utf-8")
    command = [sys.executable, "-m", "amiral.testbench.scripted_cli"]
    command += ["--scenario", str(path), "--ask-permissions"]
    own = f"[drivers.scripted]\ncommand = {json.dumps(command)}\n"
    own += f'env = {{DATA = "vault:canary/data", FAKE_TOKEN = {json.dumps(TOKEN)}}}\n'
    rig = yard.rig(scripted_config() + own)
    assert rig.run("vault", "set", "canary/data", stdin=f"{KEPT}\n").code == 0
    hire(rig, {"tools": "all", "permissions": ASKS})
    rig.start()
    assert rig.ask("trust", "workers_registry.json").code == 0
    until(lambda: "tester" in rig.run("workers").out, "the worker")
    return rig


def hits(where: str, data: bytes) -> list[str]:
    return [
        f"{where}: {form[:24]}…"
        for secret in SECRETS
        for form in forms(secret)
        if form.encode() in data
    ]


def is_raw(path: Path) -> bool:
    """Tell the files that hold what a CLI printed or keeps, and the owner's own settings."""
    is_session = path.parent.parent.name == "sessions"
    is_streams = is_session and path.name.startswith(("out.", "err", "in.jsonl"))
    is_home = "workers" in path.parts and "home" in path.parts[path.parts.index("workers") :]
    return is_streams or is_home or path.name == "amiral.toml"


def on_disk(rig) -> list[str]:
    """Give every hit in what amiral has written, in the home and in the project.

    A file that is just being replaced has everything looked at again, under its new name too.
    """
    while True:
        files = [*rig.home.rglob("*"), *(rig.project / ".amiral").rglob("*")]
        found = [path for path in files if path.is_file() and not is_raw(path)]
        assert any(path.name == "journal.db" for path in found)
        with contextlib.suppress(FileNotFoundError):
            return [hit for path in found for hit in hits(str(path), path.read_bytes())]


def conversations(rig) -> list[str]:
    return [one["id"] for one in rig.ask("conversations").json()["conversations"]]


def answered(rig) -> list[str]:
    """Give every hit in what the command line answers."""
    (spec,) = rig.ask("specs").json()
    asked = [["status"], ["events"], ["workers"], ["specs"], ["spec", "show", spec["id"]]]
    asked += [["conversations"], ["approvals"], ["health"], ["limits"], ["list"], ["config"]]
    asked += [["conversation", "show", one] for one in conversations(rig)]
    asked += [["doctor"], ["vault", "list"], ["vault", "check"], ["workers", "show", "tester"]]
    found = []
    for words in asked:
        for more in ([], ["--json"]):
            told = rig.run(*words, *more)
            found += hits(" ".join([*words, *more]), (told.out + told.err).encode())
    return found


def over_http(rig) -> list[str]:
    """Give every hit in what the page, its API and its stream of events answer."""
    url = json.loads(rig.run("url", "--json").out)["url"]
    jar = urllib.request.HTTPCookieProcessor(CookieJar())
    opener = urllib.request.build_opener(jar)
    base = url.partition("/?")[0]
    found = []
    with opener.open(url, timeout=30) as page:
        found += hits("page", page.read())
    paths = ["status", "workers", "specs", "conversations", "approvals", "events?since=0"]
    paths += ["workers/tester", *(f"conversations/{one}" for one in conversations(rig))]
    for path in paths:
        with opener.open(f"{base}/api/{path}", timeout=30) as answer:
            found += hits(path, answer.read())
    with opener.open(f"{base}/api/events?since=0", timeout=30) as answer:
        place = json.loads(answer.read())
    request = f"{base}/api/stream?after={place['epoch']}:0"
    with opener.open(request, timeout=30) as stream:
        told = b""
        while str(place["last_seq"]).encode() not in told.rpartition(b"id: ")[2]:
            told += stream.readline()
        found += hits("stream", told)
    return found


def in_processes(rig) -> list[str]:
    """Give every hit in command lines, and in the environment of all but the CLIs themselves."""
    (session,) = [one for one in rig.running() if one.worker == "tester"]
    assert is_running(session.cli)
    assert KEPT in Path(f"/proc/{session.cli}/environ").read_text(), "it was given what it needs"
    found = []
    for pid in (rig.pid, session.shim):
        found += hits(f"environ {pid}", Path(f"/proc/{pid}/environ").read_bytes())
    for pid in (rig.pid, *rig.agents()):
        found += hits(f"cmdline {pid}", Path(f"/proc/{pid}/cmdline").read_bytes())
    return found


def test_p10_k1_what_a_worker_gives_away_is_in_nothing_that_amiral_writes_or_answers(rig):
    for words in ("leak it", "make noise"):
        assert rig.ask("say", f"/w:tester {words}").json()["outcome"] == "done"
    assert rig.ask("say", "/c How would you do it?").json()["outcome"] == "done"
    message = rig.post("/w:tester push it")
    (request,) = until(lambda: rig.ask("approvals").json()["approvals"], "a request")
    assert "[redacted]" in request["preview"]
    assert in_processes(rig) == []
    assert rig.run("approve-request", request["id"], "deny").code == 0
    rig.answer(message)
    assert rig.ask("say", "/w:tester die now").json()["outcome"] != "done"
    assert len(conversations(rig)) == 2
    assert [*answered(rig), *over_http(rig), *on_disk(rig)] == []
    streams = [path.read_bytes() for path in rig.state.glob("sessions/*/out.*")]
    assert any(hits("out", data) for data in streams), "the scan finds what is there"
    told = json.dumps(rig.events())
    for name in ("WorkerSaid", "ToolUsed", "NoiseRead", "TurnEnded"):
        assert any("[redacted]" in json.dumps(one) for one in rig.told(name)), name
    assert "[redacted]" in told


def test_p10_a_killed_process_that_folds_on_knows_the_secrets_from_its_first_line(rig):
    message = rig.post("/w:tester leak it")
    until(lambda: rig.told("TurnStarted"), "the turn")
    rig.kill()
    rig.start()
    assert rig.answer(message)["outcome"] == "done"
    assert on_disk(rig) == []


def test_a_secret_that_is_changed_or_gone_counts_from_the_next_session_on(rig):
    assert rig.ask("say", "/w:tester hello").json()["outcome"] == "done"
    other = "another-" + "5d2a" * 5
    assert rig.run("vault", "set", "canary/data", stdin=other).code == 0
    assert rig.ask("say", "/w:tester die now").json()["outcome"] != "done"
    assert rig.ask("say", "/w:tester hello").json()["outcome"] == "done"
    (session,) = [one for one in rig.running() if one.worker == "tester"]
    environ = Path(f"/proc/{session.cli}/environ").read_text()
    assert f"DATA={other}" in environ
    assert KEPT not in environ

    assert rig.run("vault", "remove", "canary/data").code == 0
    refused = rig.ask("say", "/w:tester hello").json()
    assert refused["outcome"] == "failed"
    assert "[drivers.scripted] env DATA: the vault has no secret canary/data" in refused["reason"]
    assert "amiral vault set canary/data" in refused["reason"]
    assert other not in json.dumps(rig.events())


def test_k3_an_agent_is_given_the_secrets_its_table_names_and_no_others(rig):
    third = "third-" + "1a2b" * 5
    assert rig.run("vault", "set", "other/one", stdin=third).code == 0
    assert rig.ask("say", "/w:tester hello").json()["outcome"] == "done"
    (session,) = [one for one in rig.running() if one.worker == "tester"]
    assert third not in Path(f"/proc/{session.cli}/environ").read_text()
    rig.run("emergency-stop")
