"""Tests of ADT: patients, visits, and messages that do not match their patient."""

import pytest

from clerkship.formats.fhir.resource import Resource
from clerkship.simulators.fhir.events import NothingChanged
from tests.reactions.hl7_to_fhir.clinic import ANA, CHART, EVA, MAY, MRN, PID, WARD, Clinic, build_msh

EVN = "EVN||20260302090000"
NEW = (
    "PID|1||5000^^^CLINIC^MR~999^^^&1.2.3&ISO^PI||Lee^Jo^Q^Jr^Dr^MD^L~Leigh^Jo^^^^^M||198001021530|M|||"
    "9 Oak^Apt 2^Riverbend^NY^00102^USA^H^^Kings||^PRN^PH^^1^518^5550199^7~^NET^Internet^jo@mail.example|"
    "(518) 555-0200|es^Spanish|M|||999-11-2222"
)


def build_pv1(
    *, number: str = "V-1", place: str = "W3^12^A", kind: str = "I", start: str = "20260302084500", end: str = ""
) -> str:
    fields = {
        2: kind,
        3: place,
        7: "9999910000^May^Ida^^^^^^NPI",
        14: "7",
        19: number,
        36: "01" if end else "",
        44: start,
        45: end,
    }
    return "|".join(["PV1", "1", *(fields.get(at, "") for at in range(2, 46))]).rstrip("|")


def adt(trigger: str, structure: str = "") -> str:
    return build_msh(f"ADT^{trigger}^ADT_{structure or trigger}")


def admit_patient(clinic: Clinic) -> str:
    """Admit Ana, and return the key of her visit."""
    [key] = clinic.file(adt("A01"), EVN, PID, build_pv1())
    return key


def test_message_type_in_lower_case_is_filed() -> None:
    clinic = Clinic()
    head = adt("A01").replace("ADT^A01^ADT_A01", "adt^a01")
    [event] = clinic.receive(head, EVN, PID, build_pv1(), checked=False)
    assert event.kind == "fhir.resource.created"


def test_a04_registers_new_patient_with_all_fields() -> None:
    clinic = Clinic()
    patient, encounter = clinic.file(adt("A04", "A01"), EVN, NEW, build_pv1(kind="O", number="V-9^^^CLINIC"))
    resource = clinic.get(patient)
    assert [(each.get("use"), each.get("system"), each["value"]) for each in resource["identifier"]] == [
        ("usual", None, "5000"),
        (None, "urn:oid:1.2.3", "999"),
        (None, "http://hl7.org/fhir/sid/us-ssn", "999-11-2222"),
    ]
    assert resource["identifier"][0]["assigner"] == {"display": "CLINIC"}
    assert resource["name"] == [
        {
            "use": "official",
            "family": "Lee",
            "given": ["Jo", "Q"],
            "prefix": ["Dr"],
            "suffix": ["Jr", "MD"],
            "text": "Dr Jo Q Lee Jr MD",
        },
        {"use": "maiden", "family": "Leigh", "given": ["Jo"], "text": "Jo Leigh"},
    ]
    assert (resource["birthDate"], resource["gender"], resource["active"]) == ("1980-01-02", "male", True)
    [address] = resource["address"]
    assert (address["line"], address["district"], address["country"]) == (["9 Oak", "Apt 2"], "Kings", "USA")
    assert [(each["system"], each["use"], each["value"]) for each in resource["telecom"]] == [
        ("phone", "home", "+1 (518) 5550199 x7"),
        ("email", "home", "jo@mail.example"),
        ("phone", "work", "(518) 555-0200"),
    ]
    assert resource["communication"][0]["language"]["coding"][0]["system"] == "urn:ietf:bcp:47"
    assert resource["maritalStatus"]["coding"][0]["code"] == "M"
    assert clinic.get(encounter)["class"]["code"] == "AMB"
    assert clinic.replay() == clinic.state.dump()


def test_configured_authority_sets_identifier_system() -> None:
    clinic = Clinic(authorities={"CLINIC": MRN})
    [key] = clinic.file(adt("A28", "A05"), EVN, NEW, "PV1|1|N")
    assert clinic.get(key)["identifier"][0]["system"] == MRN
    assert clinic.file(adt("A31", "A05"), EVN, PID.replace("|F", "|U"), "PV1|1|N") == ["Patient/ana"]
    other = Clinic(authorities={"CLINIC": "http://other.example/mrn"})
    assert "no patient in this chart" in other.refusal_text(adt("A31", "A05"), EVN, PID, "PV1|1|N")


