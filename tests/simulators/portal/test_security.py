"""What an attacker tries at a payer portal: sessions, tokens, escaping, the records of others."""

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, urlsplit

import pytest

from clerkship.sandbox.authentication.password import encode_basic
from clerkship.sandbox.request import Request
from clerkship.simulators.portal.handle import FormFile
from tests.simulators.portal.browser_user import PDF
from tests.simulators.portal.http_client import HttpReply, post, send, sign_in
from tests.simulators.portal.portal_site import NPI, RIVERA, PortalSite, fill_in_steps

ATTACK = "\"'><script>alert(1)</script><img src=x onerror=alert(2)>"
_MARKUP = re.compile(rb"<script>|<img")
OTHER_NPI = "1987654320"


@pytest.fixture
def site() -> Iterator[PortalSite]:
    with PortalSite() as site:
        yield site


def is_sign_in(reply: HttpReply) -> bool:
    return reply.status == 303 and urlsplit(reply.headers["location"]).path.endswith("/sign-in")


def test_signing_in_gives_a_new_session_whatever_cookie_was_sent(site: PortalSite) -> None:
    first = sign_in(site).cookie
    for planted in (first, "portal_session=chosen-by-an-attacker"):
        cookie = sign_in(site, planted).cookie
        assert cookie.startswith("portal_session=")
        assert cookie != planted
        assert send(site, "GET", "/profile", cookie).status == 200
    assert is_sign_in(send(site, "GET", "/profile", "portal_session=chosen-by-an-attacker"))


def test_a_cookie_is_no_password(site: PortalSite) -> None:
    cookie = sign_in(site).cookie
    assert "problem=login" in post(site, "/sign-in", cookie, username="m.okafor", password="wrong").headers["location"]
    assert "problem=login" in post(site, "/sign-in", username="m.okafor", password="wrong").headers["location"]
    assert len(site.state.sessions) == 1


def test_the_cookie_is_for_this_sandbox_and_hidden_from_scripts_and_other_sites(site: PortalSite) -> None:
    _, *flags = (each.strip() for each in sign_in(site).headers["set-cookie"].split(";"))
    assert flags == [f"Path={urlsplit(site.rig.url()).path}", "HttpOnly", "SameSite=Lax"]


def test_signing_out_ends_the_session_of_the_cookie(site: PortalSite) -> None:
    cookie, other = sign_in(site).cookie, sign_in(site).cookie
    token = send(site, "GET", "/", cookie).token
    assert is_sign_in(post(site, "/sign-out", cookie, csrf=token))
    reply = send(site, "GET", "/", cookie)
    assert is_sign_in(reply)
    assert "reason=ended" not in reply.headers["location"]  # which says that the user was inactive
    assert send(site, "GET", "/", other).status == 200


def test_a_form_needs_the_token_of_its_session(site: PortalSite) -> None:
    cookie, other = sign_in(site).cookie, sign_in(site).cookie
    own, foreign = send(site, "GET", "/drafts", cookie).token, send(site, "GET", "/drafts", other).token
    assert own
    assert foreign
    assert own != foreign
    for fields in ({}, {"csrf": ""}, {"csrf": "0" * 32}, {"csrf": foreign}, {"csrf": "ä"}):
        reply = post(site, "/drafts", cookie, **fields)
        assert reply.status == 403
        assert b"Nothing was changed" in reply.body
        assert b"Open the page again" in reply.body
        assert site.kinds[-1] == "portal.submit.refused"
    assert post(site, f"/drafts?csrf={foreign}", cookie).status == 403
    assert site.state.drafts == {}
    assert post(site, "/drafts", cookie, csrf=own).status == 303
    assert len(site.state.drafts) == 1


def test_no_page_is_shown_and_nothing_done_without_a_session(site: PortalSite) -> None:
    for path in ("/", "/requests", "/members/m_1", "/documents/doc_1", "/inbox/x/letter.pdf", "/nothing"):
        assert is_sign_in(send(site, "GET", path)), path
    for path in ("/drafts", "/members", "/sign-out", "/verify"):
        assert is_sign_in(post(site, path)), path
    assert [kind for kind in site.kinds if kind.startswith("portal.")] == []


