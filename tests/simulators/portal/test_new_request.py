"""A new request: in steps and on one page, until the payer has it."""

from tests.simulators.portal.portal_site import PortalSite, fill_in_one_page, fill_in_steps

RED_FLAGS = {"answer_red_flags": "yes"}


def test_a_request_in_steps_reaches_the_payer() -> None:
    with PortalSite() as site:
        browser = site.sign_in()
        page = fill_in_steps(browser)
        assert page.problems == []
        [request] = site.payer.current.authorizations.values()
        assert page.path == f"/requests/{request.id}"
        assert request.query.diagnoses == ("M5416",)
        assert [each.procedure_code for each in request.query.services] == ["72148"]
        assert request.id in page.text
        assert "Contact Maya Okafor, 555-010-0140" in page.text


def test_a_request_on_one_page_reaches_the_payer() -> None:
    with PortalSite(layout="one_page", payer={}) as site:
        browser = site.sign_in()
        page = fill_in_one_page(browser)
        assert page.problems == []
        [request] = site.payer.current.authorizations.values()
        assert request.query.diagnoses == ("M5416",)
