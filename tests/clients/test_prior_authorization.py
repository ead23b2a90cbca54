"""fhirpy and fhirclient ask payers for prior authorizations over HTTP; fhir.resources validates what they get."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from fhir.resources.R4B.bundle import Bundle
from fhir.resources.R4B.capabilitystatement import CapabilityStatement
from fhirclient.models.claimresponse import ClaimResponse
from fhirpy import SyncFHIRClient
from fhirpy.base.exceptions import OperationOutcome

from tests.simulators.x12.prior_authorization import PasClearinghouse, action_of, build_bundle, build_inquiry

PENDED = {"determinations": [{"match": {"procedure_code": "72148"}, "status": "approved", "delay": "4h"}]}


@pytest.fixture
def clearinghouse() -> Iterator[PasClearinghouse]:
    """A clearinghouse whose payer decides after four hours."""
    with PasClearinghouse(PENDED) as served:
        yield served


def test_fhirpy_submits_inquires_and_is_refused(clearinghouse: PasClearinghouse) -> None:
    rig = clearinghouse.rig
    client = SyncFHIRClient(f"{rig.url()}/fhir", authorization=f"Bearer {rig.token}")
    submitted: Any = client.execute("Claim/$submit", data=build_bundle())
    Bundle.model_validate(dict(submitted))
    assert action_of(submitted["entry"][0]["resource"]) == ["A4"]
    rig.playground.advance(timedelta(hours=5))
    inquired: Any = client.execute("Claim/$inquire", data=build_inquiry())
    [response] = [each["resource"]["entry"][0]["resource"] for each in inquired["parameter"]]
    assert ClaimResponse(response).preAuthRef == action_of(response)[1]
    CapabilityStatement.model_validate(client.execute("metadata", method="get"))
    with pytest.raises(OperationOutcome, match=r"Organization/away. is not in the Bundle"):
        client.execute("Claim/$submit", data=build_bundle(insurer={"reference": "Organization/away"}))
