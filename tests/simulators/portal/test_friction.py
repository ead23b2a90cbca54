"""What makes a payer portal harder to use: each switch of its friction."""

from datetime import timedelta
from typing import Any

import pytest

from clerkship.sandbox.faults.request_faults import ErrorFault, LatencyFault
from clerkship.simulators.portal.handle import FormFile, PortalBrowser
from tests.simulators.portal.browser_user import PDF
from tests.simulators.portal.http_client import send, sign_in
from tests.simulators.portal.portal_site import RIVERA, SERVICE, PortalSite, fill_in_one_page, fill_in_steps

USER = {"username": "m.okafor", "name": "Maya Okafor", "phone": "+15550100140", "email": "m.okafor@riverbend.example"}
SUBMIT = {"attest": "yes", "contact_name": "Maya Okafor", "contact_phone": "555-010-0140"}


def open_site(**friction: Any) -> PortalSite:
    return PortalSite(friction=friction)


def test_an_idle_session_ends_and_loses_the_unsaved_page() -> None:
    with open_site(idle_timeout="10m") as site:
        browser = site.sign_in()
        browser.post("/drafts", {})
        [draft] = site.state.drafts.values()
        site.rig.playground.advance(timedelta(minutes=9))
        browser.open(f"/drafts/{draft.id}/patient")
        assert browser.page.status == 200
        site.rig.playground.advance(timedelta(minutes=11))
        cookie_page = browser.send("find_member", RIVERA)
        assert cookie_page.heading == "Sign in"
        assert "What you had not saved is lost." in cookie_page.text
        assert site.last("portal.session.ended").reason == "idle"
        assert list(site.state.drafts.values()) == [draft]
        browser.sign_in()
        assert browser.open(f"/drafts/{draft.id}/patient").status == 200


def test_an_idle_session_of_a_browser_leads_back_to_the_page_that_was_asked_for() -> None:
    with open_site() as site:
        cookie = sign_in(site).cookie
        site.rig.playground.advance(timedelta(minutes=21))
        assert (
            send(site, "GET", "/requests", cookie).headers["location"].endswith("/sign-in?reason=ended&next=/requests")
        )


@pytest.mark.parametrize(("channel", "to"), [("text", USER["phone"]), ("email", USER["email"])])
def test_a_one_time_code_is_needed_once(channel: str, to: str) -> None:
    with open_site(one_time_code=channel) as site:
        browser = site.sign_in()
        assert browser.page.heading == "Enter your code"
        assert to not in browser.page.text
        assert browser.open("/requests").heading == "Enter your code"
        sent = site.last("portal.code.sent")
        assert (sent.channel, sent.to) == (channel, to)
        assert browser.post("/sign-in/code", {"code": "x"}).problems == [
            "The code is wrong. Check it, or send a new one."
        ]
        browser.post("/sign-in/code/resend", {})
        assert browser.post("/sign-in/code", {"code": sent.code}).problems  # the first one is replaced
        code = site.last("portal.code.sent").code
        assert browser.post("/sign-in/code", {"code": f"{code[:3]} {code[3:]}"}).path == "/"
        assert [event.accepted for event in payloads(site, "portal.code.entered")] == [False, False, True]


def payloads(site: PortalSite, kind: str) -> list[Any]:
    return [event.payload for event in site.events if event.kind == kind]


@pytest.mark.parametrize("layout", ["wizard", "one_page"])
@pytest.mark.parametrize(
    "friction", [{"one_time_code": "text"}, {"password_expired": True}, {"human_check": "sign_in"}]
)
def test_pages_before_the_first_have_no_menu_and_one_can_still_sign_out(layout: str, friction: dict[str, Any]) -> None:
    with PortalSite(layout=layout, friction=friction) as site:
        browser = site.sign_in()
        assert {target for target, _ in browser.page.links} <= {"/", "#main"}
        assert browser.post("/sign-out", {}).heading == "Sign in"
        assert site.last("portal.session.ended").reason == "signed_out"
        assert "portal.submit.refused" not in site.kinds


def test_three_wrong_codes_end_the_session() -> None:
    with open_site(one_time_code="text") as site:
        browser = site.sign_in()
        for _ in range(3):
            browser.post("/sign-in/code", {"code": "0000000"})
        assert "The code was wrong too often." in browser.page.text
        code = site.last("portal.code.sent").code
        assert browser.post("/sign-in/code", {"code": code}).heading == "Sign in"
        assert payloads(site, "portal.code.entered")[-1].status == "ended"


def test_an_empty_code_is_wrong() -> None:
    with open_site(one_time_code="text") as site:
        browser = site.sign_in()
        assert browser.post("/sign-in/code", {}).problems


