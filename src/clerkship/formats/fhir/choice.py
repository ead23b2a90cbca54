"""Choice elements: elements whose JSON name ends with their type, such as `value[x]` (R4 §2.24.0.4)."""

from collections.abc import Sequence
from functools import lru_cache

from clerkship.formats.fhir.definitions import NAMES

CHOICE_ELEMENTS = frozenset(NAMES["choices"])
CHOICE_TYPES = tuple(NAMES["choice_types"])
"""The types of choice elements: all of `Extension.value[x]` and `ElementDefinition.fixed[x]`."""


@lru_cache(maxsize=1024)
def list_choice_names(name: str) -> Sequence[str]:
    """Return the JSON names of a choice element, such as `valueQuantity` for `value`; none for any other element."""
    return tuple(name + datatype for datatype in CHOICE_TYPES) if name in CHOICE_ELEMENTS else ()
