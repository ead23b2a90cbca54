"""Agents for `suites/feeds`: wrong solutions, and correct ones that differ from the reference."""

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
from tests.suites.overridden_solutions import Agent, Verb, call_twice, do_nothing
from tests.suites.test_shipped import ROOT

FEEDS = ROOT / "suites" / "feeds"
load_solution = partial(overridden_solutions.load_solution, FEEDS)
override_solution = partial(overridden_solutions.override_solution, FEEDS)


def acknowledge_with_aa(acknowledge: Verb, id: str, code: str = "AA", text: str = "") -> Any:
    """Acknowledge with AA, whatever happened."""
    return acknowledge(id, "AA")


def acknowledge_without_text(acknowledge: Verb, id: str, code: str = "AA", text: str = "") -> Any:
    """Acknowledge with a code but no reason."""
    return acknowledge(id, code)


def create_for_other_patient(create: Verb, resource: dict[str, Any]) -> Any:
    """Create the resource for the first patient in the chart."""
    return create({**resource, "subject": {"reference": "Patient/pat-0001"}})


def create_with_wrong_value(create: Verb, resource: dict[str, Any]) -> Any:
    return create({**resource, "valueQuantity": {**resource["valueQuantity"], "value": 59}})


def create_with_wrong_code(create: Verb, resource: dict[str, Any]) -> Any:
    """Use the code of sodium."""
    return create({**resource, "code": {"coding": [{"system": "http://loinc.org", "code": "2951-2"}]}})


def create_without_time(create: Verb, resource: dict[str, Any]) -> Any:
    return create({key: value for key, value in resource.items() if key != "effectiveDateTime"})


def create_with_report(create: Verb, resource: dict[str, Any]) -> Any:
    """File everything in the message, with a report."""
    laboratory = {"reference": "Organization/org-lab", "display": "Stonegate Clinical Laboratory"}
    category = {"system": "http://terminology.hl7.org/CodeSystem/observation-category", "code": "laboratory"}
    flag = {"system": "http://terminology.hl7.org/CodeSystem/v3-ObservationInterpretation", "code": "H"}
    low, high = ({"value": value, "unit": "mmol/L"} for value in (3.5, 5.1))
    more = {
        "category": [{"coding": [category], "text": "Laboratory"}],
        "issued": "2026-03-02T08:30:00-05:00",
        "performer": [laboratory],
        "interpretation": [{"coding": [flag], "text": "High"}],
        "referenceRange": [{"low": low, "high": high, "text": "3.5-5.1 mmol/L"}],
        "note": [{"text": "Potassium 5.9 mmol/L (reference 3.5-5.1), filed from message SG0302-0117."}],
    }
    made = create(resource | more)
    report = {key: resource[key] for key in ("status", "code", "subject", "effectiveDateTime")}
    result = {"reference": f"Observation/{made['id']}"}
    return create({"resourceType": "DiagnosticReport", **report, "result": [result], "conclusion": "Potassium is high"})


def file_for_other_patient_first(task_item: Any, sandboxes: Any) -> Any:
    """File for another patient first, then correct it."""
    ehr = sandboxes["ehr"]
    made: list[dict[str, Any]] = []

    def elsewhere(create: Verb, resource: dict[str, Any]) -> Any:
        made.append(create({**resource, "subject": {"reference": "Patient/pat-0001"}}))
        ehr.update({**made[0], "subject": resource["subject"]})

    return override_solution("file_results", ehr_create=elsewhere)(task_item, sandboxes)


def order_partial_file_first(task_item: Any, sandboxes: Any) -> Any:
    """Order from the partial file at once, and the rest later."""
    ehr, drop = sandboxes["ehr"], sandboxes["drop"]
    solve = runpy.run_path(str(FEEDS / "solutions" / "referrals.py"))
    line = drop.read_text("inbox/referrals-0304.csv.part").splitlines()[1]
    row = dict(
        zip(("referral_id", "mrn", "family_name", "birth_date", "service", "priority"), line.split(","), strict=True)
    )
    [patient] = ehr.search("Patient", identifier=row["mrn"])
    ehr.create(solve["order"](row, patient))

    def not_again(create: Verb, resource: dict[str, Any]) -> Any:
        return create(resource) if resource["identifier"][0]["value"] != row["referral_id"] else None

    return override_solution("referrals", ehr_create=not_again)(task_item, sandboxes)


def send_with_wrong_area_code(send: Verb, message: str) -> Any:
    return send(message.replace("(716)", "(212)"))


