"""Whole runs over MLLP: agents that send, agents that listen, and reproducible logs."""

import socket
from typing import Any

from clerkship.formats.hl7.message import parse_message
from clerkship.sandbox.handle import Sandboxes
from clerkship.simulators.hl7.handle import Hl7
from tests.simulators.hl7.feed import END, START, RawConnection, message, read_msa
from tests.waiting import wait_until
from tests.workbench import Workbench

SENDS = """
    environment: {name: lab, simulators: {lab: {kind: hl7}}}
    tasks:
      - name: Send the result
        task_item: {instruction: Send it.}
        criteria:
          - label: sent
            gate: true
            assertion: {hl7_structural: {type: ORU, fields: [{path: "OBX[2].5", expected: "4.2"}]}}
"""
LISTENS = """
    environment: {name: lab, simulators: {lab: {kind: hl7}}}
    tasks:
      - name: Take what comes
        task_item: {instruction: Acknowledge it.}
        scenario:
          steps:
            - hl7.send:
                type: ADT^A04
                control_id: N1
                segments: |
                  EVN||20260302090000
                  PID|1||MRN1^^^CLINIC^MR||Okafor^Ada
                  PV1|1|O
        criteria:
          - {label: acknowledged, gate: true, assertion: {hl7_acknowledged: {type: ADT}}}
"""


def send(task_item: Any, sandboxes: Sandboxes) -> None:
    """Send a message over MLLP."""
    connection_info = sandboxes.get_as(Hl7).mllp
    with RawConnection(int(connection_info["port"])) as connection:
        assert read_msa(connection.ask(message(str(connection_info["facility"])))) == ("AA", "1")


def listen(task_item: Any, sandboxes: Sandboxes) -> None:
    """Listen until one message has arrived and is acknowledged."""
    lab = sandboxes.get_as(Hl7)
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(10)
        lab.listen("127.0.0.1", server.getsockname()[1])
        connection, _ = server.accept()
        with connection:
            data = b""
            while END not in data:
                data += connection.recv(65536)
            heard = parse_message(data.removeprefix(START).removesuffix(END))
            head = r"MSH|^~\&|AGENT|CLINIC|LAB|CLERKSHIP|20260302||ACK|A1|P|2.5.1"
            connection.sendall(START + f"{head}\rMSA|AA|{heard.control_id}\r".encode() + END)
            wait_until(lambda: not lab.inbox())


def test_agent_that_sends_over_mllp_is_graded(bench: Workbench) -> None:
    bench.write("lab.yml", SENDS)
    first, second = bench.run_one(send), bench.run_one(send)
    assert (first.verdict, second.verdict) == ("pass", "pass")
    assert first.head == second.head  # same bytes despite another port and facility
    assert bench.run_one("nop").verdict == "fail"


def test_agent_that_listens_is_graded(bench: Workbench) -> None:
    bench.write("lab.yml", LISTENS)
    run = bench.run_one(listen)
    assert run.verdict == "pass", run
    kinds = bench.kinds(run)
    assert kinds.index("hl7.listener.named") < kinds.index("hl7.message.taken")
    assert bench.run_one("nop").verdict == "fail"


def test_concurrent_trials_share_listener(bench: Workbench) -> None:
    bench.write("lab.yml", SENDS)
    runs = bench.run(send, trials=24, concurrency=8)
    assert [run.verdict for run in runs] == ["pass"] * 24
    assert len({run.head for run in runs}) > 1  # each trial has its own seed
