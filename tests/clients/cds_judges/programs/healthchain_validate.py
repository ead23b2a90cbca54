"""Validate JSON of CDS Hooks with healthchain: reads a JSON list of [sort, data], prints the errors of each.

Runs in an environment of its own, so it imports nothing of the project.
"""

import json
import sys
from typing import Any

from healthchain.models.hooks import (
    EncounterDischargeContext,
    OrderSelectContext,
    OrderSignContext,
    PatientViewContext,
)
from healthchain.models.requests.cdsrequest import CDSRequest
from healthchain.models.responses.cdsdiscovery import CDSServiceInformation
from healthchain.models.responses.cdsfeedback import CDSFeedback
from healthchain.models.responses.cdsresponse import CDSResponse

CONTEXTS = {
    "patient-view": PatientViewContext,
    "order-select": OrderSelectContext,
    "order-sign": OrderSignContext,
    "encounter-discharge": EncounterDischargeContext,
}


def validate(sort: str, data: Any) -> None:
    """Raise an exception of any type if the data is not valid."""
    if sort == "response":
        CDSResponse.model_validate(data)
    elif sort == "discovery":
        CDSServiceInformation.model_validate(data)
    elif sort == "feedback":
        for entry in data["feedback"]:
            CDSFeedback.model_validate(entry)
    else:
        request = CDSRequest.model_validate(data)
        CONTEXTS[request.hook].model_validate(data["context"])


def find_errors(sort: str, data: Any) -> list[str]:
    """Return the errors; its validators raise other exceptions than those of pydantic too."""
    try:
        validate(sort, data)
    except Exception as problem:
        return [f"{type(problem).__name__}: {problem}"]
    return []


json.dump([find_errors(sort, data) for sort, data in json.load(sys.stdin)], sys.stdout)
