"""Shards: parts of a run that are run one by one and merged equal the run that was not divided."""

import json
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clerkship.actors.python import PythonSolver
from clerkship.engine.schedule import choose_shard
from clerkship.model.errors import InputError
from clerkship.model.run import BenchmarkRun, Shard
from clerkship.model.snapshot import Plan, UntilSure
from clerkship.service.merging import find_shards, merge_shards
from clerkship.service.rerun import plan_rerun
from clerkship.service.resume import plan_resume, resume
from clerkship.service.running import RunResult, execute
from clerkship.settings import Settings
from clerkship.store.contract import SealBroken, Store
from clerkship.store.sqlite import SqliteStore
from tests.cli.terminal import clerkship
from tests.examples import examples
from tests.workbench import CATALOG, Workbench

SUITE = """
environment: {name: desk, datasets: [forms], simulators: {drop: {kind: files}}}
dataset: {name: forms, type: files, files: {form.txt: "NAME: Ada"}}
tasks:
""" + "".join(
    f"""
  - name: Copy {n}
    task_item: {{number: {n}, to: out.txt}}
    criteria: [{{label: there, assertion: {{file_present: out.txt}}}}]
"""
    for n in range(3)
)
LARGE = "x" * 20_000
"""Text that is stored as a blob, beside the log."""


def copies_odd_ones(task_item: dict[str, Any], sandboxes: Any) -> str:
    """Copy the form, except in one of the tasks."""
    if task_item["number"] != 1:
        sandboxes["drop"].write(task_item["to"], sandboxes["drop"].read("form.txt") + LARGE)
    return "done"


def describe(store: Store, run: BenchmarkRun) -> dict[tuple[str, int, int], tuple[Any, ...]]:
    """Return everything of a run's trials that does not depend on the machine or on the id of the run."""
    return {
        (t.task, t.trial, t.attempt): (
            t.model_copy(update={"run": ""}).model_dump_json(),
            b"\n".join(store.log(t)),
        )
        for t in store.each(run.id, attempts=True)
    }


def run_shards(bench: Workbench, count: int, **request: Any) -> list[BenchmarkRun]:
    """Run all shards in the store of the bench, and return their runs."""
    runs = []
    for number in range(1, count + 1):
        bench.run(copies_odd_ones, shard=f"{number}/{count}", **request)
        assert bench.result is not None
        runs.append(bench.result.run)
    return runs


def merge(stores: Sequence[Store], into: Store, *runs: str) -> RunResult:
    return merge_shards(find_shards(stores, runs), into)


@settings(max_examples=examples(200))
@given(
    st.integers(1, 7), st.integers(1, 6), st.integers(1, 9), st.integers(-(2**63), 2**63 - 1), st.none() | st.just(0.8)
)
def test_shards_are_disjoint_complete_and_of_equal_size(
    tasks: int, trials: int, count: int, seed: int, until_sure: float | None
) -> None:
    names = [f"task {number}" for number in range(tasks)]
    sure = UntilSure(threshold=until_sure) if until_sure is not None else None
    plan = Plan(snapshots=tuple(names), seed=seed, trials=trials, until_sure=sure)
    parts = [choose_shard(plan, names, Shard(number=number, count=count)) for number in range(1, count + 1)]
    assert sorted(trial for part in parts for trial in part) == [
        (name, trial) for name in names for trial in range(1, trials + 1)
    ]
    size = trials if sure is not None else 1  # what is dealt out together
    assert max(map(len, parts)) - min(map(len, parts)) <= size


@pytest.mark.parametrize("count", [1, 2, 5, 20])
def test_merged_shards_equal_the_undivided_run(bench: Workbench, count: int) -> None:
    bench.write("a.yml", SUITE)
    bench.run(copies_odd_ones, trials=4, seed=7)
    assert bench.result is not None
    whole = bench.result.run
    shards = run_shards(bench, count, trials=4, seed=7)
    assert {run.plan for run in shards} == {whole.plan}
    assert sum(run.total for run in shards) == whole.total == 12
    merged = merge([bench.store], bench.store)
    assert describe(bench.store, merged.run) == describe(bench.store, whole)
    assert merged.counts == bench.store.counts(whole.id)
    assert merged.exit_code() == whole.exit_code(merged.counts) == 1
    different = {"id", "started_at", "completed_at", "shards"}
    assert merged.run.model_dump(exclude=different) == whole.model_dump(exclude=different)
    assert merged.run.lineage == f"merged from {count} shard{'s' * (count > 1)}"
    assert shards[0].lineage == f"shard 1/{count}"
    assert [shard.run for shard in merged.run.shards] == [run.id for run in shards]
    check = bench.store.check_seals(merged.run.id)
    assert (check.state(), check.unsealed) == ("intact (without a key)", 0)


