"""Steps of a payer portal: drafts, requests of earlier days, letters, and changes of the site."""

from pathlib import Path
from typing import Any

import pytest

from clerkship.engine.catalog import RegisteredCatalog
from clerkship.model.errors import InputError
from clerkship.sandbox.steps.contract import Step
from clerkship.simulators.portal.steps.change import ChangePortal
from clerkship.simulators.portal.steps.inbox import PutLetter
from clerkship.simulators.portal.steps.put import PutRequest
from clerkship.suite_files.load import load_library
from tests.simulators.portal.portal_site import MRI_ANSWERS, NPI, OKELLO, RIVERA, PortalSite, answer_questions

COLLEAGUE = {"username": "j.lee", "name": "Jordan Lee"}
CONTENT = {
    "review": "services",
    "urgency": "standard",
    "servicing_npi": "1987654320",
    "place": "11",
    "diagnoses": ["M54.16"],
    "services": [{"code": "72148", "start": "2026-03-16", "end": "2026-03-16"}],
    "answers": {"red_flags": "no"},
    "contact_name": "Jordan Lee",
    "contact_phone": "555-010-0141",
}
REQUEST = {
    "reference": "R100",
    "provider_id": NPI,
    "status": "pending",
    "services": [{"procedure_code": "72148"}],
    "requested": "2026-02-20",
}


def run_step(site: PortalSite, step: type[Step], **fields: Any) -> None:
    """Run a step in the playground of a site."""
    step.model_validate(fields).run(site.rig.playground)


def test_draft_of_a_colleague_is_finished_and_submitted_by_the_user() -> None:
    with PortalSite(colleagues=[COLLEAGUE]) as site:
        note = {"name": "note.pdf", "type": "clinical_note", "text": "Nine weeks of therapy."}
        run_step(site, PutRequest, owner="j.lee", member_id="nw-55501", draft=CONTENT, documents=[note])
        [draft] = site.state.drafts.values()
        assert (draft.owner, draft.requesting_npi, draft.place) == ("j.lee", NPI, "11")
        browser = site.sign_in()
        browser.open(f"/drafts/{draft.id}/clinical")
        answer_questions(browser, MRI_ANSWERS)
        browser.open(f"/drafts/{draft.id}/review")
        page = browser.send("submit", {"attest": "yes"})
        assert page.problems == []
        [request] = site.payer.current.authorizations.values()
        assert request.query.attachments == draft.documents


def test_request_of_an_earlier_day_is_in_the_list_with_who_filed_it() -> None:
    with PortalSite() as site:
        run_step(site, PutRequest, member_id="NW55501", request=REQUEST)
        assert site.state.requesters == {"R100": "m.okafor"}
        assert "R100" in site.sign_in().open("/requests").text


def test_letter_arrives_with_its_member_and_payer() -> None:
    with PortalSite() as site:
        text = "We have received\nyour letter.\n\nThank you."
        run_step(site, PutLetter, member_id="SW70010", subject="Your letter", text=text, reference="R100")
        [letter] = site.state.letters.values()
        assert (letter.payer_id, letter.member_name) == ("SW002", "Grace Okello")
        assert letter.paragraphs == ("We have received your letter.", "Thank you.")
        assert "Thank you." in site.sign_in().open(f"/inbox/{letter.id}").text


def test_site_changes_while_a_session_goes_on() -> None:
    with PortalSite() as site:
        browser = site.sign_in()
        run_step(site, ChangePortal, layout="one_page", maintenance="Closed on Sunday.", announcement="New codes.")
        page = browser.open("/")
        assert "North Pay for Providers" in page.text
        assert "Closed on Sunday." in page.text
        assert "New codes." in page.text
        run_step(site, ChangePortal, maintenance="", version=2)
        assert "Closed on Sunday." not in browser.open("/").text
        assert (site.state.layout, site.state.version) == ("one_page", 2)


@pytest.mark.parametrize(
    ("step", "fields", "message"),
    [
        (PutRequest, {"draft": {}, "owner": "nobody"}, "the payer portal has no user nobody"),
        (
            PutRequest,
            {"draft": {}, "documents": [{"name": "a.docx", "base64": "eA=="}]},
            "a.docx is a file of the format DOCX",
        ),
        (PutRequest, {"member_id": "NW55501", "request": {**REQUEST, "provider_id": "1987654320"}}, "no authorization"),
        (PutLetter, {"subject": "Hello", "text": "One."}, "the letter has no sender; add `payer`"),
        (PutLetter, {"subject": "Hello", "text": "One.", "payer": "XX"}, "XX is no payer of this payer portal"),
    ],
)
def test_step_that_cannot_be_done_is_an_input_error(step: type[Step], fields: dict[str, Any], message: str) -> None:
    with PortalSite() as site, pytest.raises(InputError, match=message):
        run_step(site, step, **fields)


TASK = """\
environment:
  name: desk
  simulators: {portal: {kind: portal}}
  domains:
    payer: {kind: payer, config: {payers: {NW001: {name: North Pay}}}}
task:
  name: one
  environment: desk
  task_item: {instruction: Wait.}
  scenario:
    steps:
"""


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ("portal.put: {draft: {}, owner: m.okafr}", "no user of the payer portal `m.okafr` in desk; did you mean"),
        ("portal.put: {draft: {answers: {red_flag: no}}}", "no clinical question `red_flag` in desk; did you mean"),
        ("portal.put: {draft: {}, member_id: XX1}", "no member id `XX1` in desk"),
        ("portal.put: {draft: {urgency: soon}}", "expected standard or urgent"),
        ("portal.put: {draft: {}, documents: [{name: a.txt, text: x}]}", "its `name` ends with .pdf"),
        ("portal.put: {owner: m.okafor}", "expected either `draft` or `request`"),
        ("portal.inbox: {payer: NW002, subject: Hello, text: One.}", "no payer `NW002` in desk"),
        ("portal.change: {}", "nothing to change"),
        ("portal.change: {layout: two_page}", "expected wizard or one_page"),
    ],
)
def test_wrong_value_of_a_step_is_found_in_its_line(step: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "task.yml").write_text(f"{TASK}      - {step}\n", encoding="utf-8")
    with pytest.raises(InputError) as found:
        load_library(tmp_path, RegisteredCatalog())
    texts = [str(problem) for problem in found.value.problems if problem.line == 12]
    assert any(message in text for text in texts), found.value.problems


def test_members_of_other_payers_are_gone_when_the_site_becomes_that_of_one_payer() -> None:
    with PortalSite() as site:
        browser = site.sign_in()
        run_step(site, PutLetter, payer="SW002", subject="Hello", text="One.")
        other = browser.post("/members", OKELLO).path
        own = browser.post("/members", RIVERA).path
        run_step(site, ChangePortal, layout="one_page")
        assert (browser.open(own).status, browser.open(other).status) == (200, 404)
        assert "1 unread" not in browser.open("/inbox").text
        for path in ("/members", "/authorization-check"):
            assert "Rivera" in browser.open(path).text
            assert "Okello" not in browser.page.text
