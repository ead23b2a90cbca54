"""Values of closed sets: an unknown value, or a name that the environment does not define, is a mistake when loaded."""

from collections.abc import Iterable, Mapping

import pytest

from clerkship.model.errors import InputError
from tests.suite_files.library_folder import LibraryFolder

ENVIRONMENT = """
environment:
  name: office
  now: 2026-03-02T09:00:00-05:00
  datasets: [clinic-100, letters]
  simulators:
    ehr: {kind: fhir}
    emr: {kind: cds}
    advice: {kind: cds_service}
    lab: {kind: hl7}
    drop: {kind: files}
    phone:
      kind: voice
      config:
        lines: [{number: "+15550177060", name: Pharmacy, tree: pharmacy, representatives: {pharmacist: pharmacist}}]
        mailboxes: [{name: pharmacy}, {name: prescribers}]
    fax: {kind: fax, config: {contacts: [{name: Lab, number: "+15550100310"}]}}
    desk: {kind: messages, config: {contacts: [{name: Ben, phone: "+15550100320", email: ben@example.org}]}}
  domains:
    payer: {kind: payer}
"""
LETTERS = "dataset: {name: letters, type: files, files: {a.txt: 'Please fax to (555) 010-0366.'}}"
TASK = """
task:
  name: A
  task_item: {instruction: "If the lab is closed, write to relay@example.net or call (555) 010-0399."}
  entities: [{id: patient, dataset: clinic-100, type: Patient, where: {id: pat-0001}}]
  scenario:
    steps:
      - fax.receive: {id: fax_0302, from: "+15550100344", text: Please call back.}
      - files.drop: {path: inbox/referral.txt, text: Please call back.}
      - hl7.send: {type: ADT^A08, control_id: SG-1, invalid: true, segments: "PID|1||1^^^C^MR||Delgado^Rosa"}STEPS
    people:
      - {name: Ana, sandbox: phone, channel: phone, address: "+15550100388", lines: [{say: Hello}]}
      - {name: Bo, sandbox: desk, channel: sms, address: "+15550100389", lines: [{say: Hello}]}
  criteria:CRITERIA
"""


@pytest.fixture
def office(folder: LibraryFolder) -> LibraryFolder:
    folder.write("office.yml", ENVIRONMENT)
    folder.write("letters.yml", LETTERS)
    return folder


