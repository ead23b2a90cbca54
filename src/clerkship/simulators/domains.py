"""The registry of domains. A domain is imported when it is first used. An invalid spec is an error at that time."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from clerkship.by_name import load
from clerkship.kit.registry import Deferred, Registry
from clerkship.sandbox.component import InvalidSpec, find_misnamed
from clerkship.sandbox.component_names import ComponentNames, list_names
from clerkship.sandbox.domain import DomainSpec


@dataclass(frozen=True, kw_only=True)
class DomainEntry(ComponentNames):
    """The names that a domain defines."""

    @cached_property
    def spec(self) -> DomainSpec:
        """Import the domain and return its SPEC; raise InvalidSpec if it contradicts itself."""
        spec: DomainSpec = load(f"clerkship.{self.kind}:SPEC")
        check_domain_spec(spec)
        return spec

    def load(self) -> DomainSpec:
        """Return the SPEC. The domain is imported on the first call."""
        return self.spec

    @classmethod
    def from_spec(cls, spec: DomainSpec) -> "DomainEntry":
        """Return the entry of a domain that is already imported; raise InvalidSpec if its SPEC contradicts itself."""
        check_domain_spec(spec)
        entry = cls(**list_names(spec))
        entry.__dict__["spec"] = spec
        return entry


DOMAINS: tuple[DomainEntry, ...] = (
    DomainEntry(
        kind="payer",
        assertions={"payer_state": ()},
        steps={
            "payer.determine": (),
            "payer.set_authorization": (),
            "payer.set_eligibility": (),
            "payer.set_claim": (),
        },
    ),
)


def load_domains(specs: Iterable[DomainSpec] | None = None) -> tuple[DomainEntry, ...]:
    """Return entries for these specs, or for all built-in domains. Raise InvalidSpec or NameTaken."""
    entries = DOMAINS if specs is None else tuple(map(DomainEntry.from_spec, specs))
    build_domain_registry(entries)
    return entries


def build_domain_registry(entries: Iterable[DomainEntry]) -> Registry[DomainSpec]:
    """Build a registry of specs that imports each domain when it is first used."""
    registry: Registry[DomainSpec] = Registry("domain")
    for entry in entries:
        registry.add(entry.kind, Deferred(entry.load))
    return registry


def check_domain_spec(spec: DomainSpec) -> None:
    """Check a spec; raise InvalidSpec with everything that is wrong."""
    errors = find_misnamed(spec)
    if not spec.exercise:
        errors.append("it has no exercise for the conformance suite")
    if errors:
        raise InvalidSpec(f"domain `{spec.kind}`: {'; '.join(errors)}")
