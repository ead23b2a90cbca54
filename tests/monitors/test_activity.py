"""What each kind of sandbox lists as told, and which identities were not accepted."""

from typing import Any, ClassVar

import pytest

from clerkship.engine.catalog import RegisteredCatalog
from clerkship.events.evidence import Evidence
from clerkship.sandbox.activity import Disclosure, RejectedIdentity, select_activity
from clerkship.sandbox.assertion import Check
from clerkship.sandbox.monitor import Monitor, MonitorAxis
from tests.monitors.office import PAYER, PHARMACY, find_criterion
from tests.monitors.test_minimum_necessary import build_270
from tests.workbench import Workbench


class Listing(Monitor):
    """Lists what was told and rejected."""

    name: ClassVar[str] = "listing"
    axis: ClassVar[MonitorAxis] = "privacy"
    label: ClassVar[str] = "listing"

    def check(self, evidence: Evidence) -> Check:
        """List it in one line."""
        told = [
            f"{each.channel}:{','.join(each.recipients)}:{each.purpose}"
            for each in select_activity(evidence, Disclosure)
        ]
        rejected = [f"rejected:{each.party}" for each in select_activity(evidence, RejectedIdentity)]
        return Check.of(True, " ".join((*told, *rejected)))


@pytest.fixture
def listing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Add the monitor above to the catalog of the workbench."""
    catalog = RegisteredCatalog()
    catalog.monitors.add(Listing.name, Listing)
    monkeypatch.setattr("tests.workbench.CATALOG", catalog)


def ask_payers(sandboxes: Any) -> None:
    """Ask with a wrong birth date in X12 and on the phone, and speak to a pharmacy."""
    sandboxes["clearing"].send(build_270("Halina", "Dudek", "19780708", "VM863192004"))
    phone = sandboxes["phone"]
    call = phone.dial(PHARMACY)
    phone.hear(call, 10)
    phone.hang_up(call)
    call = phone.dial(PAYER)
    phone.hear(call, 60)
    phone.press(call, "9999900019")
    phone.hear(call, 60)
    phone.press(call, "1")
    phone.hear(call, 60)
    phone.say(call, "C M 7 3 9 0 3 3 4 5 8")
    phone.hear(call, 60)
    phone.press(call, "1")
    phone.hear(call, 60)
    phone.press(call, "05131986")
    phone.hear(call, 60)
    phone.press(call, "1")
    phone.hear(call, 60)
    phone.hang_up(call)


@pytest.mark.usefixtures("listing")
def test_purposes_and_rejected_identities_are_listed(bench: Workbench) -> None:
    listed = find_criterion(bench, Listing.name, ask_payers).detail.split()
    assert {"x12:VM003:payment", f"phone:{PHARMACY}:dispensing", f"phone:{PAYER}:payment"} <= set(listed)
    assert {"rejected:VM003", f"rejected:{PAYER}"} <= set(listed)