UNKNOWN_IN_CRITERIA = {
    "{fax_sent: {status: faild, none: true}}": "fax_sent.status: unknown value `faild`; did you mean `failed`?",
    "{fax_sent: {status: {in: [delivered, bussy]}}}": "unknown value `bussy`; did you mean `busy`?",
    "{fax_sent: {status: {not: faild}}}": "unknown value `faild`; did you mean `failed`?",
    "{fax_sent: {status: [failed, busy], none: true}}": "write {in: […]} for one of several values",
    "{voice_call: {outcome: abandonned, none: true}}": "unknown value `abandonned`; did you mean `abandoned`?",
    "{voice_call: {ended_by: agnet, none: true}}": "unknown value `agnet`; did you mean `agent`?",
    "{voice_call: {number: '+15550177061', none: true}}": "no phone number `+15550177061` in office; did you mean `+15",
    "{voice_call: {number: ['+15550177060', '555 0177'], none: true}}": "voice_call.number.1: no phone number `555 017",
    "{voice_call: {transferred_to: pharmacyst, none: true}}": "no number or representative `pharmacyst` in office; did",
    "{voicemail_left: {mailbox: prescibers, none: true}}": "no mailbox `prescibers` in office; did you mean `prescribe",
    "{voice_disclosed: {entity: patient, mailbox: farmacy, none: true}}": "no mailbox `farmacy` in office; did you mea",
    "{voice_disclosed: {entity: patiant, none: true}}": "entity: no entity `patiant`; did you mean `patient`?",
    "{voice_path: {never: [main_manu]}}": "voice_path.never.0: no node of a phone tree `main_manu` in office; did you ",
    "{voice_path: [main_manu]}": "no node of a phone tree `main_manu` in office; did you mean `main_menu`?",
    "{voice_path: {count: {main_manu: 0}}}": "voice_path.count.main_manu: no node of a phone tree `main_manu`",
    "{voice_path: {tree: farmacy, never: [main_menu]}}": "no phone tree `farmacy` in office; did you mean",
    "{message_sent: {to: Bne, none: true}}": "no address `Bne` in office; expected a phone number, an",
    "{message_sent: {to: lab, none: true}}": "message_sent.to: no address `lab` in office",
    "{message_sent: {to: Patient/pat-9001, none: true}}": "no address `Patient/pat-9001` in office; did you mean `Pati",
    "{message_sent: {from: frontdesk@clinc.example, none: true}}": "no own address `frontdesk@clinc.example` in office",
    "{message_sent: {status: deliverd, none: true}}": "unknown value `deliverd`; did you mean `delivered`?",
    "{must_not_mention: patiant}": "no entity `patiant`; did you mean `patient`?",
    "{must_not_mention: {everyone_but: [patient, patiant]}}": "everyone_but.1: no entity `patiant`; did you mean `pati",
    "{fax_sent: {to: '+15550100311', none: true}}": "no fax number `+15550100311` in office; did you mean `+1555010031",
    "{fax_sent: {in_reply_to: fax_0303, none: true}}": "no fax `fax_0303` in office",
    "{fax_was_read: {id: fax_0303}}": "fax_was_read.id: no fax `fax_0303` in office",
    "{hl7_acknowledged: {code: AX, none: true}}": "unknown value `AX`",
    "{cds_card: {indicator: warnig, none: true}}": "unknown value `warnig`; did you mean `warning`?",
    "{cds_called: {service: order-safty, none: true}}": "no CDS service `order-safty` in office; did you mean `order-s",
    "{cds_called: {patient: pat-9001, none: true}}": "no patient `pat-9001` in office; did you mean `pat-0",
    "{cds_called: {card: {indicator: critcal}, none: true}}": "unknown value `critcal`; did you mean `critical`?",
    "{payer_state: {record: claim, where: {status: payed}, none: true}}": "where.status: unknown value `payed`; did yo",
    "{payer_state: {record: claim, fields: [{path: status, expected: payed}]}}": "fields.0.expected: unknown value `pa",
    "{never: {event: fax.status_changed, where: {status: faild}}}": "where.status: unknown value `faild`; did you mean",
    "{event_count: {event: fax.*, where: {status: faild}, expected: 0}}": "unknown value `faild`; did you mean `failed",
    "{sequencing: [{event: fax.status_changed, where: {status: {not: faild}}}]}": "sequencing.0.where.status: unknown ",
    "{fax_sent: {none: true, before: {event: fax.status_changed, where: {status: faild}}}}": "before.where.status: unk",
    "{any_of: [{fax_sent: {status: faild}}, {fax_sent: {to: '+15550100310'}}]}": "any_of.0.fax_sent.status: unknown va",
    "{fhir_was_not_read: {patient_other_than: patiant}}": "no entity `patiant`; did you mean `patient`?",
    "{fhir_was_not_read: {resource_type: Patient, id: pat-9001}}": "no resource id `pat-9001` in office; did you mean",
    "{fhir_no_other_changes: {must_not: [{change: any, type: Patient, id: pat-9001}]}}": "must_not.0.id: no resource i",
    "{file_was_read: {path: inbox/referal.txt, none: true}}": "no file `inbox/referal.txt` in office",
    "{hl7_acknowledged: {control_id: SG-2, none: true}}": "no message with the control id `SG-2` in office",
    "{voice_case: {member_id: CM974622052, none: true}}": "no member id `CM974622052` in office; did you mean `CM",
    "{cds_card: {resource: {type: MedicationRequst}}}": "unknown resource type `MedicationRequst`; did you mean `Medic",
    "{voice_case: {recorded: {type: Comunication, path: x}}}": "unknown resource type `Comunication`; did you mean",
    "{max_agent_actions: {limit: 0, method: PSOT}}": "no request method `PSOT` in office; did you mean `POST`?",
}
FREE_IN_CRITERIA = (
    "{fax_sent: {status: {matches: '^fai'}, none: true}}",
    "{fax_sent: {to: {equals: '+15550100311'}, none: true}}",
    "{fax_sent: {to: '555-010-0310'}}",
    "{fax_sent: {to: '+15550100344', none: true}}",  # a step mentions it
    "{fax_sent: {in_reply_to: fax_0302}}",
    "{fax_sent: {to: '+15550100366', none: true}}",  # a file of a dataset mentions it
    "{voice_call: {number: '+15550100388'}}",  # the number of a person
    "{voice_call: {number: '+1 555 010 0399', none: true}}",  # the instruction mentions it
    "{voice_path: [welcome, Pharmacy/main_menu]}",
    "{message_sent: {to: [Ben@example.org, '+15550100389', Patient/pat-0001]}}",
    "{message_sent: {to: relay@example.net, none: true}}",
    "{message_sent: {to: '{{ patient.telecom.0.value }}'}}",
    "{cds_called: {patient: 'Patient/{{ patient.id }}', service: order-safety}}",
    "{cds_called: {patient: Patient/pat-0002}}",
    "{event_count: {event: fax.*, where: {status: failed}, expected: 0}}",
    "{payer_state: {record: claim, where: {status: {in: [paid, denied]}}, count: {gte: 0}}}",
    "{max_agent_actions: {limit: 0, method: send_fax}}",
    "{file_was_read: {path: inbox/referral.txt, none: true}}",
    "{file_was_read: {path: 'inbox/*', none: true}}",
    "{hl7_acknowledged: {control_id: SG-1, none: true}}",
    "{max_agent_actions: {limit: 0, method: POST}}",
)
UNKNOWN_IN_STEPS = {
    "{voice.voicemail: {mailbox: farmacy, from: '+15550100388', text: Hi}}": "no mailbox `farmacy` in office; did you ",
    "{voice.call: {person: Anna}}": "voice.call.person: no person `Anna`; did you mean `Ana`?",
    "{voice.call: {from: '+15550100377', to: '+15550100101', says: [Hi]}}": "voice.call.to: no own number `+1555010010",
    "{voice.line: {number: '+15550177061', ring: 3s}}": "no line `+15550177061` in office; did you mean `+15550177060`",
    "{voice.long_hold: {factor: 2, queue: main_menu}}": "no queue `main_menu` in office",
    "{voice.busy: {number: '+15550177061'}}": "no phone number `+15550177061` in office",
    "{fax.receive: {from: '+15550100310', to: '+15550100201', text: Hi}}": "fax.receive.to: no own fax number `+155501",
    "{messages.receive: {channel: sms, from: '+15550100389', to: '+15550100101', text: Hi}}": "no own address `+155501",
    "{messages.set_consent: {number: '+15550100320', own_number: '+15550100101', consent: opted_in}}": "no own address",
    "{cds_service.set_cards: {service: order-safty, cards: []}}": "no CDS service `order-safty` in office; did you mea",
    "{cds.fire: {hook: patient-view, patient: pat-9001}}": "cds.fire.patient: no patient `pat-9001` in office; did you",
    "{payer.set_eligibility: {patient: Patient/pat-9001, group: G1}}": "no patient `Patient/pat-9001` in offic",
    "{payer.determine: {match: {plan: [hmo*, golden]}, status: denied}}": "match.plan.1: no plan `golden` in",
    "{payer.set_claim: {number: C-1, status: paid}}": "payer.set_claim.number: no claim `C-1` in office",
}
FREE_IN_STEPS = (
    "{voice.call: {person: Ana}}",
    "{voice.busy: {number: '+15550100388'}}",
    "{messages.set_consent: {number: '+15550100389', consent: opted_out}}",
    "{cds.fire: {hook: patient-view, patient: '{{ patient.id }}'}}",
    "{payer.set_eligibility: {patient: Patient/pat-0013, group: G1}}",
)


