"""Bad input to a payer portal: refused in its own words with what to do, nothing changed, an event each."""

from collections.abc import Iterator
from datetime import date, timedelta
from urllib.parse import quote

import pytest

from clerkship.payer.state import PayerState
from clerkship.sandbox.request import Request
from clerkship.simulators.portal.drafts import MAX_DRAFTS
from clerkship.simulators.portal.handle import FormFile, PortalBrowser
from tests.simulators.portal.browser_user import PDF
from tests.simulators.portal.http_client import post, send, sign_in
from tests.simulators.portal.portal_site import RIVERA, SERVICE, PortalSite, fill_in_one_page, fill_in_steps

STEPS = ("patient", "request", "providers", "diagnoses", "services", "clinical", "documents", "review")
REFUSALS = ("portal.submit.refused", "sandbox.refused")


@pytest.fixture
def site() -> Iterator[PortalSite]:
    with PortalSite() as site:
        yield site


class Unchanged:
    """Checks that neither portal nor payer changed, and that the refusal is in the log."""

    def __init__(self, site: PortalSite) -> None:
        self.site = site

    def __enter__(self) -> None:
        self._before, self._count = self._read(), len(self.site.events)

    def __exit__(self, kind: object, *error: object) -> None:
        if kind is None:
            assert self._read() == self._before
            assert [each for each in self.site.kinds[self._count :] if each in REFUSALS]

    def _read(self) -> object:
        state, payer = self.site.state, self.site.payer.current
        return dict(state.drafts), dict(state.documents), dict(state.filed), dict(payer.authorizations)


@pytest.mark.parametrize("layout", ["wizard", "one_page"])
def test_forms_without_fields_are_refused_with_what_to_do(layout: str) -> None:
    with PortalSite(layout=layout) as site:
        browser = site.sign_in()
        filed = (fill_in_steps if layout == "wizard" else fill_in_one_page)(browser)
        browser.post("/drafts", {})
        [draft] = site.state.drafts
        for path in ("/members", f"/drafts/{draft}", f"{filed.path}/change", f"{filed.path}/withdraw", "/nothing"):
            with Unchanged(site):
                page = browser.post(path, {})
                assert page.status in (404, 409, 422), path
                assert page.problems or "Use the menu" in page.text, path


@pytest.mark.parametrize("layout", ["wizard", "one_page"])
@pytest.mark.parametrize(
    ("path", "names", "text"),
    [
        ("/claims", ("payer", "member_id", "birth_date", "family", "given"), "Enter the member ID, or the last name"),
        ("/providers", ("name", "npi", "plan"), "Enter part of a name or an NPI, or choose a plan."),
        ("/authorization-check", ("plan", "member", "code"), "Enter a procedure code, or words of its description."),
    ],
)
def test_a_search_for_nothing_says_what_to_enter(layout: str, path: str, names: tuple[str, ...], text: str) -> None:
    with PortalSite(layout=layout) as site:
        browser = site.sign_in()
        assert not browser.open(path).problems
        assert [each for each in browser.open(path, dict.fromkeys(names, "")).problems if text in each]
        assert "portal.searched" not in site.kinds


@pytest.mark.parametrize("method", ["open", "post"])
def test_steps_out_of_order_name_the_step_that_comes_first(site: PortalSite, method: str) -> None:
    browser = site.sign_in()
    browser.post("/drafts", {})
    [draft] = site.state.drafts
    before = dict(site.state.drafts)
    for step in STEPS[1:]:
        path = f"/drafts/{draft}/{step}"
        page = browser.open(path) if method == "open" else browser.post(path, {"action": "submit", "attest": "yes"})
        assert page.status == 409
        assert "Complete the step “Patient” first." in page.text
        assert "Go back to the step “Patient”." in page.text
    assert browser.open(f"/drafts/{draft}/nope").status == 404
    assert site.state.drafts == before


@pytest.mark.parametrize("layout", ["wizard", "one_page"])
def test_a_form_that_is_sent_again_files_nothing(layout: str) -> None:
    with PortalSite(layout=layout) as site:
        browser = site.sign_in()
        (fill_in_steps if layout == "wizard" else fill_in_one_page)(browser)
        [draft] = site.state.filed
        path = f"/drafts/{draft}" + ("/review" if layout == "wizard" else "")
        with Unchanged(site):
            page = browser.post(path, {"action": "submit", "attest": "yes"})
            assert page.status == 409
            assert site.state.filed[draft] in page.text
            assert "Do not submit it again." in page.text
        assert "already submitted" in browser.open(path).text