def test_shards_of_several_stores_are_merged_into_a_new_one(bench: Workbench, tmp_path: Path) -> None:
    bench.write("a.yml", SUITE)
    whole = bench.run(copies_odd_ones, trials=2)
    with ExitStack() as stack:
        stores = [stack.enter_context(SqliteStore(tmp_path / f"{number}.db")) for number in range(3)]
        for number, store in enumerate(stores, 1):
            other = Workbench(tmp_path / str(number), store)
            other.folder = bench.folder
            other.run(copies_odd_ones, trials=2, shard=f"{number}/3")
        into = stack.enter_context(SqliteStore(tmp_path / "all.db"))
        merged = merge(stores, into)
        assert describe(into, merged.run) == describe(bench.store, bench.store.run(whole[0].run))
        again = execute(plan_rerun(into, merged.run.id, CATALOG, Settings(), "nop"), into, CATALOG)
        assert (again.run.total, again.run.shard, again.run.shards) == (6, None, ())


@pytest.mark.parametrize("keep", [[1, 3], [1, 2, 2, 3]])
def test_missing_and_doubled_shards_are_refused(bench: Workbench, keep: list[int]) -> None:
    bench.write("a.yml", SUITE)
    for number in keep:
        bench.run(copies_odd_ones, shard=f"{number}/3")
    expected = "shard 2/3 is there twice" if len(keep) > 3 else "1 shard is missing: 2/3; run it with --shard 2/3"
    with pytest.raises(InputError, match=expected):
        merge([bench.store], bench.store)
    if len(keep) > 3:
        named = [run.id for run, _ in bench.store.runs()]
        assert merge([bench.store], bench.store, *named[:2], named[3]).counts.done == 3


@pytest.mark.parametrize(
    ("request_", "field"), [({"trials": 3}, "plan"), ({"seed": 1}, "plan"), ({"shard": "2/3"}, "shards")]
)
def test_shards_of_different_runs_are_refused(bench: Workbench, request_: dict[str, Any], field: str) -> None:
    bench.write("a.yml", SUITE)
    bench.run(copies_odd_ones, shard="1/2")
    bench.run(copies_odd_ones, **{"shard": "2/2", **request_})
    with pytest.raises(InputError, match=f"not shards of one run: they differ in .*{field}"):
        merge([bench.store], bench.store)


def test_shards_of_different_agents_are_refused(bench: Workbench) -> None:
    bench.write("a.yml", SUITE)
    bench.run(copies_odd_ones, shard="1/2")
    bench.run("nop", shard="2/2")
    with pytest.raises(InputError, match="they differ in solver"):
        merge([bench.store], bench.store)


def test_changed_shard_is_refused(bench: Workbench) -> None:
    bench.write("a.yml", SUITE)
    first, _ = run_shards(bench, 2)
    bench.store._db.execute("UPDATE task_runs SET verdict = 'pass' WHERE run_id = ?", (first.id,))
    bench.store._db.execute("UPDATE task_runs SET sidecar = x'7b7d' WHERE run_id = ?", (first.id,))
    with pytest.raises(SealBroken, match=f"{first.id} was changed"):
        merge([bench.store], bench.store)


def test_shards_are_merged_once(bench: Workbench) -> None:
    bench.write("a.yml", SUITE)
    run_shards(bench, 2)
    first = merge([bench.store], bench.store).run.id
    with pytest.raises(InputError, match=f"merged already: {first}"):
        merge([bench.store], bench.store)


