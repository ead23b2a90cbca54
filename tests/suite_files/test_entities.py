"""Entities of FHIR datasets: finding them by search parameter and path, and the errors."""

from pathlib import Path
from typing import Any

import orjson
import pytest

from clerkship.simulators.fhir.datasets import finder
from clerkship.suite_files.library import LoadedTask
from tests.suite_files.library_folder import LibraryFolder

CHART = """
    environment: {name: clinic, now: 2026-03-02T09:00:00-05:00, datasets: [chart]}
    dataset:
      name: chart
      type: fhir
      records:
        - resourceType: Patient
          id: p1
          active: true
          identifier:
            - {system: urn:ssn, value: 999-01}
            - {type: {coding: [{system: "http://terminology.hl7.org/CodeSystem/v2-0203", code: MR}]}, value: M-1}
          name: [{use: old, family: Alt}, {use: official, family: Lopez, given: [Maria, Elena]}]
          birthDate: 1965-03-15
          gender: female
          telecom: [{system: phone, value: 555-0100, use: work}, {system: phone, value: 555-0199, use: home}]
          address: [{line: [1 Main St, Apt 2], city: Lowell, state: MA, postalCode: "01850"}]
        - {resourceType: Patient, id: p2, name: [{family: Lopez, given: [Mario]}], birthDate: 1965-03-15}
        - resourceType: Patient
          id: p3
          name: [{family: Kim}]
          birthDate: '1990'
          managingOrganization: {reference: Organization/o}
        - {resourceType: Organization, id: o, name: Riverside}
        - resourceType: Coverage
          id: c1
          status: active
          beneficiary: {reference: Patient/p1}
          payor: [{reference: Organization/o}]
          subscriberId: S1
        - resourceType: Coverage
          id: c2
          status: cancelled
          beneficiary: {reference: Patient/p1}
          payor: [{reference: Organization/o}]
        - resourceType: Coverage
          id: c3
          status: active
          beneficiary: {reference: Patient/p2}
          payor: [{reference: Organization/o}]
        - resourceType: Observation
          id: w1
          status: final
          code: {coding: [{system: "http://loinc.org", code: 29463-7, display: Body weight}]}
          subject: {reference: Patient/p1}
          effectiveDateTime: 2026-02-01T09:00:00-05:00
          valueQuantity: {value: 71.5, unit: kg, system: "http://unitsofmeasure.org", code: kg}
"""


@pytest.fixture
def chart(tmp_path: Path) -> LibraryFolder:
    """A folder with three patients and their records."""
    workspace = LibraryFolder(tmp_path)
    workspace.write("chart.yml", CHART)
    return workspace


def task(workspace: LibraryFolder, *entities: str, **more: str) -> LoadedTask:
    """Return a task with these entities."""
    write(workspace, *entities, **more)
    return next(iter(workspace.load().tasks.values()))


def write(workspace: LibraryFolder, *entities: str, **more: str) -> None:
    """Write its file."""
    lines = ["task:", "  name: T", *[f"  {key}: {value}" for key, value in more.items()]]
    lines += ["  entities:", *[f"    - {{dataset: chart, {entity}}}" for entity in entities]] if entities else []
    workspace.write("t.yml", "\n".join(lines) + "\n")


