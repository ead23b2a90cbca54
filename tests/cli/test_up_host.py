"""`clerkship up --host`: a playground that other machines and containers can reach."""

import http.client
import json
import socket
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.cli.terminal import Process, UpProcess, clerkship

SUITE = "environment: {name: clinic, simulators: {drop: {kind: files}, feed: {kind: hl7}}}"


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    """A folder with an environment."""
    tmp_path.joinpath("clinic.yml").write_text(SUITE)
    return tmp_path


def request_status(host: str, port: int, path: str, token: str) -> int:
    """Send a GET request and return the status."""
    connection = http.client.HTTPConnection(host, port, timeout=10)
    connection.request("GET", path, headers={"Authorization": f"Bearer {token}"} if token else {})
    status = connection.getresponse().status
    connection.close()
    return status


def test_all_addresses_answer_only_with_a_token_and_the_warning_says_who_can_reach_it(desk: Path) -> None:
    with UpProcess(desk, "--host", "0.0.0.0", "--allow-no-password") as up:
        url, token = up.way("drop")
        address = urlsplit(url)
        assert (address.hostname, up.document["host"]) == ("127.0.0.1", "0.0.0.0")
        assert address.port is not None
        for host in ("127.0.0.1", "127.0.0.2"):  # a loopback listener does not answer at the second
            assert request_status(host, address.port, f"{address.path}/files", token) == 200
            assert request_status(host, address.port, f"{address.path}/files", "") == 401
        mllp = up.document["sandboxes"]["feed"]["listeners"]["mllp"]
        assert mllp["host"] == "127.0.0.1"
        socket.create_connection(("127.0.0.2", mllp["port"]), timeout=10).close()
        registered = json.loads(desk.joinpath(".clerkship", "up", f"{up.document['name']}.json").read_text())
        assert urlsplit(registered["url"]).hostname == "127.0.0.1"
        assert clerkship(desk, "events").returncode == 0
        stopped = up.stop()
    text = " ".join(stopped.err.split())
    assert "every machine on every network of this machine can reach it" in text
    assert "requests need the token of a sandbox; HTTP is not encrypted" in text
    assert "MLLP has no password: every message is accepted" in text


def test_one_address_is_used_as_given_and_loopback_has_no_warning(desk: Path) -> None:
    with UpProcess(desk, "--host", "127.0.0.2") as up:
        address = urlsplit(up.way("drop")[0])
        assert address.hostname == "127.0.0.2"
        assert up.document["sandboxes"]["feed"]["listeners"]["mllp"]["host"] == "127.0.0.2"
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", address.port or 0), timeout=10)
        assert "every machine" not in up.stop().err


def test_mllp_is_not_opened_to_other_machines_unless_the_user_says_so(desk: Path) -> None:
    done = clerkship(desk, "up", "--host", "0.0.0.0")
    assert done.returncode == 2
    assert "MLLP has no password: every message is accepted, so it is not opened on 0.0.0.0" in done.stderr
    assert "--allow-no-password" in done.stderr


@pytest.mark.parametrize("host", ["localhost", "::", "0.0.0.0:80", ""])
def test_host_that_is_no_ipv4_address_is_refused(desk: Path, host: str) -> None:
    done = clerkship(desk, "up", "--host", host)
    assert done.returncode == 2
    assert "expected an IPv4 address: 127.0.0.1 for this machine" in " ".join(done.stderr.split())


def test_address_of_another_machine_cannot_be_used(desk: Path) -> None:
    with Process(desk, "up", "--host", "192.0.2.1", "--allow-no-password", merges_errors=True) as process:
        stopped = process.wait_for_end()
    assert stopped.code == 2
    wanted = (
        "cannot listen on port 0 of 192.0.2.1: cannot assign requested address; "
        "give --host an address of this machine, or 0.0.0.0 for all of them"
    )
    assert wanted in " ".join(stopped.out.split())
