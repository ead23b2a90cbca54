"""Measure the validation of FHIR resources, against the published JSON schema and fhir.resources.

    python -m benchmarks.fhir_validation [--quick]

The result is in CPU seconds of one core, the best of several rounds after one that warms up. The resources are
official examples with a subject (of R4 and still in R4B, so that all three support them), downloaded once from npm
to .cache/fhir.
"""

import argparse
import gc
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import orjson

from benchmarks.table import print_table, times
from clerkship.formats.fhir.resource import Resource, parse_resource, render_resource
from clerkship.formats.fhir.validation import validate
from scripts.fhir_package import package_folder
from tests.formats.fhir.other_validators import build_model_test, build_schema_test, is_modelled

DEFINED = {"StructureDefinition", "SearchParameter", "ValueSet", "CodeSystem", "ConceptMap", "OperationDefinition"}
AIM = 10_000
"""Resources of 1.4 KB in a second: what a clinic's average."""
TYPICAL = 1400


class Rate(NamedTuple):
    """The speed of one validator."""

    who: str
    per_second: float
    megabytes: float
    """A second, of canonical JSON."""
    refused: int

    @property
    def typical(self) -> float:
        """Resources of 1.4 KB per second at this speed."""
        return self.megabytes * 1e6 / TYPICAL


def official(largest: int = 8_000) -> list[Resource]:
    """Return official examples that are not definitions and not larger than so many bytes."""
    found = []
    for file in sorted(package_folder().glob("*-*.json")):
        if file.name.partition("-")[0] not in DEFINED and file.stat().st_size < largest:
            resource = parse_resource(file.read_bytes())
            if is_modelled(resource["resourceType"]):
                found.append(resource)
    return found


def measured(who: str, accepts: Callable[[Resource], bool], resources: Sequence[Resource], rounds: int) -> Rate:
    """Measure how fast a validator accepts or rejects resources."""
    refused = sum(not accepts(resource) for resource in resources)
    size = sum(len(render_resource(resource)) for resource in resources)
    gc.collect()
    best = min(_round(accepts, resources) for _ in range(rounds))
    return Rate(who, len(resources) / best, size / best / 1e6, refused)


def _round(accepts: Callable[[Resource], bool], resources: Sequence[Resource]) -> float:
    began = time.process_time()
    for resource in resources:
        accepts(resource)
    return time.process_time() - began


def ours(resource: Resource) -> bool:
    """Return whether our validator accepts a resource."""
    return not validate(resource)


def schema(resource: Resource) -> bool:
    """Return whether the JSON schema accepts a resource: it checks structure, formats and codes."""
    return build_schema_test(resource["resourceType"])(resource)


def models(resource: Resource) -> bool:
    """Return whether fhir.resources accepts a resource: it checks structure, formats and choices."""
    return build_model_test(resource["resourceType"])(resource)


def compared(resources: Sequence[Resource], rounds: int = 5) -> list[Rate]:
    """Measure all three validators."""
    plain: list[Any] = [orjson.loads(render_resource(resource)) for resource in resources]
    return [
        measured("clerkship", ours, plain, rounds),
        measured("fhir.resources (R4B)", models, plain, max(rounds // 3, 1)),
        measured("JSON schema, jsonschema-rs", schema, plain, rounds),
    ]


def main() -> None:
    """Print the table."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--quick", action="store_true", help="one round of each")
    resources = official()
    size = sum(len(render_resource(resource)) for resource in resources) / len(resources)
    rates = compared(resources, 1 if asked.parse_args().quick else 9)
    print(
        f"{len(resources)} official examples, {size:,.0f} bytes on average; aim: {AIM:,} of {TYPICAL:,} bytes a second"
    )
    print_table(
        ("who", "resources/s", "MB/s", "of 1.4 KB/s", "ours is faster by", "refused"),
        (
            (
                rate.who,
                f"{rate.per_second:,.0f}",
                f"{rate.megabytes:.1f}",
                f"{rate.typical:,.0f}",
                times(rates[0].per_second / rate.per_second),
                str(rate.refused),
            )
            for rate in rates
        ),
    )


if __name__ == "__main__":
    main()
