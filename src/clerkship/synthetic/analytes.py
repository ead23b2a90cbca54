"""What a laboratory can measure: LOINC and UCUM codes, what is normal, and what illness and drugs do to it."""

from collections.abc import Mapping
from typing import NamedTuple

from clerkship.synthetic.terms import Term, loinc


class Analyte(NamedTuple):
    """One thing that is measured in adults."""

    key: str
    code: str
    display: str
    unit: str
    """Of UCUM."""
    digits: int
    low: float | None
    high: float | None
    men: tuple[float, float] | None = None
    """The range of men, where it differs."""
    called: str = ""

    @property
    def term(self) -> Term:
        """LOINC's."""
        return loinc(self.code, self.display)

    @property
    def name(self) -> str:
        """As people say it."""
        return self.called or self.key

    def range(self, sex: str) -> tuple[float | None, float | None]:
        """What is normal."""
        return self.men if self.men is not None and sex == "male" else (self.low, self.high)


class Panel(NamedTuple):
    """What is ordered together and reported together."""

    key: str
    term: Term
    name: str
    analytes: tuple[str, ...]
    hours: int = 26
    """From the visit until the result is there."""


_ROWS = (
    Analyte("sodium", "2951-2", "Sodium [Moles/volume] in Serum or Plasma", "mmol/L", 0, 135, 145),
    Analyte("potassium", "2823-3", "Potassium [Moles/volume] in Serum or Plasma", "mmol/L", 1, 3.5, 5.1),
    Analyte("chloride", "2075-0", "Chloride [Moles/volume] in Serum or Plasma", "mmol/L", 0, 98, 107),
    Analyte("bicarbonate", "2028-9", "Carbon dioxide, total [Moles/volume] in Serum or Plasma", "mmol/L", 0, 22, 29),
    Analyte(
        "urea", "3094-0", "Urea nitrogen [Mass/volume] in Serum or Plasma", "mg/dL", 0, 7, 20, called="urea nitrogen"
    ),
    Analyte("creatinine", "2160-0", "Creatinine [Mass/volume] in Serum or Plasma", "mg/dL", 2, 0.5, 1.1, (0.6, 1.3)),
    Analyte(
        "egfr",
        "98979-8",
        "Glomerular filtration rate/1.73 sq M.predicted [Volume Rate/Area] in Serum, Plasma or Blood "
        "by Creatinine-based formula (CKD-EPI 2021)",
        "mL/min/{1.73_m2}",
        0,
        60,
        None,
        called="eGFR",
    ),
    Analyte("glucose", "2345-7", "Glucose [Mass/volume] in Serum or Plasma", "mg/dL", 0, 70, 99),
    Analyte("calcium", "17861-6", "Calcium [Mass/volume] in Serum or Plasma", "mg/dL", 1, 8.6, 10.3),
    Analyte("magnesium", "19123-9", "Magnesium [Mass/volume] in Serum or Plasma", "mg/dL", 1, 1.7, 2.4),
    Analyte("leukocytes", "6690-2", "Leukocytes [#/volume] in Blood by Automated count", "10*3/uL", 1, 4.0, 11.0),
    Analyte("hemoglobin", "718-7", "Hemoglobin [Mass/volume] in Blood", "g/dL", 1, 12.0, 15.5, (13.5, 17.5)),
    Analyte(
        "hematocrit",
        "4544-3",
        "Hematocrit [Volume Fraction] of Blood by Automated count",
        "%",
        1,
        36.0,
        48.0,
        (40.0, 53.0),
    ),
    Analyte("mcv", "787-2", "MCV [Entitic volume] by Automated count", "fL", 0, 80, 100, called="MCV"),
    Analyte("platelets", "777-3", "Platelets [#/volume] in Blood by Automated count", "10*3/uL", 0, 150, 400),
    Analyte("a1c", "4548-4", "Hemoglobin A1c/Hemoglobin.total in Blood", "%", 1, 4.0, 5.6, called="hemoglobin A1c"),
    Analyte(
        "cholesterol",
        "2093-3",
        "Cholesterol [Mass/volume] in Serum or Plasma",
        "mg/dL",
        0,
        None,
        199,
        called="total cholesterol",
    ),
    Analyte("triglycerides", "2571-8", "Triglyceride [Mass/volume] in Serum or Plasma", "mg/dL", 0, None, 149),
    Analyte(
        "hdl",
        "2085-9",
        "Cholesterol in HDL [Mass/volume] in Serum or Plasma",
        "mg/dL",
        0,
        40,
        None,
        called="HDL cholesterol",
    ),
    Analyte(
        "ldl",
        "13457-7",
        "Cholesterol in LDL [Mass/volume] in Serum or Plasma by calculation",
        "mg/dL",
        0,
        None,
        129,
        called="LDL cholesterol",
    ),
    Analyte("tsh", "3016-3", "Thyrotropin [Units/volume] in Serum or Plasma", "m[IU]/L", 2, 0.40, 4.50, called="TSH"),
    Analyte("inr", "6301-6", "INR in Platelet poor plasma by Coagulation assay", "{INR}", 1, 0.9, 1.1, called="INR"),
    Analyte("ferritin", "2276-4", "Ferritin [Mass/volume] in Serum or Plasma", "ng/mL", 0, 15, 150, (30, 400)),
    Analyte(
        "urate",
        "3084-1",
        "Urate [Mass/volume] in Serum or Plasma",
        "mg/dL",
        1,
        2.4,
        6.0,
        (3.4, 7.0),
        called="uric acid",
    ),
    Analyte(
        "acr",
        "9318-7",
        "Albumin/Creatinine [Mass Ratio] in Urine",
        "mg/g",
        0,
        None,
        29,
        called="urine albumin/creatinine",
    ),
    Analyte(
        "bnp", "30934-4", "Natriuretic peptide B [Mass/volume] in Serum or Plasma", "pg/mL", 0, None, 99, called="BNP"
    ),
    Analyte(
        "phq9",
        "44261-6",
        "Patient Health Questionnaire 9 item (PHQ-9) total score [Reported]",
        "{score}",
        0,
        None,
        4,
        called="PHQ-9 score",
    ),
)
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
    Panel("tsh", ANALYTES["tsh"].term, "TSH", ("tsh",), 50),
    Panel("inr", ANALYTES["inr"].term, "INR", ("inr",)),
    Panel("ferritin", ANALYTES["ferritin"].term, "Ferritin", ("ferritin",), 98),
    Panel("urate", ANALYTES["urate"].term, "Uric acid", ("urate",), 50),
    Panel("acr", ANALYTES["acr"].term, "Urine albumin/creatinine ratio", ("acr",), 98),
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
    "diuretic": {"potassium": (2.8, 4.1), "magnesium": (1.2, 2.1)},
    "hypothyroidism": {"tsh": (0.9, 8.9)},
    "anemia": {"hemoglobin": (8.4, 11.6), "mcv": (68, 79), "ferritin": (4, 14)},
    "warfarin": {"inr": (1.6, 3.7)},
    "gout": {"urate": (5.4, 9.2)},
    "failure": {"bnp": (140, 1250)},
    "depression": {"phq9": (3, 19)},
    "copd": {"bicarbonate": (25, 32)},
    "proton": {"magnesium": (1.4, 2.3)},
    "hypokalemia": {"potassium": (2.9, 3.9)},
    "pneumonia": {"leukocytes": (11.6, 19.4)},
}
"""What an illness, a drug or a group of drugs does to a value: between what it then lies. Later rows go first."""
FOLLOWS = {"egfr": ("creatinine",), "ldl": ("cholesterol",), "triglycerides": ("cholesterol",), "hdl": ("cholesterol",),
           "hemoglobin": ("hematocrit",)}  # fmt: skip
"""Values that are worked out of others, and so are out of range with them."""


HEALTHY = {"ldl": (58, 104), "hdl": (44, 58), "triglycerides": (52, 138), "egfr": (66, 108), "acr": (3, 18),
           "bnp": (12, 78), "phq9": (0, 4), "inr": (0.9, 1.1)}  # fmt: skip
"""Where values of the healthy lie, where that is not simply the middle of the range."""
TARGETS = {"warfarin": {"inr": (2.0, 3.0)}}
"""What a drug aims at: the range that a value is held against while it is taken."""
CRITICAL = {"potassium": (2.8, 6.2), "sodium": (120.0, 160.0), "glucose": (45.0, 450.0), "hemoglobin": (7.0, 20.0),
            "magnesium": (1.0, 4.7), "inr": (0.0, 5.0)}  # fmt: skip
"""What the laboratory phones about."""
