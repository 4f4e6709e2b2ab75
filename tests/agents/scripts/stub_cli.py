"""A CLI of the scripted protocol that does exactly what a test tells it, step after step.

`stub_cli.py '[["opened"], ["message"], …]' --home=… --session-id=…`; when the steps are done it
answers like any CLI until its stdin ends. Steps that begin with "first" are for the first process
alone; without "opened" or "mute" it opens first.
"""

import json
import os
import signal
import sys
import time
from typing import Any

options = dict(word[2:].partition("=")[::2] for word in sys.argv[2:])
key = options.get("resume") or options.get("session-id", "")
folder = os.path.join(options.get("home", ""), "scripted")
known = {"id": "", "key": key}


def out(text):
    os.write(1, text.encode())


def show(**event):
    out(json.dumps(event) + "\n")


def note(name, record):
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name), "a", encoding="utf-8") as file:
        file.write(json.dumps(record) + "\n")
        file.flush()
        os.fsync(file.fileno())


def record(**fields):
    note(f"{known['key']}.jsonl", fields)


def read(kind):
    """Wait for a line of this kind; the end of stdin is the end."""
    while True:
        line = sys.stdin.readline()
        if not line:
            sys.exit(0)
        given = json.loads(line)
        note("read.jsonl", {"session": known["key"], **given})
        if given["type"] == kind:
            known["id"] = given.get("id", known["id"])
            return given


def final(how="done", text="ok", reason="", **more):
    record(type="final", id=known["id"], how=how, text=text)
    show(type="final", how=how, text=text, reason=reason, **{"session": known["key"], **more})


def seen():
    record(type="message", id=known["id"])
    show(type="seen", id=known["id"])


def opened():
    show(type="opened", session=known["key"], version="1.0.0", model="", tools=[])


def hold():
    while True:
        time.sleep(60)


STEPS = {
    "opened": opened,
    "message": lambda: read("message"),
    "answer": lambda: read("answer"),
    "interrupt": lambda: read("interrupt"),
    "seen": seen,
    "told": lambda: show(type="seen", id=known["id"]),
    "received": lambda: record(type="message", id=known["id"]),
    "answered": lambda text: record(type="final", id=known["id"], how="done", text=text),
    "final": lambda *fields: final(**(fields[0] if fields else {})),
    "show": lambda event: show(**event),
    "raw": out,
    "flood": lambda text, times: [out(text) for _ in range(times)],
    "err": lambda text: os.write(2, text.encode()),
    "ignore": lambda name: signal.signal(signal.Signals[name], signal.SIG_IGN),
    "hold": hold,
    "as": lambda name: known.update(key=name),
    "exit": sys.exit,
}


def is_first():
    try:
        os.makedirs(folder, exist_ok=True)
        os.close(os.open(os.path.join(folder, "played"), os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True


def main():
    if "version" in options:
        out("scripted 1.0.0\n")
        return
    steps = json.loads(sys.argv[1])
    if steps and steps[0] == ["first"]:
        steps = steps[1:] if is_first() else []
    if ["opened"] not in steps and ["mute"] not in steps:
        steps = [["opened"], *steps]
    for name, *arguments in steps:
        if name != "mute":
            step: Any = STEPS[name]
            step(*arguments)
    while True:
        read("message")
        seen()
        final()


main()
