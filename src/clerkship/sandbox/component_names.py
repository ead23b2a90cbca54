"""The names that a simulator or domain defines, found without importing it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from clerkship.sandbox.component import ComponentSpec

NamesWithAliases = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, kw_only=True)
class ComponentNames:
    """The names under which files use the assertions, steps, dataset types and filters of a kind.

    They are repeated here so that a name can be found without importing the kind. A test compares them with the
    SPEC.
    """

    kind: str
    assertions: NamesWithAliases = field(default_factory=dict)
    """Name -> aliases."""
    steps: NamesWithAliases = field(default_factory=dict)
    """Name -> aliases."""
    dataset_types: NamesWithAliases = field(default_factory=dict)
    """Name -> datasets that need no file."""
    filters: tuple[str, ...] = ()


def list_names(spec: ComponentSpec) -> dict[str, Any]:
    """Return the fields of the entry of a kind that is already imported."""
    return {
        "kind": spec.kind,
        "assertions": {assertion.name: assertion.aliases for assertion in spec.assertions},
        "steps": {step.name: step.aliases for step in spec.steps},
        "dataset_types": {type.name: tuple(type.built_in) for type in spec.dataset_types},
        "filters": tuple(spec.filters),
    }