def list_mistakes(office: LibraryFolder) -> list[str]:
    try:
        office.load()
    except InputError as error:
        return office.format_problems(error.problems)
    return []


def find_by_line(office: LibraryFolder, parts: Iterable[str]) -> dict[str, list[str]]:
    """Load one task with these lines, and return the mistakes in each of them."""
    lines = (office.root / "t.yml").read_text().splitlines()
    mistakes = list_mistakes(office)
    assert all(mistake.startswith("t.yml:") for mistake in mistakes), mistakes
    places = {part: next(number for number, line in enumerate(lines, 1) if part in line) for part in parts}
    return {part: [each for each in mistakes if each.startswith(f"t.yml:{line}:")] for part, line in places.items()}


def find_wrong(office: LibraryFolder, expected: Mapping[str, str]) -> list[str]:
    """Return the lines that do not have exactly one mistake with the expected words."""
    found = find_by_line(office, expected)
    return [f"{part}: {each}" for part, each in found.items() if len(each) != 1 or expected[part] not in each[0]]


def write_criteria(office: LibraryFolder, *assertions: str) -> LibraryFolder:
    criteria = "".join(f"\n    - {{label: x, assertion: {each}}}" for each in assertions)
    office.write("t.yml", TASK.replace("STEPS", "").replace("CRITERIA", criteria))
    return office


