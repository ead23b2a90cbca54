"""The library of policies on the payer portal: pages, downloads, the API, and what the log says."""

from typing import Any

import orjson
import pytest

from clerkship.sandbox.request import QueryParams, Request
from clerkship.simulators.portal.assertions.portal_action import PortalActionDone
from tests.payer.policy_samples import FEDERAL_RULE, SPINE_POLICY, build_library
from tests.simulators.portal.portal_site import PortalSite
from tests.simulators.portal.test_criteria import build_evidence

OWN, OTHER = {**SPINE_POLICY, "payer": "NW001"}, {**SPINE_POLICY, "id": "SW-RAD-001", "payer": "SW002"}
LIBRARY = [build_library(OWN, OTHER, FEDERAL_RULE)]


def ask(site: PortalSite, path: str, **query: str) -> Any:
    reply = site.portal.send_as_is(Request("GET", f"/api{path}", QueryParams(tuple(query.items()))))
    return orjson.loads(reply.body)


@pytest.mark.parametrize("layout", ["wizard", "one_page"])
def test_the_library_lists_versions_with_their_days_and_shows_them(layout: str) -> None:
    with PortalSite(datasets=LIBRARY, layout=layout) as site:
        browser = site.sign_in()
        page = browser.open("/policies")
        assert "SW-RAD-001" in page.text if layout == "wizard" else "SW-RAD-001" not in page.text
        assert page.text.index("FED-PA-001") < page.text.index("CM-RAD-014")
        assert "01/01/2026" in page.text
        assert "Superseded" in page.text
        page = browser.open("/policies/CM-RAD-014/2025.2")
        assert "This version is superseded. It applied from 03/01/2025 to 12/31/2025." in page.text
        assert "Six weeks of conservative treatment." in page.text
        viewed = site.last("portal.page.viewed")
        assert viewed.records == ("policy/CM-RAD-014/2025.2",)
        assert viewed.shown == {"policy": "CM-RAD-014", "version": "2025.2", "status": "superseded"}
        assert browser.open("/policies/CM-RAD-014/2024.1").status == 404


def test_a_search_is_logged_with_what_it_found() -> None:
    with PortalSite(datasets=LIBRARY) as site:
        browser = site.sign_in()
        browser.open_link("/policies?text=spine&code=72148&day=03/02/2026")
        searched = site.last("portal.searched")
        assert searched.terms == {"text": "spine", "code": "72148", "day": "2026-03-02"}
        assert searched.records == ("policy/CM-RAD-014/2026.1", "policy/SW-RAD-001/2026.1")
        assert browser.open_link("/policies?day=soon").problems == ["The day must be a date, such as 03/06/2026."]


def test_a_version_is_downloaded_as_pdf() -> None:
    with PortalSite(datasets=LIBRARY) as site:
        browser = site.sign_in()
        [link] = [target for target, label in browser.open("/policies/CM-RAD-014/2026.1").links if "PDF" in label]
        assert browser.open_link(link).status == 200
        data = site.portal.download("/api/policies/CM-RAD-014/2026.1/policy.pdf").body
        assert data == LIBRARY[0].files["policies/CM-RAD-014_2026.1.pdf"]
        action = {"action": "downloaded", "record": "policy/CM-RAD-014/2026.1", "count": 2}
        assert PortalActionDone.model_validate(action).check(build_evidence(site)).passed


def test_a_portal_without_policies_has_no_library() -> None:
    with PortalSite() as site:
        assert "/policies" not in {target for target, _ in site.sign_in().page.links}


def test_the_api_has_the_same_library() -> None:
    with PortalSite(datasets=LIBRARY) as site:
        found = ask(site, "/policies", code="72148", day="2026-03-02")["policies"]
        assert [(each["id"], each["version"], each["rank"], each["status"]) for each in found] == [
            ("FED-PA-001", "2026.1", 1, "in_force"),
            ("CM-RAD-014", "2026.1", 3, "in_force"),
            ("SW-RAD-001", "2026.1", 3, "in_force"),
        ]
        policy = ask(site, "/policies/CM-RAD-014/2025.2")
        assert policy["sections"][0]["criteria"] == ["Six weeks of conservative treatment.", "An examination after it."]
        assert policy["policy"]["until"] == "2025-12-31"
        assert site.last("portal.page.viewed").records == ("policy/CM-RAD-014/2025.2",)
        assert ask(site, "/policies", day="soon")["error"]["problems"][0]["field"] == "day"
        assert ask(site, "/policies/CM-RAD-014/1")["error"]["code"] == "not_found"
