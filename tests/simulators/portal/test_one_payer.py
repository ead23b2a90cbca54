"""One payer behind the pages, the 278 and FHIR: what is filed by one way is found and changed by the others."""

from datetime import date, timedelta
from typing import Any

import orjson

from clerkship.engine.build import prepare_domains, prepare_simulators
from clerkship.engine.catalog import build_catalog_without_plugins
from clerkship.formats.x12.interchange import Interchange, parse_interchanges
from clerkship.model.environment import Environment
from clerkship.payer.state import PayerState
from clerkship.playground.gateway import Gateway
from clerkship.playground.in_process import open_sandboxes
from clerkship.playground.playground import Playground, PlaygroundOptions
from clerkship.simulators.portal.handle import Portal
from clerkship.simulators.x12.handle import X12
from tests.simulators.portal.portal_site import NPI, PAYER_CONFIG, fill_in_steps
from tests.simulators.x12.clearinghouse import authorization, one, segments_of
from tests.simulators.x12.prior_authorization import action_of, build_inquiry
from tests.simulators.x12.test_prior_authorization import inquiry_278

LATER = {"determinations": [{"status": "approved", "delay": "4h"}]}


class Office:
    """A payer portal and a clearinghouse with the same payers."""

    def __init__(self, **payer: Any) -> None:
        environment = Environment.model_validate(
            {
                "name": "office",
                "now": "2026-03-02T09:00:00Z",
                "simulators": {
                    "portal": {"kind": "portal", "config": {"organization": {"npi": NPI}}},
                    "clearing": {"kind": "x12"},
                },
                "domains": {"payer": {"kind": "payer", "config": {**PAYER_CONFIG, **payer}}},
            }
        )
        catalog = build_catalog_without_plugins()
        options = PlaygroundOptions(domains=prepare_domains(environment, {}, catalog))
        self.playground = Playground(environment, prepare_simulators(environment, {}, catalog), "x", options)
        sandboxes = open_sandboxes(Gateway(), self.playground, lambda *_: "http://localhost")
        self.browser, self.clearing = sandboxes.get_as(Portal).browser(), sandboxes.get_as(X12)
        self.browser.sign_in()

    @property
    def payer(self) -> PayerState:
        return self.playground.state(PayerState, None)[0]

    def send(self, edi: str) -> Interchange:
        """Send an interchange to the clearinghouse."""
        [parsed] = parse_interchanges(self.clearing.send(edi))
        return parsed

    def inquire_fhir(self) -> dict[str, Any]:
        """Return the only ClaimResponse of an inquiry over FHIR."""
        body = orjson.dumps(build_inquiry())
        reply = self.clearing.request("POST", "/fhir/Claim/$inquire", body=body, media="application/fhir+json")
        [parameter] = orjson.loads(reply.body)["parameter"]
        response: dict[str, Any] = parameter["resource"]["entry"][0]["resource"]
        return response


def test_a_request_of_the_pages_is_found_by_278_and_fhir_when_it_is_decided_and_withdrawn() -> None:
    office = Office(**LATER)
    path = fill_in_steps(office.browser, units="2", modifiers="RT", end="03/20/2026").path
    reference = path.rpartition("/")[2]
    found = office.send(inquiry_278(101))
    assert f"REF*NT*{reference}" in segments_of(found, "REF")
    assert segments_of(found, "HCR")[0].startswith("HCR*A4")
    assert action_of(office.inquire_fhir()) == ["A4"]
    office.playground.advance(timedelta(hours=5))
    [record] = office.payer.current.authorizations.values()
    [service] = record.query.services
    days = (service.start, service.end)
    assert (service.modifiers, service.quantity, days) == (("RT",), 2, (date(2026, 3, 16), date(2026, 3, 20)))
    office.browser.sign_in()
    assert str(record.number) in office.browser.open(path).text
    decided = office.send(inquiry_278(102))
    assert f"HCR*A1*{record.number}" in segments_of(decided, "HCR")
    assert segments_of(decided, "SV1") == ["SV1*HC:72148**UN*2"]
    assert action_of(office.inquire_fhir()) == ["A1", record.number]
    office.browser.post(f"{path}/withdraw", {"confirm": "yes"})
    assert action_of(office.inquire_fhir())[0] == "C"
    assert segments_of(office.send(inquiry_278(103)), "HCR")[0].startswith("HCR*C")


def test_a_request_of_a_278_is_listed_changed_and_not_filed_again_on_the_pages() -> None:
    office = Office(**LATER)
    service = "SV1*HC:72148:RT**UN*3"
    office.send(one("278", [*authorization()[:-1], service]))
    [record] = office.payer.current.authorizations.values()
    path = f"/requests/{record.id}"
    assert record.id in office.browser.open("/requests").text
    page = office.browser.open(path)
    assert all(text in page.text for text in ("3 units", "RT", "03/10/2026", "03/31/2026", "In review", "Ana Rivera"))
    problems = fill_in_steps(office.browser, units="3", modifiers="RT", start="03/10/2026", end="03/31/2026").problems
    assert problems == [f"The same request exists already: {record.id} (pending)."]
    assert office.browser.post(f"{path}/change", {"units_1": "4"}).path == path
    office.playground.advance(timedelta(hours=5))
    assert segments_of(office.send(inquiry_278(102)), "SV1") == ["SV1*HC:72148**UN*4"]
    assert len(office.payer.current.authorizations) == 1


def test_a_denial_of_a_278_is_appealed_on_the_pages() -> None:
    rules = {"appeals": {"delay": "1d", "rules": [{"outcome": "overturned", "text": "The notes support it."}]}}
    office = Office(determinations=[{"status": "denied", "reason": "not_medically_necessary"}], **rules)
    office.send(one("278", authorization()))
    [record] = office.payer.current.authorizations.values()
    path = f"/requests/{record.id}"
    assert office.browser.post(f"{path}/appeal", {"reason": "Therapy failed."}).path == path
    office.playground.advance(timedelta(days=2))
    office.browser.sign_in()
    assert "Approved" in office.browser.open(path).text
    assert segments_of(office.send(inquiry_278(102)), "HCR")[0].startswith("HCR*A1")