def test_a_request_that_was_withdrawn_takes_no_form(site: PortalSite) -> None:
    browser = site.sign_in()
    path = fill_in_steps(browser).path
    browser.post(f"{path}/withdraw", {"confirm": "yes"})
    for form in ("withdraw", "reply", "change", "appeal"):
        for fields in ({}, {"confirm": "yes", "reason": "x", "units_1": "2", "place": "99"}):
            with Unchanged(site):
                assert browser.post(f"{path}/{form}", fields).status == 409, form


def test_an_unknown_button_saves_nothing(site: PortalSite) -> None:
    browser = site.sign_in()
    documents_of(browser)
    [draft] = site.state.drafts
    for button in ("", "boom", "submit:now;drop", "remove_diagnosis:9", "remove_diagnosis:²", "remove_document:x"):
        with Unchanged(site):
            page = browser.post(f"/drafts/{draft}/diagnoses", {"action": button, "note": "changed"})
            assert page.status in (409, 422), button


def documents_of(browser: PortalBrowser) -> str:
    """Fill in a request until its documents; return the path."""
    return fill_in_steps(browser, until="documents").path


@pytest.mark.parametrize(
    ("name", "data", "text"),
    [
        ("a.pdf", b"this is no PDF", "is not a PDF file"),
        ("a.pdf", b"%PDF-1.4 and then nothing", "is damaged and cannot be opened"),
        ("a.exe", b"MZ\x90\x00", "format that is not accepted"),
        ("a.pdf", b"", "is empty"),
        ("big.pdf", b"%PDF-" + b"0" * 6_000_000, "A file may have at most 5.0 MB"),
        ("x" * 300 + ".pdf", PDF, "Give it a shorter name"),
    ],
)
def test_files_that_are_not_accepted_are_refused_with_the_reason(
    site: PortalSite, name: str, data: bytes, text: str
) -> None:
    browser = site.sign_in()
    path = documents_of(browser)
    with Unchanged(site):
        page = browser.post(path, {"action": "upload"}, [FormFile(name, data)])
        assert page.status == 422
        assert any(text in problem for problem in page.problems), page.problems


def test_a_body_that_is_too_large_is_refused_before_it_is_read(site: PortalSite) -> None:
    browser = site.sign_in()
    path = documents_of(browser)
    with Unchanged(site):
        page = browser.post(path, {"action": "upload"}, [FormFile("a.pdf", b"%PDF-" + b"0" * 50_000_000)])
        assert page.status == 413
        assert page.heading == "What you sent is too large."
        assert "smaller files" in page.text


def test_too_many_files_and_drafts_are_refused(site: PortalSite) -> None:
    browser = site.sign_in()
    path = documents_of(browser)
    with Unchanged(site):
        page = browser.post(path, {"action": "upload"}, [FormFile(f"{n}.pdf", PDF) for n in range(11)])
        assert page.problems == ["A request has at most 10 documents. Remove one first."]
    for _ in range(MAX_DRAFTS - 1):
        site.portal.send_as_is(Request("POST", "/drafts", {}, {"content-type": "application/x-www-form-urlencoded"}))
    with Unchanged(site):
        page = browser.post("/drafts", {})
        assert page.status == 409
        assert "delete drafts that are no longer needed" in page.text
    assert browser.open("/drafts").status == 200


@pytest.mark.parametrize("name", ["payer", "member_id", "family", "given", "birth_date"])
@pytest.mark.parametrize("value", ["\x1b[31m", "\u202e" + "9" * 100_000])
def test_characters_and_lengths_that_no_field_takes_are_named(site: PortalSite, name: str, value: str) -> None:
    browser = site.sign_in()
    with Unchanged(site):
        page = browser.post("/members", {**RIVERA, name: f"A{value}"})
        assert page.status == 422
        assert page.problems


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("units", "nan"), ("units", "-1"), ("units", "1e999"), ("units", "0.0"), ("start", "31/31/2026"),
        ("start", "0"), ("end", "01/01/1900"), ("modifiers", "A B C D E"), ("modifiers", "ZZ"),
        ("procedure_code", "\x00"), ("procedure_code", "9" * 500), ("procedure_code", "<script>"),
    ],
)  # fmt: skip
def test_a_service_with_a_wrong_field_is_not_added(site: PortalSite, field: str, value: str) -> None:
    browser = site.sign_in()
    documents_of(browser)
    [draft] = site.state.drafts
    browser.open(f"/drafts/{draft}/services")
    with Unchanged(site):
        page = browser.send("add_service", {**SERVICE, "procedure_code": "72141", field: value})
        assert page.status == 422
        assert page.problems


