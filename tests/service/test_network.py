"""Options for agents on other machines: what is refused before a run, and which addresses an agent is told."""

import http.client
import json
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from clerkship.kit.tls import TlsFiles
from clerkship.model.errors import InputError
from clerkship.sandbox.handle import Refused, Sandboxes
from clerkship.service.network import build_policy
from clerkship.service.planning.options import NetworkOptions
from clerkship.service.planning.plan import RunPlan, plan_run, use_network
from clerkship.service.planning.request import RunRequest
from clerkship.settings import Settings
from clerkship.transports.outbound.policy import LOCAL_ONLY, AgentHostPolicy, OutboundPolicy
from tests.workbench import CATALOG, Workbench

TASK = """
environment: {name: ward, simulators: {ehr: {kind: fhir}, lab: {kind: hl7}}}
task:
  name: Look
  environment: ward
  scenario: {}
  criteria: [{label: done, assertion: {event_occurred: {event: hl7.listener.named}}}]
"""


@dataclass
class FarSolver:
    """An agent behind an address of another machine, which is not called."""

    host: str
    name: str = "http:far"

    def open(self, solution: str | None, trial: int = 1) -> Any:
        raise NotImplementedError


@pytest.fixture
def bench(bench: Workbench) -> Workbench:
    """One task with two sandboxes."""
    bench.write("task.yml", TASK)
    return bench


@pytest.fixture
def plan(bench: Workbench) -> Callable[..., RunPlan]:
    """Return a function that plans a run with options."""

    def plan_with(agent: Any = "nop", **options: Any) -> RunPlan:
        return plan_run(RunRequest(path=bench.folder, agent=agent, **options), Settings(), CATALOG)

    return plan_with


def test_warning_names_what_is_reachable_by_whom_and_whom_sandboxes_can_call(plan: Callable[..., RunPlan]) -> None:
    planned = plan(FarSolver("192.0.2.7"), host="0.0.0.0", public_url="http://10.1.1.1:80/", allow_no_password=True)
    [warning] = planned.warnings
    assert str(warning) == (
        "every machine on every network of this machine and everyone who can reach http://10.1.1.1:80 can reach the "
        "sandboxes (ehr, lab) over HTTP and MLLP; requests need the token of a sandbox; HTTP is not encrypted (see "
        "--tls-cert); MLLP has no password: every message is accepted; use a container or a private network, with "
        "synthetic data; sandboxes can call the host of the agent only"
    )
    assert planned.network.client_host == "10.1.1.1"
    assert planned.outbound == AgentHostPolicy("192.0.2.7", ("192.0.2.7",))


def test_new_run_keeps_the_options_and_a_repeated_one_has_only_its_own(plan: Callable[..., RunPlan]) -> None:
    options = {"host": "127.0.0.1", "listeners": ("mllp=0",), "allow_no_password": True}
    planned = plan(FarSolver("192.0.2.7"), timeout=90.0, **options)
    words = ("--allow-no-password", "--timeout", "1m30s", "--host", "127.0.0.1", "--listener", "mllp=0")
    assert sorted(planned.run.options) == sorted(words)
    assert use_network(planned, NetworkOptions()).run.options == ("--timeout", "1m30s")
    assert use_network(planned, NetworkOptions(public_url="http://h")).run.options[2:] == ("--public-url", "http://h")