@pytest.mark.parametrize(
    ("type", "where", "id"),
    [
        ("Patient", "birthdate: lt1970-01-01, given: Maria", "p1"),
        ("Patient", "identifier: urn:ssn|999-01", "p1"),
        ("Patient", "'family:exact': Kim", "p3"),
        ("Patient", "organization.name: Riverside", "p3"),
        ("Patient", "'_has:Observation:patient:code': 29463-7", "p1"),
        ("Patient", "_id: p2", "p2"),
        ("Patient", "id: p2", "p2"),
        ("Patient", "active: true", "p1"),
        ("Patient", "birthDate: '1990'", "p3"),
        ("Patient", "name.0.given.0: Mario", "p2"),
        ("Patient", "name.family: Alt", "p1"),
        ("Patient", "telecom.value: {contains: '0199'}", "p1"),
        ("Patient", "gender: {exists: true}", "p1"),
        ("Patient", "address.exists(): false, name.given.exists(): false", "p3"),
        ("Observation", "patient: Patient/p1, value-quantity: gt70", "w1"),
        ("Observation", "valueQuantity.value: {gte: 70, lt: 72}", "w1"),
        ("Observation", "subject.reference: Patient/p1", "w1"),
        ("Organization", "", "o"),
        ("Patient", "_sort: -birthdate, _count: 1", "p3"),
        ("Patient", "_sort: birthdate, _count: '1', name.given: Mario", "p2"),
        ("Coverage", "beneficiary: Patient/p1, status: active", "c1"),
        ("Coverage", "subscriberId: S1", "c1"),
    ],
)
def test_record_is_found_by_search_parameter_or_path(chart: LibraryFolder, type: str, where: str, id: str) -> None:
    loaded = task(chart, f"id: it, type: {type}, where: {{{where}}}")
    assert loaded.entities["it"]["id"] == id


def test_entity_can_refer_to_earlier_entities(chart: LibraryFolder) -> None:
    loaded = task(
        chart,
        "id: patient, type: Patient, where: {given: Maria}",
        'id: coverage, type: Coverage, where: {beneficiary: "{{ patient.reference }}", status: active}',
        task_item="{instruction: 'Call {{ patient.phone }} about {{ coverage.subscriberId }}'}",
    )
    assert loaded.entities["coverage"]["id"] == "c1"
    assert loaded.task.task_item == {"instruction": "Call 555-0199 about S1"}
    assert loaded.task.entities[1].where == {"beneficiary": "Patient/p1", "status": "active"}


@pytest.mark.parametrize(
    ("entity", "message"),
    [
        (
            "id: it, type: Patient, where: {birthdate: '1965-03-15'}",
            "`it` must match one record, but 2 of chart match Patient with birthdate '1965-03-15': "
            "Patient/p1 Maria Elena Lopez, born 1965-03-15, Patient/p2 Mario Lopez, born 1965-03-15",
        ),
        (
            "id: it, type: Patient, where: {family: Smith}",
            "`it` matches no Patient with family 'Smith' in chart; it has 3 Patients",
        ),
        ("id: it, type: Slot", "matches no Slot in chart; it has 3 Coverage, 1 Observation, 1 Organization, 3 Patient"),
        ("id: it, type: Pateint", "`it`: unknown resource type `Pateint`; did you mean `Patient`?"),
        (
            "id: it, type: Patient, where: {birthdat: '1990'}",
            "it has 3 Patients, and none has `birthdat`; did you mean `birthdate`?",
        ),
        (
            "id: it, type: Patient, where: {birthdate: {lt: '1990-01-01'}}",
            "`birthdate` is a search parameter, which needs text such as `ge2020-01-01`",
        ),
        ("id: it, type: Patient, where: {birthdate: soon}", "`it`: "),
        ("id: it, type: Patient, where: {_sort: birthdat, _count: 1}", "`it`: "),
        ("id: it, type: Patient, where: {_sort: birthdate}", "but 3 of chart match Patient with _sort 'birthdate'"),
        ("id: it, type: Patient, where: {'name:nearly': x}", "`it`: "),
        ("id: it, type: Patient, where: {'name.where(': x}", "`it`: "),
        ("id: it, type: Patient, where: {name.single().family: Kim}", "`it`: `single()` expects one value, not 2"),
    ],
)
def test_query_with_no_or_several_matches_is_rejected(chart: LibraryFolder, entity: str, message: str) -> None:
    write(chart, entity)
    [line] = chart.lines()
    assert message in line


def test_duplicate_entity_id_is_rejected(chart: LibraryFolder) -> None:
    write(chart, "id: it, type: Patient, where: {id: p1}", "id: it, type: Organization")
    assert "the id `it` is already used" in chart.lines()[0]


