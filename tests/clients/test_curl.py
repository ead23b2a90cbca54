"""curl drives the file drop over HTTP."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.workbench import Workbench

pytestmark = pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
TASK = """
    environment: {name: desk, simulators: {drop: {kind: files}, chat: {kind: chat}}}
    task:
      name: Files by curl
      scenario:
        person: {fallback: I see.}
        steps: [{files.drop: {path: "inbox/für Ärzte.txt", text: "Grüße"}}]
      criteria:
        - {label: uploaded, assertion: {file_present: {path: outbox/big.bin}}}
        - label: in order
          assertion:
            sequencing:
              - {event: files.folder.listed}
              - {event: files.file.read}
              - {event: files.file.written}
              - {event: sandbox.refused, where: {status: 404}}
              - {event: chat.message.sent, actor: agent}
              - {event: chat.message.sent, actor: person}
"""


def curl(*arguments: str, token: str) -> tuple[int, bytes]:
    """Return status and body."""
    command = ["curl", "-sS", "-w", "\\n%{http_code}", "-H", f"Authorization: Bearer {token}", *arguments]
    done = subprocess.run(command, capture_output=True, check=True, timeout=20)
    body, _, status = done.stdout.rpartition(b"\n")
    return int(status), body


def test_curl_lists_reads_uploads_deletes_and_is_refused(bench: Workbench, tmp_path: Path) -> None:
    seen: dict[str, Any] = {}
    upload = tmp_path / "big.bin"
    upload.write_bytes(bytes(range(256)) * 4000)

    def with_curl(task_item: Any, sandboxes: Any) -> str:
        drop = sandboxes["drop"]
        seen["list"] = curl(f"{drop.url}/files?prefix=inbox", token=drop.token)
        path = json.loads(seen["list"][1])["files"][0]["path"]
        seen["read"] = curl(drop.url_of(path), token=drop.token)
        seen["put"] = curl("-T", str(upload), f"{drop.url}/files/outbox/big.bin", token=drop.token)
        seen["again"] = curl(f"{drop.url}/files/outbox/big.bin", token=drop.token)
        seen["gone"] = curl(f"{drop.url}/files/nowhere.txt", token=drop.token)
        seen["stranger"] = curl(f"{drop.url}/files", token="wrong")
        seen["tricks"] = curl("--path-as-is", f"{drop.url}/files/../../../etc/passwd", token=drop.token)
        chat = sandboxes["chat"]
        seen["say"] = curl("-d", '{"text": "hello"}', f"{chat.url}/messages", token=chat.token)
        seen["heard"] = curl(f"{chat.url}/messages", token=chat.token)
        seen["clock"] = curl("-X", "POST", f"{drop.url.rpartition('/')[0]}/clock/advance?by=10m", token=drop.token)
        return "done"

    bench.write("a.yml", TASK)
    task_run = bench.run_one(with_curl)
    assert task_run.agent_error == ""
    assert task_run.verdict == "pass", task_run.criteria
    assert {name: status for name, (status, _) in seen.items()} == {
        "list": 200,
        "read": 200,
        "put": 201,
        "again": 200,
        "gone": 404,
        "stranger": 401,
        "tricks": 400,
        "say": 201,
        "heard": 200,
        "clock": 200,
    }
    assert seen["read"][1].decode() == "Grüße"
    assert seen["again"][1] == upload.read_bytes()
    assert [message["from"] for message in json.loads(seen["heard"][1])["messages"]] == ["agent", "person"]
