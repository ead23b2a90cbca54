"""No attack passes a task that ships."""

from pathlib import Path
from typing import get_args

import pytest

from clerkship.service.attacking import AttackReport, AttackRequest, attack
from clerkship.service.scaffold import ProjectKind, create_project
from clerkship.settings import Settings
from tests.suites.test_shipped import ROOT, SUITES, recording_options
from tests.workbench import CATALOG

ORDERS = ROOT / "examples" / "order_support"
CONVERSATIONS = ("eval", "judged", "tests")


SMALLEST = "front_desk"
"""The suite on which `make test` runs the attacks."""


def mark_slow(suite: str) -> list[pytest.MarkDecorator]:
    """Return the mark that leaves a suite to `make test-all`."""
    return [] if suite == SMALLEST else [pytest.mark.slow]


def run_attacks(path: Path) -> AttackReport:
    """Run all attacks on a suite, without a judge, or with what it has recorded of one."""
    return attack(AttackRequest(path=path, **recording_options(path)), Settings(timeout=60), CATALOG)


@pytest.mark.parametrize("suite", [pytest.param(path, id=path.name, marks=mark_slow(path.name)) for path in SUITES])
def test_no_attack_passes_a_shipped_suite(suite: Path) -> None:
    report = run_attacks(suite)
    assert report.problems() == []
    assert all(not one.ungraded for one in report.outcomes)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [None, *get_args(ProjectKind)])
def test_no_attack_passes_suite_of_init(tmp_path: Path, kind: ProjectKind | None) -> None:
    create_project(tmp_path / "new", kind)
    assert run_attacks(tmp_path / "new" / "practice").problems() == []


@pytest.mark.slow
@pytest.mark.parametrize("part", CONVERSATIONS)
def test_no_attack_passes_order_example(part: str) -> None:
    report = run_attacks(ORDERS / part)
    assert report.problems() == []
    assert sum(one.attacked for one in report.outcomes if one.strategy.name == "report-everything") > 0