def test_admission_creates_encounter_that_is_moved_and_ended() -> None:
    clinic = Clinic()
    key = admit_patient(clinic)
    resource = clinic.get(key)
    assert (resource["status"], resource["class"]["code"]) == ("in-progress", "IMP")
    assert resource["subject"]["reference"] == "Patient/ana"
    assert resource["period"] == {"start": "2026-03-02T08:45:00-05:00"}
    assert resource["participant"][0]["individual"] == {"reference": "Practitioner/may", "display": "Ida May"}
    assert resource["location"][0]["location"] == {"reference": "Location/ward", "display": "Ward 3, room 12, bed A"}
    clinic.file(adt("A02"), "EVN||20260302120000", PID, build_pv1(place="ICU^1"))
    stays = clinic.get(key)["location"]
    assert [each["status"] for each in stays] == ["completed", "active"]
    assert stays[0]["period"]["end"] == stays[1]["period"]["start"] == "2026-03-02T12:00:00-05:00"
    assert stays[1]["location"] == {"display": "ICU, room 1"}
    clinic.file(adt("A03"), "EVN||20260304101500", PID, build_pv1(place="ICU^1", end="20260304100000"))
    resource = clinic.get(key)
    assert (resource["status"], resource["period"]["end"]) == ("finished", "2026-03-04T10:00:00-05:00")
    assert resource["hospitalization"]["dischargeDisposition"]["coding"][0]["code"] == "01"
    assert [each["status"] for each in resource["location"]] == ["completed", "completed"]
    clinic.file(adt("A13", "A01"), EVN, PID, build_pv1())
    resource = clinic.get(key)
    assert (resource["status"], "end" in resource["period"]) == ("in-progress", False)
    assert resource["location"][-1]["status"] == "active"


def test_repeated_visit_messages_change_nothing() -> None:
    clinic = Clinic()
    for message in (
        (adt("A01"), EVN, PID, build_pv1()),
        (adt("A02"), EVN, PID, build_pv1(place="ICU")),
        (adt("A03"), EVN, PID, build_pv1(end="20260304100000")),
    ):
        clinic.file(*message)
        before = clinic.state.dump()
        [event] = clinic.receive(*message)
        assert isinstance(event.payload, NothingChanged)
        assert clinic.state.dump() == before
    assert "is finished: ADT^A01 cannot start it again" in clinic.refusal_text(adt("A01"), EVN, PID, build_pv1())


def test_planned_visit_starts_and_cancelled_visit_ends() -> None:
    clinic = Clinic()
    [key] = clinic.file(adt("A05"), EVN, PID, build_pv1(start=""), "PV2||||||||20260310")
    assert (clinic.get(key)["status"], clinic.get(key)["period"]) == ("planned", {"start": "2026-03-10"})
    assert clinic.file(adt("A01"), EVN, PID, build_pv1()) == [key]
    assert clinic.get(key)["period"] == {"start": "2026-03-02T08:45:00-05:00"}
    clinic.file(adt("A06"), EVN, PID, build_pv1(kind="O"))
    assert clinic.get(key)["class"]["code"] == "AMB"
    clinic.file(adt("A11", "A09"), EVN, PID, build_pv1())
    assert clinic.get(key)["status"] == "cancelled"
    assert "is cancelled" in clinic.refusal_text(adt("A03"), EVN, PID, build_pv1())


def test_visit_without_number_matches_the_open_one() -> None:
    clinic = Clinic()
    nameless = build_pv1(number="")
    assert "has 0 visits that are in-progress" in clinic.refusal_text(adt("A03"), EVN, PID, nameless)
    [key] = clinic.file(adt("A01"), EVN, PID, nameless)
    assert [event.kind for event in clinic.receive(adt("A01"), EVN, PID, nameless)] == ["fhir.nothing.changed"]
    assert clinic.file(adt("A03"), EVN, PID, nameless) == [key]
    assert "has no visit with the number `V-7` (VN)" in clinic.refusal_text(
        adt("A03"), EVN, PID, build_pv1(number="V-7")
    )


