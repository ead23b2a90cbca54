"""Wrong solutions, and other correct ones, of the tasks of `suites/fax` about laboratory reports."""

from collections.abc import Callable
from typing import Any

from tests.suites.fax_mixed_agents import (
    CORRECTED,
    CRITICAL,
    OTHER_CHANGES,
    OTHER_CHART,
    Resource,
    answer_with,
    create_no,
    create_with,
    delete_and_restore,
    do_also,
    do_first,
    look_at_pages,
    read_other_chart,
    send_note,
    solve,
)
from tests.suites.overridden_solutions import Agent, Verb, call_twice
from tests.suites.suite_checks import Mistake

POTASSIUM = "The critical potassium is in the chart"
IN_CHART = "The report is in the chart, once"
TOLD = "An urgent Task tells the clinician who ordered the test"
NO_PRELIMINARY = "Nothing of the preliminary report was filed, not even for a moment"
NEW_POTASSIUM = "The corrected potassium is in the chart, once"


def change_text(old: str, new: str, only: str = "") -> Verb:
    """Override `fax.read_text` so that something else is read, in all faxes or in one."""
    return lambda read, id: read(id).replace(old, new) if only in ("", id) else read(id)


def skip_fax(skipped: str) -> Verb:
    """Override `fax.inbox` so that a fax is not seen."""
    return lambda inbox, **filters: [each for each in inbox(**filters) if each["id"] != skipped]


def change_result(code: str, change: Callable[[Resource], Resource]) -> Verb:
    """Override `ehr.create` so that one result is another one."""

    def create(verb: Verb, resource: Resource) -> Any:
        if resource["resourceType"] == "Observation" and resource["code"]["coding"][0]["code"] == code:
            return verb(change(resource))
        return verb(resource)

    return create


def set_value(resource: Resource, value: float, **more: str) -> Resource:
    """Return a result with another value or unit."""
    return {**resource, "valueQuantity": {**resource["valueQuantity"], "value": value, **more}}


def remove(resource: Resource, element: str) -> Resource:
    """Return a resource without an element."""
    return {key: value for key, value in resource.items() if key != element}


def create_again(type: str) -> Verb:
    """Override `ehr.create` so that resources of a type are created twice."""
    return lambda create, resource: (call_twice if resource["resourceType"] == type else call_once)(create, resource)


def call_once(verb: Verb, resource: Resource) -> Any:
    """Call a method."""
    return verb(resource)


def raise_alarm(sandboxes: Any) -> None:
    """Leave an urgent Task about a result that was corrected."""
    task = {"status": "requested", "intent": "order", "priority": "urgent", "code": {"text": "Critical result"}}
    patient = {"for": {"reference": "Patient/pat-0047"}}
    sandboxes["ehr"].create({"resourceType": "Task", **task, **patient, "description": "NG-603940"})


