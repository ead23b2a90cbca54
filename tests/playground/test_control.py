"""The control endpoint: bounded pages and complete logs, and none for runs."""

import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from clerkship.engine.catalog import RegisteredCatalog
from clerkship.events.agent import SlotSet
from clerkship.events.log import compute_head
from clerkship.playground.http import MAX_PAGE_BYTES, MAX_PAGE_EVENTS
from clerkship.service.up import PlaygroundRequest, open_playground
from clerkship.service.up_registry import RemotePlayground
from clerkship.settings import Settings
from tests.workbench import Workbench

PLACE = "environment: {name: desk, simulators: {drop: {kind: files}}}"


def test_a_log_of_fifty_thousand_events_is_read_page_by_page(tmp_path: Path) -> None:
    (tmp_path / "a.yml").write_text(PLACE)
    settings = Settings(store=tmp_path / "kept" / "store.db")
    with open_playground(PlaygroundRequest(path=tmp_path), settings, RegisteredCatalog()) as play:
        log = play.playground.log
        for number in range(50_000):
            play.playground.emit("agent", SlotSet(name=f"slot {number}", value=number), "agent")
        with RemotePlayground(play.where.url, play.where.token) as remote:
            about = remote.about()
            lines = list(remote.lines())
            assert len(remote._get("/log?after=0").splitlines()) == MAX_PAGE_EVENTS
            assert list(remote.lines(50_000)) == log.lines[50_000:]
        assert len(lines) == about["events"] == 50_001
        assert compute_head(lines) == about["head"] == log.head
    assert not (tmp_path / "kept" / "up").exists()
    assert (tmp_path / "kept").exists(), "a folder that may be somebody's own stays"


def test_a_page_is_bounded_in_bytes_and_has_at_least_one_line(tmp_path: Path) -> None:
    (tmp_path / "a.yml").write_text(PLACE)
    with open_playground(
        PlaygroundRequest(path=tmp_path), Settings(store=tmp_path / "store.db"), RegisteredCatalog()
    ) as play:
        for number in range(900):
            play.playground.emit("agent", SlotSet(name="n" * 3000, value=number), "agent")
        with RemotePlayground(play.where.url, play.where.token) as remote:
            page = remote._get("/log?after=0")
            assert MAX_PAGE_BYTES - 4000 < len(page) <= MAX_PAGE_BYTES
            assert len(list(remote.lines())) == 901


def test_runs_have_no_control_endpoint(bench: Workbench) -> None:
    bench.write("a.yml", PLACE + "\ntask: {name: A}")
    seen: list[int] = []

    def knocks(task_item: Any, sandboxes: Any) -> None:
        drop = sandboxes["drop"]
        assert drop.url
        for token in (drop.token, ""):
            seen.append(get_status(f"{drop.url.rpartition('/')[0]}/control/log", token))

    task_run = bench.run_one(knocks)
    assert (task_run.agent_error, seen) == ("", [404, 404])
    assert bench.kinds(task_run) == ["run.started", "agent.started", "agent.answered", "run.ended"]


def get_status(url: str, token: str) -> int:
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"})
    try:
        with urllib.request.urlopen(request, timeout=20) as reply:
            return int(reply.status)
    except urllib.error.HTTPError as error:
        error.close()
        return error.code
