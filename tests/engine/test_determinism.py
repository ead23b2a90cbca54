"""The same seed gives the same bytes, whatever the order, the concurrency or the process."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from clerkship.events.log import compute_head
from tests.workbench import Workbench

SUITE = Path(__file__).parents[1] / "front_desk"
AGENT = "python:tests.front_desk.agent:FrontDesk"


def logs(bench: Workbench, **options: Any) -> dict[tuple[str, int], list[bytes]]:
    bench.folder = SUITE
    return {
        (task_run.task, task_run.trial): list(bench.store.log(task_run))
        for task_run in bench.run(AGENT, trials=3, **options)
    }


def test_same_seed_gives_the_same_bytes(bench: Workbench) -> None:
    assert logs(bench, seed=7, concurrency=1) == logs(bench, seed=7, concurrency=1)


def test_neither_order_nor_concurrency_changes_a_byte(bench: Workbench) -> None:
    plain = logs(bench, seed=7, concurrency=1)
    assert logs(bench, seed=7, concurrency=8, shuffle=True) == plain


def test_other_seeds_and_trials_give_other_bytes(bench: Workbench) -> None:
    first, other = logs(bench, seed=1), logs(bench, seed=2)
    assert all(first[key] != other[key] for key in first)
    assert len({lines[0] for lines in first.values()}) == len(first)


def test_other_process_with_another_hash_seed_gives_the_same_heads(tmp_path: Path) -> None:
    def heads(hash_seed: str) -> dict[str, str]:
        command = [sys.executable, "-m", "clerkship", "run", str(SUITE), "--agent", AGENT, "--json"]
        environment = os.environ | {"PYTHONHASHSEED": hash_seed, "CLERKSHIP_STORE": str(tmp_path / f"{hash_seed}.db")}
        done = subprocess.run(command, env=environment, capture_output=True, check=False, timeout=60)
        assert done.returncode == 1, done.stderr
        return {task["task"]: task["head"] for task in json.loads(done.stdout)["tasks"]}

    assert heads("1") == heads("2")


def test_head_changes_with_every_line(bench: Workbench) -> None:
    bench.folder = SUITE
    for task_run in bench.run("oracle"):
        lines = list(bench.store.log(task_run))
        assert compute_head(lines) == task_run.head
        forged = [lines[0].replace(b"run.started", b"run.smarted"), *lines[1:]]
        assert compute_head(forged) != task_run.head
        assert compute_head(lines[:-1]) != task_run.head


def test_credentials_are_never_in_a_log(bench: Workbench) -> None:
    seen: list[str] = []

    def shows_its_token(task_item: Any, sandboxes: Any) -> str:
        seen.append(sandboxes["chat"].token)
        return sandboxes["chat"].url  # type: ignore[no-any-return]

    bench.write("a.yml", "task: {name: Token, criteria: []}")
    task_run = bench.run_one(shows_its_token)
    data = b"".join(bench.store.log(task_run)) + bench.store.sidecar(task_run)
    assert seen[0].startswith("clk_sbx_")
    assert seen[0].encode() not in data
