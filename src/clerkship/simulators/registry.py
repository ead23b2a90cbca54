"""The registries of simulators and domains. A kind is imported when it is first used; an invalid SPEC is an error then.

See docs/decisions/0012-kinds-plugins-and-reactions.md.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Generic, Self, TypeVar

from clerkship.by_name import load
from clerkship.kit.registry import Deferred, Registry
from clerkship.sandbox.component import ComponentSpec, DomainSpec, InvalidSpec, find_misnamed
from clerkship.sandbox.component_names import ComponentNames, list_names
from clerkship.sandbox.route import Route
from clerkship.simulators.spec import Spec

S = TypeVar("S", bound=ComponentSpec)


class BrokenSimulator(InvalidSpec):
    """A simulator whose SPEC contradicts itself."""


def _find_unknown_fields(route: Route) -> list[str]:
    """List the parameters of a route's path and query that its operation does not have as fields."""
    fields = ", ".join(sorted(route.operation.fields)) or "none"
    where = f"route {route.method} {route.path}: operation `{route.operation.name}`"
    return [f"{where} has no field `{name}` (fields: {fields})" for name in route.unknown_fields()]


def check_spec(spec: Spec) -> None:
    """Raise BrokenSimulator with every contradiction in a SPEC."""
    names = [operation.name for operation in spec.operations]
    routed = [route.operation.name for route in spec.routes]
    complaints = [
        *(f"operation `{name}` is declared twice" for name in sorted(set(names)) if names.count(name) > 1),
        *(f"operation `{name}` is routed twice" for name in sorted(set(routed)) if routed.count(name) > 1),
        *(f"operation `{name}` is routed and not declared" for name in sorted(set(routed) - set(names))),
        *(f"operation `{each.name}` has no docstring" for each in spec.operations if not each.description),
        *(complaint for route in spec.routes for complaint in _find_unknown_fields(route)),
        *find_misnamed(spec),
    ]
    if not spec.exercise:
        complaints.append("`exercise` is empty; the conformance suite needs requests for every operation")
    if complaints:
        raise BrokenSimulator(f"simulator `{spec.kind}`: {'; '.join(complaints)}")


def check_domain_spec(spec: DomainSpec) -> None:
    """Check a spec; raise InvalidSpec with everything that is wrong."""
    errors = find_misnamed(spec)
    if not spec.exercise:
        errors.append("it has no exercise for the conformance suite")
    if errors:
        raise InvalidSpec(f"domain `{spec.kind}`: {'; '.join(errors)}")


@dataclass(frozen=True, kw_only=True)
class SpecEntry(ComponentNames, Generic[S]):
    """The names that a kind defines, and its SPEC."""

    package: ClassVar[str]
    """The package that has the module of the kind."""

    @staticmethod
    def check(spec: Any) -> None:
        """Raise InvalidSpec for a SPEC that contradicts itself."""
        raise NotImplementedError

    @cached_property
    def spec(self) -> S:
        """Import the kind and return its SPEC; raise InvalidSpec if it contradicts itself."""
        spec: S = load(f"{self.package}.{self.kind}:SPEC")
        self.check(spec)
        return spec

    def load(self) -> S:
        """Return the SPEC. The kind is imported on the first call."""
        return self.spec

    @classmethod
    def from_spec(cls, spec: S) -> Self:
        """Return the entry of a kind that is already imported; raise InvalidSpec if its SPEC contradicts itself."""
        cls.check(spec)
        entry = cls(**list_names(spec))
        entry.__dict__["spec"] = spec
        return entry


class KindEntry(SpecEntry[Spec]):
    """The names that a kind of simulator defines."""

    package = "clerkship.simulators"
    check = staticmethod(check_spec)


class DomainEntry(SpecEntry[DomainSpec]):
    """The names that a domain defines."""

    package = "clerkship"
    check = staticmethod(check_domain_spec)


