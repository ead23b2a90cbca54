"""Tasks of a template: one for each record, selected by template and grouped in reports."""

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import orjson
import pytest

from clerkship.actors.python import PythonSolver
from clerkship.model.errors import InputError
from clerkship.report.gates import GatedComparison
from clerkship.report.html import render_html
from clerkship.report.jsonl import render_jsonl
from clerkship.report.junit import render_junit
from clerkship.report.markdown import render_markdown
from clerkship.service.comparing import compare_runs
from clerkship.service.exporting import write_reports
from clerkship.service.reading import show_run
from clerkship.service.report_targets import ReportTargets
from clerkship.service.rerun import plan_rerun
from clerkship.service.rescore import rescore
from clerkship.service.running import execute
from clerkship.service.task_view import show_task
from clerkship.settings import Settings
from tests.workbench import CATALOG, Workbench

SUITE = """
    environment: {name: clinic, now: 2026-03-02T09:00:00-05:00, datasets: [chart]}
    dataset:
      name: chart
      type: fhir
      records:
        - {resourceType: Patient, id: p1, name: [{family: Lopez, given: [Maria]}]}
        - {resourceType: Patient, id: p2, name: [{family: Kim, given: [Jo]}]}
        - {resourceType: Patient, id: p3, name: [{family: Diaz, given: [Ana]}]}
    tasks:
      - name: Say the name
        for_each: {id: patient, dataset: chart, type: Patient}
        task_item: {instruction: "Who is {{ patient.id }}?"}
        criteria:
          - {label: said, assertion: {answer_matches: {expected: "{{ patient.full_name }}"}}}
      - name: Say yes
        criteria: [{label: said, assertion: {answer_matches: {expected: "yes"}}}]
"""
NAMES = ["Say the name [p1]", "Say the name [p2]", "Say the name [p3]"]


def knows_two(task_item: Any) -> str:
    """Answer only for Maria and Jo."""
    known = {"Who is p1?": "Maria Lopez", "Who is p2?": "Jo Kim"}
    return known.get((task_item or {}).get("instruction", ""), "yes")


@pytest.fixture
def suite(bench: Workbench) -> Workbench:
    """Three tasks of one template, and one without a template."""
    bench.write("suite.yml", SUITE)
    return bench


def test_tasks_of_a_template_are_selected_by_its_name(suite: Workbench) -> None:
    assert sorted(ran.task for ran in suite.run(knows_two, tasks=("Say the name",))) == NAMES
    assert [ran.task for ran in suite.run(knows_two, tasks=("Say the name [p2]",))] == [NAMES[1]]
    assert len(suite.run(knows_two)) == 4
    with pytest.raises(InputError, match="no task `Say the nme`"):
        suite.run(knows_two, tasks=("Say the nme",))


def test_benchmark_can_name_a_template(suite: Workbench) -> None:
    suite.write("b.yml", "benchmark: {slug: names, name: Names, tasks: [Say the name]}\n")
    assert sorted(ran.task for ran in suite.run(knows_two, benchmark="names")) == NAMES


def test_reports_group_tasks_by_template(suite: Workbench, tmp_path: Path) -> None:
    ran = suite.run(knows_two)
    assert {each.template for each in ran} == {"Say the name", ""}
    view = show_run(suite.store, "latest")
    data = view.templates_data()
    assert data is not None
    assert list(data) == ["Say the name"]
    assert (data["Say the name"]["passed"], data["Say the name"]["graded"], data["Say the name"]["tasks"]) == (2, 3, 3)
    targets = {name: tmp_path / name for name in ("html", "junit", "jsonl", "markdown")}
    wanted = ReportTargets(
        html=targets["html"], junit=targets["junit"], jsonl=targets["jsonl"], markdown=targets["markdown"]
    )
    write_reports(suite.store, "latest", wanted)
    row = '<td>2 of 3</td><td>67%</td><td>21% to 94%</td><td>3</td><th scope="row" data-template="Say the name">'
    assert row in targets["html"].read_text()
    assert "| <code>Say the name</code> | 3 | 2 of 3 | 67% | 21% to 94% |" in targets["markdown"].read_text()
    summary = orjson.loads(targets["jsonl"].read_bytes().splitlines()[-1])
    assert summary["templates"]["Say the name"]["passed"] == 2
    tree = ElementTree.fromstring(targets["junit"].read_text())
    [told] = [found.get("value") for found in tree.iter("property") if found.get("name") == "template: Say the name"]
    assert told == "2 of 3 passed: 67% (95 % interval 21% to 94%), 3 tasks"
    classes = {case.get("name"): case.get("classname") for case in tree.iter("testcase")}
    assert {classes[name] for name in NAMES} == {"suite.suite.Say the name"}
    assert classes["Say yes"] == "suite.suite"


def test_reports_without_templates_do_not_mention_them(suite: Workbench) -> None:
    suite.run(knows_two, tasks=("Say yes",))
    view = show_run(suite.store, "latest")
    assert view.templates_data() is None
    trials = view.task_runs
    assert "Templates" not in render_markdown(view.run, view.counts, lambda: trials)
    assert "over all their tasks" not in render_html(view.run, view.counts, [])
    assert "template:" not in "".join(render_junit(view.run, view.counts, list))
    assert b'"templates":null' in list(render_jsonl(view.run, view.counts, [], lambda _: b""))[-1]


def test_show_rerun_and_rescore_find_tasks_by_name(suite: Workbench) -> None:
    first = suite.run(knows_two)[0].run
    plan = plan_rerun(suite.store, first, CATALOG, Settings(), PythonSolver("agent", knows_two))
    again = execute(plan, suite.store, CATALOG).run.id
    found = suite.store.task_runs(again)
    assert sorted(each.task for each in found) == [*NAMES, "Say yes"]
    assert {each.template for each in found} == {"Say the name", ""}
    compared = compare_runs(suite.store, first, again)
    assert sorted(row.task for row in compared.rows) == [*NAMES, "Say yes"]
    assert compared.overall == "same"
    assert GatedComparison.of(compared).exit_code() == 0
    graded = rescore(suite.store, first, CATALOG, suite.folder).run.id
    assert {each.template for each in suite.store.task_runs(graded)} == {"Say the name", ""}
    assert show_task(suite.store, first, "[p3]").task_run.task == NAMES[2]
    assert show_task(suite.store, first, NAMES[0]).snapshot.entities["patient"]["id"] == "p1"
