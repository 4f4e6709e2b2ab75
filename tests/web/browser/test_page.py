"""The page in a real browser: seen, read, used by keyboard and by finger, live."""

import json

import pytest

from amiral.base.plain import plain
from amiral.testbench.rig import until

AT_WORK = "document.querySelector('#log').innerText.includes"
SPEC = "document.querySelector('#specs > li')"
PHONE = {"width": 360, "height": 740, "deviceScaleFactor": 1, "mobile": True}


def choose(page, worker):
    page.click(worker)
    page.until(f"document.getElementById('talk-title').textContent.endsWith({json.dumps(worker)})")


def test_the_address_leads_to_the_page_without_its_code(page, rig):
    assert page.find("location.pathname + location.search + location.hash") == "/"
    assert page.find("document.cookie") == "", "no script can read the session"
    assert page.find("document.title") == "shop · amiral"
    for text in ("Needs you", "Workers", "Consultant", "Developer", "Conversation with"):
        page.says(text)
    picture = page.look()
    colours = picture.colours()
    assert len(colours) > 20, "text is drawn"
    assert colours[picture.background()] < picture.width * picture.height * 0.99
    assert page.complaints() == []


def test_a_message_goes_there_and_the_answer_comes_by_itself(page, rig):
    choose(page, "Consultant")
    page.find("document.getElementById('text').focus()")
    page.type("hello from the page")
    page.press("Enter", 13, "\r")
    page.says("hello from the page")
    page.says("Good day.")
    assert page.find("document.getElementById('text').value") == ""
    queued = rig.told("MessageQueued")[-1]
    assert (queued["worker"], queued["sender"], queued["surface"]) == ("consultant", "owner", "web")


def test_r54_what_a_worker_writes_is_text_and_shows_what_turns_it(page, rig):
    rig.answer(rig.post("/d hello"))
    choose(page, "Developer")
    page.says("<img src=x onerror=document.title=1> <U+202E>gpj.exe")
    hostile = "a\u202eb\u061c \x1b]8;;http://x\x07link\x1b]8;;\x07 \x9b2J\x1b[31mred\x00 \x7f<b>"
    rig.answer(rig.post(f"/d {hostile}"))
    page.says(plain(hostile))
    assert page.find("document.querySelectorAll('#log img, #log b').length") == 0
    assert page.find("document.title") == "shop · amiral"
    assert page.complaints() == []


def test_what_is_said_elsewhere_appears_without_a_reload(page, rig):
    choose(page, "Consultant")
    page.find("window.sameDocument = true")
    rig.answer(rig.post("/c something said on the terminal"))
    page.says("something said on the terminal")
    assert page.find("window.sameDocument") is True


def test_a_spec_is_read_and_approved_with_a_tap(page, rig):
    rig.answer(rig.post("/c how about caching"))
    page.until(f"Boolean({SPEC})")
    page.says("1 spec waits for you")
    card = page.find(f"{SPEC}.innerText")
    for text in (
        "draft",
        "Add a <b>read-through</b> cache",
        "The catalogue page costs 40 queries.",
    ):
        assert text in card
    assert "Page costs 2 queries" in card
    spec = rig.ask("specs").json()[0]["id"]
    page.click(f"Approve {spec}")
    approved = rig.wait_told("SpecApproved")
    assert approved[0]["spec"] == spec
    page.until(f"!{SPEC}.innerText.includes('Approve')")


def test_a_slip_and_a_command_are_answered_in_place(page):
    page.find("document.getElementById('text').focus()")
    page.type("/aprove x")
    page.press("Enter", 13, "\r")
    page.says("Did you mean /approve x?")
    assert page.find("document.getElementById('text').value") == "/aprove x", "kept, to be mended"
    page.find("document.getElementById('text').select()")
    page.type("/workers")
    page.press("Enter", 13, "\r")
    page.says("ui-designer")


def test_a_killed_process_is_met_again_where_the_page_was(page, rig):
    """R52: the browser comes back by itself, its session counts, and nothing is missing."""
    choose(page, "Consultant")
    rig.kill()
    page.until("document.getElementById('link').textContent !== 'live'")
    rig.start()
    message = rig.post("/c said while nobody listened")
    rig.answer(message)
    page.says("said while nobody listened", 60)
    page.until("document.getElementById('link').textContent === 'live'")


def test_everything_is_stopped_and_released_from_the_page(page, rig):
    choose(page, "Developer")
    rig.post("/d slow")
    page.says("Interrupt Developer")
    page.click("Stop everything")
    page.says("Stop every agent?")
    page.click("Go on")
    page.until("!document.getElementById('confirm').open")
    page.click("Stop everything")
    page.find("document.getElementById('confirm-yes').click()")
    page.says("is on")
    until(lambda: rig.ask("health").json()["stop_id"], "the stop")
    until(lambda: rig.running() == [], "the end of every agent")
    page.click("Release")
    until(lambda: not rig.ask("health").json()["stop_id"], "the release")
    page.until("!document.getElementById('needs').innerText.includes('is on')")


def test_it_can_be_used_by_keyboard_alone(page):
    page.find("document.body.focus()")
    met, outlines = [], set()
    for _ in range(12):
        page.press("Tab", 9)
        met.append(
            page.find("document.activeElement.innerText || document.activeElement.id || ''").strip()
        )
        if page.find("document.activeElement !== document.body"):
            outlines.add(page.find("getComputedStyle(document.activeElement).outlineStyle"))
    for name in ("Skip to the message", "Stop everything", "Consultant", "text", "Send"):
        assert any(name in one for one in met), met
    assert outlines, "nothing was ever in focus"
    assert "none" not in outlines


def test_whatever_can_be_used_has_a_name(page):
    wanted = ("button", "textbox", "link", "log", "dialog", "heading", "region")
    met = page.names(lambda role: role in wanted)
    assert [one for one in met if not one[1]] == []
    assert {"button", "textbox", "log", "heading", "region"} <= {role for role, _ in met}


def test_it_fits_a_phone_and_a_finger(page):
    page.call("Emulation.setDeviceMetricsOverride", **PHONE)
    page.until("innerWidth === 360")
    assert page.find("document.documentElement.scrollWidth") <= 360
    small = """[...document.querySelectorAll('button')].filter((one) => one.checkVisibility())
      .map((one) => one.getBoundingClientRect()).filter((box) => box.height < 44).length"""
    assert page.find(small) == 0
    assert len(page.look().colours()) > 20


@pytest.mark.parametrize(("scheme", "is_dark"), [("light", False), ("dark", True)])
def test_it_is_light_by_day_and_dark_by_night(page, scheme, is_dark):
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    page.call("Emulation.setEmulatedMedia", features=features)
    assert (sum(page.look().background()) < 3 * 128) is is_dark


def test_a_browser_whose_session_is_gone_is_told_how_to_come_back(page, rig):
    page.call("Network.clearBrowserCookies")
    page.find("location.reload()")
    page.says("run amiral url and open what it prints")
    page.go(rig.ask("url").json()["url"])
    page.until("document.getElementById('link')?.textContent === 'live'")
