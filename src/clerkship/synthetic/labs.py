"""What a laboratory measures: in range, or out of it because of an illness or a drug, and of one piece over time."""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from clerkship.fhir.resource import Resource
from clerkship.synthetic.dice import Dice
from clerkship.synthetic.terms import Term, concept, hl7, loinc, made, number, quantity
from clerkship.synthetic.times import instant, written


RETURNED = timedelta(hours=26)
"""How long after a visit its results are there."""


class Analyte(NamedTuple):
    """One thing that is measured in adults."""

    key: str
    term: Term
    name: str
    unit: str
    ucum: str
    digits: int
    low: float | None
    high: float | None
    men: tuple[float, float] | None = None
    """The range of men, where it differs."""

    def range(self, sex: str) -> tuple[float | None, float | None]:
        """What is normal."""
        return self.men if self.men is not None and sex == "male" else (self.low, self.high)


class Panel(NamedTuple):
    """What is ordered together and reported together."""

    key: str
    term: Term
    name: str
    analytes: tuple[str, ...]


class Result(NamedTuple):
    """One value."""

    analyte: Analyte
    value: float
    flag: str
    """N, L, H, LL or HH."""

    @property
    def text(self) -> str:
        """`potassium 3.2 mmol/L (L)`."""
        flag = f" ({self.flag})" if self.flag != "N" else ""
        unit = (
            "" if self.analyte.ucum.startswith("{") else f"{'' if self.analyte.unit == '%' else ' '}{self.analyte.unit}"
        )
        return f"{self.analyte.name} {self.value:.{self.analyte.digits}f}{unit}{flag}"


