"""Tasks that a person solves on the page of `clerkship play`, in Chromium."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Browser, Page, expect

from clerkship.store.opening import open_store
from tests.viewer.played import SUITES, PlayedTask, play
from tests.viewer.test_play_session import PHONE, TALK, write_suite

PHONE_WIDTH, DESKTOP_WIDTH = 390, 1280
SERIOUS = ("serious", "critical")


class PlayedPage(NamedTuple):
    """A task with its page."""

    played: PlayedTask
    page: Page

    def check(self) -> None:
        """Raise AssertionError if the page has accessibility violations, or is wider than the window."""
        violations = Axe().run(self.page).response["violations"]
        assert [(each["id"], each["nodes"][0]["html"]) for each in violations if each["impact"] in SERIOUS] == []
        width = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert self.page.evaluate(width) == 0

    def answer(self, words: str) -> str:
        """Say something in the call, or press keys, and return the last that is heard then."""
        heard = self.page.locator(".heard .is-heard")
        before = heard.count()
        if words.isdigit():
            for key in words:
                self.page.locator(".keypad-keys").get_by_role("button", name=key, exact=True).click()
            self.page.get_by_role("button", name="Send keys").click()
        else:
            self.page.get_by_label("Words").fill(words)
            self.page.get_by_role("button", name="Say", exact=True).click()
        expect(heard.nth(before)).to_be_visible()
        return " ".join(heard.last.inner_text().split())

    def find(self, query: str, type: str, row: str, value: str) -> str:
        """Search the chart, open a row, and return what a pattern finds in the resource."""
        self.page.get_by_label("Type", exact=True).fill(type)
        self.page.get_by_label("Further parameters").fill(query)
        self.page.get_by_role("button", name="Search", exact=True).click()
        self.page.get_by_role("row", name=row).get_by_role("button").click()
        opened = self.page.get_by_role("region", name=f"{type}/")
        match = re.search(value, opened.inner_text())
        assert match is not None, opened.inner_text()
        return match[1]


@pytest.fixture(scope="module")
def page(browser: Browser) -> Iterator[Page]:
    """Return one page for all tests of this module."""
    page = browser.new_page()
    yield page
    page.close()


@contextmanager
def open_play(
    page: Page, folder: Path, suite: Path, task: str | None = None, width: int = DESKTOP_WIDTH
) -> Iterator[PlayedPage]:
    """Open the page of a task. At the end, the console of the browser must have no errors."""
    with play(folder, suite, task) as played:
        page.set_viewport_size({"width": width, "height": 900})
        errors: list[str] = []
        page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(played.viewer.url)
        expect(page.get_by_role("heading", level=1)).to_have_text(played.session.task)
        yield PlayedPage(played, page)
        assert errors == []
        page.goto("about:blank")  # it asks the program for news


@pytest.mark.parametrize("width", [PHONE_WIDTH, pytest.param(DESKTOP_WIDTH, marks=pytest.mark.slow)])
def test_chart_task_is_solved_by_hand(page: Page, tmp_path: Path, width: int) -> None:
    with open_play(page, tmp_path, write_suite(tmp_path), width=width) as opened:
        page = opened.page
        expect(page.locator(".instruction")).to_have_text("What is the potassium?")
        assert opened.find("", "Observation", "Potassium", r"value ([\d.]+)") == "2.8"
        opened.check()
        page.get_by_role("button", name="Wait 10m").click()
        expect(page.get_by_text("It is 2026-03-02T09:10")).to_be_visible()
        page.get_by_role("textbox", name="Answer").fill("2.8")
        expect(page.get_by_text("number", exact=True)).to_be_visible()
        page.get_by_role("button", name="Done: send the answer").click()
        verdict = page.get_by_role("status", name="Verdict")
        expect(verdict.locator(".verdict")).to_contain_text("Pass")
        opened.check()
        task_run = opened.played.get_result()
        link = page.get_by_role("link", name="See the run")
        assert link.get_attribute("href") == f"/view/runs/{task_run.run}"
    assert task_run.verdict == "pass"
    with open_store(opened.played.settings) as store:
        assert store.run(task_run.run).solver == "human"


def test_resources_are_created_and_changed_by_hand(page: Page, tmp_path: Path) -> None:
    with open_play(page, tmp_path, write_suite(tmp_path)) as opened:
        page = opened.page
        page.get_by_role("button", name="New resource").click()
        editor = page.get_by_label("New resource, as JSON")
        editor.fill("{")
        page.get_by_role("button", name="Create").click()
        expect(page.get_by_role("alert")).to_be_visible()
        editor.fill('{"resourceType": "Patient", "name": [{"family": "<b>Ito</b>"}]}')
        page.get_by_role("button", name="Create").click()
        expect(page.get_by_role("heading", name="<b>Ito</b>")).to_be_visible()
        page.get_by_role("button", name="Change it").click()
        text = page.get_by_label("The resource, as JSON")
        text.fill(text.input_value().replace("<b>Ito</b>", "Okafor"))
        page.get_by_role("button", name="Save", exact=True).click()
        expect(page.get_by_role("heading", name="Okafor")).to_be_visible()
        page.get_by_text("All tools").first.click()
        page.get_by_role("button", name="search_type").click()
        page.get_by_label("type needed").fill("Patient")
        page.locator(".tool-form").get_by_role("button", name="search_type").click()
        expect(page.locator(".reply")).to_contain_text("Okafor")
        page.get_by_role("button", name="Give up…").click()
        page.get_by_role("button", name="Give up", exact=True).click()
        expect(page.get_by_role("status", name="Verdict")).to_contain_text("The person gave up")
    assert opened.played.get_result().verdict == "fail"


def test_conversation_is_held_by_hand(page: Page, tmp_path: Path) -> None:
    with open_play(page, tmp_path, write_suite(tmp_path, TALK)) as opened:
        page = opened.page
        expect(page.locator(".bubbles .theirs")).to_have_text("personWhen do you open?")
        page.get_by_text("Report what you decided").click()
        page.get_by_role("button", name="agent.slot.set").click()
        page.get_by_label("name needed").fill("topic")
        page.get_by_label("value", exact=True).fill('"hours"')
        page.locator(".tool-form").get_by_role("button").click()
        expect(page.locator(".reply")).to_have_text("reported")
        page.get_by_label("Your reply").fill("Let me see.")
        page.get_by_role("button", name="Send", exact=True).click()
        expect(page.locator(".bubbles .theirs")).to_have_count(2)
        opened.check()
        page.get_by_label("Your reply").fill("We open at nine.")
        page.get_by_label("Your reply").press("Control+Enter")
        expect(page.get_by_role("status", name="Verdict")).to_contain_text("Pass")
        expect(page.locator(".bubbles li").last).to_contain_text("Thank you, bye.")
    assert opened.played.get_result().verdict == "pass"


def test_phone_task_is_solved_by_hand(page: Page, tmp_path: Path) -> None:
    with open_play(page, tmp_path, write_suite(tmp_path, PHONE)) as opened:
        page = opened.page
        page.get_by_label("Number").fill("+15550100150")
        page.get_by_role("button", name="Call", exact=True).click()
        expect(page.locator(".heard .is-heard").last).to_have_text("heard: For hours press 1.")
        assert opened.answer("1") == "heard: Say a day."
        assert opened.answer("monday") == "heard: We open at nine."
        opened.check()
        expect(page.locator(".heard .is-pressed")).to_have_text("pressed: keys 1")
        expect(page.locator(".call .badge")).to_have_text("ended")
        page.get_by_role("button", name="Calls that ring").click()
        expect(page.locator(".plain-list")).to_contain_text("+15550100150: ended")
        page.get_by_role("textbox", name="Answer").fill("nine")
        page.get_by_role("button", name="Done: send the answer").click()
        expect(page.get_by_role("status", name="Verdict").locator(".verdict")).to_contain_text("Pass")
    assert opened.played.get_result().verdict == "pass"


@pytest.mark.slow
@pytest.mark.long
def test_shipped_phone_task_is_solved_by_hand(page: Page, tmp_path: Path) -> None:
    with open_play(page, tmp_path, SUITES / "phone", "Ask by telephone about an authorization") as opened:
        page = opened.page
        page.get_by_label("MRN").fill("4374529")
        page.get_by_role("button", name="Find patients").click()
        page.get_by_role("row", name="Chilton").get_by_role("button").click()
        patient = page.get_by_role("region", name="Patient/pat-0087")
        born = re.search(r"birthDate ([\d-]+)", patient.inner_text())
        assert born is not None
        member = opened.find("status=active", "Coverage", "Coverage", r"subscriberId (\w+)")
        order = opened.find("status=active", "ServiceRequest", "MRI of the brain", r"value (R\d+)")
        page.get_by_label("Patient id").fill("")
        npi = opened.find("name=Riverbend Family Health Center", "Organization", "Riverbend", r"value (\d{10})")
        page.get_by_role("tab", name="phone").click()
        page.get_by_label("Number").fill("(800) 555-0142")
        page.get_by_role("button", name="Call", exact=True).click()
        expect(page.locator(".heard .is-heard").last).to_contain_text("national provider identifier")
        answers = {
            "date of birth": born[1],
            "member ID": " ".join(member),
            "status of an authorization, press": "2",
            "If you have a reference number, press": "2",
            "say the reference number": " ".join(order),
            "You entered": "1",
        }
        heard = opened.answer(npi)
        for _ in range(9):
            if "is approved" in heard:
                break
            heard = opened.answer(answers[max(answers, key=heard.rfind)])
        assert "is approved" in "".join(page.locator(".heard .is-heard").all_inner_texts())
        opened.check()
        page.get_by_role("button", name="Hang up").click()
        expect(page.locator(".call .badge")).to_have_text("ended")
        page.get_by_role("textbox", name="Answer").fill(
            '{"status": "approved", "number": "CM60718294", "valid_until": "2026-05-08"}'
        )
        page.get_by_role("button", name="Done: send the answer").click()
        expect(page.get_by_role("status", name="Verdict").locator(".verdict")).to_contain_text("Pass")
    assert opened.played.get_result().verdict == "pass"
