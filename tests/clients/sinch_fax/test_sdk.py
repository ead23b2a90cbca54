"""Sinch's SDK for Node, and curl, drive the fax API with their hostname changed."""

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.clients.conftest import NODE, installed
from tests.simulators.agent_server import AgentAnswer, AgentServer
from tests.simulators.fax.sinch.clinic import BUSY, LAB, OWN, SECOND, FaxingClinic

Sdk = Callable[[str, dict[str, Any]], Any]


@pytest.fixture
def clinic() -> Iterator[FaxingClinic]:
    opened = FaxingClinic()
    yield opened
    opened.close()


@pytest.fixture
def sdk(clinic: FaxingClinic) -> Sdk:
    """Return a function that runs the SDK with the credentials of the clinic.

    `@sinch/fax` loads `@sinch/sdk-core` without declaring it, so that is what is installed; it depends on `@sinch/fax`.
    """
    command = ["node", str(NODE / "sinch_fax_drive.cjs"), str(installed("@sinch/sdk-core"))]
    oauth = clinic.handle.credentials["oauth2"]
    account = {
        "url": clinic.handle.url,
        "project": clinic.config.project,
        "key": oauth["client_id"],
        "secret": oauth["client_secret"],
    }

    def run(name: str, task: dict[str, Any]) -> Any:
        given = json.dumps({name: {**account, **task}})
        done = subprocess.run(command, input=given, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])  # the SDK writes log messages before it

    return run


def test_the_sdk_sends_reads_lists_downloads_and_parses_webhooks(
    sdk: Sdk, clinic: FaxingClinic, tmp_path: Path
) -> None:
    agent = AgentServer()
    note = tmp_path / "note.txt"
    note.write_text("Please send the notes of the visit.\fSecond page.", encoding="utf-8")
    callback, webhook = f"{agent.url}/done", f"{agent.url}/in"
    task = {"contact": LAB, "other": BUSY, "file": str(note), "callback": callback, "webhook": webhook}
    sent = sdk("send", task)
    assert (sent["status"], sent["created"], sent["labels"]) == ("QUEUED", True, {"case": "17"})
    assert sent["cover_pages"] == 1
    assert (sent["recipients"], sent["numbers"], sent["webhook"]) == ([LAB, BUSY], [OWN, SECOND], webhook)
    assert sent["errors"] == {
        "bad_number": [400, "INVALID_ARGUMENT"],
        "url": [400, "INVALID_ARGUMENT"],
        "unknown": [404, "NOT_FOUND"],
        "project": [404, "NOT_FOUND"],
        "secret": [401, "invalid_client"],
        "cover": [501, "UNIMPLEMENTED"],
        "emails": [501, "UNIMPLEMENTED"],
        "create_service": [501, "UNIMPLEMENTED"],
    }
    arrived = clinic.receive(pages=2)
    clinic.pass_time()
    done, failed = sent["sent"][0], sent["sent"][3]
    read = sdk("read", {"contact": LAB, "done": done, "failed": failed, "arrived": arrived})
    assert read["all"] == [arrived, *sent["sent"][::-1]]
    assert read["counts"] == {"inbound": 1, "failures": 1, "to": 4, "today": 6, "range": 1, "month": 6, "old": 0}
    assert read["done"] == ["COMPLETED", 2, 2, True]
    assert read["failed"] == ["FAILURE", "CALL_ERROR", 17, 1]
    assert read["file"] == [f"{arrived}.pdf", "%PDF-"]
    assert (read["deleted"], read["has_file"]) == ({}, False)
    agent.close()
    assert len(agent.posted) == 3
    events = [
        orjson.loads(each.body)
        if each.headers["content-type"] == "application/json"
        else {name: part.text for name, part in each.parts.items() if name != "file"}
        for each in agent.posted
    ]
    assert sorted(sdk("parse", {"events": events})) == sorted(
        [
            ["FAX_COMPLETED", True, done, "COMPLETED"],
            ["FAX_COMPLETED", True, sent["sent"][1], "COMPLETED"],
            ["INCOMING_FAX", True, arrived, "COMPLETED"],
        ]
    )


def test_the_sdk_gets_a_new_token_when_its_own_has_expired(sdk: Sdk, clinic: FaxingClinic) -> None:
    def pass_time(_: Any) -> AgentAnswer:
        clinic.pass_time("2h")
        return AgentAnswer()

    agent = AgentServer(pass_time)
    clinic.receive()
    assert sdk("expire", {"pass_time": agent.url}) == [1, 1]
    agent.close()


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_curl_sends_a_form_and_downloads_the_pages_by_basic_authentication(
    clinic: FaxingClinic, tmp_path: Path
) -> None:
    note = tmp_path / "note.txt"
    note.write_text("A note.", encoding="utf-8")
    basic = clinic.handle.credentials["basic"]
    url = f"{clinic.handle.url}{clinic.project}/faxes"

    def curl(*arguments: str) -> bytes:
        command = ["curl", "-sS", "-u", f"{basic['user']}:{basic['password']}", *arguments]
        return subprocess.run(command, capture_output=True, check=True, timeout=20).stdout

    fax = orjson.loads(curl("-F", f"to={LAB}", "-F", f"file=@{note}", url))
    assert (fax["status"], fax["numberOfPages"]) == ("QUEUED", 1)
    assert curl(f"{url}/{fax['id']}/file.pdf")[:5] == b"%PDF-"
    assert curl("-w", "%{http_code}", "-F", f"to={LAB}", url)[-3:] == b"400"
    refused = subprocess.run(
        ["curl", "-sS", "-u", "line:wrong", url], capture_output=True, check=True, timeout=20
    ).stdout
    assert orjson.loads(refused)["error"]["status"] == "UNAUTHENTICATED"