def test_reference_to_an_unbound_entity_is_not_reported_again(chart: LibraryFolder) -> None:
    write(
        chart,
        "id: patient, type: Patient, where: {family: Nobody}",
        'id: coverage, type: Coverage, where: {beneficiary: "{{ patient.reference }}"}',
    )
    [line] = chart.lines()
    assert "`patient` matches no Patient" in line
    write(chart, 'id: a, type: Coverage, where: {payor: "{{ later.reference }}"}', "id: later, type: Organization")
    [line] = chart.lines()
    assert line.startswith("t.yml:4:")
    assert "unknown name `later`" in line


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{{ p.name }}, born {{ p.birthDate }}", "Maria Elena Lopez, born 1965-03-15"),
        ("{{ p.name | upper }}!", "MARIA ELENA LOPEZ!"),
        ("a {{ p.name.0.family }} b", "a Alt b"),
        ("a {{ p.name.1.given }} b", "a Maria Elena b"),
        ("MRN {{ p.mrn }}, {{ p.age }} years", "MRN M-1, 60 years"),
        ("at {{ p.address }}.", "at 1 Main St, Apt 2, Lowell, MA 01850."),
        ("{{ p.given }} {{ p.family }} {{ p.phone }}", "Maria Elena Lopez 555-0199"),
        ("{{ o.code }} {{ o.value }} on {{ o.effective | date }}", "Body weight 71.5 kg on 2026-02-01"),
        ("{{ o.subject }} is {{ p.reference }}", "Patient/p1 is Patient/p1"),
        ("{{ p.full_name }}", "Maria Elena Lopez"),
        ("{{ p.name | words }}", "Maria Elena Lopez"),
        ("{{ p.age }}", 60),
        ("{{ o.value }}", {"code": "kg", "system": "http://unitsofmeasure.org", "unit": "kg", "value": 71.5}),
        ("{{ p.name.1.given }}", ["Maria", "Elena"]),
    ],
)
def test_resources_are_rendered_in_words(chart: LibraryFolder, text: str, told: Any) -> None:
    loaded = task(
        chart,
        "id: p, type: Patient, where: {id: p1}",
        "id: o, type: Observation",
        task_item=f'{{said: "{text}"}}',
    )
    assert loaded.task.task_item == {"said": told}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{{ p.nmae }}", "unknown name `nmae` in `p.nmae`; did you mean `name`?"),
        ("{{ p.emial }}", "unknown name `emial` in `p.emial`"),
        ("{{ p.email }}", "unknown name `email` in `p.email`"),
        ("{{ p.value }}", "unknown name `value` in `p.value`"),
    ],
)
def test_unknown_field_of_a_resource_is_an_error(chart: LibraryFolder, text: str, message: str) -> None:
    write(chart, "id: p, type: Patient, where: {id: p1}", task_item=f'{{said: "{text}"}}')
    [line] = chart.lines()
    assert message in line


def test_persona_file_can_use_the_tasks_entities(chart: LibraryFolder) -> None:
    chart.write("personas/rosa.yml", "persona: {name: rosa, description: 'You are {{ p.name }}, aged {{ p.age }}.'}\n")
    chart.write(
        "t.yml",
        """
        environment: {name: talk, datasets: [chart], simulators: {chat: {kind: chat}}}
        task:
          name: T
          environment: talk
          entities: [{id: p, dataset: chart, type: Patient, where: {id: p1}}]
          scenario: {starts: person, person: {persona: rosa, opening: 'Hello, {{ p.given }} here'}}
        """,
    )
    person = chart.load().tasks["T"].task.scenario.person  # type: ignore[union-attr]
    assert person is not None
    assert "You are Maria Elena Lopez, aged 60." in person.model_dump_json()
    chart.write("personas/rosa.yml", "persona: {name: rosa, description: 'You are {{ q.name }}.'}\n")
    [line] = chart.lines()
    assert line.startswith("t.yml:7:")
    assert "unknown name `q`" in line


