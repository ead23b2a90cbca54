"""A practice with the chart of clinic-100 and its payers, for tests that ask payers in several ways."""

from collections.abc import Sequence
from functools import cache, cached_property
from typing import Any

from clerkship.engine.build import prepare_domains, prepare_simulators
from clerkship.engine.catalog import build_catalog_without_plugins
from clerkship.formats.fhir.resource import Resource
from clerkship.model.dataset import Dataset
from clerkship.model.environment import Environment
from clerkship.payer.answer import Member
from clerkship.payer.inquiry import EligibilityInquiry, PersonQuery
from clerkship.payer.members import DatasetRecords, read_members
from clerkship.payer.state import PayerState
from clerkship.playground.gateway import Gateway
from clerkship.playground.in_process import open_sandboxes
from clerkship.playground.playground import Playground, PlaygroundOptions
from clerkship.sandbox.state import ActionContext
from clerkship.simulators.fhir.handle import Fhir
from clerkship.suite_files.synthetic.generator import generate_lines

CLINIC_NPI = "9999900019"
NOW = "2026-03-02T09:00:00-05:00"


@cache
def load_clinic_100() -> Dataset:
    """Return the chart of clinic-100, generated once."""
    return Dataset(name="clinic-100", type="fhir", lines=generate_lines(100, 7))


class Office:
    """A practice whose agent can ask payers."""

    def __init__(
        self,
        dataset: Dataset | None = None,
        simulators: dict[str, Any] | None = None,
        reactions: Sequence[str] = (),
        **config: Any,
    ) -> None:
        self.dataset = dataset = dataset or load_clinic_100()
        environment = Environment.model_validate(
            {
                "name": "office",
                "now": NOW,
                "datasets": [dataset.name],
                "simulators": {"ehr": {"kind": "fhir"}, **(simulators or {})},
                "domains": {"payer": {"kind": "payer", "config": config}},
                "reactions": ["ehr.resource.created -> payer", "payer.eligibility.checked -> ehr", *reactions],
            }
        )
        catalog, datasets = build_catalog_without_plugins(), {dataset.name: dataset}
        domains = prepare_domains(environment, datasets, catalog)
        self.playground = Playground(
            environment,
            prepare_simulators(environment, datasets, catalog),
            "office",
            PlaygroundOptions(domains=domains),
        )
        self.sandboxes = open_sandboxes(Gateway(), self.playground, lambda *_: "http://localhost")
        self.ehr = self.sandboxes.get_as(Fhir)

    @property
    def payer(self) -> tuple[PayerState, ActionContext]:
        """The payers, and the context in which the agent asks them."""
        state = self.playground.components["payer"].state
        assert isinstance(state, PayerState)
        return state, self.playground.context_for("payer", "agent")

    @cached_property
    def members(self) -> dict[str, Member]:
        """The members that the payers have from the dataset, by key."""
        return read_members(DatasetRecords([self.dataset]))

    def find_references(self, inquiry: EligibilityInquiry) -> Resource | None:
        """Return the parties of an inquiry as references to the chart; None if the chart does not have them all."""
        member = self.members.get(f"{inquiry.payer_id}/{inquiry.subscriber.member_id}/0")
        if member is None or build_inquiry(member).model_copy(update=_pick_question(inquiry)) != inquiry:
            return None
        [payer] = self.ehr.search("Organization", identifier=inquiry.payer_id)
        return {
            "patient": {"reference": member.patient},
            "insurer": {"reference": f"Organization/{payer['id']}"},
            "provider": {"reference": "Organization/org-clinic"},
            "insurance": [{"coverage": {"reference": member.coverages[0].id}}],
        }


def build_inquiry(member: Member, **fields: Any) -> EligibilityInquiry:
    """Return an inquiry of the clinic about a member, as the payer has it on file."""
    subscriber = PersonQuery(
        member_id=member.member_id,
        family=member.family,
        given=member.given[0],
        birth_date=member.birth_date,
        gender=member.gender,
    )
    return EligibilityInquiry.model_validate(
        {"payer_id": member.payer_id, "provider_id": CLINIC_NPI, "subscriber": subscriber, **fields}
    )


def _pick_question(inquiry: EligibilityInquiry) -> dict[str, Any]:
    """Return the fields of an inquiry that do not name its parties."""
    return {name: getattr(inquiry, name) for name in ("service_date", "service_types", "procedure_codes")}