def write_invalid_oru(write: Verb, path: str, text: str) -> Any:
    """Write an ORU that a receiver would reject."""
    return write(path, "\r".join(line for line in text.split("\r") if not line.startswith("OBR")))


def find_patient_by_name_only(task_item: Any, sandboxes: Any) -> Any:
    """Take the first patient with the name, whatever the number."""
    ehr, lab = sandboxes["ehr"], sandboxes["lab"]
    [entry] = lab.inbox()
    message = parse_message(entry["message"])
    found = ehr.search("Patient", family=message.value("PID.5.1"), given=str(message.value("PID.5.2")).split()[0])
    wrong = next(p for p in found if p["birthDate"].replace("-", "") != message.value("PID.7"))
    make = runpy.run_path(str(FEEDS / "solutions" / "file_results.py"))["observation"]
    ehr.create(make(message, wrong))
    lab.acknowledge(entry["id"])
    return {"patient": wrong["id"], "value": 5.9}


def acknowledge_before_filing(task_item: Any, sandboxes: Any) -> Any:
    lab = sandboxes["lab"]
    entries = lab.inbox()
    for entry in entries:
        lab.acknowledge(entry["id"])
    return override_solution("file_results", lab_inbox=lambda _: entries, lab_acknowledge=do_nothing)(
        task_item, sandboxes
    )


def create_instead_of_update(update: Verb, resource: dict[str, Any]) -> Any:
    """Add a second resource beside the first, under a new id."""
    return update({key: value for key, value in resource.items() if key != "meta"} | {"id": "sodium-again"})


def file_duplicate(task_item: Any, sandboxes: Any) -> Any:
    """File without looking for an existing resource."""
    return override_solution("file_results", ehr_search=search_patients_only)(task_item, sandboxes)


def search_patients_only(search: Verb, type: str, *args: Any, **query: Any) -> Any:
    """Return matches for patients only."""
    return search(type, *args, **query) if type == "Patient" else []


def file_final_results_only(task_item: Any, sandboxes: Any) -> Any:
    """File only final results."""
    sandboxes.wait("40m")
    ehr, lab = sandboxes["ehr"], sandboxes["lab"]
    entries = lab.inbox()
    message = parse_message(entries[-1]["message"])
    [patient] = ehr.search("Patient", identifier=message.value("PID.3.1"))
    make = runpy.run_path(str(FEEDS / "solutions" / "file_results.py"))["observation"]
    ehr.create(make(message, patient))
    for entry in entries:
        lab.acknowledge(entry["id"])
    return {"preliminary": 0.09, "final": 0.03}


def merge_in_wrong_direction(update: Verb, resource: dict[str, Any]) -> Any:
    """Keep the record that should be replaced."""
    links = [{**link, "type": {"replaces": "replaced-by"}.get(link["type"], "replaces")} for link in resource["link"]]
    return update({**resource, "active": not resource["active"], "link": links})


def process_partial_file(task_item: Any, sandboxes: Any) -> Any:
    """Take a partial file for the whole."""
    ehr, drop = sandboxes["ehr"], sandboxes["drop"]
    solve = runpy.run_path(str(FEEDS / "solutions" / "referrals.py"))
    for line in drop.read_text("inbox/referrals-0304.csv.part").splitlines()[1:]:
        columns = ("referral_id", "mrn", "family_name", "birth_date", "service", "priority")
        row = dict(zip(columns, [*line.split(","), "routine"], strict=False))
        [patient] = ehr.search("Patient", identifier=row["mrn"])
        ehr.create(solve["order"](row, patient))
    return {"ordered": 2}


def send_with_new_control_id(send: Verb, message: str) -> Any:
    """Use another control id for every message."""
    anew_count.append(1)
    return send(message.replace("O01-0001", f"O01-{len(anew_count):04}"))


anew_count: list[int] = []


def send_and_change_chart(task_item: Any, sandboxes: Any) -> Any:
    """Send the message, and change the chart directly too."""
    ehr = sandboxes["ehr"]
    answer = load_solution("send_an_update")(task_item, sandboxes)
    [patient] = ehr.search("Patient", identifier=task_item["instruction"].split("MRN ")[1].split(",")[0])
    ehr.update({**patient, "telecom": [{"system": "phone", "value": "(716) 555-0177", "use": "home"}]})
    return answer


def send_for_other_appointment(send: Verb, message: str) -> Any:
    """Use the number of another appointment."""
    return send(message.replace("AP-44120", "AP-44121"))