def test_an_expired_password_is_changed_and_then_used() -> None:
    with open_site(password_expired=True) as site:
        browser = site.sign_in()
        assert browser.open("/requests").heading == "Your password has expired"
        for new, repeated in (("short1", "short1"), ("m.okafor-2026-x", "m.okafor-2026-x"), ("Harbor-light-77", "x")):
            page = browser.post("/sign-in/password", {"new_password": new, "repeat_password": repeated})
            assert page.status == 422
            assert page.problems
        page = browser.post(
            "/sign-in/password", {"new_password": "Harbor-light-77", "repeat_password": "Harbor-light-77"}
        )
        assert page.path == "/"
        assert "Your password was changed." in page.text
        assert "wrong" in browser.sign_in().text
        assert browser.sign_in(password="Harbor-light-77").path == "/"
        assert b"Harbor-light" not in b"".join(site.rig.lines)
        assert not [blob for blob in site.rig.playground.log.blobs.values() if b"Harbor-light" in blob]


@pytest.mark.parametrize("layout", ["wizard", "one_page"])
def test_maintenance_is_announced_on_every_page(layout: str) -> None:
    with PortalSite(layout=layout, friction={"maintenance": "Closed on Sunday from 2 to 4."}) as site:
        browser = site.portal.browser()
        assert "Closed on Sunday" in browser.open("/sign-in").text
        browser.sign_in()
        for path in ("/", "/requests", "/profile"):
            assert "Closed on Sunday" in browser.open(path).text


def submit_again(browser: PortalBrowser, path: str) -> None:
    browser.open(path)
    browser.send("submit", SUBMIT)


def test_an_error_before_submission_files_nothing_and_the_second_try_does() -> None:
    with open_site(error_before_submit=1) as site:
        browser = site.sign_in()
        page = fill_in_steps(browser)
        assert (page.status, page.heading) == (500, "Something went wrong")
        assert "Check whether your request was received" in page.text
        assert site.last("portal.error.shown").is_filed is False
        assert not site.payer.current.authorizations
        [draft] = site.state.drafts
        submit_again(browser, f"/drafts/{draft}/review")
        assert len(site.payer.current.authorizations) == 1
        assert browser.page.path.startswith("/requests/")


def test_an_error_after_submission_has_filed_it_and_a_second_try_is_refused() -> None:
    with open_site(error_after_submit=1) as site:
        browser = site.sign_in()
        page = fill_in_steps(browser)
        assert page.status == 500
        assert site.last("portal.error.shown").is_filed is True
        [request] = site.payer.current.authorizations
        assert request not in page.text
        assert request in browser.open("/requests").text
        [draft] = site.state.filed
        assert "already submitted" in browser.post(f"/drafts/{draft}/review", {"action": "submit", **SUBMIT}).text
        assert len(site.payer.current.authorizations) == 1


def test_a_slow_page_lets_time_pass_and_can_end_the_session() -> None:
    with open_site(idle_timeout="10m") as site:
        browser, cookie = site.sign_in(), sign_in(site).cookie
        site.rig.playground.inject(LatencyFault(operation="show_requests", by=timedelta(minutes=11), times=1))
        began = site.rig.playground.clock.now
        assert send(site, "GET", "/static/wizard/site.css", cookie).status == 200
        assert browser.open("/profile").status == 200
        assert site.rig.playground.clock.now - began < timedelta(minutes=1)
        assert browser.open("/requests").heading == "Sign in"
        assert browser.sign_in().heading == "Welcome, Maya Okafor"
        assert browser.open("/requests").status == 200


def test_an_error_that_is_injected_is_a_page_in_plain_words() -> None:
    with open_site() as site:
        browser = site.sign_in()
        site.rig.playground.inject(ErrorFault(status=503, times=1))
        page = browser.open("/requests")
        assert (page.status, page.heading) == (503, "The site is not available at the moment.")
        assert "Try again" in page.text
        assert browser.open("/requests").status == 200


@pytest.mark.parametrize("place", ["sign_in", "submit"])
def test_the_check_that_one_is_human_is_never_passed(place: str) -> None:
    with open_site(human_check=place) as site:
        browser = site.sign_in()
        if place == "submit":
            assert browser.page.path == "/"
            fill_in_steps(browser)
            assert "portal.human_check.asked" in site.kinds
        assert browser.page.heading == "Verify that you are a person"
        assert "let a person of your office go on" in browser.page.text
        assert browser.post("/verify", {"letters": "ABCDEF"}).problems == ["We could not verify that you are a person."]
        assert site.last("portal.human_check.failed").letters == "ABCDEF"
        assert browser.open("/requests").heading == "Verify that you are a person"
        assert not site.payer.current.authorizations


