"""Runs of published versions: what they say, how they are graded, and what stored ones need."""

from html import unescape
from pathlib import Path
from typing import Any

import orjson
import pytest

from clerkship.actors.python import PythonSolver
from clerkship.model.errors import InputError
from clerkship.model.run import BenchmarkRun, TaskRun
from clerkship.model.run_options import RecordingMode
from clerkship.model.snapshot import GRADING_VERSION
from clerkship.report.gates import GatedComparison
from clerkship.report.grading_versions import GRADING_CHANGES, list_grading_changes
from clerkship.report.published_version import describe_grading, describe_notes, describe_published
from clerkship.service import publishing
from clerkship.service.comparing import compare_runs, write_comparison
from clerkship.service.exporting import write_reports
from clerkship.service.fork import plan_fork
from clerkship.service.planning.plan import plan_run
from clerkship.service.planning.request import ForkRequest, RunRequest
from clerkship.service.report_targets import ReportTargets
from clerkship.service.rerun import plan_rerun
from clerkship.service.rescore import RescoreOptions, rescore
from clerkship.service.resume import plan_resume, resume
from clerkship.service.running import execute
from clerkship.service.stored_runs import find_last_failed
from clerkship.settings import Settings
from clerkship.suite_files.published.archive import open_archive
from tests.service.published_bench import SUITE, PublishedBench, work
from tests.workbench import CATALOG, Workbench

PASSED = {"Copy": "pass", "Say done": "pass"}
OLDER = str(int(GRADING_VERSION) - 1)