KINDS: tuple[KindEntry, ...] = (
    KindEntry(kind="cds", assertions={"cds_card": (), "cds_latency": ()}, steps={"cds.fire": ()}),
    KindEntry(kind="chat", steps={"chat.say": (), "chat.past": ()}),
    KindEntry(
        kind="fax",
        assertions={"fax_sent": (), "fax_document": (), "fax_text": (), "fax_forwarded": (), "fax_was_read": ()},
        steps={"fax.receive": ()},
        dataset_types={"fax_texts": ()},
    ),
    KindEntry(
        kind="fhir",
        assertions={
            "fhir_resource_state": (),
            "fhir_no_other_changes": (),
            "fhir_was_read": (),
            "fhir_was_not_read": (),
            "fhir_was_searched_for": (),
        },
        steps={"fhir.put": (), "fhir.patch": (), "fhir.delete": ()},
        dataset_types={"fhir": ("clinic-100",)},
    ),
    KindEntry(
        kind="files",
        assertions={"file_present": ("sftp_file_present",), "file_was_read": ()},
        steps={
            "files.drop": (),
            "files.drop_inbox": ("drop_file_inbox",),
            "files.rename": (),
            "files.delete": (),
        },
        dataset_types={"files": ()},
    ),
    KindEntry(
        kind="hl7",
        assertions={"hl7_structural": (), "hl7_acknowledged": ()},
        steps={"hl7.send": ()},
        filters=("hl7", "hl7date"),
    ),
    KindEntry(
        kind="messages",
        assertions={"message_sent": (), "message_thread": (), "must_not_mention": ()},
        steps={"messages.receive": (), "messages.sent_before": (), "messages.set_consent": ()},
    ),
    KindEntry(
        kind="portal",
        steps={"portal.put": (), "portal.inbox": (), "portal.change": ()},
        assertions={"portal_state_match": (), "portal_action": (), "portal_document": ()},
        filters=("pdf",),
    ),
    KindEntry(
        kind="tables",
        assertions={"table_state": (), "table_function_returns": (), "table_no_other_changes": ()},
        steps={"tables.put": (), "tables.delete": (), "tables.call": ()},
        dataset_types={"tables": ()},
    ),
    KindEntry(
        kind="voice",
        assertions={
            "voice_call": (),
            "voice_path": (),
            "voice_transcript": (),
            "voice_disclosed": (),
            "voicemail_left": (),
            "voice_case": (),
        },
        steps={
            "voice.call": (),
            "voice.voicemail": (),
            "voice.menu": (),
            "voice.line": (),
            "voice.busy": (),
            "voice.drop": (),
            "voice.wrong_transfer": (),
            "voice.long_hold": (),
            "voice.mishear": (),
        },
    ),
    KindEntry(kind="cds_service", assertions={"cds_called": ()}, steps={"cds_service.set_cards": ()}),
    KindEntry(kind="x12", assertions={"x12_response": (), "x12_request": ()}),
)


DOMAINS: tuple[DomainEntry, ...] = (
    DomainEntry(
        kind="payer",
        assertions={"payer_state": (), "policy_cited": ()},
        dataset_types={"policies": ()},
        steps={
            "payer.determine": (),
            "payer.set_authorization": (),
            "payer.set_eligibility": (),
            "payer.set_claim": (),
        },
    ),
)


def load_simulators(specs: Iterable[Spec] | None = None) -> tuple[KindEntry, ...]:
    """Return entries for these SPECs, or for all built-in kinds. Raise BrokenSimulator or NameTaken."""
    kinds = KINDS if specs is None else tuple(map(KindEntry.from_spec, specs))
    build_spec_registry("simulator", kinds)
    return kinds


def load_domains(specs: Iterable[DomainSpec] | None = None) -> tuple[DomainEntry, ...]:
    """Return entries for these SPECs, or for all built-in domains. Raise InvalidSpec or NameTaken."""
    domains = DOMAINS if specs is None else tuple(map(DomainEntry.from_spec, specs))
    build_spec_registry("domain", domains)
    return domains


def build_spec_registry(what: str, entries: Iterable[SpecEntry[S]]) -> Registry[S]:
    """Build a registry of SPECs that imports each kind when it is first used."""
    registry: Registry[S] = Registry(what)
    for entry in entries:
        registry.add(entry.kind, Deferred(entry.load))
    return registry
