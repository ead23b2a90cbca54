"""The policy for outbound calls comes from the request; by default it allows loopback only."""

import http.client
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from clerkship.sandbox.handle import Refused, Sandboxes
from clerkship.service.up import PlaygroundRequest, open_playground
from clerkship.settings import Settings
from clerkship.transports.outbound.policy import PublicPolicy
from tests.workbench import CATALOG, Workbench

TASK = """
environment: {name: ward, simulators: {lab: {kind: hl7}}}
task:
  name: Listen
  environment: ward
  scenario: {}
  criteria: [{label: done, assertion: {event_occurred: {event: hl7.listener.named}}}]
"""


class ListeningAgent:
    """Registers its listener, and stores the refusal."""

    refusals: list[str]

    def on_task(self, task_item: Mapping[str, Any], sandboxes: Sandboxes) -> None:
        with socket.create_server(("127.0.0.1", 0)) as server:
            try:
                sandboxes["lab"].listen("127.0.0.1", server.getsockname()[1])  # type: ignore[attr-defined]
            except Refused as refused:
                type(self).refusals.append(str(refused))


@pytest.fixture
def bench(bench: Workbench) -> Workbench:
    """One task."""
    bench.write("task.yml", TASK)
    return bench


def test_run_of_the_command_line_can_call_an_agent_on_loopback(bench: Workbench) -> None:
    ListeningAgent.refusals = []
    assert "hl7.listener.named" in bench.kinds(bench.run_one(ListeningAgent))
    assert ListeningAgent.refusals == []


def test_server_policy_allows_only_public_addresses(bench: Workbench) -> None:
    ListeningAgent.refusals = []
    assert "hl7.listener.named" not in bench.kinds(bench.run_one(ListeningAgent, outbound=PublicPolicy()))
    [refusal] = ListeningAgent.refusals
    assert "only public addresses" in refusal


def test_running_playground_has_the_policy_of_its_request(bench: Workbench, tmp_path: Path) -> None:
    request = PlaygroundRequest(path=bench.folder, outbound=PublicPolicy())
    with open_playground(request, Settings(store=tmp_path / "s.db"), CATALOG) as play:
        lab = play.sandboxes["lab"]
        connection = http.client.HTTPConnection(urlsplit(lab.url).netloc, timeout=20)
        path, headers = f"{urlsplit(lab.url).path}/hl7/listener", {"Authorization": f"Bearer {lab.token}"}
        connection.request("PUT", path, b'{"port": 6661}', headers | {"Content-Type": "application/json"})
        reply = connection.getresponse()
        assert (reply.status, b"not_public" in reply.read()) == (400, True)
        connection.close()
