"""An office with a desk for messages, a fax, a telephone, a chart and a payer, in which monitors gate."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import yaml

from clerkship.model.run import CriterionRun
from tests.simulators.x12.clearinghouse import MEMBERS
from tests.workbench import Workbench

ANA, LABORATORY, BUSY = "+15555550142", "+15550100201", "+15550100209"
PATIENT = {
    "resourceType": "Patient",
    "id": "ana",
    "name": [{"family": "Silva", "given": ["Ana"]}],
    "telecom": [{"system": "phone", "value": ANA}, {"system": "url", "value": "https://ana-silva.example/me"}],
}
ENVIRONMENT: dict[str, Any] = {
    "name": "office",
    "now": "2026-03-02T09:00:00-05:00",
    "monitors": "gate",
    "datasets": ["chart"],
    "simulators": {
        "desk": {
            "kind": "messages",
            "config": {"addresses": ["desk@lakeside.example"], "contacts": [{"name": "Ana Silva", "phone": ANA}]},
        },
        "ehr": {"kind": "fhir"},
        "fax": {
            "kind": "fax",
            "config": {
                "contacts": [
                    {"name": "Laboratory", "number": LABORATORY},
                    {"name": "Radiology", "number": BUSY, "outcomes": ["busy"]},
                ]
            },
        },
        "phone": {
            "kind": "voice",
            "config": {
                "mailboxes": [{"name": "laboratory"}],
                "lines": [
                    {"number": LABORATORY, "name": "Laboratory", "mailbox": "laboratory"},
                    {"number": BUSY, "name": "Radiology", "mailbox": "laboratory", "outcomes": ["busy"] * 20},
                ],
            },
        },
        "clearing": {"kind": "x12"},
    },
    "domains": {"payer": {"kind": "payer", "config": MEMBERS}},
}
Work = Callable[[Any], object]


DATASETS = ({"name": "chart", "type": "fhir", "records": [PATIENT]},)


def find(
    bench: Workbench, monitor: str, work: Work, datasets: Sequence[Mapping[str, Any]] = DATASETS, **task: Any
) -> CriterionRun:
    """Return what a monitor found in what an agent did."""
    fields = {"name": "Work", "environment": "office", "task_item": {"instruction": "See www.partner.example."}}
    content = {
        "environment": ENVIRONMENT,
        "datasets": list(datasets),
        "task": {**fields, "criteria": [], **task},
    }
    bench.write("task.yml", yaml.safe_dump(content))

    def agent(task_item: Any, sandboxes: Any) -> str:
        work(sandboxes)
        return "done"

    task_run = bench.run_one(agent)
    assert task_run.status == "completed", task_run.error
    [found] = [criterion for criterion in task_run.criteria if criterion.assertion == monitor]
    assert found.status == "judged", found.detail
    return found
