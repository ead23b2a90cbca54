"""Laboratory results: in range, or out of range because of an illness or a drug, and consistent over time."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any, NamedTuple

from clerkship.formats.fhir.resource import Resource
from clerkship.suite_files.synthetic.analytes import (
    ANALYTES,
    CRITICAL_RANGES,
    DERIVED_ANALYTES,
    EFFECTS,
    HEALTHY_RANGES,
    PANELS,
    TARGET_RANGES,
    Analyte,
)
from clerkship.suite_files.synthetic.random_source import RandomSource
from clerkship.suite_files.synthetic.terms import (
    build_concept,
    build_quantity,
    build_resource,
    codeable_concept,
    round_to_digits,
)
from clerkship.suite_files.synthetic.times import format_datetime, format_instant


class LabResult(NamedTuple):
    """The result of one analyte."""

    analyte: Analyte
    value: float
    flag: str
    """N, L, H, LL or HH."""
    low: float | None
    high: float | None
    is_target: bool
    """Whether the range is the target range of a drug instead of the reference range."""

    @property
    def text(self) -> str:
        """The result in words, such as `potassium 3.2 mmol/L (L)`."""
        flag = f" ({self.flag})" if self.flag != "N" else ""
        unit = (
            "" if self.analyte.unit.startswith("{") else f"{'' if self.analyte.unit == '%' else ' '}{self.analyte.unit}"
        )
        return f"{self.analyte.name} {self.value:.{self.analyte.digits}f}{unit}{flag}"


def list_affected_analytes(causes: set[str]) -> set[str]:
    """Return the analytes that may be out of range for a patient with these illnesses, drugs and groups of drugs."""
    affected = {analyte for cause in causes for analyte in EFFECTS.get(cause, ())}
    return affected | {other for analyte in affected for other in DERIVED_ANALYTES.get(analyte, ())}


class PatientChemistry:
    """The usual laboratory values of one patient, and how they drift."""

    def __init__(self, rng: RandomSource, sex: str) -> None:
        self._rng = rng
        self._sex = sex
        self._usual: dict[tuple[str, bool], float] = {}

    def measure_panel(self, key: str, causes: set[str], age: int) -> list[LabResult]:
        values = {name: self._value(name, causes) for name in PANELS[key].analytes}
        if key == "bmp":
            _reconcile_kidney_values(values, self._sex, age)
        elif key == "lipids":
            values["cholesterol"] = round(values["ldl"]) + round(values["hdl"]) + round(values["triglycerides"]) // 5
        elif key == "cbc":
            values["hematocrit"] = round(values["hemoglobin"], 1) * 3 + 0.3
        return [_flag_result(ANALYTES[name], value, self._sex, causes) for name, value in values.items()]

    def _value(self, name: str, causes: set[str]) -> float:
        """Draw a value near the last one, within the possible range."""
        affected = [rows[name] for cause, rows in EFFECTS.items() if cause in causes and name in rows]
        low, high = affected[-1] if affected else self._normal(name)
        key = (name, bool(affected))
        if key not in self._usual:
            self._usual[key] = self._rng.fraction()
        share = min(1.0, max(0.0, self._usual[key] + self._rng.around(0, 0.09)))
        self._usual[key] = share
        return low + (high - low) * share

    def _normal(self, name: str) -> tuple[float, float]:
        """Return a range slightly inside of the reference range, so that rounding does not leave it."""
        if name in HEALTHY_RANGES:
            return HEALTHY_RANGES[name]
        low, high = ANALYTES[name].range(self._sex)
        least, most = low or 0.0, high if high is not None else (low or 0.0) * 1.6
        edge = (most - least) * 0.06
        return least + edge, most - edge


def estimate_gfr(creatinine: float, sex: str, age: int) -> float:
    """Return the estimated glomerular filtration rate by CKD-EPI 2021."""
    kappa, alpha, factor = (0.7, -0.241, 1.012) if sex == "female" else (0.9, -0.302, 1.0)
    share = creatinine / kappa
    rate: float = 142 * min(share, 1) ** alpha * max(share, 1) ** -1.2 * 0.9938**age * factor
    return rate


def _reconcile_kidney_values(values: dict[str, float], sex: str, age: int) -> None:
    """Set creatinine and the estimated filtration rate so that they agree."""
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
    values["egfr"] = estimate_gfr(values["creatinine"], sex, age)


def _flag_result(analyte: Analyte, value: float, sex: str, causes: set[str]) -> LabResult:
    """Return the result with its flag. The flag is based on the rounded value, which is the one that is written."""
    rounded = float(f"{value:.{analyte.digits}f}")
    targets = [rows[analyte.key] for cause, rows in TARGET_RANGES.items() if cause in causes and analyte.key in rows]
    low, high = targets[0] if targets else analyte.range(sex)
    least, most = CRITICAL_RANGES.get(analyte.key, (0.0, 1e9))
    flag = "N"
    if low is not None and rounded < low:
        flag = "LL" if rounded <= least else "L"
    elif high is not None and rounded > high:
        flag = "HH" if rounded >= most else "H"
    return LabResult(analyte, rounded, flag, low, high, bool(targets))


def build_observation(
    result: LabResult, id: str, drawn: datetime, issued: datetime, common: dict[str, Any]
) -> Resource:
    """Return a result as an Observation."""
    analyte = result.analyte
    bounds: dict[str, Any] = {}
    if result.low is not None:
        bounds["low"] = build_quantity(round_to_digits(result.low, analyte.digits), analyte.unit, analyte.unit)
    if result.high is not None:
        bounds["high"] = build_quantity(round_to_digits(result.high, analyte.digits), analyte.unit, analyte.unit)
    bounds["type"] = build_concept("lab.therapeutic" if result.is_target else "lab.normal")
    return build_resource(
        "Observation",
        id,
        format_instant(issued),
        status="final",
        category=[build_concept("lab.survey" if analyte.key == "phq9" else "lab.laboratory")],
        code=codeable_concept(analyte.term, text=analyte.name[0].upper() + analyte.name[1:]),
        **common,
        effectiveDateTime=format_datetime(drawn),
        issued=format_instant(issued),
        valueQuantity=build_quantity(round_to_digits(result.value, analyte.digits), analyte.unit, analyte.unit),
        interpretation=[build_concept(f"flag.{result.flag}")],
        referenceRange=[bounds],
    )


def summarize_results(results: list[LabResult]) -> Iterator[str]:
    """Yield the results that are out of range, or all results of a panel of one or two."""
    for result in results:
        if result.flag != "N" or len(results) <= 2:
            yield result.text
