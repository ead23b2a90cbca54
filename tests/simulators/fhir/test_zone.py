"""A date without a time zone is in the zone of the server: for searches, criteria and entities."""

from tests.workbench import Workbench, written

SUITE = """
    environment:
      name: clinic
      now: 2026-03-02T09:00:00+09:00
      datasets: [chart]
      simulators: {ehr: {kind: fhir}}
    dataset:
      name: chart
      type: fhir
      records:
        - {resourceType: Schedule, id: s, actor: [{display: Dr. Sato}]}
        - {resourceType: Slot, id: early, schedule: {reference: Schedule/s}, status: free,
           start: "2026-03-02T08:30:00+09:00", end: "2026-03-02T09:00:00+09:00"}
        - {resourceType: Slot, id: next-day, schedule: {reference: Schedule/s}, status: free,
           start: "2026-03-03T08:30:00+09:00", end: "2026-03-03T09:00:00+09:00"}
    task:
      name: Take the slot of today
      entities:
        - {id: slot, dataset: chart, type: Slot, where: {start: "2026-03-02"}}
      task_item: {instruction: "It is {{ now }}. Which slot is today's?"}
      criteria:
        - {label: answered, assertion: {answer_matches: "{{ slot.id }}"}}
        - label: one today
          assertion: {fhir_resource_state: {resource_type: Slot, search: {start: "2026-03-02"}, count: 1}}
        - label: the early one
          assertion:
            fhir_resource_state:
              {resource_type: Slot, search: {start: "2026-03-02"}, fields: [{path: id, expected: early}]}
"""


def test_agent_criteria_and_entities_use_same_time_zone(bench: Workbench) -> None:
    bench.write("suite.yml", SUITE)
    told: list[str] = []

    def agent(task_item, sandboxes):  # type: ignore[no-untyped-def]
        told.append(task_item["instruction"])
        return sandboxes["ehr"].search("Slot", start="2026-03-02")[0]["id"]

    run = bench.run_one(agent)
    assert (run.verdict, [c.passed for c in written(run)]) == ("pass", [True, True, True])
    assert told == ["It is 2026-03-02T09:00:00+09:00. Which slot is today's?"]


def test_config_may_set_another_time_zone(bench: Workbench) -> None:
    bench.write("suite.yml", SUITE.replace("{kind: fhir}", "{kind: fhir, config: {zone: 0}}"))
    run = bench.run_one(lambda task_item, sandboxes: sandboxes["ehr"].search("Slot", start="2026-03-02")[0]["id"])
    assert [c.passed for c in written(run)] == [False, True, False]
