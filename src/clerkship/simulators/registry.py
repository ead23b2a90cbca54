"""The registry of simulators. A kind is imported when it is first used.

See docs/decisions/0012-kinds-plugins-and-reactions.md.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from clerkship.by_name import load
from clerkship.kit.registry import Deferred, Registry
from clerkship.sandbox.component import InvalidSpec, find_misnamed
from clerkship.sandbox.component_names import ComponentNames, list_names
from clerkship.sandbox.route import Route
from clerkship.simulators.spec import Spec


class BrokenSimulator(InvalidSpec):
    """A simulator whose SPEC contradicts itself."""


@dataclass(frozen=True, kw_only=True)
class KindEntry(ComponentNames):
    """The names that a kind of simulator defines."""

    @cached_property
    def spec(self) -> Spec:
        """Import the kind and return its SPEC; raise BrokenSimulator if it contradicts itself."""
        spec: Spec = load(f"{__package__}.{self.kind}:SPEC")
        check_spec(spec)
        return spec

    def load(self) -> Spec:
        """Return the SPEC. The kind is imported on the first call."""
        return self.spec

    @classmethod
    def from_spec(cls, spec: Spec) -> "KindEntry":
        """Return the entry of a kind that is already imported; raise BrokenSimulator if its SPEC contradicts itself."""
        check_spec(spec)
        entry = cls(**list_names(spec))
        entry.__dict__["spec"] = spec
        return entry


KINDS: tuple[KindEntry, ...] = (
    KindEntry(kind="cds", assertions={"cds_card": (), "cds_latency": ()}, steps={"cds.fire": ()}),
    KindEntry(kind="chat", steps={"chat.say": ()}),
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


def load_simulators(specs: Iterable[Spec] | None = None) -> tuple[KindEntry, ...]:
    """Return entries for these SPECs, or for all built-in kinds. Raise BrokenSimulator or NameTaken."""
    kinds = KINDS if specs is None else tuple(map(KindEntry.from_spec, specs))
    build_spec_registry(kinds)
    return kinds


def build_spec_registry(kinds: Iterable[KindEntry]) -> Registry[Spec]:
    """Build a registry of SPECs that imports each kind when it is first used."""
    registry: Registry[Spec] = Registry("simulator")
    for kind in kinds:
        registry.add(kind.kind, Deferred(kind.load))
    return registry


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