_ROWS = (
    Analyte("sodium", loinc("2951-2", "Sodium [Moles/volume] in Serum or Plasma"), "sodium", "mmol/L", "mmol/L", 0, 135, 145),
    Analyte("potassium", loinc("2823-3", "Potassium [Moles/volume] in Serum or Plasma"), "potassium", "mmol/L", "mmol/L", 1, 3.5, 5.1),
    Analyte("chloride", loinc("2075-0", "Chloride [Moles/volume] in Serum or Plasma"), "chloride", "mmol/L", "mmol/L", 0, 98, 107),
    Analyte("bicarbonate", loinc("2028-9", "Carbon dioxide, total [Moles/volume] in Serum or Plasma"), "bicarbonate", "mmol/L", "mmol/L", 0, 22, 29),
    Analyte("urea", loinc("3094-0", "Urea nitrogen [Mass/volume] in Serum or Plasma"), "urea nitrogen", "mg/dL", "mg/dL", 0, 7, 20),
    Analyte("creatinine", loinc("2160-0", "Creatinine [Mass/volume] in Serum or Plasma"), "creatinine", "mg/dL", "mg/dL", 2, 0.5, 1.1, (0.6, 1.3)),
    Analyte("egfr", loinc("98979-8", "Glomerular filtration rate/1.73 sq M.predicted [Volume Rate/Area] in Serum, Plasma or Blood by Creatinine-based formula (CKD-EPI 2021)"), "eGFR", "mL/min/1.73m2", "mL/min/{1.73_m2}", 0, 60, None),
    Analyte("glucose", loinc("2345-7", "Glucose [Mass/volume] in Serum or Plasma"), "glucose", "mg/dL", "mg/dL", 0, 70, 99),
    Analyte("calcium", loinc("17861-6", "Calcium [Mass/volume] in Serum or Plasma"), "calcium", "mg/dL", "mg/dL", 1, 8.6, 10.3),
    Analyte("magnesium", loinc("19123-9", "Magnesium [Mass/volume] in Serum or Plasma"), "magnesium", "mg/dL", "mg/dL", 1, 1.7, 2.4),
    Analyte("leukocytes", loinc("6690-2", "Leukocytes [#/volume] in Blood by Automated count"), "leukocytes", "10*3/uL", "10*3/uL", 1, 4.0, 11.0),
    Analyte("hemoglobin", loinc("718-7", "Hemoglobin [Mass/volume] in Blood"), "hemoglobin", "g/dL", "g/dL", 1, 12.0, 15.5, (13.5, 17.5)),
    Analyte("hematocrit", loinc("4544-3", "Hematocrit [Volume Fraction] of Blood by Automated count"), "hematocrit", "%", "%", 1, 36.0, 48.0, (40.0, 53.0)),
    Analyte("mcv", loinc("787-2", "MCV [Entitic volume] by Automated count"), "MCV", "fL", "fL", 0, 80, 100),
    Analyte("platelets", loinc("777-3", "Platelets [#/volume] in Blood by Automated count"), "platelets", "10*3/uL", "10*3/uL", 0, 150, 400),
    Analyte("a1c", loinc("4548-4", "Hemoglobin A1c/Hemoglobin.total in Blood"), "hemoglobin A1c", "%", "%", 1, 4.0, 5.6),
    Analyte("cholesterol", loinc("2093-3", "Cholesterol [Mass/volume] in Serum or Plasma"), "total cholesterol", "mg/dL", "mg/dL", 0, None, 199),
    Analyte("triglycerides", loinc("2571-8", "Triglyceride [Mass/volume] in Serum or Plasma"), "triglycerides", "mg/dL", "mg/dL", 0, None, 149),
    Analyte("hdl", loinc("2085-9", "Cholesterol in HDL [Mass/volume] in Serum or Plasma"), "HDL cholesterol", "mg/dL", "mg/dL", 0, 40, None),
    Analyte("ldl", loinc("13457-7", "Cholesterol in LDL [Mass/volume] in Serum or Plasma by calculation"), "LDL cholesterol", "mg/dL", "mg/dL", 0, None, 129),
    Analyte("tsh", loinc("3016-3", "Thyrotropin [Units/volume] in Serum or Plasma"), "TSH", "m[IU]/L", "m[IU]/L", 2, 0.40, 4.50),
    Analyte("inr", loinc("6301-6", "INR in Platelet poor plasma by Coagulation assay"), "INR", "{INR}", "{INR}", 1, 2.0, 3.0),
    Analyte("ferritin", loinc("2276-4", "Ferritin [Mass/volume] in Serum or Plasma"), "ferritin", "ng/mL", "ng/mL", 0, 15, 150, (30, 400)),
    Analyte("urate", loinc("3084-1", "Urate [Mass/volume] in Serum or Plasma"), "uric acid", "mg/dL", "mg/dL", 1, 2.4, 6.0, (3.4, 7.0)),
    Analyte("acr", loinc("9318-7", "Albumin/Creatinine [Mass Ratio] in Urine"), "urine albumin/creatinine", "mg/g", "mg/g", 0, None, 29),
    Analyte("bnp", loinc("30934-4", "Natriuretic peptide B [Mass/volume] in Serum or Plasma"), "BNP", "pg/mL", "pg/mL", 0, None, 99),
    Analyte("phq9", loinc("44261-6", "Patient Health Questionnaire 9 item (PHQ-9) total score [Reported]"), "PHQ-9 score", "{score}", "{score}", 0, None, 4),
)  # fmt: skip  # noqa: E501  (LOINC's names are as long as they are)
ANALYTES = {analyte.key: analyte for analyte in _ROWS}
_PANEL_ROWS = (
    Panel("bmp", loinc("24321-2", "Basic metabolic 2000 panel - Serum or Plasma"), "Basic metabolic panel",
          ("sodium", "potassium", "chloride", "bicarbonate", "urea", "creatinine", "egfr", "glucose", "calcium")),
    Panel("cbc", loinc("58410-2", "CBC panel - Blood by Automated count"), "Complete blood count",
          ("leukocytes", "hemoglobin", "hematocrit", "mcv", "platelets")),
    Panel("lipids", loinc("24331-1", "Lipid 1996 panel - Serum or Plasma"), "Lipid panel",
          ("cholesterol", "triglycerides", "hdl", "ldl")),
    Panel("a1c", ANALYTES["a1c"].term, "Hemoglobin A1c", ("a1c",)),
    Panel("magnesium", ANALYTES["magnesium"].term, "Magnesium", ("magnesium",)),
    Panel("tsh", ANALYTES["tsh"].term, "TSH", ("tsh",)),
    Panel("inr", ANALYTES["inr"].term, "INR", ("inr",)),
    Panel("ferritin", ANALYTES["ferritin"].term, "Ferritin", ("ferritin",)),
    Panel("urate", ANALYTES["urate"].term, "Uric acid", ("urate",)),
    Panel("acr", ANALYTES["acr"].term, "Urine albumin/creatinine ratio", ("acr",)),
    Panel("bnp", ANALYTES["bnp"].term, "BNP", ("bnp",)),
    Panel("phq9", ANALYTES["phq9"].term, "PHQ-9", ("phq9",)),
)  # fmt: skip
PANELS = {panel.key: panel for panel in _PANEL_ROWS}
EFFECTS: Mapping[str, Mapping[str, tuple[float, float]]] = {
    "diabetes": {"a1c": (6.3, 9.8), "glucose": (108, 235), "acr": (8, 140)},
    "prediabetes": {"a1c": (5.7, 6.4), "glucose": (98, 122)},
    "hyperlipidemia": {"ldl": (128, 185), "triglycerides": (110, 240), "hdl": (34, 55)},
    "statin": {"ldl": (66, 138), "triglycerides": (90, 190), "hdl": (36, 58)},
    "obesity": {"triglycerides": (100, 190), "hdl": (36, 54)},
    "kidney3": {"egfr": (32, 58), "urea": (21, 36), "potassium": (4.2, 5.5), "acr": (20, 320)},
    "kidney4": {"egfr": (16, 29), "urea": (34, 62), "potassium": (4.6, 5.8), "hemoglobin": (9.6, 12.4)},
    "diuretic": {"potassium": (2.9, 4.3), "magnesium": (1.2, 2.1)},
    "hypothyroidism": {"tsh": (0.9, 8.9)},
    "anemia": {"hemoglobin": (8.4, 11.6), "mcv": (68, 79), "ferritin": (4, 14)},
    "anticoagulant": {"inr": (1.6, 3.7)},
    "gout": {"urate": (5.4, 9.2)},
    "failure": {"bnp": (140, 1250)},
    "depression": {"phq9": (3, 19)},
    "copd": {"bicarbonate": (25, 32)},
}
"""What an illness or a group of drugs does to a value: between what it then lies. A later row goes before an earlier."""
FOLLOWS = {"egfr": ("creatinine",), "ldl": ("cholesterol",), "triglycerides": ("cholesterol",), "hdl": ("cholesterol",),
           "hemoglobin": ("hematocrit",)}  # fmt: skip
