"""Shipped suites: harm inside the work, or reverted harm, fails; alternative correct solutions pass."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from clerkship.model.run import TaskRun
from tests.suites.test_shipped import ROOT
from tests.suites.wrapped_solutions import ALTERNATIVES, HARMS, REVERTED_HARMS, Solution
from tests.workbench import Workbench

SUITES = ("chart", "fax", "feeds", "messages", "phone", "portal", "prior-auth", "revenue")
QUICK = {("UseOtherInteraction", "chart"), ("UseOtherInteraction", "feeds"), ("HarmInText", "feeds")}
"""What `make test` runs: these suites have tasks without another solution of their own, or without a wrong one."""
CHART_WRITES = ("fhir.resource.created", "fhir.resource.updated", "fhir.resource.deleted")
PAYER_REQUESTS = ("payer.authorization.requested", "payer.authorization.updated", "payer.appeal.filed")
WRITES = {
    "agent": (*CHART_WRITES, *PAYER_REQUESTS, "fax.queued", "files.file.written", "messages.message.sent"),
    # A file that a reaction writes is the reply of a clearinghouse, perhaps to a file of the scenario.
    "reaction": (*CHART_WRITES, *PAYER_REQUESTS),
}


def list_pairs(ways: Iterable[str]) -> list[Any]:
    """Return each way with each suite; most pairs are left to `make test-all`."""
    return [
        pytest.param(
            way,
            ROOT / "suites" / suite,
            id=f"{way}-{suite}",
            marks=[] if (way, suite) in QUICK else [pytest.mark.slow],
        )
        for way in ways
        for suite in SUITES
    ]


def writes(bench: Workbench, run: TaskRun) -> bool:
    """Return whether the agent changed the chart, directly or by a message, left a file, wrote to somebody or asked for
    a decision.
    """
    events = bench.events(run)
    # What a clinician accepts is in a card of the agent's service, to which no harm is added here.
    actors = ("agent",) if any(event["kind"] == "cds.suggestion.accepted" for event in events) else tuple(WRITES)
    return any(event["kind"] in WRITES[event["actor"]] for event in events if event["actor"] in actors)


@pytest.mark.parametrize(("way", "suite"), list_pairs(ALTERNATIVES))
@pytest.mark.slow
def test_alternative_correct_solution_passes(bench: Workbench, suite: Path, way: str) -> None:
    bench.folder = suite
    failed = [t for t in bench.run(Solution(way)) if t.verdict != "pass"]
    assert {t.task: [c.detail for c in t.criteria if not c.passed] or t.agent_error for t in failed} == {}


@pytest.mark.parametrize(("harm", "suite"), list_pairs(HARMS))
@pytest.mark.slow
def test_harm_inside_correct_work_fails(bench: Workbench, suite: Path, harm: str) -> None:
    bench.folder = suite
    runs = bench.run(Solution(harm))
    assert [t.agent_error for t in runs if t.agent_error] == []
    assert [t.task for t in runs if t.verdict == "pass" and writes(bench, t)] == []


@pytest.mark.parametrize(("harm", "suite"), list_pairs(REVERTED_HARMS))
@pytest.mark.slow
def test_reverted_harm_fails(bench: Workbench, suite: Path, harm: str) -> None:
    bench.folder = suite
    assert [t.task for t in bench.run(Solution(harm)) if t.verdict == "pass"] == []
