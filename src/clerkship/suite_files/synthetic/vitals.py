"""Vital signs: growth of children, weight and blood pressure of adults, fever with infections."""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from clerkship.formats.fhir.resource import Resource
from clerkship.suite_files.synthetic.random_source import RandomSource
from clerkship.suite_files.synthetic.terms import (
    Term,
    build_concept,
    build_quantity,
    build_resource,
    codeable_concept,
    read_table,
    round_to_digits,
)
from clerkship.suite_files.synthetic.times import format_datetime, format_instant


class Growth(NamedTuple):
    """Median weight (kg) and length (cm) of children at an age."""

    months: int
    male: tuple[float, float]
    female: tuple[float, float]


_GROWTH = read_table("growth", Growth)
GROWTH = {
    "male": [(row.months, *row.male) for row in _GROWTH],
    "female": [(row.months, *row.female) for row in _GROWTH],
}
WEIGHT_STEP, LENGTH_STEP = 0.07, 0.028
"""Relative change of weight and length per standard deviation."""
PULSE = ((1, 140), (12, 125), (36, 108), (72, 96), (144, 84), (10_000, 74))
BREATHS = ((12, 36), (36, 28), (72, 24), (144, 20), (10_000, 16))
"""Maximum age in months (exclusive), and the rate per minute."""
OXYGEN = {"pneumonia": (87, 92), "copd": (89, 94), "failure": (92, 97)}
"""Oxygen saturation in percent by illness; the first matching row applies."""
ADULT_MONTHS = 216
"""Age in months."""


@dataclass(frozen=True, slots=True)
class Vitals:
    """The vital signs of one visit; None where a sign is not measured at that age."""

    weight: float
    height: float
    temperature: float
    pulse: int
    breaths: int
    oxygen: int
    systolic: int | None
    diastolic: int | None

    @property
    def bmi(self) -> float:
        """The body mass index, from the rounded values that are written."""
        return self.weight / (self.height / 100) ** 2


class BodyBuild(NamedTuple):
    """The build of a patient."""

    height: float
    bmi: float
    pressure: float
    pulse: float
    size: float
    """Deviation of a child from the median, chosen so that it grows to its adult height."""


def draw_build(rng: RandomSource, sex: str, illnesses: set[str]) -> BodyBuild:
    """Draw the build of a patient."""
    height = rng.around(162, 6) if sex == "female" else rng.around(176, 6.5)
    bmi = rng.uniform(31, 39) if "obesity" in illnesses else rng.uniform(20, 29)
    pressure = rng.uniform(126, 146) if "hypertension" in illnesses else rng.uniform(104, 126)
    size = (height / GROWTH[sex][-1][2] - 1) / LENGTH_STEP
    return BodyBuild(height, bmi, pressure, rng.around(0, 5), size)


def _get_child_size(sex: str, months: float, size: float) -> tuple[float, float]:
    """Return weight and length of a child."""
    rows = GROWTH[sex]
    index = min(bisect_right(rows, (months, 1e9, 0.0)), len(rows) - 1)
    (before, weight, length), (after, heavier, longer) = rows[index - 1], rows[index]
    share = min(1.0, (months - before) / (after - before))
    kilos, height = weight + (heavier - weight) * share, length + (longer - length) * share
    return kilos * (1 + WEIGHT_STEP * size), height * (1 + LENGTH_STEP * size)


def get_size(build: BodyBuild, sex: str, months: float) -> tuple[float, float]:
    """Return weight and height at an age. Children reach the weight of their build between the ages of three and
    eleven.
    """
    if months >= ADULT_MONTHS:
        return build.bmi * (build.height / 100) ** 2, build.height
    weight, height = _get_child_size(sex, months, build.size)
    factor = build.bmi / (GROWTH[sex][-1][1] / (GROWTH[sex][-1][2] / 100) ** 2) - 1
    share = min(1.0, max(0.0, (months - 36) / (132 - 36)))
    return weight * (1 + factor * share), height


def measure_vitals(
    rng: RandomSource, build: BodyBuild, sex: str, months: float, illnesses: set[str], fever: bool
) -> Vitals:
    """Draw the vital signs of one visit."""
    weight, height = get_size(build, sex, months)
    weight += rng.around(0, 0.9) if months >= ADULT_MONTHS else 0
    systolic = diastolic = None
    if months >= 36:
        usual = build.pressure if months >= ADULT_MONTHS else 88 + months / 12 * 1.6
        systolic = round(rng.around(usual, 5))
        diastolic = round(systolic * 0.62 + rng.around(0, 3))
    oxygen = rng.integer(*next((rows for key, rows in OXYGEN.items() if key in illnesses), (96, 100)))
    return Vitals(
        weight=round(weight, 1),
        height=round(height, 1),
        temperature=round(rng.uniform(38.1, 39.3) if fever else rng.uniform(36.4, 37.2), 1),
        pulse=round(_look_up_by_age(PULSE, months) + build.pulse + rng.around(0, 3) + (14 if fever else 0)),
        breaths=round(_look_up_by_age(BREATHS, months) + rng.around(0, 1) + (4 if oxygen < 93 else 0)),
        oxygen=oxygen,
        systolic=systolic,
        diastolic=diastolic,
    )


def _look_up_by_age(rows: tuple[tuple[int, int], ...], months: float) -> int:
    return next(value for below, value in rows if months < below)


class VitalSign(NamedTuple):
    """A vital sign with one value."""

    key: str
    terms: tuple[Term, ...]
    unit: str
    """A unit of UCUM."""
    digits: int


SIGNS = read_table("vital_signs", VitalSign)


def build_vitals(
    vitals: Vitals, tag: str, visit: int, moment: datetime, common: dict[str, Any], *, all_signs: bool
) -> Iterator[Resource]:
    """Yield the vital signs of a visit as Observations; without height and breathing rate unless all are requested."""
    fields = {
        "status": "final",
        "category": [build_concept("vital.signs")],
        **common,
        "effectiveDateTime": format_datetime(moment),
    }
    fields["issued"] = updated = format_instant(moment)
    if vitals.systolic is not None and vitals.diastolic is not None:
        components = [
            {
                "code": build_concept("vital.systolic"),
                "valueQuantity": build_quantity(vitals.systolic, "mmHg", "mm[Hg]"),
            },
            {
                "code": build_concept("vital.diastolic"),
                "valueQuantity": build_quantity(vitals.diastolic, "mmHg", "mm[Hg]"),
            },
        ]
        code = build_concept("vital.pressure", text="Blood pressure")
        yield build_resource("Observation", f"obs-{tag}-bp-{visit}", updated, **fields, code=code, component=components)
    for sign in SIGNS:
        if sign.key in ("height", "breaths") and not all_signs:
            continue
        value = build_quantity(round_to_digits(getattr(vitals, sign.key), sign.digits), sign.unit, sign.unit)
        code = codeable_concept(*sign.terms)
        yield build_resource(
            "Observation", f"obs-{tag}-{sign.key}-{visit}", updated, **fields, code=code, valueQuantity=value
        )


def build_smoking_status(status: str, tag: str, moment: datetime, common: dict[str, Any]) -> Resource:
    """Return the smoking status as an Observation."""
    fields = {
        "status": "final",
        "category": [build_concept("vital.social")],
        "code": build_concept("smoking.status"),
        **common,
    }
    fields |= {"effectiveDateTime": format_datetime(moment), "issued": format_instant(moment)}
    fields["valueCodeableConcept"] = build_concept(f"smoking.{status}")
    return build_resource("Observation", f"obs-{tag}-smoking-1", format_instant(moment), **fields)
