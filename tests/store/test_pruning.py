"""Deletion of old runs: by age, number and label."""

from datetime import timedelta

import pytest

from clerkship.cli.app import run
from clerkship.kit.wall import now
from clerkship.service.pruning import Retention, prune
from clerkship.settings import Settings
from clerkship.store.opening import open_store
from tests.workbench import Workbench

pytestmark = pytest.mark.databases


@pytest.fixture
def runs(bench: Workbench) -> list[str]:
    """Four runs that began 40, 30, 20 and 10 days ago; the second has a label."""
    bench.write("a.yml", "task: {name: Answer, criteria: [{label: a, assertion: {answer_matches: 42}}]}")
    ids = []
    for days in (40, 30, 20, 10):
        bench.run(lambda task_item: 42)
        found = bench.store.run("latest")
        record = found.model_copy(update={"started_at": (now() - timedelta(days=days)).isoformat()})
        values = (record.started_at, record.model_dump_json().encode(), found.id)
        bench.store._db.execute("UPDATE runs SET started_at = ?, record = ? WHERE id = ?", values)
        ids.append(found.id)
    bench.store.save_label(ids[1], "baseline")
    return ids


def left(bench: Workbench) -> list[str]:
    return [found.id for found, _ in bench.store.runs()][::-1]


@pytest.mark.parametrize(
    ("days", "options", "expected"),
    [
        (15, {}, [0, 2]),
        (35, {}, [0]),
        (0, {"keep_last": 1}, [0, 2]),
        (0, {"keep_last": 3}, [0]),
        (0, {"keep_last": 9}, []),
        (0, {"labels": ("baseline",)}, [1]),
        (35, {"labels": ("baseline",)}, []),
        (99, {}, []),
    ],
)
def test_age_number_and_label_choose_what_is_deleted(
    bench: Workbench, runs: list[str], days: int, options: dict[str, object], expected: list[int]
) -> None:
    retention = Retention(older_than=timedelta(days=days), **options)  # type: ignore[arg-type]
    chosen = [runs[number] for number in expected]
    assert [each.run.id for each in prune(bench.store, retention, dry_run=True).deleted] == chosen
    assert left(bench) == runs
    assert [each.run.id for each in prune(bench.store, retention, dry_run=False).deleted] == chosen
    assert left(bench) == [run_id for run_id in runs if run_id not in chosen]
    assert prune(bench.store, retention, dry_run=False).deleted == []


def test_run_that_a_process_works_on_is_kept(
    bench: Workbench, runs: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    retention = Retention(older_than=timedelta())
    with open_store(Settings(), bench.store.place) as other, other.hold(runs[2]):
        assert prune(bench.store, retention, dry_run=True).busy == [runs[2]]
        monkeypatch.setattr(type(bench.store), "held", lambda store, run_id: False)  # begun after it was looked at
        report = prune(bench.store, retention, dry_run=False)
    assert [each.run.id for each in report.deleted] == [runs[0], runs[3]]
    assert report.busy == [runs[2]]
    assert left(bench) == [runs[1], runs[2]]


def test_command_lists_asks_and_deletes(bench: Workbench, runs: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    place = bench.store.place if bench.store.place == getattr(bench.store, "path", None) else bench.store.place.url  # type: ignore[union-attr]
    command = ["prune", "--older-than", "15d", "--store", str(place)]
    assert run([*command, "--dry-run"]) == 0
    assert "2 runs would be deleted" in capsys.readouterr().out
    assert run(command) == 2
    assert "unless that is confirmed" in capsys.readouterr().err
    assert left(bench) == runs
    assert run([*command, "--yes", "--json"]) == 0
    assert runs[0] in capsys.readouterr().out
    assert left(bench) == [runs[1], runs[3]]
    assert run(["prune", "--older-than", "soon", "--store", str(place)]) == 2
    assert "--older-than" in capsys.readouterr().err
