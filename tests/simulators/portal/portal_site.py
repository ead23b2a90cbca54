"""A payer portal with a payer, and a browser for it."""

from collections.abc import Sequence
from typing import Any, Self

from clerkship.checks.conformance.rig import SimulatorRig
from clerkship.events.event import Event
from clerkship.model.dataset import Dataset
from clerkship.payer import SPEC as PAYER
from clerkship.payer.config import PayerConfig
from clerkship.payer.state import PayerState
from clerkship.playground.component import PreparedComponent
from clerkship.playground.in_process import open_sandboxes
from clerkship.playground.sandbox import PreparedSimulator
from clerkship.simulators.portal import SPEC
from clerkship.simulators.portal.config import PortalConfig
from clerkship.simulators.portal.handle import Portal, PortalBrowser
from clerkship.simulators.portal.page_reader import PortalPage
from clerkship.simulators.portal.state import PortalState

NPI = "1234567893"
PAYER_CONFIG: dict[str, Any] = {
    "payers": {"NW001": {"name": "North Pay"}, "SW002": {"name": "South Mutual"}},
    "providers": {
        NPI: {"name": "Cedar Clinic"},
        "1234567802": {"name": "Rosa Lindqvist", "organization": NPI},
        "1987654320": {"name": "Harbor Imaging"},
    },
    "members": [
        {
            "payer": "NW001",
            "member_id": "NW55501",
            "family": "Rivera",
            "given": ["Ana"],
            "birth_date": "1980-02-14",
            "gender": "female",
            "coverages": [{"start": "2026-01-01"}],
            "dependents": [{"family": "Rivera", "given": ["Leo"], "birth_date": "2012-06-03", "gender": "male"}],
        },
        {
            "payer": "NW001",
            "member_id": "NW55502",
            "family": "Rivera",
            "given": ["Anna"],
            "birth_date": "1980-02-15",
            "coverages": [{"start": "2026-01-01"}],
        },
        {
            "payer": "SW002",
            "member_id": "SW70010",
            "family": "Okello",
            "given": ["Grace"],
            "birth_date": "1991-11-30",
            "coverages": [{"start": "2025-01-01", "end": "2025-12-31"}],
        },
    ],
    "claims": [
        {
            "number": "NWC451",
            "payer": "NW001",
            "member_id": "NW55501",
            "provider_id": NPI,
            "account": "ACCT77",
            "status": "pended",
            "reason": "missing_notes",
            "charge": 250.0,
            "start": "2026-01-05",
            "received": "2026-01-08",
        }
    ],
}
RIVERA = {"payer": "NW001", "member_id": "NW55501", "birth_date": "02/14/1980", "family": "Rivera", "given": "Ana"}
OKELLO = {"payer": "SW002", "member_id": "SW70010", "birth_date": "11/30/1991", "family": "Okello", "given": "Grace"}
MRI_ANSWERS = {"answer_conservative_therapy_weeks": "9", "answer_red_flags": "no"}


class PortalSite:
    """A portal and a payer in a playground, used in process."""

    def __init__(self, payer: dict[str, Any] | None = None, datasets: Sequence[Dataset] = (), **config: Any) -> None:
        settings = PortalConfig.model_validate({"organization": {"npi": NPI}, "zone": 0, **config})
        prepared = PreparedSimulator(SPEC, settings, SPEC.prepare(()))
        payer_config = PayerConfig.model_validate({**PAYER_CONFIG, **(payer or {})})
        domains = {"payer": PreparedComponent(PAYER, payer_config, PAYER.prepare(datasets))}
        self.rig = SimulatorRig(SPEC, prepared=prepared, domains=domains)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.rig.__exit__(*error)

    @property
    def portal(self) -> Portal:
        """The handle that agents get."""
        handle = open_sandboxes(
            self.rig.gateway, self.rig.playground, lambda: self.rig.url().rpartition("/")[0].rpartition("/")[0]
        )[self.rig.name]
        assert isinstance(handle, Portal)
        return handle

    def sign_in(self) -> PortalBrowser:
        """Return a browser in which the user has signed in."""
        browser = self.portal.browser()
        browser.sign_in()
        return browser

    @property
    def state(self) -> PortalState:
        state = self.rig.playground.sandboxes[self.rig.name].state
        assert isinstance(state, PortalState)
        return state

    @property
    def payer(self) -> PayerState:
        state = self.rig.playground.domains["payer"].state
        assert isinstance(state, PayerState)
        return state

    @property
    def events(self) -> list[Event]:
        return self.rig.playground.log.events

    @property
    def kinds(self) -> list[str]:
        """The kinds of all events."""
        return [event.kind for event in self.events]

    def last(self, kind: str) -> Any:
        """Return the payload of the last event of a kind."""
        return next(event.payload for event in reversed(self.events) if event.kind == kind)


SERVICE = {
    "procedure_code": "72148",
    "modifiers": "",
    "units": "1",
    "unit": "units",
    "frequency": "once",
    "start": "03/16/2026",
    "end": "03/16/2026",
}
REQUEST = {"review": "services", "urgency": "standard", "place": "22"}


def answer_questions(browser: PortalBrowser, answers: dict[str, str]) -> PortalPage:
    """Answer the clinical questions as they appear; those that are not given with their last choice."""
    given: dict[str, str] = {}
    while True:
        form = browser.page.find_form("update")
        asked = [name for name in (*form.fields, *form.choices) if name.startswith("answer_") and name not in given]
        if not asked:
            return browser.page
        for name in asked:
            choices = [each for each in form.choices.get(name, ()) if each]
            given[name] = answers.get(name) or (choices[-1] if choices else _invent(name))
        browser.send("update", given)


def _invent(name: str) -> str:
    return "02/16/2026" if "date" in name else "9"


def fill_in_steps(browser: PortalBrowser, until: str = "", **changes: str) -> PortalPage:
    """Fill in the form in steps, and submit it; or only until the step `documents`."""
    browser.post("/drafts", {})
    browser.send("find_member", {name: changes.get(name, value) for name, value in RIVERA.items()})
    browser.send("next")
    browser.send("next", {name: changes.get(name, value) for name, value in REQUEST.items()})
    browser.send("next", {"servicing_npi": changes.get("servicing_npi", "1987654320")})
    browser.send("add_diagnosis", {"diagnosis_code": changes.get("diagnosis_code", "M54.16")})
    browser.send("next")
    browser.send("add_service", {name: changes.get(name, value) for name, value in SERVICE.items()})
    browser.send("next")
    answer_questions(browser, MRI_ANSWERS)
    page = browser.send("next")
    if until == "documents":
        return page
    browser.send("next")
    return browser.send("submit", {"attest": "yes", "contact_name": "Maya Okafor", "contact_phone": "555-010-0140"})


def fill_in_one_page(browser: PortalBrowser) -> PortalPage:
    """Fill in the form on one page, section by section, and submit it."""
    browser.post("/drafts", {})
    browser.send("find_member", RIVERA)
    browser.send("next", REQUEST)
    browser.send("next", {"servicing_npi": "1987654320"})
    browser.send("add_diagnosis", {"diagnosis_code": "M54.16"})
    browser.send("add_service", SERVICE)
    answer_questions(browser, MRI_ANSWERS)
    return browser.send("submit", {"attest": "yes", "contact_name": "Maya Okafor", "contact_phone": "555-010-0140"})
