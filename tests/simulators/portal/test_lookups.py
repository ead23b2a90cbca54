"""Looking up members, their claims and providers on the pages."""

import pytest

from tests.simulators.portal.portal_site import RIVERA, PortalSite

LEO = {**RIVERA, "birth_date": "06/03/2012", "given": "Leo"}
CLAIMS = [
    {
        "number": f"NWC{number}",
        "payer": "NW001",
        "member_id": "NW55501",
        "provider_id": "1234567893",
        "charge": 250.0,
        "start": "2026-01-05",
        "received": "2026-01-08",
        **more,
    }
    for number, more in ((451, {}), (452, {"dependent": 1}))
]


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("layout", ["wizard", "one_page"])
def test_a_dependent_is_found_as_each_lookup_says(layout: str, version: int) -> None:
    with PortalSite(layout=layout, version=version) as site:
        browser = site.sign_in()
        hint = "For a dependent, enter the number on the card with the dependent's own"
        assert hint in browser.open("/members").text
        [form] = [each for each in browser.page.forms if each.action.endswith("/members")]
        assert form.fields.keys() <= {*LEO, "csrf"}
        assert browser.submit(form, LEO).heading == "Leo Rivera"
        assert hint in browser.post("/drafts", {}).text
        assert browser.send("find_member", LEO).status == 200
        [draft] = site.state.drafts.values()
        assert site.state.members[draft.member] == "NW001/NW55501/1"


def test_claims_of_a_subscriber_and_of_a_dependent_are_told_apart() -> None:
    with PortalSite({"claims": CLAIMS}) as site:
        browser = site.sign_in()
        by_name = {name: RIVERA[name] for name in ("payer", "birth_date", "family", "given")}
        text = browser.open("/claims", by_name).text
        assert "NWC451" in text
        assert "NWC452" not in text
        assert "NW55501" in text
        text = browser.open("/claims", LEO).text
        assert "NWC452" in text
        assert "Leo Rivera" in text


@pytest.mark.parametrize("layout", ["wizard", "one_page"])
def test_a_directory_search_for_a_name_asks_for_no_plan(layout: str) -> None:
    with PortalSite(layout=layout) as site:
        browser = site.sign_in()
        browser.open("/providers")
        assert "Harbor Imaging" in browser.send("Search", {"name": "harbor"}).text
        assert site.last("portal.searched").terms == {"name": "harbor"}
        assert site.last("portal.page.viewed").records == ("provider/1987654320",)
