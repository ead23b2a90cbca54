"""The simulators there are. A broken one is an error at start, by name, not a gap found at run."""

from collections.abc import Iterable

from clerkship.domains.component import BrokenComponent, contradictions
from clerkship.kit.registry import Registry
from clerkship.simulators import chat, fhir, files, hl7
from clerkship.simulators.spec import Spec

SPECS: tuple[Spec, ...] = (chat.SPEC, fhir.SPEC, files.SPEC, hl7.SPEC)


class BrokenSimulator(BrokenComponent):
    """A simulator whose SPEC contradicts itself."""


def load_simulators(specs: Iterable[Spec] = SPECS) -> Registry[Spec]:
    """Check each SPEC and table them by kind."""
    registry: Registry[Spec] = Registry("simulator")
    for spec in specs:
        check_spec(spec)
        registry.add(spec.kind, spec)
    return registry


def check_spec(spec: Spec) -> None:
    """Raise BrokenSimulator with everything in a SPEC that contradicts itself."""
    names = [operation.name for operation in spec.operations]
    routed = [route.operation.name for route in spec.routes]
    complaints = [
        *(f"operation `{name}` is declared twice" for name in sorted(set(names)) if names.count(name) > 1),
        *(f"operation `{name}` is routed twice" for name in sorted(set(routed)) if routed.count(name) > 1),
        *(f"operation `{name}` is routed and not declared" for name in sorted(set(routed) - set(names))),
        *(f"operation `{each.name}` has no docstring" for each in spec.operations if not each.description),
        *contradictions(spec),
    ]
    if not spec.exercise:
        complaints.append("it has no exercise for the conformance suite")
    if complaints:
        raise BrokenSimulator(f"simulator `{spec.kind}`: {'; '.join(complaints)}")
