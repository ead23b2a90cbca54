"""Exports of stored runs: trajectories in ATIF, logs of Inspect, and results as CSV."""

import csv
import io
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import ZipFile

import pytest

from clerkship.cli.app import run as cli
from clerkship.model.seals import SealCheck
from clerkship.report.atif import render_atif
from clerkship.report.inspect_log import InspectLog
from clerkship.report.results_table import COLUMNS, list_axis_columns, neutralize, render_header, render_rows
from clerkship.report.trajectory import Trajectory
from clerkship.service.exporting import ReportFailed
from clerkship.service.exports import export_runs
from clerkship.service.report_targets import ExportTargets
from clerkship.store.sqlite import SqliteStore
from tests.model_proxy.provider import KEY
from tests.report import made_up
from tests.report.exported import PROMPT, READ, run_tasks
from tests.service.test_redacting import KEY as VARIABLE
from tests.service.test_redacting import SUITE as REDACTED_SUITE
from tests.service.test_redacting import agent as repeat_variable
from tests.service.test_redacting import find_leaks
from tests.service.test_seals import tamper
from tests.workbench import Workbench

TIMES = ["wall_ms", "first_part_ms"]


class Exported(NamedTuple):
    """Two runs, one with two trials, and the folder with their exports."""

    bench: Workbench
    first: str
    second: str
    folder: Path

    def read_trajectory(self, name: str) -> dict[str, Any]:
        """Return a file of the first run."""
        return json.loads((self.folder / "atif" / self.first / name).read_bytes())  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Exported:
    folder = tmp_path_factory.mktemp("exported")
    bench = Workbench(folder)
    first, second = run_tasks(bench), run_tasks(bench, trials=2)
    export(bench, folder / "out", first, second, "latest")
    return Exported(bench, first, second, folder / "out")


def export(bench: Workbench, folder: Path, *references: str) -> None:
    """Export runs in all formats."""
    targets = ExportTargets(csv=folder / "results.csv", atif=folder / "atif", inspect=folder / "inspect")
    export_runs(bench.store, references, targets)


def read_rows(folder: Path) -> list[dict[str, str]]:
    """Return the rows of the CSV."""
    return list(csv.DictReader(io.StringIO((folder / "results.csv").read_text(encoding="utf-8"))))


def read_log(path: Path) -> dict[str, Any]:
    """Return the files in a log of Inspect."""
    with ZipFile(path) as archive:
        return {name: json.loads(archive.read(name)) for name in archive.namelist()}


def test_trajectory_has_prompt_task_tool_with_its_result_and_answer(exported: Exported) -> None:
    document = exported.read_trajectory("work.1.json")
    assert document["schema_version"] == "ATIF-v1.7"
    assert document["session_id"] == exported.first
    assert document["agent"] == {"name": "agent", "version": "unknown", "model_name": "gpt-4o-2024-08-06"}
    steps = document["steps"]
    assert [step["step_id"] for step in steps] == [1, 2, 3, 4]
    assert [step["source"] for step in steps] == ["system", "user", "agent", "agent"]
    assert steps[0] == {"step_id": 1, "source": "system", "message": PROMPT}
    assert steps[1]["message"] == 'How many orders are in inbox/a.txt?\n\n{\n  "unit": "orders"\n}'
    [call] = steps[2]["tool_calls"]
    assert (call["function_name"], call["arguments"]) == READ
    assert steps[2]["observation"] == {"results": [{"source_call_id": call["tool_call_id"], "content": "one order"}]}
    assert steps[2]["extra"] == {"sandbox_requests": ["drop: GET files/inbox/a.txt → 200, 9 bytes"]}
    assert set(steps[2]["metrics"].pop("extra")) == set(TIMES)
    cost = (60 * 2.5 + 40 * 1.25 + 10 * 10) / 1_000_000
    used = {"prompt_tokens": 100, "completion_tokens": 10, "cached_tokens": 40, "cost_usd": pytest.approx(cost)}
    assert steps[2]["metrics"] == used
    assert (steps[3]["message"], steps[3]["llm_call_count"]) == ("1", 1)  # the answer is not told twice
    totals = {name: value for name, value in document["final_metrics"].items() if name != "extra"}
    assert totals == {
        "total_steps": 4,
        "total_prompt_tokens": 200,
        "total_completion_tokens": 20,
        "total_cached_tokens": 80,
        "total_cost_usd": pytest.approx(2 * cost),
    }


