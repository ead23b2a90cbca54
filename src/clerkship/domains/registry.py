"""The built-in domains. An invalid spec is an error at start."""

from collections.abc import Iterable

from clerkship.domains.component import InvalidSpec, find_misnamed
from clerkship.domains.contract import DomainSpec
from clerkship.kit.registry import Registry

DOMAINS: tuple[DomainSpec, ...] = ()


def load_domains(specs: Iterable[DomainSpec] = DOMAINS) -> Registry[DomainSpec]:
    """Check each spec and register it by its kind."""
    registry: Registry[DomainSpec] = Registry("domain")
    for spec in specs:
        check_domain_spec(spec)
        registry.add(spec.kind, spec)
    return registry


def check_domain_spec(spec: DomainSpec) -> None:
    """Check a spec; raise InvalidSpec with everything that is wrong."""
    errors = find_misnamed(spec)
    if not spec.exercise:
        errors.append("it has no exercise for the conformance suite")
    if errors:
        raise InvalidSpec(f"domain `{spec.kind}`: {'; '.join(errors)}")
