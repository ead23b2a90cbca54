"""The description of the REST API is valid OpenAPI 3.1, and the API answers as it says."""

from typing import Any

from jsonschema import Draft202012Validator
from openapi_spec_validator import OpenAPIV31SpecValidator

from clerkship.simulators.portal.api.routes import OPERATION_ROUTES
from tests.simulators.portal.api.test_api import build_mri
from tests.simulators.portal.portal_site import PortalSite


def test_the_description_is_valid_and_names_every_operation() -> None:
    with PortalSite() as site:
        description = site.portal.api("GET", "/openapi.json")
    OpenAPIV31SpecValidator(description).validate()
    named = {each["operationId"] for path in description["paths"].values() for each in path.values()}
    assert named == {route.operation.name for route in OPERATION_ROUTES}


def test_answers_fit_the_schemas_of_the_description() -> None:
    with PortalSite() as site:
        description = site.portal.api("GET", "/openapi.json")

        def check(path: str, data: Any, method: str = "get", status: str = "200") -> None:
            answer = description["paths"][f"/api{path}"][method]["responses"][status]
            schema = answer["content"]["application/json"]["schema"]
            Draft202012Validator({**schema, "components": description["components"]}).validate(data)

        submission = site.portal.api("POST", "/requests", build_mri(site))
        check("/requests", submission, "post", "201")
        check("/requests", site.portal.api("GET", "/requests"))
        reference, ref = submission["request"]["reference"], submission["request"]["member"]["ref"]
        check("/requests/{reference}", site.portal.api("GET", f"/requests/{reference}"))
        check("/members/{id}/eligibility", site.portal.api("GET", f"/members/{ref}/eligibility"))
        check("/drafts", site.portal.api("POST", "/drafts", {"member": ref}), "post", "201")