"""Values that are worked out of others, and so are out of range with them."""


def explained(causes: set[str]) -> set[str]:
    """The analytes that may be out of range in somebody with these illnesses and groups of drugs."""
    moved = {analyte for cause in causes for analyte in EFFECTS.get(cause, ())}
    return moved | {other for analyte in moved for other in FOLLOWS.get(analyte, ())}


class Body:
    """One patient's chemistry: where each value lies, and how it drifts."""

    def __init__(self, dice: Dice, sex: str) -> None:
        self._dice = dice
        self._sex = sex
        self._usual: dict[tuple[str, bool], float] = {}

    def panel(self, key: str, causes: set[str], age: int) -> list[Result]:
        """One panel, measured now."""
        values = {name: self._value(name, causes) for name in PANELS[key].analytes}
        if key == "bmp":
            _kidneys(values, self._sex, age)
        elif key == "lipids":
            values["cholesterol"] = round(values["ldl"]) + round(values["hdl"]) + round(values["triglycerides"]) // 5
        elif key == "cbc":
            values["hematocrit"] = round(values["hemoglobin"], 1) * 3 + 0.3
        return [_judged(ANALYTES[name], value, self._sex) for name, value in values.items()]

    def _value(self, name: str, causes: set[str]) -> float:
        """Near where it was the last time, within what is possible."""
        moved = [rows[name] for cause, rows in EFFECTS.items() if cause in causes and name in rows]
        low, high = moved[-1] if moved else self._normal(name)
        at = (name, bool(moved))
        if at not in self._usual:
            self._usual[at] = self._dice.fraction()
        share = min(1.0, max(0.0, self._usual[at] + self._dice.around(0, 0.09)))
        self._usual[at] = share
        return low + (high - low) * share

    def _normal(self, name: str) -> tuple[float, float]:
        """A little inside of the range, for rounding."""
        if name in HEALTHY:
            return HEALTHY[name]
        low, high = ANALYTES[name].range(self._sex)
        least, most = low or 0.0, high if high is not None else (low or 0.0) * 1.6
        edge = (most - least) * 0.06
        return least + edge, most - edge


HEALTHY = {"ldl": (58, 104), "hdl": (44, 58), "triglycerides": (52, 138), "egfr": (66, 108), "acr": (3, 18),
           "bnp": (12, 78), "phq9": (0, 4), "inr": (2.0, 3.0)}  # fmt: skip