def test_visit_of_other_patient_is_refused() -> None:
    clinic = Clinic()
    admit_patient(clinic)
    eva = "PID|1||4712^^^CLINIC^MR||Brandt^Eva||19710701|F"
    assert "is Patient/ana's" in clinic.refusal_text(adt("A03"), EVN, eva, build_pv1())


def test_update_leaves_missing_fields_unchanged() -> None:
    clinic = Clinic()
    moved = (
        'PID|1||4711^^^CLINIC^MR||Silva^Ana^Maria||19650315|""|||7 Ash St^^Riverbend^NY^00103||^PRN^PH^^^518^5550107'
    )
    assert clinic.file(adt("A08", "A01"), EVN, moved, "PV1|1|O") == ["Patient/ana"]
    resource = clinic.get("Patient/ana")
    assert "gender" not in resource
    assert resource["name"] == ANA["name"]
    assert resource["telecom"] == ANA["telecom"]
    assert resource["identifier"] == ANA["identifier"]
    assert [(each["line"], each["postalCode"]) for each in resource["address"]] == [(["7 Ash St"], "00103")]
    [event] = clinic.receive(adt("A08", "A01"), EVN, moved, "PV1|1|O")
    assert isinstance(event.payload, NothingChanged)


def test_number_with_its_country_code_is_the_same_number() -> None:
    clinic = Clinic()
    clinic.receive(adt("A08", "A01"), EVN, f"{PID}|||||^PRN^PH^^1^518^5550107", "PV1|1|O")
    assert clinic.get("Patient/ana")["telecom"] == ANA["telecom"]


def test_new_name_replaces_same_use_and_null_removes() -> None:
    clinic = Clinic()
    married = 'PID|1||4711^^^CLINIC^MR||Costa^Ana^^^^^L||19650315||||""||""'
    clinic.file(adt("A31", "A05"), EVN, married, "PV1|1|N")
    resource = clinic.get("Patient/ana")
    assert [(each["use"], each["family"]) for each in resource["name"]] == [("official", "Costa"), ("maiden", "Souza")]
    assert "address" not in resource
    assert "telecom" not in resource


def test_two_telecoms_of_one_use_are_both_kept() -> None:
    clinic = Clinic()
    both = f"{PID}|||||(518) 555-0111{'|' * 27}^PRN^PH^^^518^5550122~^PRN^PH^^^518^5550133"
    message = build_msh("ADT^A08^ADT_A01", version="2.7"), "EVN||20260302090000", both, "PV1|1|O"
    for _ in range(2):
        clinic.receive(*message, checked=False)
        phones = [each["value"] for each in clinic.get("Patient/ana")["telecom"] if each["system"] == "phone"]
        assert phones == ["(518) 555-0111", "(518) 5550122", "(518) 5550133"]


def test_number_outside_north_america_is_the_same_in_national_notation() -> None:
    clinic = Clinic()

    def send(*numbers: str) -> list[str]:
        pid = f"{PID}|||||{'~'.join(numbers)}"
        clinic.receive(adt("A08", "A01"), EVN, pid, "PV1|1|O", checked=False)
        return [each["value"] for each in clinic.get("Patient/ana")["telecom"] if each["system"] == "phone"]

    assert send("+44 20 7946 0958", "+49 30 901820") == ["+44 20 7946 0958", "+49 30 901820"]
    assert send("030 901820", "020 7946 0958") == ["+44 20 7946 0958", "+49 30 901820"]
    assert send("(207) 946-0958", "030 901820") == ["(207) 946-0958", "+49 30 901820"]


def test_deceased_is_set_and_removed() -> None:
    clinic = Clinic()

    def set_deceased(when: str, whether: str) -> Resource:
        clinic.file(adt("A08", "A01"), EVN, f"{PID}{'|' * 21}{when}|{whether}", "PV1|1|O")
        return {name: value for name, value in clinic.get("Patient/ana").items() if name.startswith("deceased")}

    assert set_deceased("", "Y") == {"deceasedBoolean": True}
    assert set_deceased("20260301", "Y") == {"deceasedDateTime": "2026-03-01"}
    assert set_deceased("", "Y") == {"deceasedDateTime": "2026-03-01"}
    assert set_deceased('""', "N") == {"deceasedBoolean": False}
    assert set_deceased("", '""') == {}


