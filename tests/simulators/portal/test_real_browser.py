"""A payer portal over HTTP in Chromium: whole submissions, scripts, and what people do to forms."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Browser

from tests.simulators.portal.browser_user import PDF, BrowserUser, KeyboardUser
from tests.simulators.portal.portal_site import REQUEST, RIVERA, SERVICE, PortalSite, fill_in_one_page, fill_in_steps

LAYOUTS = ["wizard", "one_page"]
PAGES = ("/", "/members", "/requests", "/drafts", "/claims", "/inbox", "/providers", "/profile", "/authorization-check")


@pytest.fixture
def hub() -> Iterator[PortalSite]:
    with PortalSite() as site:
        yield site


def list_actions(site: PortalSite) -> list[tuple[str, Any]]:
    """Return what was done: the events of portal and payer, without the sign-in before them."""
    ours = [event for event in site.events if event.kind.startswith(("portal.", "payer."))]
    return [(event.kind, event.payload) for event in ours if event.kind != "portal.signed_in"]


def list_actions_without_browser(layout: str) -> list[tuple[str, Any]]:
    with PortalSite(layout=layout) as site:
        browser = site.sign_in()
        browser.open("/drafts")
        if layout == "wizard":
            fill_in_steps(browser)
        else:
            fill_in_one_page(browser)
        return list_actions(site)


def submit(user: BrowserUser, layout: str) -> None:
    user.sign_in()
    if layout == "wizard":
        user.submit_in_steps()
    else:
        user.submit_on_one_page()
    assert user.path.startswith("/requests/R")
    assert user.complaints == []


def test_a_member_is_looked_up_in_the_browser(browser: Browser, hub: PortalSite) -> None:
    with BrowserUser(browser, hub) as user:
        user.sign_in()
        user.open("/members")
        user.fill(**RIVERA)
        with user.page.expect_navigation():
            user.page.keyboard.press("Enter")
        assert user.page.get_by_role("heading", level=1).inner_text() == "Ana Rivera"
        assert hub.last("portal.page.viewed").records == ("member/NW001/NW55501/0",)
        assert user.complaints == []


@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    ("type", "options"),
    [(BrowserUser, {}), (BrowserUser, {"java_script_enabled": False}), (KeyboardUser, {})],
    ids=["mouse", "without scripts", "keyboard"],
)
def test_a_submission_gives_the_events_of_plain_http(
    browser: Browser, layout: str, type: type[BrowserUser], options: dict[str, Any]
) -> None:
    with PortalSite(layout=layout) as site, type(browser, site, **options) as user:
        submit(user, layout)
        assert list_actions(site) == list_actions_without_browser(layout)


@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS)
def test_codes_are_suggested_and_files_uploaded(browser: Browser, layout: str) -> None:
    with PortalSite(layout=layout) as site, BrowserUser(browser, site) as user:
        draft = open_draft(user, layout, "diagnoses")
        assert user.suggest("diagnosis_code", "m5416") == "M54.16"
        user.press("add_diagnosis")
        if layout == "wizard":
            user.press("next")
        assert user.suggest("procedure_code", "7214") == "72141"
        user.page.locator("[name=procedure_code]").fill("")
        user.fill(**SERVICE)
        user.press("add_service")
        if layout == "wizard":
            user.press("next")
        user.answer_questions()
        if layout == "wizard":
            user.press("next")
        user.upload("note.pdf", "résumé “2026”.pdf")
        names = [site.state.documents[id].name for id in site.state.drafts[draft].documents]
        assert names == ["note.pdf", "résumé “2026”.pdf"]
        with user.page.expect_download() as download:
            user.page.get_by_role("link", name="résumé").click()
        assert download.value.path().read_bytes() == PDF
        assert user.complaints == []


def open_draft(user: BrowserUser, layout: str, section: str) -> str:
    """Begin a request in process up to a section, and open it; return the id of the draft."""
    site = user.site
    begun = site.sign_in()
    begun.post("/drafts", {})
    begun.send("find_member", RIVERA)
    begun.send("next", {})
    begun.send("next", REQUEST)
    begun.send("next", {"servicing_npi": "1987654320"})
    [draft] = site.state.drafts
    user.sign_in()
    user.open(f"/drafts/{draft}/{section}" if layout == "wizard" else f"/drafts/{draft}")
    return draft


@pytest.mark.slow
def test_files_that_are_too_large_together_are_refused_on_a_page(browser: Browser, hub: PortalSite) -> None:
    with BrowserUser(browser, hub) as user:
        path = fill_in_steps(hub.sign_in(), until="documents").path
        user.sign_in()
        user.open(path)
        file = {"name": "scan.pdf", "mimeType": "application/pdf", "buffer": PDF + bytes(30_000_000)}
        user.page.locator("input[type=file]").set_input_files([file])  # type: ignore[arg-type]
        user.press("upload")
        assert user.page.get_by_role("heading").inner_text() == "What you sent is too large."
        assert user.page.locator("main").evaluate("main => getComputedStyle(main).borderTopWidth") == "4px"
        assert "Content Security Policy" not in "".join(user.complaints)


@pytest.mark.slow
def test_back_and_double_click_file_one_request(browser: Browser, hub: PortalSite) -> None:
    with BrowserUser(browser, hub) as user:
        user.sign_in()
        user.submit_in_steps(clicks=2)
        assert len(hub.payer.current.authorizations) == 1
        user.page.wait_for_load_state()
        user.open("/requests")
        assert user.page.get_by_role("row").count() == 2
        user.page.go_back()
        user.page.go_back()
        assert "already submitted" in user.page.get_by_role("main").inner_text()
        assert len(hub.payer.current.authorizations) == 1


@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS)
def test_real_pages_break_no_rule_of_axe_and_of_the_content_policy(browser: Browser, layout: str) -> None:
    site = PortalSite(
        layout=layout, announcements=("Offices are closed on Monday.",), friction={"maintenance": "Tonight"}
    )
    found = []
    with site, BrowserUser(browser, site, bypass_csp=True) as user, BrowserUser(browser, site) as strict:
        open_draft(user, layout, "diagnoses")
        strict.sign_in()
        fill_in = fill_in_steps if layout == "wizard" else fill_in_one_page
        filed = fill_in(site.sign_in())
        [member] = site.state.members
        [draft] = site.state.drafts
        more = (f"/drafts/{draft}", f"/members/{member}", filed.path, f"{filed.path}/change", f"{filed.path}/withdraw")
        for path in (*PAGES, *more):
            strict.open(path)
            user.open(path)
            for violation in Axe().run(user.page).response["violations"]:
                if violation["impact"] in ("serious", "critical"):
                    found += [f"{path}: {violation['id']}: {node['html'][:200]}" for node in violation["nodes"]]
        assert strict.complaints == []
    assert found == []


@pytest.mark.slow
def test_the_countdown_of_the_session_runs_on_the_real_page(browser: Browser, hub: PortalSite) -> None:
    with BrowserUser(browser, hub) as user:
        user.page.clock.install()
        user.sign_in()
        user.page.clock.run_for(19 * 60_000)
        notice = user.page.get_by_text("Your session ends in less than a minute.")
        assert notice.is_visible()
        hub.rig.playground.advance(timedelta(minutes=21))
        user.open("/requests")
        assert user.path == "/sign-in"
        assert user.page.get_by_text("Your session has ended because you were inactive.").is_visible()