def test_a_session_of_the_pages_does_not_open_the_api() -> None:
    with PortalSite(friction={"one_time_code": "text"}) as site:
        cookie = sign_in(site).cookie
        for method, path, body in (("GET", "/api/requests", b""), ("POST", "/api/drafts", b"{}")):
            assert send(site, method, path, cookie, body, "text/plain").status == 401
        assert site.state.drafts == {}
        headers = {"authorization": f"Basic {encode_basic('m.okafor', site.portal.token)}", "cookie": cookie}
        assert site.rig.send_http(Request("GET", "/api/requests"), headers).status == 200


def test_pages_have_the_headers_that_keep_scripts_and_frames_out(site: PortalSite) -> None:
    cookie = sign_in(site).cookie
    for reply in (send(site, "GET", "/sign-in"), send(site, "GET", "/", cookie), send(site, "GET", "/x", cookie)):
        assert "default-src 'self'" in reply.headers["content-security-policy"]
        assert "frame-ancestors 'none'" in reply.headers["content-security-policy"]
        assert "unsafe" not in reply.headers["content-security-policy"]
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert reply.headers["cache-control"] == "no-store"
        assert reply.headers["referrer-policy"] == "same-origin"


@pytest.mark.parametrize(
    "target", ["https://evil.example/", "//evil.example", "/\\evil.example", "javascript:alert(1)", "/\r\nX-Evil: 1"]
)
def test_next_leads_only_to_pages_of_the_portal(site: PortalSite, target: str) -> None:
    address = urlsplit(site.rig.url())
    reply = sign_in(site, next=target)
    location = urlsplit(reply.headers["location"])
    assert location.netloc in ("", address.netloc)
    assert location.path.startswith(f"{address.path}/")
    assert "x-evil" not in reply.headers
    page = send(site, "GET", f"/sign-in?next={quote(target)}")
    assert b'evil.example"' not in page.body or target.startswith("/\\")


def test_next_leads_to_the_page_that_was_asked_for(site: PortalSite) -> None:
    assert sign_in(site, next="/requests").headers["location"].endswith("/requests")


def test_control_and_other_sandboxes_are_out_of_reach_of_a_session(site: PortalSite) -> None:
    cookie = sign_in(site).cookie
    for path in ("/../control/log", "/../control", "/control/log", "/../clock/advance"):
        assert send(site, "GET", path, cookie).status in (303, 400, 401, 403, 404), path
    assert send(site, "GET", "/control/log", cookie).status == 404


def test_what_is_typed_is_escaped_on_every_page(site: PortalSite) -> None:
    browser = site.sign_in()
    for path, names in {
        "/requests": ("number", "member_id", "status", "requested_from", "sort", "page", "done"),
        "/claims": ("payer", "member_id", "birth_date", "family", "given", "claim_number", "from", "to"),
        "/providers": ("name", "npi", "plan"),
        "/authorization-check": ("code", "plan"),
        "/sign-in": ("reason", "problem", "next"),
        f"/{ATTACK}": ("x",),
        f"/requests/{ATTACK}": ("new",),
    }.items():
        for name in names:
            assert_escaped(site, "GET", f"{quote(path)}?{name}={quote(ATTACK)}")
    person = dict.fromkeys((*RIVERA, "member", "next"), ATTACK)
    assert_escaped(site, "POST", "/members", **person)
    browser.post("/drafts", {})
    [draft] = site.state.drafts
    sections = {"patient": "next", "request": "next", "nope": "next", ATTACK: ATTACK}
    for section, button in sections.items():
        assert_escaped(site, "POST", f"/drafts/{draft}/{quote(section)}", action=button, **person)


def assert_escaped(site: PortalSite, method: str, path: str, **fields: str) -> None:
    """Send a request in a new session, and look for markup in the page, which has no image and no inline script."""
    cookie = sign_in(site).cookie
    token = send(site, "GET", "/profile", cookie).token
    reply = send(site, "GET", path, cookie) if method == "GET" else post(site, path, cookie, csrf=token, **fields)
    assert not _MARKUP.search(reply.body), (method, path)


