"""Third-party MLLP clients and servers: mllp_send and the asyncio client of `hl7`, and @medplum/hl7 from npm."""

import asyncio
import json
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import hl7 as library
import pytest
from hl7.client import MLLPClient
from hl7.mllp import open_hl7_connection

from clerkship.formats.hl7.message import parse_message
from tests.clients.conftest import NODE
from tests.processes import start_process
from tests.simulators.hl7.feed import BODIES, Feed, Lab, message, read_msa
from tests.waiting import wait_until

SENT = [f"hl7.{kind[:3].lower()}.sent" for kind in BODIES]
MLLP_SEND = shutil.which("mllp_send", path=str(Path(sys.executable).parent)) or "mllp_send"


@pytest.fixture
def lab() -> Iterator[Lab]:
    """Return a laboratory over MLLP."""
    feed = Feed()
    yield feed.lab()
    feed.close()


def build_messages(lab: Lab) -> list[str]:
    """Build a message of each type, as in a file."""
    return [message(lab.facility, kind, f"C{number}").decode() for number, kind in enumerate(BODIES)]


# The `hl7` package.


def test_mllp_send_sends_a_file(lab: Lab, tmp_path: Path) -> None:
    file = tmp_path / "feed.hl7"
    file.write_text("\n".join(build_messages(lab)).replace("\r", "\n"), encoding="utf-8")
    command = [MLLP_SEND, "--loose", "--file", str(file), "--port", str(lab.connection_info["port"]), "127.0.0.1"]
    done = subprocess.run(command, capture_output=True, timeout=30, check=False)
    assert done.returncode == 0, done.stderr
    answered = [parse_message(frame.strip(b"\x0b\r\n")) for frame in done.stdout.split(b"\x1c") if frame.strip()]
    assert [read_msa(ack) for ack in answered] == [("AA", f"C{number}") for number in range(len(BODIES))]
    assert lab.kinds() == SENT


def test_mllp_send_sends_a_sloppy_feed_to_a_lenient_engine(tmp_path: Path) -> None:
    feed = Feed()
    lab = feed.lab(validation="lenient")
    texts = build_messages(lab)
    texts[0] = texts[0].replace("|2.5.1", "|").replace("ADT^A01", "adt^a01")
    texts[1] += "printed by the night shift\r"
    file = tmp_path / "feed.hl7"
    file.write_text("\n".join(texts).replace("\r", "\n"), encoding="utf-8")
    command = [MLLP_SEND, "--loose", "--file", str(file), "--port", str(lab.connection_info["port"]), "127.0.0.1"]
    done = subprocess.run(command, capture_output=True, timeout=30, check=False)
    assert done.stdout.count(b"MSA|AA|C") == len(BODIES), done
    assert lab.kinds() == SENT
    findings = [getattr(event.payload, "findings", ()) for event in lab.playground.log.events]
    feed.close()
    assert [len(each) for each in findings] == [3, 1] + [0] * (len(BODIES) - 2)


def test_mllp_send_prints_reason_of_refusal(lab: Lab, tmp_path: Path) -> None:
    file = tmp_path / "bad.hl7"
    bad = build_messages(lab)[0].replace("PV1|1|I\r", "")
    file.write_bytes(b"\x0b" + bad.encode() + b"\x1c\r")
    command = [MLLP_SEND, "--file", str(file), "--port", str(lab.connection_info["port"]), "127.0.0.1"]
    done = subprocess.run(command, capture_output=True, timeout=30, check=False)
    assert b"MSA|AE|C0" in done.stdout
    assert b"PV1" in done.stdout


def test_blocking_client_of_hl7_library(lab: Lab) -> None:
    with MLLPClient("127.0.0.1", lab.connection_info["port"]) as client:
        for number, text in enumerate(build_messages(lab)):
            ack = library.parse(client.send_message(text).strip(b"\x0b\x1c\r").decode())
            assert (str(ack.segment("MSA")[1]), str(ack.segment("MSA")[2])) == ("AA", f"C{number}")
    assert lab.kinds() == SENT


def test_asyncio_client_of_hl7_library(lab: Lab) -> None:
    async def talk() -> list[tuple[str, str]]:
        reader, writer = await asyncio.wait_for(open_hl7_connection("127.0.0.1", lab.connection_info["port"]), 10)
        answered = []
        for text in [*build_messages(lab), message("NOBODY", control_id="N").decode()]:
            writer.writemessage(library.parse(text))
            await writer.drain()
            ack = await asyncio.wait_for(reader.readmessage(), 10)
            answered.append((str(ack.segment("MSA")[1]), str(ack.segment("MSA")[2])))
        writer.close()
        await writer.wait_closed()
        return answered

    assert asyncio.run(talk()) == [*(("AA", f"C{number}") for number in range(len(BODIES))), ("AR", "N")]
    assert lab.kinds() == SENT


# @medplum/hl7, from npm.


def test_medplum_sends_sequentially_and_concurrently(lab: Lab, medplum: Path) -> None:
    command = ["node", str(NODE / "mllp_send.mjs"), str(medplum), str(lab.connection_info["port"])]
    sent = json.dumps(build_messages(lab))
    done = subprocess.run(command, input=sent, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    output = json.loads(done.stdout)
    answered = [("AA", f"C{number}") for number in range(len(BODIES))]
    assert [read_msa(parse_message(ack)) for ack in output["oneByOne"]] == answered
    assert [read_msa(parse_message(ack)) for ack in output["together"]] == answered
    assert lab.kinds() == SENT + ["hl7.message.repeated"] * len(BODIES)


@pytest.mark.parametrize("mode", ["original", "enhanced"])
def test_medplum_listener_acknowledges_deliveries(lab: Lab, medplum: Path, mode: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = ["node", str(NODE / "mllp_listen.mjs"), str(medplum), str(port), mode, str(len(BODIES))]
    changed = {"|P|2.5.1": "|P|2.5.1|||AL|AL"} if mode == "enhanced" else {}
    with start_process(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as node:
        assert node.stdout is not None
        assert node.stdout.readline() == "ready\n"
        lab.handle.listen("127.0.0.1", port)
        for number, kind in enumerate(BODIES):
            lab.arrive(f"C{number}", kind, **changed)
        codes = ["CA", "AA"] if mode == "enhanced" else ["AA"]
        expected = sorted((str(number + 1), code) for number in range(len(BODIES)) for code in codes)
        try:
            wait_until(lambda: sorted(acks(lab)) == expected)
        finally:
            lab.end()
        out, err = node.communicate(timeout=20)
    assert node.returncode == 0, err
    assert [parse_message(text).control_id for text in json.loads(out)] == [
        f"C{number}" for number in range(len(BODIES))
    ]
    assert lab.kinds().count("hl7.message.taken") == len(BODIES)


def acks(lab: Lab) -> list[tuple[str, str]]:
    return [(read_msa.id, read_msa.ack) for read_msa in lab.payloads("hl7.message.acknowledged")]
