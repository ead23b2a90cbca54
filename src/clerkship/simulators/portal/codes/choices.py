"""The choices of forms: places of service, modifiers, kinds of requests, units, document types and service types."""

from functools import cache
from pathlib import Path
from typing import Literal

import orjson

from clerkship.payer.inquiry import SERVICE_TYPE_NAMES
from clerkship.simulators.portal.views import FieldChoice

ChoiceKind = Literal[
    "places", "modifiers", "reviews", "urgencies", "units", "frequencies", "document_types", "service_types"
]


@cache
def _load_labels() -> dict[str, dict[str, str]]:
    labels: dict[str, dict[str, str]] = orjson.loads(Path(__file__).with_suffix(".json").read_bytes())
    return {**labels, "service_types": {str(name): label for name, label in SERVICE_TYPE_NAMES.items()}}


@cache
def list_choices(kind: ChoiceKind) -> tuple[FieldChoice, ...]:
    """Return the choices of a field, in the order in which they are shown. Places and modifiers have their code before
    their name.
    """
    has_code = kind in ("places", "modifiers")
    labels = _load_labels()[kind].items()
    return tuple(FieldChoice(value, f"{value} - {label}" if has_code else label) for value, label in labels)


def find_label(kind: ChoiceKind, value: str) -> str:
    """Return the name of a choice, without its code; empty if there is no such choice."""
    return _load_labels()[kind].get(value, "")