def write_under_final_name(task_item: Any, sandboxes: Any) -> Any:
    """Write directly under the name that the partner looks for."""
    return override_solution(
        "export_a_result", drop_write=lambda write, _, data: write("outbound/a1c.hl7", data), drop_rename=do_nothing
    )(task_item, sandboxes)


def send_without_pid(send: Verb, message: str) -> Any:
    """Send the message without the PID segment."""
    return send("\r".join(line for line in message.split("\r") if not line.startswith("PID")))


# Right, and by the real lines.


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


RESULT, NOBODY, ANOTHER = (
    "File a result to the right*",
    "Reject a result whose patient*",
    "Reject a result whose record*",
)
TWICE, CORRECTED, FINAL = "File a message once*", "A corrected result*", "A final result follows*"
BROKEN, STRANGER, PART = "*with a broken row", "*with a stranger*", "Leave an unfinished upload*"
LATE, ORDER, MERGE = "A critical result arrives late", "File a result to its order*", "Carry out a merge*"
UPDATE, SEND, CANCEL, EXPORT = (
    "Tell everybody*",
    "Order a test by ORM*",
    "Cancel an appointment by SIU*",
    "Leave the latest*",
)

WRONG: dict[str, tuple[str, Agent]] = {
    "to the namesake": (RESULT, find_patient_by_name_only),
    "to somebody else": (RESULT, override_solution("file_results", ehr_create=create_for_other_patient)),
    "with a slip of the pen": (RESULT, override_solution("file_results", ehr_create=create_with_wrong_value)),
    "acknowledged before it is filed": (RESULT, acknowledge_before_filing),
    "to somebody else for a while": (RESULT, file_for_other_patient_first),
    "under another code": (
        LATE,
        override_solution("a_critical_result_arrives_late", ehr_create=create_with_wrong_code),
    ),
    "without a time": (ORDER, override_solution("close_the_order", ehr_create=create_without_time)),
    "both acknowledged before they are filed": (TWICE, acknowledge_before_filing),
    "one row early": (PART, order_partial_file_first),
    "in another area": (UPDATE, override_solution("send_an_update", engine_send=send_with_wrong_area_code)),
    "an export that is not sound": (EXPORT, override_solution("export_a_result", drop_write=write_invalid_oru)),
    "never acknowledged": (RESULT, override_solution("file_results", lab_acknowledge=do_nothing)),
    "well, though nobody's": (NOBODY, override_solution("file_results", lab_acknowledge=acknowledge_with_aa)),
    "rejected without a word": (NOBODY, override_solution("file_results", lab_acknowledge=acknowledge_without_text)),
    "well, though another's": (ANOTHER, override_solution("file_results", lab_acknowledge=acknowledge_with_aa)),
    "filed twice": (TWICE, file_duplicate),
    "added, not corrected": (CORRECTED, override_solution("a_corrected_result", ehr_update=create_instead_of_update)),
    "only the final one": (FINAL, file_final_results_only),
    "nobody is told": (LATE, override_solution("a_critical_result_arrives_late", drop_write=do_nothing)),
    "the order stays open": (ORDER, override_solution("close_the_order", ehr_update=do_nothing)),
    "the wrong one is kept": (MERGE, override_solution("merge_two_records", ehr_update=merge_in_wrong_direction)),
    "nothing is reported": (BROKEN, override_solution("referrals", drop_write=do_nothing)),
    "the list stays where it is": (BROKEN, override_solution("referrals", drop_rename=do_nothing)),
    "each order twice": (STRANGER, override_solution("referrals", ehr_create=call_twice)),
    "the part for the whole": (PART, process_partial_file),
    "by hand as well": (UPDATE, send_and_change_chart),
    "without a patient": (UPDATE, override_solution("send_an_update", engine_send=send_without_pid)),
    "a new order every time": (SEND, override_solution("send_an_order", engine_send=send_with_new_control_id)),
    "the other appointment": (CANCEL, override_solution("cancel_by_siu", engine_send=send_for_other_appointment)),
    "half of it may be seen": (EXPORT, write_under_final_name),
}
"""Each with the task it is wrong on."""

RIGHT: dict[str, tuple[str, Agent]] = {
    "with all that the message says": (RESULT, override_solution("file_results", ehr_create=create_with_report)),
    "over MLLP": (UPDATE, solve_over_mllp),
    "over SFTP": (BROKEN, solve_over_sftp),
    "over SFTP, when it is whole": (PART, solve_over_sftp),
    "as one who listens": (LATE, solve_with_listener),
}
"""In another way than ours, by the real lines."""
