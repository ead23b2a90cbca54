"""curl meets each fault and reports it by its exit code."""

import shutil
import subprocess
from typing import Any

import pytest

from tests.workbench import Workbench

pytestmark = pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
TASK = """
    environment: {{name: desk, {time} simulators: {{drop: {{kind: files}}}}}}
    task:
      name: Faults by curl
      scenario:
        - files.drop: {{path: a.txt, text: "{text}"}}
        - {fault}
"""
TEXT = "0123456789" * 100
EMPTY_REPLY, PARTIAL_FILE, TIMED_OUT = 52, 18, 28


def curl(bench: Workbench, fault: str, *options: str, time: str = "") -> tuple[int, str, str]:
    """Return exit code, headers and body of one download."""
    seen: list[Any] = []

    def downloads(task_item: Any, sandboxes: Any) -> None:
        drop = sandboxes["drop"]
        command = ["curl", "-sS", "-i", "-H", f"Authorization: Bearer {drop.token}", *options, drop.url_of("a.txt")]
        done = subprocess.run(command, capture_output=True, check=False, timeout=30, text=True)
        head, _, body = done.stdout.partition("\n\n")
        seen.append((done.returncode, head.lower(), body))

    bench.write("a.yml", TASK.format(fault=fault, text=TEXT, time=time))
    task_run = bench.run_one(downloads)
    assert (task_run.status, task_run.agent_error) == ("completed", "")
    found: tuple[int, str, str] = seen[0]
    return found


@pytest.mark.parametrize("when", ["request", "reply"])
def test_drop_fault_is_empty_reply(bench: Workbench, when: str) -> None:
    assert curl(bench, f"{{fault.drop: {{when: {when}}}}}") == (EMPTY_REPLY, "", "")


def test_truncated_fault_is_partial_file(bench: Workbench) -> None:
    code, head, body = curl(bench, "{fault.truncated: {keep: 25}}")
    assert (code, body) == (PARTIAL_FILE, TEXT[:25])
    assert "content-length: 1000" in head


def test_expired_fault_is_challenged(bench: Workbench) -> None:
    code, head, body = curl(bench, "{fault.expired: {}}")
    assert code == 0
    assert head.startswith("http/1.1 401")
    assert 'www-authenticate: bearer realm="clerkship", error="invalid_token"' in head
    assert "invalid_token" in body


def test_curl_retries_after_retry_after_seconds(bench: Workbench) -> None:
    code, _, body = curl(bench, "{fault.error: {times: 1, retry_after: 1s}}", "--retry", "1")
    assert code == 0
    assert body.endswith(TEXT)


def test_drip_fault_completes_unless_curl_times_out(bench: Workbench) -> None:
    code, head, body = curl(bench, "{fault.drip: {over: 1h}}")
    assert (code, body) == (0, TEXT)
    code, head, body = curl(bench, "{fault.drip: {over: 20s, pieces: 200}}", "--max-time", "1", time="time: paced,")
    assert code == TIMED_OUT
    assert head.startswith("http/1.1 200")
    assert TEXT.startswith(body)
    assert 0 < len(body) < 200


def test_duplicate_fault_is_invisible(bench: Workbench) -> None:
    code, head, body = curl(bench, "{fault.duplicate: {}}")
    assert (code, body) == (0, TEXT)
    assert head.startswith("http/1.1 200")