def test_verdict_of_a_trajectory_is_only_under_extra(exported: Exported) -> None:
    for name in ("work.1.json", "2-3-talk.1.json"):
        document = exported.read_trajectory(name)
        extra = document.pop("extra")
        assert extra["verdict"] in ("pass", "fail")
        assert extra["criteria"][0]["label"] in ("answers", "says bye")
        assert not {"verdict", "criteria", "score"} & set(json.dumps(document).replace('"', " ").split())


def test_conversation_is_steps_in_a_file_whose_name_stays_in_the_folder(exported: Exported) -> None:
    files = sorted(path.name for path in (exported.folder / "atif" / exported.first).iterdir())
    assert files == ["2-3-talk.1.json", "work.1.json"]
    steps = exported.read_trajectory(files[0])["steps"]
    said = [(step["source"], step["message"]) for step in steps]
    agent = ("agent", "Good morning.")
    assert said == [("user", "Hello"), agent, ("user", "Go on"), agent, ("user", "Go on")]
    assert all("T" in step["timestamp"] for step in steps)


def test_inspect_log_has_samples_summaries_and_a_header_that_agree(exported: Exported) -> None:
    [path] = (exported.folder / "inspect").glob(f"*_suite_{exported.second}.eval")
    members = read_log(path)
    header, summaries = members.pop("header.json"), members.pop("summaries.json")
    assert (header["version"], header["status"], header["eval"]["config"]) == (2, "success", {"epochs": 2})
    assert header["eval"]["model"] == "gpt-4o-2024-08-06"
    assert {score["name"]: score["metrics"] for score in header["results"]["scores"]} == {
        "verdict": {"pass_rate": {"name": "pass_rate", "value": 0.5}},
        "score": {"mean": {"name": "mean", "value": 0.5}},
    }
    assert sorted(members) == sorted(f"samples/{each['id']}_epoch_{each['epoch']}.json" for each in summaries)
    assert all(name.count("/") == 1 for name in members)
    sample = members["samples/Work_epoch_2.json"]
    assert [message["role"] for message in sample["messages"]] == ["system", "user", "assistant", "tool", "assistant"]
    assert sample["messages"][3]["tool_call_id"] == sample["messages"][2]["tool_calls"][0]["id"]
    assert sample["scores"]["verdict"]["value"] == "C"
    assert sample["output"]["completion"] == "1"
    usage = sample["model_usage"]["gpt-4o-2024-08-06"]
    assert (usage["input_tokens"], usage["input_tokens_cache_read"], usage["total_tokens"]) == (120, 80, 220)
    assert header["stats"]["model_usage"]["gpt-4o-2024-08-06"]["total_tokens"] == 440


def test_same_run_gives_the_same_bytes(exported: Exported, tmp_path: Path) -> None:
    export(exported.bench, tmp_path, exported.first, exported.second)
    one, other = (
        {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*.*") if path.is_file()}
        for folder in (exported.folder, tmp_path)
    )
    assert len(one) == 9
    assert one == other


def test_csv_has_a_row_per_trial_of_all_runs_and_a_column_per_axis(exported: Exported) -> None:
    first, rows = exported.first, read_rows(exported.folder)
    assert list(rows[0]) == [*COLUMNS, "axis correctness", "axis manners"]
    keys = [(row["run"], row["task"], row["trial"]) for row in rows]
    assert len(set(keys)) == len(keys) == 6  # the second run is named twice, and exported once
    row = next(row for row in rows if row["task"] == "Work" and row["run"] == first)
    assert (row["verdict"], row["score"], row["axis correctness"], row["axis manners"]) == ("pass", "1.0", "1.0", "")
    assert (row["agent"], row["seed"], row["prompt_tokens"], row["completion_tokens"]) == ("agent", "0", "200", "20")
    assert float(row["cost"]) == pytest.approx(2 * 0.0003)
    assert float(row["seconds"]) > 0
    failed = next(row for row in rows if row["verdict"] == "fail")
    assert (failed["failed_criteria"], failed["cost"]) == ("says bye", "")


def test_csv_cells_are_no_formulas() -> None:
    bad = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "\uff1d1"]
    trials = [made_up.task_run(name, error=name, tags=(name,), axes={}, template=name) for name in bad]
    rows = b"".join(render_rows(made_up.RUN, [(trial, None) for trial in trials], ["=axis"]))
    cells = [cell for row in csv.reader(io.StringIO(rows.decode(), newline="")) for cell in row]
    assert not [cell for cell in cells if cell[:1] in set("=+-@\t\r\n\uff1d")]
    assert [cell for cell in cells if cell in bad] == []
    assert neutralize(-0.5) == -0.5
    assert render_header(list_axis_columns(trials)).count(b",") == len(COLUMNS) - 1