def test_path_index_is_built_once(chart: LibraryFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[bytes] = []

    def parse(line: bytes) -> Any:
        parsed.append(line)
        return orjson.loads(line)

    monkeypatch.setattr(finder, "parse_resource", parse)
    monkeypatch.setattr(finder, "_MAX_SCANNED", 0)
    tasks = "".join(
        f"  - {{name: T{n}, entities: [{{id: p, dataset: chart, type: Patient, where: {{name.0.given.0: Mario}}}}]}}\n"
        for n in range(50)
    )
    chart.write("t.yml", f"tasks:\n{tasks}")
    assert len(chart.load().tasks) == 50
    assert len(parsed) <= 3 + 50  # each patient once for the index, and then the one that is found


def test_for_each_makes_one_task_per_record(chart: LibraryFolder) -> None:
    chart.write(
        "t.yml",
        """
        task:
          name: Weigh
          for_each: {id: patient, dataset: chart, type: Patient, where: {family: Lopez}}
          entities: [{id: o, dataset: chart, type: Organization}]
          tags: [vitals]
          task_item: {instruction: "Weigh {{ patient.name }} at {{ o.name }}."}
          criteria:
            - {label: x, assertion: {answer_matches: {expected: "{{ patient.id }}"}}}
        """,
    )
    library = chart.load()
    assert list(library.tasks) == ["Weigh [p1]", "Weigh [p2]"]
    first = library.tasks["Weigh [p1]"]
    assert first.template == "Weigh"
    assert first.task.task_item == {"instruction": "Weigh Maria Elena Lopez at Riverside."}
    assert first.entities["patient"]["id"] == "p1"
    assert [entity.id for entity in first.task.entities] == ["patient", "o"]
    assert first.task.entities[0].where == {"id": "p1"}
    snapshot = library.snapshot(first, 60)
    assert (snapshot.template, snapshot.task.for_each) == ("Weigh", None)
    assert [loaded.task.name for loaded in library.select(names=["Weigh"])] == ["Weigh [p1]", "Weigh [p2]"]
    assert [loaded.task.name for loaded in library.select(names=["Weigh [p2]"])] == ["Weigh [p2]"]
    assert [loaded.task.name for loaded in library.select(names=["p2"])] == ["Weigh [p2]"]
    assert len(library.select(tags=["vitals"])) == 2


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ("{id: p, dataset: chart, type: Slot}", "task.for_each: `p` matches no Slot in chart; it has"),
        ("{id: p, dataset: chrt}", "task.for_each.dataset: unknown dataset `chrt`; did you mean `chart`?"),
        ("{id: now, dataset: chart, type: Patient}", "task.for_each.id: the id `now` is reserved for the current time"),
        ("{id: p, dataset: chart, type: Patient, limit: 0}", "task.for_each.limit: expected at least 1"),
        ("{id: p, dataset: chart, limt: 3}", "task.for_each.limt: unknown key `limt`; did you mean `limit`?"),
        ("{id: p, dataset: chart, type: Patient, where: {birthdate: x}}", "task.for_each: `p`: "),
        ("7", "task.for_each: expected a map"),
    ],
)
def test_invalid_for_each_is_rejected(chart: LibraryFolder, keys: str, message: str) -> None:
    chart.write("t.yml", f"task:\n  name: T\n  for_each: {keys}\n  task_item: {{a: '{{{{ p.id }}}}'}}\n")
    line = chart.lines()[0]
    assert message in line


def test_template_mistake_is_reported_once_for_all_records(chart: LibraryFolder) -> None:
    each = "for_each: {id: p, dataset: chart, type: Patient}"
    chart.write("t.yml", f"task:\n  name: T\n  {each}\n  task_item: {{a: '{{{{ p.nmae }}}}'}}\n")
    [line] = chart.lines()
    assert "unknown name `nmae`" in line


