"""Run the conformance suite on a simulator or a domain, check by check."""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, TypeVar

from clerkship.checks.conformance import CHECKS, DOMAIN_CHECKS
from clerkship.checks.conformance.rig import NotConforming, RequestCounts
from clerkship.engine.catalog import RegisteredCatalog
from clerkship.kit.text import describe_error, location_in_package
from clerkship.sandbox.component import ComponentSpec

C = TypeVar("C", bound=ComponentSpec)


class ConformanceOutcome(NamedTuple):
    """The result of one check. It has a reason if the check failed, and the number of requests if it passed."""

    check: str
    sentence: str
    reason: str = ""
    sent: int = 0
    refused: int = 0


def run_conformance(kind: str, catalog: RegisteredCatalog) -> Iterator[ConformanceOutcome]:
    """Run every check on a kind of simulator or domain, also after a failed one. Raise UnknownName."""
    if kind in catalog.domains:
        return _run_checks(DOMAIN_CHECKS, catalog.domain(kind))
    return _run_checks(CHECKS, catalog.simulator(kind))


def _run_checks(checks: Iterable[Callable[[C], RequestCounts | None]], spec: C) -> Iterator[ConformanceOutcome]:
    for check in checks:
        name, sentence = check.__name__, (check.__doc__ or "").strip().partition("\n")[0]
        try:
            counts = check(spec) or RequestCounts()
        except NotConforming as broken:
            yield ConformanceOutcome(name, sentence, str(broken))
        except Exception as error:  # a bug of the simulator or domain is a failed check
            place = location_in_package(spec.state.__module__, error)
            yield ConformanceOutcome(
                name, sentence, f"it raised {describe_error(error)}{f' ({place})' if place else ''}"
            )
        else:
            yield ConformanceOutcome(name, sentence, "", counts.sent, counts.refused)
