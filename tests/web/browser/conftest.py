"""A real Chromium without a window, driven through the pipe of its own DevTools protocol."""

import base64
import contextlib
import json
import os
import select
import shutil
import socket
import subprocess
import tempfile
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from amiral.testbench.rig import Rig, scripted_config

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
PATIENCE_S = 30.0

FLAGS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
    *("--no-first-run", "--no-default-browser-check", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--disable-extensions", "--mute-audio"),
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    *("--remote-debugging-pipe", "--window-size=1000,900"),
)


def find_chromium() -> str | None:
    return next((found for name in PROGRAMS if (found := shutil.which(name))), None)


class Chromium:
    """One browser with one profile of its own; a context manager."""

    def __init__(self, program: str):
        self._folder = tempfile.TemporaryDirectory(prefix="chromium-", ignore_cleanup_errors=True)
        inner, self._writing = os.pipe()
        self._reading, outer = os.pipe()
        home = self._folder.name
        self._process = subprocess.Popen(
            # It reads its commands from descriptor 3 and writes to 4; only a shell puts them there.
            ["bash", "-c", 'exec "$0" "${@:3}" 3<&"$1" 4>&"$2"', program, str(inner), str(outer)]
            + [*FLAGS, f"--user-data-dir={home}", "about:blank"],
            pass_fds=(inner, outer),
            env={**os.environ, "HOME": home},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(inner)
        os.close(outer)
        self._number = 0
        self._rest = b""
        self.heard: list[dict[str, Any]] = []

    def __enter__(self):
        return self

    def __exit__(self, *_exception):
        with contextlib.suppress(OSError, AssertionError):
            self.call("Browser.close")
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._reading)
        os.close(self._writing)
        self._folder.cleanup()

    def call(self, method: str, session: str = "", **values: Any) -> dict[str, Any]:
        self._number += 1
        number = self._number
        message = {"id": number, "method": method, "params": values}
        message |= {"sessionId": session} if session else {}
        os.write(self._writing, json.dumps(message).encode() + b"\0")
        by = time.monotonic() + PATIENCE_S
        while True:
            told = self._next(by)
            if told.get("id") == number:
                assert "error" not in told, f"{method}: {told['error']}"
                result: dict[str, Any] = told["result"]
                return result
            self.heard.append(told)

    def _next(self, by: float) -> dict[str, Any]:
        while b"\0" not in self._rest:
            ready = select.select([self._reading], [], [], max(by - time.monotonic(), 0))[0]
            assert ready, "the browser does not answer"
            data = os.read(self._reading, 1 << 20)
            assert data, "the browser has gone"
            self._rest += data
        line, _, self._rest = self._rest.partition(b"\0")
        told: dict[str, Any] = json.loads(line)
        return told

    def open_tab(self, url: str = "about:blank") -> "Tab":
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        tab = Tab(self, attached["sessionId"])
        for domain in ("Page", "Runtime", "Log", "Network"):
            tab.call(f"{domain}.enable")
        tab.go(url)
        return tab


class Tab:
    """One page."""

    def __init__(self, browser: Chromium, session: str):
        self._browser, self._session = browser, session

    def call(self, method: str, **values: Any) -> dict[str, Any]:
        return self._browser.call(method, self._session, **values)

    def close(self) -> None:
        self.call("Page.close")

    def go(self, url: str) -> None:
        self.call("Page.navigate", url=url)
        self.until("document.readyState === 'complete'")

    def find(self, script: str) -> Any:
        """Evaluate an expression in the page."""
        told = self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in told, told["exceptionDetails"]
        return told["result"].get("value")

    def until(self, script: str, seconds: float = PATIENCE_S) -> Any:
        """Evaluate it again and again until it gives something."""
        by = time.monotonic() + seconds
        while not (found := self._try(script)):
            assert time.monotonic() < by, f"not within {seconds} s: {script}\n{self.text()}"
            time.sleep(0.02)
        return found

    def _try(self, script: str) -> Any:
        """As `find`; a page that is just being left has nothing to say."""
        try:
            return self.find(script)
        except AssertionError:
            return None

    def text(self) -> str:
        return str(self.find("document.body.innerText"))

    def says(self, text: str, seconds: float = PATIENCE_S) -> None:
        self.until(f"document.body.innerText.includes({json.dumps(text)})", seconds)

    def press(self, key: str, code: int, text: str = "") -> None:
        values = {"key": key, "code": key, "windowsVirtualKeyCode": code}
        self.call("Input.dispatchKeyEvent", type="keyDown", text=text, **values)
        self.call("Input.dispatchKeyEvent", type="keyUp", **values)

    def type(self, text: str) -> None:
        self.call("Input.insertText", text=text)

    def click(self, name: str) -> None:
        """Click the button of this name where it is, as a finger would."""
        script = f"""(() => {{
          const button = [...document.querySelectorAll('button')].find(
            (one) => one.innerText.trim().endsWith({json.dumps(name)}) && one.checkVisibility());
          if (!button || button.disabled) return null;
          button.scrollIntoView({{block: 'center'}});
          const box = button.getBoundingClientRect();
          return [box.x + box.width / 2, box.y + box.height / 2];
        }})()"""
        x, y = self.until(script)
        values = {"x": x, "y": y, "button": "left", "clickCount": 1}
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, **values)

    def look(self, path: Path | None = None) -> "Picture":
        """Take a picture of what is seen, a quarter of its size."""
        size = self.find("[innerWidth, innerHeight]")
        clip = {"x": 0, "y": 0, "width": size[0], "height": size[1], "scale": 0.25}
        clip |= {"scale": 1} if path else {}
        scroll = self.find("[scrollX, scrollY]")
        clip |= {"x": scroll[0], "y": scroll[1]}
        data = base64.b64decode(self.call("Page.captureScreenshot", clip=clip)["data"])
        if path:
            path.write_bytes(data)
        return Picture(data)

    def complaints(self) -> list[str]:
        """What went wrong in the page: exceptions, and whatever the console calls an error."""
        mine = [one for one in self._browser.heard if one.get("sessionId") == self._session]
        logged = [one["params"]["entry"] for one in mine if one["method"] == "Log.entryAdded"]
        errors = [entry["text"] for entry in logged if entry["level"] == "error"]
        thrown = [one["params"] for one in mine if one["method"] == "Runtime.exceptionThrown"]
        return errors + [str(one["exceptionDetails"]) for one in thrown]

    def names(self, roles: Callable[[str], bool]) -> list[tuple[str, str]]:
        """Role and accessible name of what a screen reader meets."""
        nodes = self.call("Accessibility.getFullAXTree")["nodes"]
        found = [
            (node["role"]["value"], node.get("name", {}).get("value", ""))
            for node in nodes
            if not node.get("ignored") and "role" in node
        ]
        return [(role, name) for role, name in found if roles(role)]