@pytest.mark.parametrize("layout", ["wizard", "one_page"])
def test_what_is_saved_is_escaped_on_every_page(layout: str) -> None:
    settings: dict[str, Any] = {
        "announcements": (ATTACK,),
        "friction": {"maintenance": ATTACK},
        "organization": {"npi": NPI},
    }
    settings["user"] = {"username": "m.okafor", "name": ATTACK[:80]}
    with PortalSite(layout=layout, **settings) as site:
        browser = site.sign_in()
        browser.post("/drafts", {})
        [draft] = site.state.drafts
        browser.send("find_member", RIVERA)
        path = f"/drafts/{draft}" + ("/request" if layout == "wizard" else "")
        browser.post(path, {"action": "save", "review": "services", "urgency": "standard", "place": "22"})
        path = f"/drafts/{draft}" + ("/providers" if layout == "wizard" else "")
        browser.post(path, {"action": "save", "servicing_npi": OTHER_NPI})
        for name in ("requesting_npi", "servicing_npi", "provider_search", "note", "contact_name", "answer_x"):
            browser.post(path, {"action": "save", name: ATTACK[:20]})
        cookie = sign_in(site).cookie
        for each in ("/", "/drafts", f"/drafts/{draft}", "/members", "/profile", "/requests"):
            reply = send(site, "GET", each, cookie)
            assert reply.status == 200, each
            assert not _MARKUP.search(reply.body), each


def test_names_of_files_are_escaped_and_downloads_are_no_pages(site: PortalSite) -> None:
    browser = site.sign_in()
    page = fill_in_until_documents(site)
    name = "<script>alert(1)<'\">报告.pdf"
    browser.post(page, {"action": "upload"}, [FormFile(name.replace('"', "%22"), PDF)])
    [document] = site.state.documents
    cookie = sign_in(site).cookie
    assert b"<script>" not in send(site, "GET", page, cookie).body
    reply = send(site, "GET", f"/documents/{document}", cookie)
    assert reply.body == PDF
    assert reply.headers["content-disposition"].startswith("attachment;")
    assert reply.headers["content-disposition"].isascii()
    assert reply.headers["content-type"] == "application/pdf"
    assert reply.headers["x-content-type-options"] == "nosniff"


def fill_in_until_documents(site: PortalSite) -> str:
    """File a request, so that its member is known, and return the path of the documents of another draft."""
    browser = site.sign_in()
    fill_in_steps(browser, until="documents")
    [draft] = site.state.drafts
    return f"/drafts/{draft}/documents"


def test_records_and_sessions_of_another_playground_are_not_found(site: PortalSite) -> None:
    with PortalSite() as other:
        browser = other.sign_in()
        path = fill_in_until_documents(other)
        browser.post(path, {"action": "upload"}, [FormFile("note.pdf", PDF)])
        [document], [draft], [member] = other.state.documents, other.state.drafts, other.state.members
        filed = fill_in_steps(other.sign_in())
        cookie = sign_in(other).cookie
        theirs = (filed.path, f"/members/{member}", f"/drafts/{draft}", f"/documents/{document}", "/inbox/l_1")
        assert [send(other, "GET", each, cookie).status for each in theirs[:-1]] == [200] * 4
        assert all(is_sign_in(send(site, "GET", each, cookie)) for each in theirs)
        own = sign_in(site).cookie
        assert [send(site, "GET", each, own).status for each in theirs] == [404] * 5
        token = send(site, "GET", "/", own).token
        assert post(site, f"{filed.path}/withdraw", own, csrf=token, confirm="yes").status == 404
        assert post(site, f"/drafts/{draft}/delete", own, csrf=token).status == 404
        assert draft in other.state.drafts


def test_a_request_of_another_practice_is_not_found() -> None:
    with PortalSite() as site:
        own = fill_in_steps(site.sign_in())
        state = site.state
        state.config = state.config.model_copy(
            update={"organization": state.config.organization.model_copy(update={"npi": "1112223334"})}
        )
        browser = site.sign_in()
        for path in (own.path, f"{own.path}/reply", f"{own.path}/change"):
            assert browser.open(path).status == 404
        assert "No requests yet" in browser.open("/requests").text
        assert browser.post(f"{own.path}/withdraw", {"confirm": "yes"}).status == 404


def test_a_member_that_was_not_looked_up_is_not_found() -> None:
    with PortalSite() as site:
        browser = site.sign_in()
        for ref in ("NW001/NW55501/0", "m_e3e34ad58bcf", ""):
            assert browser.open(f"/members/{quote(ref)}").status in (200, 404)
            assert "Rivera" not in browser.page.text
        assert browser.post("/drafts", {"member": "m_e3e34ad58bcf"}).status == 404
        assert browser.open("/claims/NWC451").status == 404
        assert site.state.drafts == {}
