"""The conformance suite, check by check, on somebody's simulator."""

from collections.abc import Iterator
from typing import NamedTuple

from clerkship.conformance import CHECKS
from clerkship.conformance.checks import NotConforming
from clerkship.conformance.rig import RequestCounts
from clerkship.simulators.spec import Spec


class Outcome(NamedTuple):
    """The result of one check. It has a reason if the check failed, and the requests it sent if it passed."""

    check: str
    sentence: str
    reason: str = ""
    sent: int = 0
    refused: int = 0


def conform(spec: Spec) -> Iterator[Outcome]:
    """Every check, whatever came of those before."""
    for check in CHECKS:
        name, sentence = check.__name__, (check.__doc__ or "").strip()
        try:
            counts = check(spec) or RequestCounts()
        except NotConforming as broken:
            yield Outcome(name, sentence, str(broken))
        except (
            Exception
        ) as error:  # a simulator's own bug: what it does in a run is the platform's, here it is the answer
            yield Outcome(name, sentence, f"it raised {type(error).__name__}: {error}")
        else:
            yield Outcome(name, sentence, "", counts.sent, counts.refused)
