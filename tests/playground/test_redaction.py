"""Texts of an agent are stored without the credentials and addresses of its sandboxes, however they are quoted."""

from collections.abc import Iterator
from typing import Any

import orjson
import pytest

from clerkship.playground.gateway import Gateway
from clerkship.playground.listeners import ListenerPool
from tests.simulators.files.served import SftpDrop
from tests.simulators.hl7.feed import Feed


@pytest.fixture
def drop() -> Iterator[SftpDrop]:
    gateway = Gateway()
    lines = ListenerPool(gateway)
    served = SftpDrop(gateway, lines)
    yield served
    served.playground.close()
    gateway.remove_playground(served.playground)
    lines.close()


def secrets_of(received: Any) -> list[str]:
    key = [line for line in received["private_key"].splitlines() if not line.startswith("-----")]
    assert key
    return [received["user"], received["password"], received["host_key"].split()[-1], *key]


def has_leak(words: str, received: Any) -> list[str]:
    return [secret for secret in secrets_of(received) if secret.casefold() in words.casefold()]


@pytest.mark.parametrize("change", [str, str.upper, str.lower, repr, lambda text: orjson.dumps(text).decode()])
def test_connection_details_are_redacted_in_every_form(drop: SftpDrop, change: Any) -> None:
    received = dict(drop.connection_info)
    text = change("\n".join(f"{key} is <{value}>" for key, value in received.items()))
    assert has_leak(text, received)
    words = drop.playground.redact(text)
    assert has_leak(words, received) == []
    for name in ("user", "private_key", "host_key"):
        assert f"{name} of drop]" in words.lower() or "address of drop]" in words.lower()
    assert "host is <127.0.0.1>" in words.lower()


def test_lines_of_a_key_are_redacted_one_by_one(drop: SftpDrop) -> None:
    lines = str(drop.connection_info["private_key"]).splitlines()
    text = "\n".join(f"line {number}: {line}" for number, line in enumerate(reversed(lines)))
    words = drop.playground.redact(text)
    assert has_leak(words, drop.connection_info) == []
    assert "-----BEGIN OPENSSH PRIVATE KEY-----" in words


def test_addresses_and_ports_are_redacted(drop: SftpDrop) -> None:
    port = drop.connection_info["port"]
    for place in (
        f"127.0.0.1:{port}",
        f"('127.0.0.1', {port})",
        f"localhost:{port}",
        f"port {port}",
        f"'port': {port}",
    ):
        words = drop.playground.redact(f"nobody at {place}, {port}0 files")
        assert words.count(str(port)) == 1
        assert "[sftp port of drop]" in words
        assert f"{port}0 files" in words


def test_facility_is_redacted_in_upper_and_lower_case() -> None:
    feed = Feed()
    lab = feed.lab(own_port=True)
    facility, port = lab.facility, lab.connection_info["port"]
    words = lab.playground.redact(f"MSH-6 {facility} {facility.lower()} {facility.title()} at 127.0.0.1:{port}")
    assert words == "MSH-6 {0} {0} {0} at 127.0.0.1:[mllp port of lab]".format("[address of lab]")
    feed.close()