def test_missing_entity_is_reported_with_the_record_of_for_each(chart: LibraryFolder) -> None:
    chart.write(
        "t.yml",
        """
        task:
          name: T
          for_each: {id: p, dataset: chart, type: Patient}
          entities: [{id: c, dataset: chart, type: Coverage, where: {patient: "{{ p.reference }}", status: active}}]
        """,
    )
    [line] = chart.lines()
    assert "for p3, `c` matches no Coverage with patient 'Patient/p3', status 'active' in chart" in line


def test_too_long_or_duplicate_task_names_are_rejected(chart: LibraryFolder) -> None:
    each = "for_each: {id: p, dataset: chart, type: Patient, where: {id: p1}}"
    chart.write("t.yml", f"task: {{name: {'n' * 199}, {each}}}\n")
    assert "the name has 204 characters; the limit is 200; shorten it" in chart.lines()[0]
    chart.write("t.yml", f"tasks:\n  - {{name: 'T [p1]'}}\n  - {{name: T, {each}}}\n")
    assert "two tasks would have the name 'T [p1]'" in chart.lines()[0]


def test_for_each_works_with_plain_records(tmp_path: Path) -> None:
    workspace = LibraryFolder(tmp_path)
    workspace.write(
        "t.yml",
        """
        dataset: {name: d, type: records, records: [{id: 7, n: a}, {n: b}, {id: x, n: c}]}
        task:
          name: T
          for_each: {id: r, dataset: d, limit: 3}
          task_item: {say: "{{ r.n }}"}
        """,
    )
    loaded = workspace.load().tasks
    assert {name: one.task.task_item for name, one in loaded.items()} == {
        "T [7]": {"say": "a"},
        "T [2]": {"say": "b"},
        "T [x]": {"say": "c"},
    }


def test_assertions_on_an_unbound_record_are_not_reported(tmp_path: Path) -> None:
    workspace = LibraryFolder(tmp_path)
    workspace.write(
        "suite.yml",
        """
        environment: {name: clinic, datasets: [clinic-100], simulators: {ehr: {kind: fhir}}}
        task:
          name: T
          for_each: {id: patient, dataset: clinic-100, type: Patient, where: {name: nobodyatall}}
          entities:
            - {id: reading, dataset: clinic-100, type: Observation, where: {patient: "{{ patient.reference }}"}}
          scenario:
            - fhir.put: {resource: {resourceType: "{{ patient.resourceType }}", birthDate: "{{ patient.birthDate }}"}}
            - fhir.patch: {resource: "{{ patient.reference }}", set: {active: true}}
            - fhir.delete: {type: Observation, id: "{{ reading.id }}"}
            - fhir.delete: {type: Observatio, id: x}
          criteria:
            - label: one
              assertion:
                fhir_resource_state:
                  resource_type: Observation
                  search: {date: "{{ patient.birthDate }}"}
                  fields: [{path: status, expected: {matches: "({{ reading.id }}"}}]
            - {label: two, assertion: {answer_matches: "{{ patint.id }}"}}
        """,
    )
    first, second, third = workspace.lines()
    assert "matches no Patient with name 'nobodyatall'" in first
    assert "Observatio" in second
    assert third.endswith("unknown name `patint` in `patint.id`; did you mean `patient`?")


def test_unknown_name_is_reported_with_the_known_names(tmp_path: Path) -> None:
    workspace = LibraryFolder(tmp_path)
    workspace.write("chart.yml", CHART)
    workspace.write(
        "task.yml",
        """
        task:
          name: T
          entities: [{id: patient, dataset: chart, type: Patient, where: {_id: p1}}]
          task_item: {a: "{{ zzz }}", b: "{{ patient.zzz }}"}
        """,
    )
    first, second = workspace.lines()
    assert first.endswith("unknown name `zzz`; known: now, patient")
    assert "known: active, address, age, birthDate" in second