@pytest.fixture
def published(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> PublishedBench:
    """Return the folders of an author and a user."""
    return PublishedBench(bench, monkeypatch)


def publish_with_older_grading(published: PublishedBench) -> None:
    """Publish as an older program did."""
    with published.monkeypatch.context() as patched:
        patched.setattr(publishing, "GRADING_VERSION", OLDER)
        published.publish()


def write_all_reports(published: PublishedBench, run: str) -> dict[str, str]:
    """Return the text of every report of a run."""
    folder = published.user
    targets = ReportTargets(
        html=folder / "r.html", junit=folder / "r.xml", jsonl=folder / "r.jsonl", markdown=folder / "r.md"
    )
    written = write_reports(published.store, run, targets, published.store.check_seals(run))
    return {name: unescape(path.read_text()) for name, path in written.items()}


def test_newest_entry_of_the_table_is_the_grading_version() -> None:
    assert list(GRADING_CHANGES)[-1] == GRADING_VERSION, "say in report/grading_versions.py what changed"
    assert list(GRADING_CHANGES) == [str(number) for number in range(1, len(GRADING_CHANGES) + 1)]


def test_changes_between_versions_are_those_after_the_older_one() -> None:
    assert list_grading_changes("7", "8") == GRADING_CHANGES["8"] == list_grading_changes("8", "7")
    assert list_grading_changes("6", "8") == GRADING_CHANGES["7"] + GRADING_CHANGES["8"]
    assert list_grading_changes("8", "999") is None


def test_run_of_a_version_names_it_in_every_report(published: PublishedBench) -> None:
    [version] = published.publish()
    result = published.run(agent="oracle")
    assert published.verdicts(result) == PASSED
    sentence = f"published forms@1 · sha256:{version.version.digest[:12]}"
    assert describe_published(result.run) == sentence
    assert describe_notes(result.run) == []
    reports = write_all_reports(published, result.run.id)
    assert orjson.loads(reports["jsonl"].splitlines()[0])["published"]["digest"] == version.version.digest
    assert all(sentence in reports[name] for name in ("html", "junit", "markdown"))


def test_canary_is_in_every_json_entry_and_nothing_that_an_agent_gets_or_a_run_stores(
    published: PublishedBench,
) -> None:
    [version] = published.publish()
    archive = open_archive(version.path)
    canary = archive.manifest.canary
    names = [name for name in archive.manifest.entries if name.endswith(".json")]
    assert [name for name in names if orjson.loads(archive.read(name))["canary"] != canary] == []
    assert len(names) == 3  # an environment and two tasks
    given: list[object] = []

    def look(task_item: dict[str, Any], sandboxes: Any) -> str:
        given.append([task_item, sandboxes["drop"].list(), repr(sandboxes)])
        return work(task_item, sandboxes)

    result = published.run("forms@1", look)
    stored = [b"".join(published.store.log(each)) for each in published.task_runs(result)]
    assert published.verdicts(result) == PASSED
    assert len(given) == 2
    assert canary not in f"{given}{stored}"


def test_run_of_a_copy_says_in_which_tasks_it_differs(published: PublishedBench) -> None:
    [version] = published.publish()
    folder = published.bench.folder
    assert (
        describe_published(published.run(folder).run)
        == f"the same tasks as forms@1 · sha256:{version.version.digest[:12]}"
    )
    assert published.run(folder, chaos="gentle").run.changed_tasks == ()  # an option is not a change of files
    assert published.run(folder, tasks=("Copy",)).run.changed_tasks == ()
    assert published.run(folder, tags=("copying",)).run.changed_tasks == ()
    published.write(SUITE.replace("say: done", "say: it is done").replace("contains: Ada", "contains: NAME"))
    run = published.run(folder).run
    assert describe_published(run) == "differs from forms@1 in 2 tasks: Copy, Say done"
    assert describe_published(run, max_named=1) == "differs from forms@1 in 2 tasks: Copy and 1 more"
    published.write(SUITE[: SUITE.index("      - name: Say done")])
    assert describe_published(published.run(folder).run) == "differs from forms@1 in 1 task: Say done"


def test_other_grading_version_is_said_before_the_run_and_in_every_report(published: PublishedBench) -> None:
    publish_with_older_grading(published)
    plan = plan_run(RunRequest(path=Path("forms@1"), agent=PythonSolver("agent", work)), Settings(), CATALOG)
    sentence = f"graded by version {GRADING_VERSION}; forms@1 was published with {OLDER}: "
    sentence += "; ".join(GRADING_CHANGES[GRADING_VERSION])
    assert plan.warnings[0].message == sentence
    result = execute(plan, published.store, CATALOG)
    reports = write_all_reports(published, result.run.id)
    assert orjson.loads(reports["jsonl"].splitlines()[0])["notes"] == [sentence]
    start = sentence.partition(";")[0]
    assert all(start in reports[name] for name in ("html", "junit", "markdown"))


def test_version_graded_by_a_newer_program_is_said_without_guessing(published: PublishedBench) -> None:
    published.publish()
    run = published.run().run
    assert run.published is not None
    newer = run.model_copy(update={"published": run.published.model_copy(update={"grading": "999"})})
    assert "does not know what changed" in describe_grading(newer)


def test_comparison_says_that_versions_differ(published: PublishedBench) -> None:
    published.publish()
    first = published.run().run
    again = published.run().run
    published.write(SUITE.replace("say: done", "say: it is done").replace("version: 1", "version: 2"))
    published.publish("forms@2")
    second = published.run("forms@2").run
    copy = published.run(published.bench.folder).run
    published.write(SUITE.replace("say: done", "say: yes").replace("version: 1", "version: 2"))
    edited = published.run(published.bench.folder).run

    def compare(before: BenchmarkRun, after: BenchmarkRun) -> str:
        sentence: str = compare_runs(published.store, before.id, after.id).data()["versions"]
        return sentence

    assert compare(first, again) == compare(second, copy) == ""
    assert (
        compare(first, second)
        == f"different versions; before: {describe_published(first)}; after: {describe_published(second)}"
    )
    assert compare(second, edited).endswith("; after: differs from forms@2 in 1 task: Say done")
    gated = GatedComparison.of(compare_runs(published.store, first.id, second.id))
    pages = write_comparison(gated, ReportTargets(html=published.user / "c.html", markdown=published.user / "c.md"))
    assert all("different versions" in page.read_text() for page in pages.values())


def test_run_of_a_version_for_agents_is_graded_by_its_owner(published: PublishedBench) -> None:
    complete, for_agents = published.publish(for_agents=True)
    complete.path.rename(published.bench.folder / "kept.clerkship")
    result = published.run()
    assert published.verdicts(result) == {"Copy": "ungraded", "Say done": "ungraded"}
    assert (result.exit_code(), result.run.allow_ungraded) == (0, True)
    assert result.run.published == for_agents.version
    [note] = describe_notes(result.run)
    assert note.endswith(f"`clerkship rescore {result.run.id} --by forms@1`")
    with pytest.raises(InputError, match="no solutions"):
        published.run(agent="oracle")
    (published.bench.folder / "kept.clerkship").rename(complete.path)
    graded = rescore(published.store, "latest", CATALOG, Path("forms@1"))
    assert published.verdicts(graded) == PASSED
    assert (graded.run.published, graded.run.changed_tasks) == (complete.version, None)
    assert graded.exit_code() == 0
    assert describe_notes(graded.run) == []
    assert compare_runs(published.store, result.run.id, graded.run.id).data()["versions"] == ""


def test_owner_grades_a_wrong_run_of_a_version_for_agents(published: PublishedBench) -> None:
    complete, _ = published.publish(for_agents=True)
    published.run(complete.path.with_name("forms@1.for-agents.clerkship"), lambda task_item: "no")
    graded = rescore(published.store, "latest", CATALOG, Path("forms@1"))
    assert published.verdicts(graded) == {"Copy": "fail", "Say done": "fail"}


def test_owner_sees_that_a_version_for_agents_was_not_theirs(published: PublishedBench) -> None:
    published.write(SUITE.replace("say: done", "say: the word done"))
    other = published.publish(for_agents=True, to=published.bench.folder)[1]
    published.write(SUITE)
    published.publish()
    published.run(other.path)
    graded = rescore(published.store, "latest", CATALOG, Path("forms@1"))
    assert describe_published(graded.run) == "differs from forms@1 in 1 task: Say done"


def test_rescore_by_a_version_without_a_task_of_the_run_is_refused(published: PublishedBench) -> None:
    published.publish()
    published.write(SUITE.replace("name: Copy", "name: Copy it"))
    published.run(published.bench.folder)
    with pytest.raises(InputError, match="forms@1 has no task `Copy it`"):
        rescore(published.store, "latest", CATALOG, Path("forms@1"))


def test_run_of_other_tasks_that_a_version_grades_says_what_differs(published: PublishedBench) -> None:
    published.publish()
    published.write(SUITE.replace("say: done", "say: yes").replace("slug: forms", "slug: other"))
    published.run(published.bench.folder)
    graded = rescore(published.store, "latest", CATALOG, Path("forms@1"))
    assert graded.run.changed_tasks == ("Say done",)


def test_stored_run_of_a_version_needs_only_the_store(published: PublishedBench) -> None:
    [version] = published.publish()
    first = published.run().run
    version.path.unlink()
    plan = plan_rerun(published.store, first.id, CATALOG, Settings(), PythonSolver("agent", work))
    again = execute(plan, published.store, CATALOG)
    assert published.verdicts(again) == PASSED
    assert (again.run.published, again.run.changed_tasks) == (version.version, None)
    graded = rescore(published.store, first.id, CATALOG)
    assert graded.run.published == version.version
    with pytest.raises(InputError, match=r"the archive of forms@1 · sha256:\w{12} is not here"):
        plan_rerun(published.store, first.id, CATALOG, Settings(), "oracle")


def test_solutions_of_a_stored_run_are_found_in_its_archive_under_another_name(published: PublishedBench) -> None:
    [version] = published.publish()
    first = published.run().run
    version.path.rename(version.path.with_name("kept.clerkship"))
    plan = plan_rerun(published.store, first.id, CATALOG, Settings(), "oracle")
    assert published.verdicts(execute(plan, published.store, CATALOG)) == PASSED


def test_other_content_under_the_name_is_not_used_for_a_stored_run(published: PublishedBench) -> None:
    [version] = published.publish()
    published.run()
    version.path.unlink()
    published.bench.write("say.py", "def on_task(task_item, sandboxes):\n    return 'wrong'\n")
    published.publish()
    with pytest.raises(InputError, match="is not here"):
        plan_rerun(published.store, "latest", CATALOG, Settings(), "oracle")


class ProcessKilled(Exception):
    """Stands for anything that ends a process."""


def test_interrupted_run_of_a_version_is_resumed_without_its_archive(published: PublishedBench) -> None:
    [version] = published.publish()

    def stop(task_run: TaskRun) -> None:
        raise ProcessKilled

    request = RunRequest(path=Path("forms@1"), agent=PythonSolver("agent", work), trials=2)
    plan = plan_run(request, Settings(), CATALOG)
    with pytest.raises(ProcessKilled):
        execute(plan, published.store, CATALOG, [stop])
    version.path.unlink()
    resumed = plan_resume(published.store, plan.run.id, CATALOG, Settings(), agent=PythonSolver("agent", work))
    result = resume(resumed, published.store, CATALOG)
    assert published.verdicts(result) == PASSED
    assert result.run.published == version.version


def test_last_failed_of_a_version_is_found_from_any_folder(published: PublishedBench) -> None:
    published.publish()
    published.run(agent=lambda task_item: "done")
    published.monkeypatch.chdir(published.bench.folder)
    assert find_last_failed(published.store, Path("forms@1")).tasks == {"Copy"}


TALK = """
    scenario:
      name: Greet
      simulation_context: You want a greeting.
      setup: {person: {lines: [Hello., Bye.]}}
      goals: {assertions: [{bot_uttered: {text_matches: hello}}]}
"""


class Greeter:
    """Answers each message."""

    def on_turn(self, message: Any, sandboxes: Any) -> str:
        return "hello"


def test_conversation_of_a_version_is_forked_without_its_archive(published: PublishedBench) -> None:
    published.bench.write("forms.yml", TALK)
    [version] = published.publish("talk@1")
    published.run("talk@1", Greeter)
    version.path.unlink()
    request = ForkRequest(run="latest", task="Greet", turn=2, agent=PythonSolver("agent", Greeter), warm_up=True)
    result = execute(plan_fork(published.store, request, CATALOG, Settings()), published.store, CATALOG)
    assert published.verdicts(result) == {"Greet": "pass"}
    assert result.run.published == version.version


JUDGED = TALK.replace("assertions: [{bot_uttered: {text_matches: hello}}]", "criteria: [It greets]")
ANSWERS = "[{answer: {passed: true, reasoning: It does., citations: [{where: T1, quote: hello}]}}]"


def test_recorded_answers_of_a_version_are_replayed_from_another_folder(published: PublishedBench) -> None:
    bench = published.bench
    bench.write("forms.yml", JUDGED)
    answers = bench.write("../answers.yml", ANSWERS)
    recorded = published.run(bench.folder, Greeter, judge=f"scripted:{answers}", tape="record")
    assert published.verdicts(recorded) == {"Greet": "pass"}
    [version] = published.publish("talk@1", cassettes=True)
    answers.unlink()
    bench.folder.rename(bench.folder.with_name("gone"))
    replayed = published.run("talk@1", Greeter, tape="replay")
    assert published.verdicts(replayed) == {"Greet": "pass"}
    again = rescore(published.store, replayed.run.id, CATALOG)
    assert published.verdicts(again) == {"Greet": "pass"}
    modes: tuple[RecordingMode, ...] = ("record", "refresh")
    for mode in modes:
        options = RescoreOptions(judge="openai:some-model", tape=mode)
        with pytest.raises(InputError, match="a published version never changes"):
            published.run("talk@1", Greeter, judge="openai:some-model", tape=mode)
        with pytest.raises(InputError, match="a published version never changes"):
            rescore(published.store, recorded.run.id, CATALOG, Path("talk@1"), judging=options)
    version.path.unlink()
    with pytest.raises(InputError, match=r"put its archive into \.clerkship/published"):
        rescore(published.store, replayed.run.id, CATALOG)
