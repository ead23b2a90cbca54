"""Parts of agents that the tests of `suites/fax` share: resources that are created otherwise, or not at all."""

from typing import Any

from tests.suites.overridden_solutions import Verb

Resource = dict[str, Any]


def create_with(type: str, /, **elements: Any) -> Verb:
    """Override `ehr.create` so that resources of a type have other elements; None removes one."""

    def create(verb: Verb, resource: Resource) -> Any:
        if resource["resourceType"] != type:
            return verb(resource)
        return verb({key: value for key, value in {**resource, **elements}.items() if value is not None})

    return create


def create_no(type: str) -> Verb:
    """Override `ehr.create` so that resources of a type are left out."""
    return lambda create, resource: resource if resource["resourceType"] == type else create(resource)