class Picture:
    """The pixels of a PNG of eight bits a channel."""

    def __init__(self, png: bytes):
        assert png.startswith(b"\x89PNG")
        self.width, self.height = (int.from_bytes(png[at : at + 4]) for at in (16, 20))
        self._channels = {2: 3, 6: 4}[png[25]]
        packed, place = b"", 8
        while place < len(png):
            size = int.from_bytes(png[place : place + 4])
            if png[place + 4 : place + 8] == b"IDAT":
                packed += png[place + 8 : place + 8 + size]
            place += size + 12
        self._rows = self._unfilter(zlib.decompress(packed))

    def colours(self) -> dict[bytes, int]:
        counts: dict[bytes, int] = {}
        step = self._channels
        for row in self._rows:
            for at in range(0, len(row), step):
                colour = bytes(row[at : at + 3])
                counts[colour] = counts.get(colour, 0) + 1
        return counts

    def background(self) -> bytes:
        counts = self.colours()
        return max(counts, key=lambda colour: counts[colour])

    def _unfilter(self, data: bytes) -> list[bytearray]:
        size, step = self.width * self._channels, self._channels
        above, rows = bytearray(size), []
        for at in range(self.height):
            start = at * (size + 1)
            kind, row = data[start], bytearray(data[start + 1 : start + 1 + size])
            for x in range(size):
                left = row[x - step] if x >= step else 0
                corner = above[x - step] if x >= step else 0
                row[x] = (row[x] + _guess(kind, left, above[x], corner)) & 0xFF
            rows.append(row)
            above = row
        return rows


def _guess(kind: int, left: int, up: int, corner: int) -> int:
    if kind < 4:
        return (0, left, up, (left + up) // 2)[kind]
    estimate = left + up - corner
    return min((left, up, corner), key=lambda one: abs(estimate - one))


SCENARIO = """
turns:
  - match: hello
    say: "Good day. <img src=x onerror=document.title=1> \\u202Egpj.exe"
  - match: caching
    say: One way is open.
    spec:
      title: Add a <b>read-through</b> cache
      problem: The catalogue page costs 40 queries.
      approach: Cache in process.
      acceptance: [Page costs 2 queries, Nothing else changes]
      files: [shop/cart.py]
  - match: slow
    hang: 60
    say: late
default: {say: ok}
"""


@pytest.fixture(scope="module")
def browser():
    program = find_chromium()
    if program is None:
        pytest.skip("there is no chromium: make system-packages")
    with Chromium(program) as one:
        yield one


@pytest.fixture(scope="module")
def rig():
    """A whole amiral at a port that stays the same when it starts again."""
    folder = Path(tempfile.mkdtemp(prefix="amiral-"))
    (folder / "scenario.yaml").write_text(SCENARIO, "utf-8")
    environ = {"AMIRAL_HUB_PORT": str(_free_port())}
    rig = Rig(folder, scripted_config(folder / "scenario.yaml"), environ)
    try:
        yield rig.start()
    finally:
        report = rig.stop()
        shutil.rmtree(folder, ignore_errors=True)
    assert report.json()["survivors"] == 0


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def page(browser, rig):
    """The page, opened by a new address as a person would."""
    tab = browser.open_tab(rig.ask("url").json()["url"])
    tab.until("document.getElementById('link')?.textContent === 'live'")
    yield tab
    tab.close()