def test_every_outcome_can_be_exported() -> None:
    run = made_up.RUN
    trajectories = [Trajectory(detail.task_run, None, {}, []) for detail in made_up.every_outcome()]
    log = InspectLog(run, SealCheck(run=run.id))
    members = {member.name: json.loads(member.data) for member in log.render(trajectories)}
    values = {
        member["id"]: member.get("scores", {}).get("verdict", {}).get("value")
        for name, member in members.items()
        if name.startswith("samples/")
    }
    assert values["it passes"] == "C"
    assert values["it is partial"] == "P"
    assert values["it times out"] == values["it fails"] == values["its agent crashes"] == "I"
    assert {name for name, value in values.items() if value is None} == {
        "it is ungraded",
        "it is inconclusive",
        "it errs",
        "its person errs",
        "it is cancelled",
    }
    assert members["samples/it errs_epoch_1.json"]["error"]["message"] == "StepFailed: no such file"
    [rates, _] = members["header.json"]["results"]["scores"]
    assert (rates["scored_samples"], rates["unscored_samples"]) == (5, 5)
    for trajectory in trajectories:
        [step] = json.loads(render_atif(run, trajectory))["steps"]
        assert step["message"]


def read_texts(folder: Path) -> list[str]:
    """Return the texts of all exported files."""
    files = [path for path in folder.rglob("*.*") if path.is_file()]
    texts = [path.read_text(encoding="utf-8") for path in files if path.suffix != ".eval"]
    return texts + [json.dumps(read_log(path), ensure_ascii=False) for path in files if path.suffix == ".eval"]


def test_no_export_has_the_value_of_a_variable_or_a_key(
    exported: Exported, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_API_KEY", VARIABLE)
    bench = Workbench(tmp_path)
    bench.write("a.yml", REDACTED_SUITE)
    bench.run(repeat_variable)
    export(bench, tmp_path / "out", "latest")
    texts = [*read_texts(tmp_path / "out"), *read_texts(exported.folder)]
    assert any("MY_API_KEY" in text for text in texts)
    for text in texts:
        assert find_leaks(text) == []
        assert KEY not in text
        assert "clk_mdl" not in text


def test_changed_run_is_left_out_and_named(exported: Exported, tmp_path: Path) -> None:
    copy, first, second = tmp_path / "copy.db", exported.first, exported.second
    with closing(sqlite3.connect(copy)) as target:
        exported.bench.store._db.backup(target)
    tamper(copy, f"UPDATE task_runs SET verdict = 'pass' WHERE run_id = '{first}' AND verdict = 'fail'")
    targets = ExportTargets(csv=tmp_path / "out" / "results.csv", atif=tmp_path / "out" / "atif")
    with SqliteStore(copy) as store, pytest.raises(ReportFailed, match=f"{first} was not exported: .*changed"):
        export_runs(store, [first, second], targets)
    assert {row["run"] for row in read_rows(tmp_path / "out")} == {second}
    assert [path.name for path in (tmp_path / "out" / "atif").iterdir()] == [second]


def test_command_line_exports_one_run_or_several(
    exported: Exported, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = exported.first
    monkeypatch.chdir(tmp_path)
    store = ["--store", str(exported.bench.store.path)]
    assert cli(["export", run, "latest", *store, "--csv", "-"]) == 0
    assert capsys.readouterr().out.count(run) == 2
    assert cli(["show", "latest", *store, "--csv", "-"]) == 0
    assert capsys.readouterr().out.startswith("run,suite,")
    assert cli(["show", "latest", *store, "--atif", "trajectories", "--inspect", "logs"]) == 0
    assert len(list(Path("trajectories").rglob("*.json"))) == 4
    assert len(list(Path("logs").iterdir())) == 1
    capsys.readouterr()
    assert cli(["export", run, *store]) == 2
    assert "give --csv FILE, --atif DIR or --inspect DIR" in capsys.readouterr().err
    assert cli(["export", "run-2001", *store, "--csv", "-"]) == 2
    assert "run-2001" in capsys.readouterr().err
    Path("file").touch()
    assert cli(["export", run, *store, "--atif", "file"]) == 2
    assert "--atif cannot be written to file: Not a directory" in capsys.readouterr().err