"""Where values of the healthy lie, where that is not simply the middle of the range."""


def filtration(creatinine: float, sex: str, age: int) -> float:
    """CKD-EPI 2021."""
    kappa, alpha, factor = (0.7, -0.241, 1.012) if sex == "female" else (0.9, -0.302, 1.0)
    share = creatinine / kappa
    return 142 * min(share, 1) ** alpha * max(share, 1) ** -1.2 * 0.9938**age * factor


def _kidneys(values: dict[str, float], sex: str, age: int) -> None:
    """The creatinine that gives this filtration, and the filtration that this creatinine gives."""
    kappa, alpha, factor = (0.7, -0.241, 1.012) if sex == "female" else (0.9, -0.302, 1.0)
    healthy = values["egfr"] >= 60
    most = 142 * 0.9938**age * factor
    aim = min(values["egfr"], most * 1.04) if healthy else values["egfr"]
    ratio = most / aim
    creatinine = kappa * (ratio ** (1 / 1.2) if ratio >= 1 else ratio ** (-1 / alpha))
    _, high = ANALYTES["creatinine"].range(sex)
    if healthy and high is not None:
        creatinine = min(creatinine, high)
    values["creatinine"] = round(creatinine, 2)
    values["egfr"] = filtration(values["creatinine"], sex, age)


def _judged(analyte: Analyte, value: float, sex: str) -> Result:
    """With its flag; the value is what will be written, so that no flag hangs on a digit nobody sees."""
    shown = float(f"{value:.{analyte.digits}f}")
    low, high = analyte.range(sex)
    critical = CRITICAL.get(analyte.key, (0.0, 1e9))
    if low is not None and shown < low:
        return Result(analyte, shown, "LL" if shown <= critical[0] else "L")
    if high is not None and shown > high:
        return Result(analyte, shown, "HH" if shown >= critical[1] else "H")
    return Result(analyte, shown, "N")


CRITICAL = {"potassium": (2.8, 6.2), "sodium": (120.0, 160.0), "glucose": (45.0, 450.0), "hemoglobin": (7.0, 20.0),
            "magnesium": (1.0, 4.7), "inr": (0.0, 5.0)}  # fmt: skip
"""What the laboratory phones about."""
LABORATORY = hl7("observation-category", "laboratory", "Laboratory")
SURVEY = hl7("observation-category", "survey", "Survey")
SECTION = hl7("v2-0074", "LAB", "Laboratory")
FLAGS = {
    "N": hl7("v3-ObservationInterpretation", "N", "Normal"),
    "L": hl7("v3-ObservationInterpretation", "L", "Low"),
    "H": hl7("v3-ObservationInterpretation", "H", "High"),
    "LL": hl7("v3-ObservationInterpretation", "LL", "Critical low"),
    "HH": hl7("v3-ObservationInterpretation", "HH", "Critical high"),
}
_THERAPEUTIC = hl7("referencerange-meaning", "therapeutic", "Therapeutic Desired Level")
_NORMAL = hl7("referencerange-meaning", "normal", "Normal Range")


def result_resource(
    result: Result, sex: str, id: str, drawn: datetime, issued: datetime, common: dict[str, Any]
) -> Resource:
    """One value as an Observation."""
    analyte = result.analyte
    low, high = analyte.range(sex)
    bounds: dict[str, Any] = {}
    if low is not None:
        bounds["low"] = quantity(number(low, analyte.digits), analyte.unit, analyte.ucum)
    if high is not None:
        bounds["high"] = quantity(number(high, analyte.digits), analyte.unit, analyte.ucum)
    bounds["type"] = concept(_THERAPEUTIC if analyte.key == "inr" else _NORMAL)
    return made(
        "Observation",
        id,
        instant(issued),
        status="final",
        category=[concept(SURVEY if analyte.key == "phq9" else LABORATORY)],
        code=concept(analyte.term, text=analyte.name[0].upper() + analyte.name[1:]),
        **common,
        effectiveDateTime=written(drawn),
        issued=instant(issued),
        valueQuantity=quantity(number(result.value, analyte.digits), analyte.unit, analyte.ucum),
        interpretation=[concept(FLAGS[result.flag])],
        referenceRange=[bounds],
    )


def told(results: list[Result]) -> Iterator[str]:
    """Those worth a word: what is out of range, or all of a short panel."""
    for result in results:
        if result.flag != "N" or len(results) <= 2:
            yield result.text
