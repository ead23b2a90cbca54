"""`clerkship run --host`: an agent in another network namespace reaches the sandboxes, and they reach it only."""

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tests.cli.terminal import clerkship
from tests.processes import start_process

RUNNER, AGENT, THIRD = "10.231.7.1", "10.231.7.2", "10.231.7.3"
NAMESPACE, LINK, PEER = "clerkship-test", "clk-test0", "clk-test1"
SUITE = """\
environment:
  name: office
  simulators:
    drop: {kind: files}
    lab: {kind: hl7}
    desk: {kind: messages}
    phone: {kind: voice}
    ehr: {kind: fhir}
task:
  name: Use everything
  scenario:
    - files.drop: {path: inbox/order.txt, text: An order.}
    - at: 5m
      hl7.send: {type: ADT^A08, control_id: SG-2, segments: "EVN||20260302090000\\nPID|1||1^^^C^MR||O^A\\nPV1|1|O"}
  criteria:
    - label: Delivered to the agent
      assertion: {event_occurred: {event: outbound.attempted, where: {outcome: delivered}}}
"""


def run_ip(*words: str) -> bool:
    """Run `ip`; return whether it succeeded."""
    try:
        return subprocess.run(["ip", *words], capture_output=True, timeout=10, check=False).returncode == 0
    except OSError:
        return False


@dataclass(frozen=True)
class RemoteAgent:
    """The agent on its own machine, and the files of this one."""

    folder: Path
    url: str = f"http://{AGENT}:8000/agent"

    def run(self, *options: str) -> "subprocess.CompletedProcess[str]":
        """Run the suite with the agent."""
        return clerkship(self.folder, "run", "suite.yml", "--agent", self.url, "--json", *options)

    def answer(self, done: "subprocess.CompletedProcess[str]") -> dict[str, Any]:
        """Return what the agent answered in the last run."""
        shown = clerkship(self.folder, "show", "latest", "Use everything", "--json")
        answer: dict[str, Any] | None = find_answer(json.loads(shown.stdout))
        assert answer is not None, done.stdout + done.stderr + shown.stdout
        return answer


def find_answer(value: Any) -> Any:
    """Return the answer of the agent in the output of `show --json`."""
    if isinstance(value, dict):
        if isinstance(value.get("answer"), dict):
            return value["answer"]
        return next((found for each in value.values() if (found := find_answer(each)) is not None), None)
    if isinstance(value, list):
        return next((found for each in value if (found := find_answer(each)) is not None), None)
    return None


def write_certificate(file: Path) -> None:
    """Write a certificate for the address of this machine, with its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, RUNNER)])
    today = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(today - timedelta(days=1))
        .not_valid_after(today + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address(RUNNER))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    file.with_suffix(".key").write_bytes(private)
    file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))


@pytest.fixture(scope="module")
def remote(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RemoteAgent]:
    """Start the agent in a network namespace, linked to this one."""
    pytest.importorskip("asyncssh")
    if not run_ip("netns", "add", NAMESPACE):
        pytest.skip("this machine does not allow network namespaces")
    folder = tmp_path_factory.mktemp("remote")
    inside = ("-n", NAMESPACE)
    try:
        steps = (
            ("link", "add", LINK, "type", "veth", "peer", "name", PEER, "netns", NAMESPACE),
            ("addr", "add", f"{RUNNER}/24", "dev", LINK),
            ("link", "set", LINK, "up"),
            (*inside, "addr", "add", f"{AGENT}/24", "dev", PEER),
            (*inside, "addr", "add", f"{THIRD}/24", "dev", PEER),
            (*inside, "link", "set", PEER, "up"),
            (*inside, "link", "set", "lo", "up"),
        )
        if not all(run_ip(*step) for step in steps):
            pytest.skip("this machine does not allow virtual network links")
        write_certificate(folder / "runner.pem")
        (folder / "suite.yml").write_text(SUITE, encoding="utf-8")
        script = Path(__file__).with_name("remote_agent.py")
        command: list[str | Path] = [
            "ip",
            "netns",
            "exec",
            NAMESPACE,
            sys.executable,
            script,
            AGENT,
            folder / "runner.pem",
            THIRD,
        ]
        with start_process(command, stdout=subprocess.PIPE, cwd=folder) as agent:
            assert agent.stdout is not None
            assert agent.stdout.readline() == "ready\n"
            yield RemoteAgent(folder)
    finally:
        run_ip("link", "del", LINK)
        run_ip("netns", "del", NAMESPACE)


def test_remote_agent_uses_every_protocol_with_tls_and_is_called_back(remote: RemoteAgent) -> None:
    tls = ("--tls-cert", "runner.pem", "--tls-key", "runner.key")
    done = remote.run("--host", RUNNER, *tls, "--allow-no-password")
    answer = remote.answer(done)
    assert answer.pop("fhir").startswith(f"https://{RUNNER}:")
    assert answer == {
        "http": "An order.",
        "sftp": "An order.",
        "smtp": "250",
        "phone": answer["phone"],
        "mllp": "AA",
        "third machine": "400",
        "runner": "400",
        "own": answer["own"],
        "delivered": ["SG-2"],
        "hosts": [RUNNER],
    }
    assert not answer["phone"].startswith("4"), answer
    assert done.returncode == 0, done.stdout
    [warning] = json.loads(done.stdout)["warnings"]
    assert warning.startswith(f"every machine on the network of {RUNNER} can reach the sandboxes (desk, drop, ehr, ")
    assert "SFTP" in warning
    assert "MLLP has no password" in warning
    assert warning.endswith("sandboxes can call the host of the agent only")


@pytest.mark.slow
def test_address_towards_the_agent_is_told_if_every_network_is_open(remote: RemoteAgent) -> None:
    tls = ("--tls-cert", "runner.pem", "--tls-key", "runner.key")
    done = remote.run("--host", "0.0.0.0", *tls, "--client-ca", "runner.pem")
    answer = remote.answer(done)
    assert answer["hosts"] == [RUNNER]
    assert answer["sftp"] == "An order."
    assert answer["mllp"] in ("SSLError", "ConnectionResetError", "IndexError")  # the agent has no client certificate
    assert "MLLP has no password" not in done.stdout
