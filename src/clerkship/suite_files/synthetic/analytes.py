"""Laboratory analytes: LOINC and UCUM codes, reference ranges, and the effects of illnesses and drugs."""

from typing import NamedTuple

from clerkship.suite_files.synthetic.terms import Term, read_table


class Analyte(NamedTuple):
    """One analyte, with its reference range for adults."""

    key: str
    term: Term
    unit: str
    """A unit of UCUM."""
    digits: int
    low: float | None
    high: float | None
    men: tuple[float, float] | None = None
    """The range for men, if it differs."""
    called: str = ""

    @property
    def name(self) -> str:
        """The common name."""
        return self.called or self.key

    def range(self, sex: str) -> tuple[float | None, float | None]:
        """Return the reference range for a sex."""
        return self.men if self.men is not None and sex == "male" else (self.low, self.high)


class Panel(NamedTuple):
    """Analytes that are ordered and reported together."""

    key: str
    term: Term
    name: str
    analytes: tuple[str, ...]
    hours: int = 26
    """Hours from the visit until the result is available."""


class Effect(NamedTuple):
    """The range of an analyte under an illness, a drug or a group of drugs."""

    cause: str
    analyte: str
    low: float
    high: float


ANALYTES = {analyte.key: analyte for analyte in read_table("analytes", Analyte)}
PANELS = {panel.key: panel for panel in read_table("panels", Panel)}
EFFECTS: dict[str, dict[str, tuple[float, float]]] = {}
"""Ranges by cause and analyte. Of several causes, the last one in the table applies."""
for effect in read_table("effects", Effect):
    EFFECTS.setdefault(effect.cause, {})[effect.analyte] = (effect.low, effect.high)
DERIVED_ANALYTES = {
    "egfr": ("creatinine",),
    "ldl": ("cholesterol",),
    "triglycerides": ("cholesterol",),
    "hdl": ("cholesterol",),
    "hemoglobin": ("hematocrit",),
}
"""Analytes that are computed from one another, so that they are out of range together."""
HEALTHY_RANGES = {
    "ldl": (58, 104),
    "hdl": (44, 58),
    "triglycerides": (52, 138),
    "egfr": (66, 108),
    "acr": (3, 18),
    "bnp": (12, 78),
    "phq9": (0, 4),
    "inr": (0.9, 1.1),
}
"""The range of values of healthy patients, where it is not the middle of the reference range."""
TARGET_RANGES = {"warfarin": {"inr": (2.0, 3.0)}}
"""Therapeutic ranges: what a value is compared with while a drug is taken."""
CRITICAL_RANGES = {
    "potassium": (2.8, 6.2),
    "sodium": (120.0, 160.0),
    "glucose": (45.0, 450.0),
    "hemoglobin": (7.0, 20.0),
    "magnesium": (1.0, 4.7),
    "inr": (0.0, 5.0),
}
"""Values at or beyond these bounds are critical: flags LL and HH."""