def test_a_date_in_another_format_is_refused_with_the_format() -> None:
    with open_site(date_format="MM/DD/YYYY") as site:
        browser = site.sign_in()
        for typed in ("1980-02-14", "2/14/1980", "February 14, 1980"):
            page = browser.post("/members", {**RIVERA, "birth_date": typed})
            assert page.problems == ["The birth date must be a date, as MM/DD/YYYY, such as 03/06/2026."]
        assert browser.post("/members", RIVERA).heading == "Ana Rivera"
    with open_site() as site:
        assert site.sign_in().post("/members", {**RIVERA, "birth_date": "1980-02-14"}).heading == "Ana Rivera"


@pytest.mark.parametrize("is_single", [True, False])
def test_a_draft_that_was_changed_in_another_window_is_refused(is_single: bool) -> None:
    with open_site(single_tab=is_single) as site:
        first, second = site.sign_in(), site.portal.browser()
        first.post("/drafts", {})
        second.open(first.page.path)
        first.send("find_member", RIVERA)
        draft = next(iter(site.state.drafts.values()))
        page = second.send("save", {"member": draft.member})
        if not is_single:
            assert page.status == 200
            return
        assert page.status == 409
        assert "changed in another window" in page.text
        assert "Open the draft again" in page.text
        assert list(site.state.drafts.values()) == [draft]


def test_a_document_of_a_type_is_required_for_some_procedures() -> None:
    with PortalSite(attachments={"required": {"72148": "imaging_report"}}) as site:
        browser = site.sign_in()
        page = fill_in_steps(browser, until="documents")
        page = browser.send("next")
        assert page.problems == ["Upload a document of the type “Imaging report”."]
        assert browser.open(f"{page.path.removesuffix('documents')}review").status == 409
        browser.open(page.path)
        browser.send("upload", {"file_type": "order"}, [FormFile("order.pdf", PDF)])
        assert browser.send("next").problems
        browser.open(page.path)
        browser.send("upload", {"file_type": "imaging_report"}, [FormFile("mri.pdf", PDF)])
        assert browser.send("next").heading == "Review"


@pytest.mark.parametrize(
    ("rights", "refused", "allowed"),
    [
        (("eligibility",), ("/requests", "/drafts", "/claims", "/authorization-check", "/inbox"), ("/members",)),
        (("claims",), ("/requests", "/members"), ("/claims", "/providers", "/profile", "/")),
        ((), ("/requests", "/members", "/claims"), ("/", "/profile")),
    ],
)
@pytest.mark.parametrize("layout", ["wizard", "one_page"])
def test_an_account_without_rights_is_told_whom_to_ask(
    layout: str, rights: tuple[str, ...], refused: tuple[str, ...], allowed: tuple[str, ...]
) -> None:
    with PortalSite(layout=layout, user={**USER, "rights": rights}) as site:
        browser = site.sign_in()
        for path in refused:
            page = browser.open(path)
            assert page.status == 403, path
            assert "Ask the administrator of your organization for access." in page.text
            assert not {target for target, _ in page.links} & set(refused), path
        for path in allowed:
            assert browser.open(path).status == 200, path
        targets = {target for target, _ in browser.open("/").links}
        assert not targets & set(refused)
        if "authorizations" not in rights:
            assert browser.post("/drafts", {}).status == 403
            assert site.state.drafts == {}


@pytest.mark.parametrize("layout", ["wizard", "one_page"])
def test_version_2_has_other_labels_and_takes_the_same_request(layout: str) -> None:
    with PortalSite(layout=layout, version=2) as changed, PortalSite(layout=layout) as site:
        fill_in = fill_in_steps if layout == "wizard" else fill_in_one_page
        pages = [fill_in(each.sign_in()) for each in (changed, site)]
        requests = [list(each.payer.current.authorizations.values()) for each in (changed, site)]
        assert requests[0] == requests[1]
        assert pages[0].path == pages[1].path
        forms = [each.sign_in().open("/members").text for each in (changed, site)]
        assert forms[0] != forms[1]


def test_what_was_typed_stays_when_a_service_is_refused() -> None:
    with open_site() as site:
        browser = site.sign_in()
        fill_in_steps(browser, until="documents")
        [draft] = site.state.drafts
        browser.open(f"/drafts/{draft}/services")
        page = browser.send("add_service", {**SERVICE, "procedure_code": "72141", "units": "many"})
        assert page.find_form("add_service").fields["procedure_code"] == "72141"