def test_interrupted_merge_is_continued(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.write("a.yml", SUITE)
    whole = bench.run(copies_odd_ones, trials=4)
    run_shards(bench, 3, trials=4)
    saved: list[int] = []

    def save_once(trials: Any, after: Any) -> Any:
        if saved:
            raise KeyboardInterrupt
        saved.append(len(trials))
        return SqliteStore.save(bench.store, trials, after)

    with monkeypatch.context() as patch:
        patch.setattr(bench.store, "save", save_once)
        patch.setattr("clerkship.service.merging.MAX_BATCH_BYTES", 1)
        with pytest.raises(KeyboardInterrupt):
            merge([bench.store], bench.store)
    assert saved == [1]
    merged = merge([bench.store], bench.store)
    assert describe(bench.store, merged.run) == describe(bench.store, bench.store.run(whole[0].run))
    assert bench.store.check_seals(merged.run.id).state() == "intact (without a key)"


def test_stopped_shard_is_refused_until_it_is_resumed(bench: Workbench) -> None:
    bench.write("a.yml", SUITE)
    _, second = run_shards(bench, 2, trials=3)
    bench.store.mark(second.id, "cancelled", second.started_at)
    with pytest.raises(InputError, match=f"not finished: {second.id}"):
        merge([bench.store], bench.store)
    resumed = plan_resume(bench.store, second.id, CATALOG, Settings(), agent=PythonSolver("agent", copies_odd_ones))
    resume(resumed, bench.store, CATALOG)
    assert merge([bench.store], bench.store).counts.done == 9


def test_rerun_of_a_shard_is_the_same_shard(bench: Workbench) -> None:
    bench.write("a.yml", SUITE)
    bench.run(copies_odd_ones, shard="2/2", trials=3)
    again = execute(plan_rerun(bench.store, "latest", CATALOG, Settings(), "nop"), bench.store, CATALOG)
    assert (str(again.run.shard), again.run.total, again.counts.done) == ("2/2", 4, 4)


def test_tasks_repeated_until_sure_stay_in_one_shard(bench: Workbench) -> None:
    bench.write("a.yml", SUITE)
    whole = bench.run(copies_odd_ones, until_sure=0.8, trials=30)
    run_shards(bench, 2, until_sure=0.8, trials=30)
    merged = merge([bench.store], bench.store)
    assert describe(bench.store, merged.run) == describe(bench.store, bench.store.run(whole[0].run))


def test_shards_more_than_trials_are_empty_and_succeed(bench: Workbench) -> None:
    bench.write("a.yml", SUITE)
    runs = run_shards(bench, 5)
    assert sorted(run.total for run in runs) == [0, 0, 1, 1, 1]
    empty = next(run for run in runs if not run.total)
    assert empty.exit_code(bench.store.counts(empty.id)) == 0


@pytest.mark.parametrize("text", ["0/3", "4/3", "1", "a/b", "1/", "-1/3", "1/99999"])
def test_invalid_shard_is_refused(bench: Workbench, text: str) -> None:
    bench.write("a.yml", SUITE)
    with pytest.raises(InputError, match="invalid --shard"):
        bench.run("nop", shard=text)


def test_shard_does_not_record(bench: Workbench) -> None:
    bench.write("a.yml", SUITE)
    with pytest.raises(InputError, match="recordings are written by one run"):
        bench.run("nop", shard="1/2", tape="record")


def test_shards_are_run_and_merged_by_commands(tmp_path: Path) -> None:
    (tmp_path / "suite.yml").write_text(SUITE)
    options = ["--shard", "1/1", "-k", "2", "--store", "1.db", "--json"]
    run = clerkship(tmp_path, "run", "suite.yml", "-a", "nop", *options)
    assert run.returncode == 1, run.stderr
    assert json.loads(run.stdout)["run"]["shard"] == {"number": 1, "count": 1}
    merged = clerkship(tmp_path, "merge", "1.db", "--into", "all.db", "--junit", "all.xml", "--json")
    assert merged.returncode == 1, merged.stderr
    data = json.loads(merged.stdout)
    assert (data["counts"]["verdicts"], data["exit_code"], data["seals"]["state"]) == ({"fail": 6}, 1, "intact")
    assert 'tests="6"' in (tmp_path / "all.xml").read_text()