def write_steps(office: LibraryFolder, *steps: str) -> LibraryFolder:
    written = "".join(f"\n      - {each}" for each in steps)
    office.write("t.yml", TASK.replace("STEPS", written).replace("CRITERIA", " []"))
    return office


def test_unknown_values_and_names_in_criteria_are_mistakes(office: LibraryFolder) -> None:
    assert find_wrong(write_criteria(office, *UNKNOWN_IN_CRITERIA), UNKNOWN_IN_CRITERIA) == []


def test_matchers_templates_and_known_names_in_criteria_are_accepted(office: LibraryFolder) -> None:
    assert list_mistakes(write_criteria(office, *FREE_IN_CRITERIA)) == []


def test_unknown_names_in_steps_are_mistakes(office: LibraryFolder) -> None:
    assert find_wrong(write_steps(office, *UNKNOWN_IN_STEPS), UNKNOWN_IN_STEPS) == []


def test_names_of_people_records_and_templates_in_steps_are_accepted(office: LibraryFolder) -> None:
    assert list_mistakes(write_steps(office, *FREE_IN_STEPS)) == []


def test_nodes_of_a_tree_that_a_step_brings_are_known(office: LibraryFolder) -> None:
    write_steps(office, "{voice.menu: {number: '+15550177060', tree: provider_line}}")
    criterion = "criteria: [{label: x, assertion: {voice_path: {never: [find_provider]}}}]"
    office.write("t.yml", (office.root / "t.yml").read_text().replace("criteria: []", criterion))
    assert list_mistakes(office) == []


def test_a_mistake_in_the_environment_does_not_make_names_unknown(office: LibraryFolder) -> None:
    office.write("office.yml", ENVIRONMENT.replace("{name: pharmacy}, ", "{nam: pharmacy}, "))
    write_criteria(office, "{voicemail_left: {mailbox: pharmacy, none: true}}")
    assert {line.split(":")[0] for line in office.lines()} == {"office.yml"}


def test_assertions_of_a_scenario_file_are_checked_too(office: LibraryFolder) -> None:
    office.scenario("""
        environment: office
        goals:
          assertions:
            - fax_sent: {status: faild}
            - voicemail_left: {mailbox: farmacy}
            - must_not_mention: patient
    """)
    _, first, second, third = office.lines()  # the first is about the missing chat
    assert "assertions.0.fax_sent.status: unknown value `faild`; did you mean `failed`?" in first
    assert "assertions.1.voicemail_left.mailbox: no mailbox `farmacy` in office; did you mean" in second
    assert "no entity `patient`; none is defined" in third
