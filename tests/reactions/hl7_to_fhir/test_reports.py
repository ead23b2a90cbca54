"""Tests of matching an OBR to its report."""

from clerkship.simulators.fhir.events import NothingChanged
from tests.reactions.hl7_to_fhir.clinic import PID, Clinic, build_msh
from tests.reactions.hl7_to_fhir.test_oru import obx

ORU = build_msh("ORU^R01^ORU_R01")
CULTURE = "600-7^Bacteria identified^LN"
GLUCOSE = "2345-7^Glucose^LN"


def obr(code: str = GLUCOSE, start: str = "20260302080000", *, status: str = "F", **more: str) -> str:
    """Build an OBR; `more` sets other fields: `f26="…"`."""
    fields = {"f1": "1", "f3": "L-1", "f4": code, "f7": start, "f22": "20260302110000", "f24": "MB", "f25": status}
    fields |= more
    return "|".join(["OBR", *(fields.get(f"f{number}", "") for number in range(1, 30))]).rstrip("|")


def organisms(first: str = "R", second: str = "S", status: str = "F") -> tuple[str, ...]:
    """Build a blood culture with two organisms and their susceptibilities."""

    def panel(number: int, sub: str, found: str) -> tuple[str, str]:
        parent = f"600-7&Bacteria&LN^{sub}"
        asked = obr("18769-0^Susceptibility^LN", f1=str(number), f26=parent, f29="^L-1", status=status)
        return asked, obx("ST", found, code="18862-3^Ampicillin^LN", more=f"||{found}|||{status}")

    return (
        ORU,
        PID,
        obr(CULTURE),
        obx("ST", "E. coli", code=CULTURE, sub="1", more="|||||F"),
        obx("ST", "Klebsiella", code=CULTURE, sub="2", more="|||||F"),
        *panel(2, "1", first),
        *panel(3, "2", second),
    )


def susceptible(clinic: Clinic) -> dict[str, str]:
    """Return the ampicillin result of each organism."""
    found = clinic.state.find("Observation", [("code", "18862-3")])
    named = {each["id"]: clinic.get(each["derivedFrom"][0]["reference"])["valueString"] for each in found}
    return {named[each["id"]]: each["valueString"] for each in found}


def test_susceptibilities_stay_with_their_organism() -> None:
    clinic = Clinic()
    clinic.file(*organisms())
    assert susceptible(clinic) == {"E. coli": "R", "Klebsiella": "S"}
    numbers = [each["value"] for one in clinic.state.find("Observation") for each in one["identifier"]]
    assert len(numbers) == len(set(numbers)) == 4
    [event] = clinic.receive(*organisms())
    assert isinstance(event.payload, NothingChanged)
    clinic.file(*organisms(second="I", status="C"))
    assert susceptible(clinic) == {"E. coli": "R", "Klebsiella": "I"}
    assert len(clinic.state.find("DiagnosticReport")) == 3
    bare = obr("18769-0^Susceptibility^LN", status="C"), obx("ST", "S", code="18862-3^Ampicillin^LN", more="|||||C")
    assert "matches several reports" in clinic.refusal_text(ORU, PID, *bare)


def series(*found: tuple[str, str], status: str = "F", at: str = "20260302110000") -> tuple[str, ...]:
    """Build glucose results with one number at several times."""
    lines = [ORU, PID]
    for number, (start, value) in enumerate(found, 1):
        lines += [obr(start=start, f1=str(number), status=status, f22=at), obx(value=value, code=GLUCOSE)]
    return tuple(lines)


def glucoses(clinic: Clinic) -> dict[str, float]:
    """Return the glucose values by hour."""
    found = clinic.state.find("Observation")
    return {each["effectiveDateTime"][11:13]: float(each["valueQuantity"]["value"]) for each in found}


def test_specimens_with_same_number_are_separate_reports() -> None:
    clinic = Clinic()
    both = series(("20260302080000", "90"), ("20260302100000", "210"))
    clinic.file(*both)
    assert glucoses(clinic) == {"08": 90, "10": 210}
    [event] = clinic.receive(*both)
    assert isinstance(event.payload, NothingChanged)
    clinic.file(*series(("20260302100000", "201"), status="C", at="20260302120000"))
    assert glucoses(clinic) == {"08": 90, "10": 201}
    clinic.file(*series(("20260302120000", "140"), ("20260302080000", "91"), at="20260302120000"))
    assert glucoses(clinic) == {"08": 91, "10": 201, "12": 140}
    assert len(clinic.state.find("DiagnosticReport")) == 3


def test_later_specimen_creates_new_report() -> None:
    clinic = Clinic()
    clinic.file(*series(("20260302080000", "90")))
    clinic.file(*series(("20260302100000", "210")))
    assert glucoses(clinic) == {"08": 90, "10": 210}


def test_correction_may_change_specimen_time() -> None:
    clinic = Clinic()
    first = clinic.file(*series(("20260302080000", "90")))
    assert clinic.file(*series(("20260302083000", "95"), status="C")) == first
    clinic.file(*series(("202603020830-0500", "96"), status="C"))
    assert len(clinic.state.find("DiagnosticReport")) == 1


def test_indistinguishable_reports_are_refused() -> None:
    clinic = Clinic()
    assert "distinguishes them" in clinic.refusal_text(*series(("20260302080000", "90"), ("20260302080000", "210")))
    assert "distinguishes them" in clinic.refusal_text(*series(("20260302080000", "90"), ("20260302", "210")))
    assert "distinguishes them" in clinic.refusal_text(*series(("", "90"), ("20260302", "210")), checked=False)
    clinic.file(*series(("20260302080000", "90"), ("20260302100000", "210")))
    assert "matches several reports" in clinic.refusal_text(*series(("", "90")), checked=False)


def test_results_of_report_without_number_are_updated() -> None:
    clinic = Clinic()
    found = [obx("ST", name, code=CULTURE, sub=sub, more="|||||F") for name, sub in (("a", "1"), ("b", "2"))]
    for _ in range(2):
        clinic.receive(ORU, PID, obr(CULTURE, f3=""), *found, checked=False)
        assert {each["valueString"] for each in clinic.state.find("Observation")} == {"a", "b"}
        assert len(clinic.state.find("Observation")) == 2


def test_preliminary_report_without_filler_number_is_updated() -> None:
    clinic = Clinic()
    early = obr(f2="P-1", f3="", status="P"), obx(code=GLUCOSE, more="|||||P")
    first = clinic.file(ORU, PID, *early)
    assert clinic.file(ORU, PID, obr(f2="P-1"), obx(value="5", code=GLUCOSE, more="|||||F")) == first
    assert [each["value"] for each in clinic.find_one("DiagnosticReport")["identifier"]] == ["P-1", "L-1"]
    assert clinic.find_one("Observation")["valueQuantity"]["value"] == 5
    clinic.file(ORU, PID, obr(f2="P-1", f3="L-2"), obx(code=GLUCOSE))
    assert len(clinic.state.find("DiagnosticReport")) == 2
