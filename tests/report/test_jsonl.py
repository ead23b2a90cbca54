"""JSON Lines: complete, and verifiable from the file alone."""

import base64
import hashlib
import tracemalloc
from collections import Counter
from pathlib import Path
from typing import Any

import orjson

from clerkship.model.run import TaskRun
from clerkship.model.snapshot import Snapshot
from clerkship.report.detail import StoredTrial
from clerkship.report.jsonl import MAX_BLOB_BYTES, render_jsonl
from clerkship.service.exporting import write_reports
from clerkship.service.report_targets import ReportTargets
from tests.report import made_up
from tests.workbench import Workbench

SUITE = """
    environment: {name: desk, simulators: {drop: {kind: files}}}
    tasks:
      - {name: 'A "event":', criteria: [{label: a, assertion: {file_present: big.bin}}]}
      - {name: B, criteria: [{label: b, assertion: {file_present: other.bin}}]}
"""


def agent(task_item: Any, sandboxes: Any) -> dict[str, Any]:
    """Create bodies of every size in the log."""
    sandboxes["drop"].write("small.txt", "ü")
    sandboxes["drop"].write("big.bin", bytes(range(256)) * 100)
    sandboxes["drop"].write("huge.bin", b"\xff" * (MAX_BLOB_BYTES + 1))
    return {"ü": [1, 2.5, None]}


def written(bench: Workbench, tmp_path: Path) -> list[bytes]:
    """Return the lines of the newest run."""
    return (
        write_reports(bench.store, "latest", ReportTargets(jsonl=tmp_path / "run.jsonl"))["jsonl"]
        .read_bytes()
        .splitlines()
    )


def test_hash_chain_can_be_recomputed_from_the_file(bench: Workbench, tmp_path: Path) -> None:
    bench.write("a.yml", SUITE)
    bench.run(agent, trials=2)
    heads: dict[tuple[str, int], bytes] = {}
    stored: dict[tuple[str, int], tuple[str, int]] = {}
    for line in written(bench, tmp_path):
        data = orjson.loads(line)
        key = data.get("task"), data.get("trial")
        if data["type"] == "task_run":
            stored[key] = data["head"], data["events"]
        elif data["type"] == "event":
            raw = line.partition(b',"event":')[2][:-1]
            heads[key] = hashlib.sha256(heads.get(key, bytes(32)) + raw).digest()
            assert data["seq"] == data["event"]["seq"]
    assert len(stored) == 4
    assert {key: head.hex() for key, head in heads.items()} == {key: head for key, (head, _) in stored.items()}


def test_file_contains_the_whole_run(bench: Workbench, tmp_path: Path) -> None:
    bench.write("a.yml", SUITE)
    task_runs = bench.run(agent, trials=2)
    lines = [orjson.loads(line) for line in written(bench, tmp_path)]
    sorts = Counter(line["type"] for line in lines)
    assert (lines[0]["type"], lines[0]["format"]) == ("run", 1)
    assert lines[-1]["type"] == "summary"
    assert sorts == Counter(
        run=1, snapshot=2, task_run=4, blob=2, event=sum(task_run.events for task_run in task_runs), summary=1
    )
    records = [
        {k: v for k, v in line.items() if k not in ("type", "sidecar")} for line in lines if line["type"] == "task_run"
    ]
    assert [TaskRun.model_validate(record) for record in records] == task_runs
    assert all(line["sidecar"]["wall_ms"] > 0 for line in lines if line["type"] == "task_run")
    for line in lines:
        if line["type"] == "snapshot":
            assert Snapshot.model_validate(line["snapshot"]).hash == line["sha256"]
    summary = lines[-1]
    assert (summary["exit_code"], summary["task_runs"]) == (bench.exit_code(), 4)
    assert summary["pass_rate"]["rate"] == 0.5
    assert summary["counts"]["verdicts"] == {"fail": 2, "pass": 2}


def test_blobs_precede_their_first_event_unless_they_are_large(bench: Workbench, tmp_path: Path) -> None:
    bench.write("a.yml", SUITE)
    bench.run(agent)
    known: dict[str, Any] = {}
    named: set[str] = set()
    for line in map(orjson.loads, written(bench, tmp_path)):
        if line["type"] == "blob":
            assert line["sha256"] not in known
            known[line["sha256"]] = line
        elif line["type"] == "event":
            for body in line["event"].get("blobs", {}).values():
                named.add(body["sha256"])
                assert known[body["sha256"]]["size"] == body["size"]
    assert named == known.keys()
    assert sorted(line["base64"] is None for line in known.values()) == [False, True]
    for digest, line in known.items():
        if line["base64"] is not None:
            assert hashlib.sha256(base64.b64decode(line["base64"])).hexdigest() == digest


def test_only_one_trial_is_in_memory() -> None:
    lines = [orjson.dumps(made_up.event(n, "chat", "chat.message.sent", text="x" * 3000)) for n in (1, 2)]
    one = made_up.task_run("Call")
    snapshot = made_up.detail(one).snapshot
    assert snapshot is not None
    trials = (StoredTrial(one, lines, b"{}") for _ in range(10_000))
    tracemalloc.start()
    size = sum(map(len, render_jsonl(made_up.RUN, made_up.counts([]), trials, lambda _: snapshot.data)))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert size > 60_000_000
    assert peak < 1_000_000
