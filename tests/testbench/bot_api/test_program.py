"""The emulator as a program of its own, asked over HTTP."""

import http.client
import json
import signal
import socket
import subprocess
import sys

import pytest

from amiral.base.errors import Broken
from amiral.testbench.bot_api.remote import Remote, served

TOKEN = "700000001" + ":AA" + "x" * 33
BOT, PERSON = 700000001, 42


def get(port, path):
    link = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    link.request("GET", path)
    answer = link.getresponse()
    told = json.loads(answer.read())
    link.close()
    return told


def test_it_prints_its_port_serves_and_can_be_set_up_from_outside():
    with served() as api:
        assert api.do("bot", token=TOKEN)["id"] == BOT
        api.do("say", chat=PERSON, user=PERSON, bot=BOT, text="hello")
        told = get(api.port, f"/bot{TOKEN}/getUpdates")
        assert told["result"][0]["message"]["text"] == "hello"
        assert api.url.endswith(f":{api.port}")
        assert api.do("set_person", chat=PERSON, person=PERSON, status="member") is None
        for verb, fields in (("dance", {}), ("say", {"chat": 1}), ("say", {"chat": -1, "user": 1})):
            with pytest.raises(Broken):
                api.do(verb, **fields)


def test_a_port_that_is_taken_is_told_in_a_line():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        command = [sys.executable, "-m", "amiral.testbench.bot_api", "--port", port]
        ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert ran.returncode == 1
    assert ran.stderr.startswith(f"Error: port {port}: ") and "Traceback" not in ran.stderr


def test_it_ends_at_a_signal_in_the_middle_of_a_long_poll():
    command = [sys.executable, "-m", "amiral.testbench.bot_api"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        api = Remote(int(process.stdout.readline()))
        api.do("bot", token=TOKEN)
        link = http.client.HTTPConnection("127.0.0.1", api.port, timeout=20)
        link.request("GET", f"/bot{TOKEN}/getUpdates?timeout=50")
        while not api.do("state")["bots"][str(BOT)]["is_polling"]:
            pass
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=20) == 0
        link.close()