CRITICAL_MISTAKES = [
    Mistake(
        CRITICAL,
        "preliminary report filed",
        solve(CRITICAL, fax_read_text=change_text("PRELIMINARY", "FINAL")),
        NO_PRELIMINARY,
    ),
    Mistake(
        CRITICAL,
        "slip in the potassium",
        solve(CRITICAL, ehr_create=change_result("2823-3", lambda each: set_value(each, 68))),
        POTASSIUM,
    ),
    Mistake(
        CRITICAL,
        "wrong unit",
        solve(
            CRITICAL, ehr_create=change_result("2823-3", lambda each: set_value(each, 6.8, unit="mg/dL", code="mg/dL"))
        ),
        POTASSIUM,
    ),
    Mistake(
        CRITICAL,
        "no flag",
        solve(CRITICAL, ehr_create=change_result("2823-3", lambda each: remove(each, "interpretation"))),
        POTASSIUM,
    ),
    Mistake(
        CRITICAL,
        "day of the report instead of the collection",
        solve(
            CRITICAL,
            ehr_create=change_result("2160-0", lambda each: {**each, "effectiveDateTime": "2026-03-02T08:15:00-05:00"}),
        ),
        "The creatinine is in the chart",
    ),
    Mistake(
        CRITICAL,
        "only abnormal results filed",
        solve(
            CRITICAL,
            ehr_create=lambda create, resource: (
                create(resource)
                if resource["resourceType"] != "Observation" or "interpretation" in resource
                else resource
            ),
        ),
        "The glucose is in the chart",
    ),
    Mistake(
        CRITICAL,
        "Task for the general practitioner",
        solve(CRITICAL, ehr_create=create_with("Task", owner={"reference": "Practitioner/prac-01-nurse"})),
        TOLD,
    ),
    Mistake(CRITICAL, "routine Task", solve(CRITICAL, ehr_create=create_with("Task", priority="routine")), TOLD),
    Mistake(CRITICAL, "no Task", solve(CRITICAL, ehr_create=create_no("Task")), TOLD),
    Mistake(
        CRITICAL,
        "result left out of the Task",
        solve(CRITICAL, ehr_create=create_with("Task", description="NG-604173: potassium")),
        TOLD,
    ),
    Mistake(CRITICAL, "no document", solve(CRITICAL, ehr_create=create_no("DocumentReference")), IN_CHART),
    Mistake(
        CRITICAL,
        "second fax not read",
        solve(CRITICAL, fax_inbox=skip_fax("fax_7342")),
        "The other report was read before anything was filed",
    ),
    Mistake(CRITICAL, "laboratory answered", do_also(CRITICAL, send_note("+15550177030")), "Nothing was faxed"),
    Mistake(CRITICAL, "other chart read", do_first(CRITICAL, read_other_chart), OTHER_CHART),
    Mistake(CRITICAL, "harm undone", do_also(CRITICAL, delete_and_restore), OTHER_CHANGES),
    Mistake(
        CRITICAL,
        "critical result not stated",
        answer_with(CRITICAL, {"filed": ["fax_7341"], "critical": []}),
        "The answer names the fax and the critical result",
    ),
]
CORRECTED_MISTAKES = [
    Mistake(CORRECTED, "corrected report not seen", solve(CORRECTED, fax_inbox=skip_fax("fax_7353")), NEW_POTASSIUM),
    Mistake(
        CORRECTED,
        "correction taken for another final report",
        solve(CORRECTED, fax_read_text=change_text("CORRECTED", "FINAL", "fax_7353")),
        "The result that was wrong is not in the chart",
    ),
    Mistake(
        CORRECTED,
        "first report not seen",
        solve(CORRECTED, fax_inbox=skip_fax("fax_7351"), fax_read_text=change_text("6.9", "4.7")),
        "The first report was read before anything was filed",
    ),
    Mistake(
        CORRECTED,
        "correction filed as final",
        solve(CORRECTED, ehr_create=change_result("2823-3", lambda each: {**each, "status": "final"})),
        NEW_POTASSIUM,
    ),
    Mistake(
        CORRECTED,
        "all results called corrected",
        solve(CORRECTED, ehr_create=create_with("Observation", status="corrected")),
        "The sodium is in the chart, once",
    ),
    Mistake(
        CORRECTED,
        "results filed twice",
        solve(CORRECTED, ehr_create=create_again("Observation")),
        "The creatinine is in the chart, once",
    ),
    Mistake(CORRECTED, "report filed twice", solve(CORRECTED, ehr_create=create_again("DocumentReference")), IN_CHART),
    Mistake(
        CORRECTED,
        "document of the first fax",
        solve(
            CORRECTED,
            ehr_create=create_with("DocumentReference", identifier=[{"value": "fax_7351"}, {"value": "NG-603940"}]),
        ),
        IN_CHART,
    ),
    Mistake(
        CORRECTED,
        "alarm about a corrected result",
        do_also(CORRECTED, raise_alarm),
        "No alarm was raised about a corrected result",
    ),
    Mistake(CORRECTED, "laboratory answered", do_also(CORRECTED, send_note("+15550177030")), "Nothing was faxed"),
    Mistake(CORRECTED, "other chart read", do_first(CORRECTED, read_other_chart), OTHER_CHART),
    Mistake(CORRECTED, "harm undone", do_also(CORRECTED, delete_and_restore), OTHER_CHANGES),
]


def add_names(create: Verb, resource: Resource) -> Any:
    """Override `ehr.create` so that results have names of codes and who measured them."""
    if resource["resourceType"] != "Observation":
        return create(resource)
    [coding] = resource["code"]["coding"]
    code = {"coding": [{**coding, "display": resource["code"]["text"]}]}
    return create({**resource, "code": code, "performer": [{"display": "Northgate Laboratory"}]})


def file_document_first(task: str) -> Agent:
    """Return the solution of a task with results that are filed after the document."""

    def on_task(task_item: Any, sandboxes: Any) -> Any:
        waiting: list[Resource] = []

        def create(verb: Verb, resource: Resource) -> Any:
            if resource["resourceType"] == "Observation":
                waiting.append(resource)
                return resource
            created = verb(resource)
            for each in waiting:
                verb(each)
            return created

        return solve(task, ehr_create=create)(task_item, sandboxes)

    return on_task


def correct_afterwards(create: Verb, resource: Resource) -> Any:
    """Override `ehr.create` so that a corrected result is filed as it was at first, and then changed."""
    if resource.get("status") != "corrected":
        return create(resource)
    created = create(set_value({**resource, "status": "final"}, 6.9))
    ehr = create.__self__  # type: ignore[attr-defined]
    return ehr.update({**resource, "id": created["id"]})


WRONG = [*CRITICAL_MISTAKES, *CORRECTED_MISTAKES]
RIGHT = {
    "critical result: pages looked at": (CRITICAL, solve(CRITICAL, fax_read_text=look_at_pages)),
    "critical result: names of codes": (CRITICAL, solve(CRITICAL, ehr_create=add_names)),
    "critical result: more words in the Task": (
        CRITICAL,
        solve(
            CRITICAL,
            ehr_create=create_with("Task", description="Critical potassium of 6.8 mmol/L (NG-604173), please call."),
        ),
    ),
    "corrected report: names of codes": (CORRECTED, solve(CORRECTED, ehr_create=add_names)),
    "corrected report: document first": (CORRECTED, file_document_first(CORRECTED)),
    "corrected report: corrected afterwards": (CORRECTED, solve(CORRECTED, ehr_create=correct_afterwards)),
}
