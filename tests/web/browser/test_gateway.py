"""A project's page through the hub, in a real browser: the same page at another path."""

import asyncio
import contextlib
import threading

import pytest

from amiral.base.clock import SystemClock
from amiral.base.settings import Hub
from amiral.commands.registry import Commands, Role
from amiral.commands.table import TABLE
from amiral.hub.gateway import Gateway, Served
from amiral.store.journal import Journal
from amiral.web.server import Site
from amiral.web.sessions import WEB_SESSIONS

LIVE = "document.getElementById('link')?.textContent === 'live'"


class HubThread:
    """A hub's gateway that serves while the test drives the browser."""

    def __init__(self, home, project):
        self._home, self._project = home, project
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()))
        self._is_up = threading.Event()

    def __enter__(self):
        self._thread.start()
        assert self._is_up.wait(20)
        return self

    def __exit__(self, *_exception):
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join(20)

    async def _serve(self):
        self._loop, self._over = asyncio.get_running_loop(), asyncio.Event()
        run, clock = self._home / "run", SystemClock()
        journal = await Journal.open(self._home / "hub" / "journal.db", clock, [WEB_SESSIONS])
        site = Site("amiral", Hub(port=0), True, False, run / "hub.http.sock")
        gone = Served("blog-1a2b", "blog", run / "no.http.sock", "stopped", "the brake is on")
        gateway = Gateway(
            *(Commands(TABLE), journal, clock, lambda _: Role.OWNER, site),
            lambda: [self._project(), gone],
        )
        await gateway.start()
        self.gateway = gateway
        self._is_up.set()
        await self._over.wait()
        await gateway.close()
        await journal.close()

    def new_url(self):
        async def ask():
            return self.gateway.new_url()

        return asyncio.run_coroutine_threadsafe(ask(), self._loop).result(10)


@pytest.fixture
def hub(rig):
    def project():
        (path,) = (one for one in rig.home.glob("run/*.http.sock") if one.name != "hub.http.sock")
        return Served("shop-1a2b", "shop", path, "running", "")

    with HubThread(rig.home, project) as one:
        yield one


@pytest.fixture
def index(browser, hub):
    tab = browser.open_tab(hub.new_url())
    yield tab
    with contextlib.suppress(AssertionError):
        tab.close()


def test_one_address_leads_to_every_project(index, rig):
    assert index.find("location.pathname + location.search") == "/"
    assert index.find("document.scripts.length") == 0
    index.says("⛔ stopped · the brake is on")
    assert index.complaints() == []
    index.find("[...document.querySelectorAll('a')].find((a) => a.innerText === 'shop').click()")
    index.until(LIVE)
    assert index.find("location.pathname") == "/p/shop-1a2b/"
    assert index.find("document.title") == "shop · amiral"
    assert len(index.look().colours()) > 20, "the style sheet is there"
    assert index.complaints() == []


def test_a_message_goes_through_the_hub_and_the_answer_comes_by_itself(index, rig, hub):
    index.go(hub.new_url().partition("?")[0] + "p/shop/")
    index.until(LIVE)
    index.click("Consultant")
    index.find("document.getElementById('text').focus()")
    index.type("hello through the hub")
    index.press("Enter", 13, "\r")
    index.says("hello through the hub")
    index.says("Good day.")
    queued = rig.told("MessageQueued")[-1]
    assert (queued["sender"], queued["surface"]) == ("owner", "web")
    assert index.complaints() == []


def test_a_project_killed_behind_the_hub_is_met_again_where_the_page_was(index, rig, hub):
    index.go(hub.new_url().partition("?")[0] + "p/shop/")
    index.until(LIVE)
    index.click("Consultant")
    rig.kill()
    index.until(f"!({LIVE})")
    rig.start()
    rig.answer(rig.post("/c said while nobody listened"))
    index.says("said while nobody listened", 60)
    index.until(LIVE)


def test_a_project_that_is_down_is_told_in_the_browser(index, hub):
    index.go(hub.new_url().partition("?")[0] + "p/blog/")
    index.says("the process of blog · stopped · the brake is on does not answer")
    index.find("[...document.querySelectorAll('a')].at(-1).click()")
    index.says("Projects")


HIDE = """((isHidden) => {
  Object.defineProperty(document, 'hidden', {value: isHidden, configurable: true});
  document.dispatchEvent(new Event('visibilitychange'));
})"""


def test_more_tabs_than_a_browser_has_connections_can_be_open(browser, index, rig, hub):
    """All projects share one address, and a browser opens six connections to one."""
    address = hub.new_url().partition("?")[0] + "p/shop/"
    tabs = []
    for _ in range(8):
        tabs.append(browser.open_tab(address))
        tabs[-1].until(LIVE)
        tabs[-1].find(f"{HIDE}(true)")
    rig.answer(rig.post("/c said while all were hidden"))
    tabs[0].find(f"{HIDE}(false)")
    tabs[0].click("Consultant")
    tabs[0].says("said while all were hidden")
    rig.answer(rig.post("/c and afterwards"))
    tabs[0].says("and afterwards")
    for tab in tabs:
        assert tab.complaints() == []
        tab.close()