def test_bodies_that_are_no_form_are_refused(site: PortalSite) -> None:
    cookie = sign_in(site).cookie
    path = f"/drafts/{documents_of(site.sign_in()).split('/')[2]}/documents"
    for media, body in {
        "application/x-www-form-urlencoded": b"family=%ED%A0%80",
        "application/x-www-form-urlencoded;": b"\xff\xfe",
        "application/x-www-form-urlencoded; x": b"&".join(b"f%d=1" % n for n in range(600)),
        "multipart/form-data; boundary=x": b"garbage",
        "multipart/form-data": b"--x\r\n",
        "multipart/form-data; boundary=y": b'--y\r\nContent-Disposition: form-data; name="a"\r\n\r\n\xff\r\n--y--\r\n',
    }.items():
        with Unchanged(site):
            reply = send(site, "POST", path, cookie, body, media)
            assert reply.status == 400, media
            assert b"The form could not be read." in reply.body
            assert b"open the page again" in reply.body
    with Unchanged(site):
        assert send(site, "POST", path, cookie, b"{}", "application/json").status == 403


PATHS = ("/requests", "/claims", "/providers", "/authorization-check", "/members/x", "/drafts/x")
QUERIES = ("?a=%ED%A0%80", "?number=%00%1b&name=%00&code=%00", "?page=%C2%B2&page=-1", "?" + "x" * 5000)


@pytest.mark.slow
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("query", QUERIES)
def test_odd_queries_break_no_page(site: PortalSite, path: str, query: str) -> None:
    cookie = sign_in(site).cookie
    assert send(site, "GET", f"{path}{query}", cookie).status in (200, 400, 404, 414)
    assert send(site, "GET", f"{path}/{quote(chr(0x202E))}%00%ED%A0%80{query}", cookie).status in (400, 404)
    assert send(site, "GET", "/profile", cookie).status == 200


@pytest.mark.parametrize("is_filed", [True, False])
def test_a_filter_that_is_no_date_is_named_once(site: PortalSite, is_filed: bool) -> None:
    browser = site.sign_in()
    if is_filed:
        fill_in_steps(browser)
        fill_in_steps(browser, procedure_code="72141")
    page = browser.open("/requests", {"requested_from": "soon", "requested_to": "later"})
    assert page.problems == [
        "The first day must be a date, such as 03/06/2026.",
        "The last day must be a date, such as 03/06/2026.",
    ]


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("number", "9" * 100_000, "The number is too long: 100,000 characters of at most 80."),
        ("member_id", "\x00", "The member ID has characters that cannot be used. Type it again."),
        ("status", "banana", "The status is not one of those listed. Choose one of them."),
        ("sort", "banana", "The order is not one of those listed. Choose one of them."),
    ],
)
def test_a_filter_that_no_request_can_match_is_refused(site: PortalSite, name: str, value: str, text: str) -> None:
    browser = site.sign_in()
    assert browser.open("/requests", {name: value}).problems == [text]
    assert "portal.searched" not in site.kinds


@pytest.mark.parametrize(
    ("step", "field", "text"),
    [
        ("request", "review", "The request type is not one of those listed. Choose one of them."),
        ("request", "urgency", "The urgency is not one of those listed. Choose one of them."),
        ("services", "unit", "The unit is not one of those listed. Choose one of them."),
        ("services", "frequency", "The frequency is not one of those listed. Choose one of them."),
    ],
)
def test_a_choice_that_is_not_listed_is_refused(site: PortalSite, step: str, field: str, text: str) -> None:
    browser = site.sign_in()
    documents_of(browser)
    [draft] = site.state.drafts
    fields = (
        {"action": "add_service", **SERVICE, "procedure_code": "72141"} if step == "services" else {"action": "save"}
    )
    with Unchanged(site):
        page = browser.post(f"/drafts/{draft}/{step}", {**fields, field: "banana"})
        assert page.problems == [text]