@pytest.mark.parametrize(
    ("pid", "why"),
    [
        ("PID|1||77^^^CLINIC^MR||Roe^Jane||19700101|F", "no patient in this chart has the number `77` (CLINIC, MR)"),
        (
            "PID|1||4711^^^CLINIC^MR~4712^^^CLINIC^MR||Silva^Ana||19650315",
            "match several patients: Patient/ana, Patient/eva",
        ),
        (
            "PID|1||4711^^^CLINIC^MR||Roe^Jane||19700101",
            "who is Ana Maria Silva, born 1965-03-15, female; PID-5 and PID-7 say Jane Roe, born 19700101",
        ),
        ("PID|1||4712^^^CLINIC^MB||Brandt^Eva||19710701", "they are different patients"),
        ("PID|1||ana^^^CLINIC^MR||Silva^Ana||19650315", "no patient in this chart"),
        ("PID|1||||Silva^Ana||19650315", "PID-3 (patient number) is missing"),
        ("PID|1||4711^^^CLINIC^MR||Zhou^Bao", "PID-5 and PID-7 say Bao Zhou: they are different patients"),
        ("PID|1||4711^^^CLINIC^MR||Zhou^Bao||196503", "they are different patients"),
        ("PID|1||4711^^^CLINIC^MR||||19700101", "they are different patients"),
        (
            "PID|1||4711^^^CLINIC^MR||Silva^Bruno||19650315|M",
            "say Bruno Silva, born 19650315, male: they are different patients",
        ),
        ("PID|1||4711^^^CLINIC^MR||Silva^Bruno", "they are different patients"),
        ("PID|1||4711^^^CLINIC^MR||Silva^Ana||19700101|M", "they are different patients"),
        (
            "PID|1||4711^^^OTHERHOSP^MR||Zhou^Bao||19650315|M",
            "no patient in this chart has the number `4711` (OTHERHOSP, MR)",
        ),
        ("PID|1||4711^^^OTHERHOSP^MR||Costa^Ana||19650315|F", "no patient in this chart"),
        ("PID|1||4711^^^OTHERHOSP^MR||Silva^Ana||19650315|M", "no patient in this chart"),
        ("PID|1||ana^^^OTHERHOSP^PI||Costa^Ana||19650315", "no patient in this chart"),
    ],
)
def test_mismatching_patient_is_refused(pid: str, why: str) -> None:
    assert why in Clinic().refusal_text(adt("A08", "A01"), EVN, pid, "PV1|1|O", checked=False)


@pytest.mark.parametrize(
    "pid",
    [
        "PID|1||4711^^^CLINIC^MR||Souza^Ana||19700101",
        "PID|1||4711^^^CLINIC^MR||SILVA^A||19700101",
        "PID|1||4711^^^CLINIC^MR||Roe^Jane||19650315",
        "PID|1||4711^^^CLINIC^MR||Silva^Anna",
        "PID|1||4711^^^CLINIC^MR||Silva^Maria",
        "PID|1||4711^^^OTHERHOSP^MR||Silva^Ana||19650315",
        "PID|1||4711^^^CLINIC^MRN||Silva^Ana||19650315",
        "PID|1||4712^^^CLINIC^MRN||Brandt^Eva||19710701",
        "PID|1||4711^^^CLINIC^MR||Silva-Costa^Ana",
        "PID|1||4711^^^CLINIC^EPI||Silva^Ana||19650315",
        "PID|1||4711^^^CLINIC^U||Silva^Ana||19650315",
        "PID|1||4711^^^CLINIC^MR||Costa^Ana||19650315",
        "PID|1||4711||Silva^Ana||19650315",
        "PID|1||ana^^^CLINIC^PI||Silva^Ana||19650315",
        "PID|1||4711^^^&http://clinic.example/mrn&URI^MR||Silva^Ana||19650315",
        "PID|1||1~4711^^^CLINIC^PI||Silva^Ana||19650315",
    ],
)
def test_matching_name_or_birth_date_suffices(pid: str) -> None:
    assert Clinic().receive(adt("A08", "A01"), EVN, pid, "PV1|1|O")[0].kind in (
        "fhir.resource.updated",
        "fhir.nothing.changed",
    )


def test_ambiguous_number_is_refused() -> None:
    twin = {**EVA, "id": "twin"}
    clinic = Clinic(*CHART, twin)
    reason = clinic.refusal_text(adt("A04", "A01"), EVN, "PID|1||4712^^^CLINIC^MR||Brandt^Eva||19710701", "PV1|1|O")
    assert "match several patients" in reason