def test_run_without_options_listens_on_loopback_without_warning(plan: Callable[..., RunPlan]) -> None:
    planned = plan(FarSolver("192.0.2.7"))
    assert (planned.warnings, planned.outbound, planned.network.client_host) == ((), LOCAL_ONLY, "127.0.0.1")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"host": "0.0.0.0"}, "MLLP has no password: every message is accepted, so it is not opened on 0.0.0.0; give"),
        ({"host": "localhost"}, "invalid --host localhost; expected an IPv4 address"),
        ({"host": "192.0.2.1", "allow_no_password": True}, "cannot listen on 192.0.2.1: cannot assign requested"),
        ({"public_url": "runs.example.org"}, "`runs.example.org` is not an address; write http://host/path"),
        ({"tls_key": Path("key.pem")}, "--tls-key has no effect without a certificate; give --tls-cert FILE"),
        ({"client_ca": Path("ca.pem")}, "--client-ca has no effect without a certificate"),
        ({"tls_cert": Path("none.pem")}, "cannot use the certificate none.pem with the key none.pem: No such file"),
        ({"listeners": ("sftp=2222",)}, "unknown listener `sftp`"),
        ({"listeners": ("mllp=",)}, "invalid --listener mllp= "),
    ],
)
def test_options_that_cannot_work_are_refused_before_the_run(
    plan: Callable[..., RunPlan], options: Mapping[str, Any], message: str
) -> None:
    with pytest.raises(InputError) as caught:
        plan(**options)
    assert message in str(caught.value)


def test_taken_port_is_refused_before_the_run(plan: Callable[..., RunPlan]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(InputError, match=f"cannot listen on port {port}: address already in use"):
            plan(port=port)


def test_key_with_a_passphrase_is_refused_without_asking_for_it(tmp_path: Path) -> None:
    key = ec.generate_private_key(ec.SECP256R1()).private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(b"a passphrase"),
    )
    file = tmp_path / "key.pem"
    file.write_bytes(key)
    with pytest.raises(InputError, match="cannot use the certificate"):
        TlsFiles(file).check()


def test_public_url_is_the_address_in_messages_and_in_links(bench: Workbench) -> None:
    seen: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as probe:
        free = probe.getsockname()[1]

    def look(task_item: Mapping[str, Any], sandboxes: Sandboxes) -> None:
        url = sandboxes["ehr"].url
        connection = http.client.HTTPConnection("127.0.0.1", free, timeout=20)
        path = urlsplit(url).path.removeprefix("/clerkship")
        connection.request("GET", f"{path}/Patient", headers={"Authorization": f"Bearer {sandboxes['ehr'].token}"})
        bundle = json.loads(connection.getresponse().read())
        connection.close()
        seen.extend([url, bundle["link"][0]["url"]])

    task_run = bench.run_one(look, public_url="https://runs.example.org/clerkship/", port=free)
    assert [url.startswith("https://runs.example.org/clerkship/pg-") for url in seen] == [True, True]
    assert "example.org" not in json.dumps(bench.events(task_run))


def test_agent_can_be_called_at_its_own_host_only(bench: Workbench) -> None:
    refusals: list[str] = []

    def register(task_item: Mapping[str, Any], sandboxes: Sandboxes) -> None:
        lab: Any = sandboxes["lab"]
        for host in ("127.0.0.1", "192.0.2.8", "192.0.2.7"):
            try:
                lab.listen(host, 6661)
            except Refused as refused:
                refusals.append(str(refused))

    task_run = bench.run_one(register, outbound=AgentHostPolicy("agent.example", ("192.0.2.7",)))
    assert bench.kinds(task_run).count("hl7.listener.named") == 1
    assert len(refusals) == 2
    assert "can only call the host of the agent" in refusals[0]
    assert "192.0.2" not in json.dumps(bench.events(task_run))


@pytest.mark.parametrize(
    ("host", "policy"),
    [
        ("", LOCAL_ONLY),
        ("localhost", LOCAL_ONLY),
        ("127.0.0.1", LOCAL_ONLY),
        ("192.0.2.7", AgentHostPolicy("192.0.2.7", ("192.0.2.7",))),
    ],
)
def test_policy_follows_the_host_of_the_agent(host: str, policy: OutboundPolicy) -> None:
    assert build_policy(FarSolver(host), host) == policy


def test_host_that_cannot_be_resolved_is_refused() -> None:
    with pytest.raises(InputError, match="agent http:far: its host cannot be resolved"):
        build_policy(FarSolver("nowhere.invalid"), "nowhere.invalid")