def test_an_urgent_request_is_not_made_standard_in_silence(site: PortalSite) -> None:
    browser = site.sign_in()
    path = fill_in_steps(browser, urgency="urgent").path
    for urgency, text in (("standard", "An urgent request stays urgent."), ("banana", "The urgency is not one of")):
        with Unchanged(site):
            [problem] = browser.post(f"{path}/change", {"urgency": urgency, "units_1": "2"}).problems
            assert text in problem
    assert browser.post(f"{path}/change", {"urgency": "urgent", "units_1": "2"}).path == path


def test_what_is_done_already_is_refused_in_the_words_of_the_pages() -> None:
    with PortalSite(payer={"determinations": [{"status": "denied"}]}) as site:
        browser = site.sign_in()
        path = fill_in_steps(browser).path
        assert "An authorization number is given" not in browser.page.text
        assert "has the status “Denied”. Only a request that is open" in browser.open(f"{path}/withdraw").text
        browser.post(f"{path}/appeal", {"reason": "It is needed."})
        [appeal] = site.payer.current.appeals.values()
        assert f"was appealed already: {appeal.id} ({appeal.status})." in browser.open(f"{path}/appeal").text
    with PortalSite() as site:
        browser = site.sign_in()
        path = fill_in_steps(browser).path
        browser.post(f"{path}/withdraw", {"confirm": "yes"})
        assert "has the status “Withdrawn”." in browser.open(f"{path}/withdraw").text


PENDED = {"status": "need_more_info", "questions": [{"id": "weeks", "text": "How many weeks?", "type": "text"}]}


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"answer_weeks": "9\x00"}, "The answer has characters that cannot be used. Type it again."),
        ({"answer_weeks": "9" * 2001}, "The answer is too long: 2,001 characters of at most 2,000."),
        (
            {"answer_weeks": "9", "answer_other": "yes"},
            "The payer does not ask “other” (any more). Open the page again.",
        ),
    ],
)
def test_an_answer_that_the_payer_cannot_take_is_refused(fields: dict[str, str], text: str) -> None:
    with PortalSite(payer={"determinations": [PENDED]}) as site:
        browser = site.sign_in()
        path = fill_in_steps(browser).path
        with Unchanged(site):
            assert text in browser.post(f"{path}/reply", fields).problems


def test_replies_and_appeals_have_as_many_files_as_a_request_may_have() -> None:
    files = [FormFile(f"{n}.pdf", PDF) for n in range(11)]
    rules = {"NW55501": {**PENDED, "then": [{"status": "denied"}]}}
    with PortalSite(payer={"determinations": list(rules.values())}) as site:
        browser = site.sign_in()
        path = fill_in_steps(browser).path
        with Unchanged(site):
            page = browser.post(f"{path}/reply", {"answer_weeks": "9"}, files)
            assert page.problems == ["At most 10 files can be sent at once. Leave some out."]
        assert browser.post(f"{path}/reply", {"answer_weeks": "9"}, files[:10]).path == path
        with Unchanged(site):
            page = browser.post(f"{path}/appeal", {"reason": "It is needed."}, files)
            assert page.problems == ["At most 10 files can be sent at once. Leave some out."]


def test_a_file_of_a_reply_that_the_payer_rejects_is_not_kept() -> None:
    with PortalSite(payer={"determinations": [PENDED]}) as site:
        browser = site.sign_in()
        path = fill_in_steps(browser).path
        member = site.payer.current.get_member("NW001/NW55501/0")
        action = site.rig.playground.state(PayerState, None)[1]
        site.payer.set_eligibility(action, member, {"end": date(2026, 1, 31)}, {})
        with Unchanged(site):
            page = browser.post(f"{path}/reply", {"answer_weeks": "9"}, [FormFile("a.pdf", PDF)])
            assert "The member is not covered on" in page.problems[0]


def test_a_form_of_a_session_that_has_ended_is_logged_each_time(site: PortalSite) -> None:
    reply = sign_in(site)
    token = send(site, "GET", "/", reply.cookie).token
    site.rig.playground.advance(timedelta(minutes=21))
    for _ in range(2):
        with Unchanged(site):
            location = post(site, "/drafts", reply.cookie, csrf=token).headers["location"]
            assert location.endswith("/sign-in?reason=ended_unsaved")
            assert site.last("portal.submit.refused").session == 1


def test_the_token_of_another_session_changes_nothing(site: PortalSite) -> None:
    first, second = sign_in(site).cookie, sign_in(site).cookie
    token = send(site, "GET", "/", first).token
    with Unchanged(site):
        assert post(site, "/drafts", second, csrf=token).status == 403
