"""Agents for `suites/feeds` that use network protocols."""

import io
import runpy
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import paramiko

from clerkship.formats.hl7.message import parse_message
from tests.suites import overridden_solutions
from tests.suites.overridden_solutions import Agent, Verb
from tests.suites.test_shipped import ROOT

FEEDS = ROOT / "suites" / "feeds"
load_solution = partial(overridden_solutions.load_solution, FEEDS)
override_solution = partial(overridden_solutions.override_solution, FEEDS)


def solve_over_mllp(task_item: Any, sandboxes: Any) -> Any:
    """Send the message over MLLP, by receiving facility."""
    told = sandboxes["engine"].mllp

    def send(_: Verb, message: str) -> str:
        addressed = message.replace("|ENGINE|RIVERBEND|", f"|ENGINE|{told['facility']}|")
        with socket.create_connection((told["host"], told["port"]), timeout=10) as line:
            line.sendall(b"\x0b" + addressed.encode() + b"\x1c\r")
            return read_frame(line)

    return override_solution("send_an_update", engine_send=send)(task_item, sandboxes)


def read_frame(line: socket.socket) -> str:
    """Read the content of one MLLP frame."""
    data = b""
    while not data.endswith(b"\x1c\r"):
        more = line.recv(65536)
        assert more, "the line was closed"
        data += more
    return data[1:-2].decode()


def solve_over_sftp(task_item: Any, sandboxes: Any) -> Any:
    """Access all files over SFTP."""
    with open_sftp(sandboxes["drop"].sftp) as client:
        verbs: dict[str, Verb] = {
            "drop_list": lambda _, folder: [f"{folder}/{name}" for name in client.listdir(folder)],
            "drop_read_text": lambda _, path: client.open(path).read().decode(),
            "drop_write": lambda _, path, text: client.putfo(io.BytesIO(text.encode()), path),
            "drop_rename": lambda _, path, to: client.rename(path, to),
        }
        return override_solution("referrals", **verbs)(task_item, sandboxes)


@contextmanager
def open_sftp(told: Any) -> Iterator[paramiko.SFTPClient]:
    """Connect to the SFTP listener of a file drop, by the connection info of its handle."""
    with paramiko.SSHClient() as ssh:
        ssh.set_missing_host_key_policy(paramiko.RejectPolicy())
        known = paramiko.hostkeys.HostKeyEntry.from_line(told["host_key"])
        assert known is not None
        ssh.get_host_keys().add(known.hostnames[0], known.key.get_name(), known.key)
        ssh.connect(
            told["host"],
            told["port"],
            username=told["user"],
            pkey=paramiko.Ed25519Key.from_private_key(io.StringIO(told["private_key"])),
            look_for_keys=False,
            allow_agent=False,
        )
        yield ssh.open_sftp()


def solve_with_listener(task_item: Any, sandboxes: Any) -> Any:
    """Receive the result on a listener, and acknowledge it when it is filed."""
    ehr, lab, drop = sandboxes["ehr"], sandboxes["lab"], sandboxes["drop"]
    done = threading.Event()
    make = runpy.run_path(str(FEEDS / "solutions" / "file_results.py"))["observation"]

    def answer(listening: socket.socket) -> None:
        line, _ = listening.accept()
        with line:
            message = parse_message(read_frame(line))
            [patient] = ehr.search("Patient", identifier=message.value("PID.3.1"))
            ehr.create(make(message, patient))
            notice = f'{{"mrn": "{message.value("PID.3.1")}", "code": "2823-3", "value": {message.value("OBX.5")}}}'
            drop.write("outbound/critical.json", notice)
            head = "MSH|^~\\&|ASSISTANT|RIVERBEND|STONEGATE|RIVERBEND|20260302093000||ACK|A1|P|2.5.1"
            line.sendall(f"\x0b{head}\rMSA|AA|{message.control_id}\r\x1c\r".encode())
            assert line.recv(1) == b""  # until it is the sandbox that lets go
        done.set()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=answer, args=(listening,), daemon=True).start()
        lab.listen(*listening.getsockname())
        sandboxes.wait("30m")
        deadline = threading.Event()
        for _ in range(200):
            if not lab.inbox():
                return
            deadline.wait(0.05)
        raise AssertionError("nothing was delivered")


BROKEN, PART = "*with a broken row", "Leave an unfinished upload*"
LATE, UPDATE = "A critical result arrives late", "Tell everybody*"

RIGHT: dict[str, tuple[str, Agent]] = {
    "over MLLP": (UPDATE, solve_over_mllp),
    "over SFTP": (BROKEN, solve_over_sftp),
    "over SFTP, when it is whole": (PART, solve_over_sftp),
    "as one who listens": (LATE, solve_with_listener),
}
"""In another way than ours, by the real lines."""
