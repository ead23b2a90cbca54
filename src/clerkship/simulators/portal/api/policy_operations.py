"""Operations of the REST API on the library of policies."""

from typing import Annotated

from pydantic import Field

from clerkship.model.frozen import Frozen
from clerkship.payer.policies.policy import PolicySection
from clerkship.sandbox.request import Reply
from clerkship.simulators.portal.api.serve import ApiAnswer
from clerkship.simulators.portal.desk import Desk
from clerkship.simulators.portal.downloads import build_download
from clerkship.simulators.portal.form_values import FormValues
from clerkship.simulators.portal.policy_library import PolicyRow, download_version, open_version, search_library
from clerkship.simulators.portal.views import Fact


class PolicySearch(Frozen):
    """What to search the library for; all versions if nothing is given."""

    text: Annotated[str, Field(description="words of the policy, all of which it has")] = ""
    code: Annotated[str, Field(description="procedure code that it is about")] = ""
    day: Annotated[str, Field(description="day on which the version is in force, such as 2026-03-16")] = ""


class PolicyInput(Frozen):
    """A version of a policy."""

    id: Annotated[str, Field(description="id of the policy, such as CM-RAD-014")]
    version: Annotated[str, Field(description="number of the version, such as 2026.1")]


class ApiPolicies(Frozen):
    """Versions that match a search."""

    policies: tuple[PolicyRow, ...]


class ApiPolicy(Frozen):
    """Everything that a version says."""

    policy: PolicyRow
    publisher: str
    facts: tuple[Fact, ...]
    sections: tuple[PolicySection, ...]


def search_policies(desk: Desk, given: PolicySearch) -> ApiAnswer[ApiPolicies]:
    """Search the library of policies: versions in force, superseded, and of the future, each with its days."""
    form = FormValues(given.model_dump())
    found = search_library(desk, form)
    form.check()
    return ApiAnswer(ApiPolicies(policies=tuple(found.rows)), "policy_list", found.records)


def read_policy(desk: Desk, given: PolicyInput) -> ApiAnswer[ApiPolicy]:
    """Read a version of a policy."""
    opened = open_version(desk, given.id, given.version)
    document = opened.document
    facts = tuple(Fact(*each) for each in document.facts)
    result = ApiPolicy(policy=opened.row, publisher=document.publisher, facts=facts, sections=document.sections)
    return ApiAnswer(result, "policy", (opened.record,), opened.shown)


def read_policy_pdf(desk: Desk, given: PolicyInput) -> Reply:
    """Download a version of a policy as PDF."""
    return build_download(download_version(desk, given.id, given.version))
