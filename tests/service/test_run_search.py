"""Full-text search over the trials of a run."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from clerkship.actors.python import PythonSolver
from clerkship.cli.app import run
from clerkship.model.errors import PlatformError
from clerkship.service.planning.plan import plan_run
from clerkship.service.planning.request import RunRequest
from clerkship.service.run_search import MARK_END, MARK_START, RunSearch, SearchAnswer, extract_text, parse_terms
from clerkship.service.running import execute
from clerkship.settings import Settings
from clerkship.store.contract import Store
from clerkship.store.sqlite import SqliteStore
from tests.waiting import wait_until
from tests.workbench import CATALOG, Workbench

TASKS = """
environment: {name: desk, simulators: {files: {kind: files}}}
tasks:
  - name: Note the café
    tags: [desk]
    task_item: {instruction: Write down the opening hours of the café.}
    criteria: [{label: The note is there, assertion: {file_present: {path: note.txt}}}]
  - name: Note the code
    task_item: {instruction: Write down the code.}
    criteria: [{label: The code is there, assertion: {file_present: {path: code.txt}}}]
"""


def work(task_item: dict[str, Any], sandboxes: Any) -> str:
    """Write what the task asks for."""
    if "café" in task_item["instruction"]:
        sandboxes["files"].write("note.txt", "Open from nine.")
        return "Done."
    sandboxes["files"].write("wrong.txt", "Z-17 <b>bold</b>")
    return "I could not find it."


@pytest.fixture
def run_id(bench: Workbench) -> str:
    """Run two tasks, twice each: one passes."""
    path = bench.write("tasks.yml", TASKS)
    request = RunRequest(path=path, agent=PythonSolver("agent", work), trials=2)
    return execute(plan_run(request, Settings(timeout=20), CATALOG), bench.store, CATALOG).run.id


@pytest.fixture
def search(bench: Workbench) -> Iterator[RunSearch]:
    found = RunSearch(lambda: opened(bench))
    yield found
    found.close()


@contextmanager
def opened(bench: Workbench) -> Iterator[Store]:
    with SqliteStore(bench.store.path) as store:
        yield store


def find(search: RunSearch, run_id: str, query: str) -> SearchAnswer:
    """Search when all trials are indexed."""
    wait_until(lambda: (answer := search.search(run_id, query)).indexed == answer.total)
    return search.search(run_id, query)


def test_words_are_found_in_names_instructions_answers_files_and_criteria(search: RunSearch, run_id: str) -> None:
    places = {
        "cafe hours": ("Note the café", "Instruction"),
        "could not find": ("Note the code", "Answer"),
        "open nine": ("Note the café", "Event"),
        "code.txt": ("Note the code", "Criterion"),
        "desk café": ("Note the café", "Name and tags"),
    }
    for query, (task, label) in places.items():
        answer = find(search, run_id, query)
        assert {(each.task, each.trial) for each in answer.trials} == {(task, 1), (task, 2)}, query
        assert any(hit.label.startswith(label) for each in answer.trials for hit in each.hits), query


def test_every_word_must_occur_and_phrases_keep_their_order(search: RunSearch, run_id: str) -> None:
    assert find(search, run_id, "café code").trials == []
    assert len(find(search, run_id, '"opening hours"').trials) == 2
    assert find(search, run_id, '"hours opening"').trials == []
    assert len(find(search, run_id, "Z-17").trials) == 2
    assert len(find(search, run_id, "openi").trials) == 2  # the start of a word


def test_hit_names_the_event_and_marks_the_words(search: RunSearch, run_id: str) -> None:
    hits = [hit for hit in find(search, run_id, "Z-17").trials[0].hits if hit.address.startswith("e")]
    assert hits
    assert all(f"{MARK_START}Z-17{MARK_END}" in hit.snippet for hit in hits)
    assert "<b>bold" in hits[0].snippet  # as text; the page never parses it


@pytest.mark.parametrize("query", ["", "  ", '"', "''", "-", "*", 'a" OR "b', "NEAR(a b)", "text:x", "\x00", "(" * 50])
def test_odd_queries_are_answered(search: RunSearch, run_id: str, query: str) -> None:
    assert find(search, run_id, query).problem == ""


def test_trials_that_are_added_later_are_found(bench: Workbench, search: RunSearch, run_id: str) -> None:
    before = find(search, run_id, "café").total
    other = bench.write("more.yml", TASKS)
    request = RunRequest(path=other, agent=PythonSolver("agent", work))
    later = execute(plan_run(request, Settings(timeout=20), CATALOG), bench.store, CATALOG).run.id
    assert (before, len(find(search, later, "café").trials), len(find(search, run_id, "café").trials)) == (4, 1, 2)


def test_damaged_trial_is_reported_and_the_others_stay_searchable(
    bench: Workbench, search: RunSearch, run_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> object:
        raise PlatformError("the log is damaged")

    monkeypatch.setattr("clerkship.service.run_search.load_detail", fail)
    wait_until(lambda: search.search(run_id, "café").problem != "")
    assert search.search(run_id, "café").problem == "the log is damaged"


def test_show_prints_only_trials_that_have_the_words(
    bench: Workbench, run_id: str, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = {}
    for words in ("Z-17", "nowhere"):
        assert run(["show", run_id, "--search", words, "--store", str(bench.store.path)]) == 0
        shown[words] = capsys.readouterr().out
    assert ("Note the code" in shown["Z-17"], "Note the café" in shown["Z-17"]) == (True, False)
    assert "no such trial" in shown["nowhere"]


def test_text_of_a_page_has_the_values_of_its_fields_and_no_scripts() -> None:
    html = "<style>p {}</style><p>Member <b>M-1</b></p><script>let secret</script><input value='42'>"
    assert extract_text(html) == "Member M-1 42"


def test_terms_are_words_and_phrases() -> None:
    assert parse_terms('one "two three" four"') == ["one", "two three", "four"]