@pytest.mark.parametrize("type", ["MRN", "AN", ""])
def test_same_number_of_other_type_does_not_create_duplicate(type: str) -> None:
    clinic = Clinic(EVA, authorities={"OTHER": "http://other.example/ids"})
    pid = f"PID|1||4712^^^OTHER^{type}||Brandt^Eva||19710701|F"
    reason = clinic.refusal_text(adt("A04", "A01"), EVN, pid, "PV1|1|O", checked=False)
    assert "Patient/eva, who is Eva Brandt, born 1971-07-01, has the number `4712`" in reason
    stranger = pid.replace("Brandt^Eva||19710701", "Roe^Jane||19700101")
    [patient, _] = clinic.file(adt("A04", "A01"), EVN, stranger, "PV1|1|O")
    assert clinic.get(patient)["name"][0]["family"] == "Roe"


def test_unknown_identifier_type_is_kept_as_text() -> None:
    clinic = Clinic()
    patient = clinic.file(adt("A28", "A05"), EVN, "PID|1||5000^^^CLINIC^MRN||Roe^Jane||19700101", "PV1|1|N")[0]
    assert clinic.get(patient)["identifier"][0]["type"] == {"text": "MRN"}
    again = "PID|1||5000^^^CLINIC^MR||Roe^Jane||19700101"
    assert clinic.file(adt("A04", "A01"), EVN, again, "PV1|1|O")[0].startswith("Encounter/")


def test_same_number_of_other_authority_is_other_patient() -> None:
    clinic = Clinic()
    zhou = "PID|1||4711^^^OTHERHOSP^MR||Zhou^Bao||19800101|M"
    [patient, _] = clinic.file(adt("A04", "A01"), EVN, zhou, "PV1|1|O")
    assert clinic.get(patient)["name"][0]["family"] == "Zhou"
    assert clinic.file(adt("A08", "A01"), EVN, f"{zhou}|||9 Oak^^Riverbend", "PV1|1|O") == [patient]


@pytest.mark.parametrize(
    ("trigger", "pid", "status", "code"),
    [
        ("A08", "PID|1||77^^^CLINIC^MR||Roe^Jane||19700101|F", 404, "not-found"),
        ("A08", "PID|1||4711^^^OTHERHOSP^MR||Zhou^Bao||19800101|M", 404, "not-found"),
        ("A08", "PID|1||4711^^^CLINIC^MR||Roe^Jane||19700101|F", 409, "conflict"),
        ("A08", "PID|1||4711^^^CLINIC^MR~4712^^^CLINIC^MR||Silva^Ana||19650315", 409, "multiple-matches"),
        ("A04", "PID|1||4711^^^CLINIC^AN||Silva^Ana||19650315", 409, "duplicate"),
        ("A21", PID, 501, "not-supported"),
        ("A08", "PID|1||||Silva^Ana||19650315", 422, "required"),
    ],
)
def test_refusal_has_issue_code(trigger: str, pid: str, status: int, code: str) -> None:
    refusal = Clinic().objection(adt(trigger, "A21" if trigger == "A21" else "A01"), EVN, pid, "PV1|1|O", checked=False)
    assert (refusal.status, refusal.code) == (status, code)


def test_invalid_message_is_refused_completely() -> None:
    clinic = Clinic()
    bad = clinic.refusal_text(adt("A01"), EVN, NEW, build_pv1(start="2026-03-02"), checked=False)
    assert "PV1-44: `2026-03-02` is not a time" in bad
    assert "PID-8: `Q` is not a valid administrative sex" in clinic.refusal_text(
        adt("A04", "A01"), EVN, NEW.replace("|M|||", "|Q|||"), build_pv1()
    )
    assert "unsupported trigger event ADT^A21" in clinic.refusal_text(adt("A21"), EVN, PID, "PV1|1|O")
    assert "no PID" in clinic.refusal_text(adt("A01"), EVN, checked=False)
    assert len(clinic.state.find("Patient")) == 2


def test_messages_are_filed_in_read_only_chart() -> None:
    assert Clinic(ANA, MAY, WARD, read_only=True).file(adt("A01"), EVN, PID, build_pv1())
