"""Describe the calibration of a run's judge: how far it agrees with people, or why that is not known."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from clerkship.kit.statistics import cohen_kappa, wilson_interval
from clerkship.model.calibration import (
    Agreement,
    Calibration,
    JudgeDifference,
    find_judge_differences,
    find_nearest_calibration,
)
from clerkship.model.run import BenchmarkRun

_DIFFERENCES: dict[JudgeDifference, str] = {
    "model": "another model",
    "parameters": "other parameters",
    "prompt": "another prompt",
    "votes": "another number of votes",
}


def compute_kappa(agreement: Agreement) -> float | None:
    """Return Cohen's kappa; None if people gave only one label, because it is meaningless then."""
    if agreement.has_one_label:
        return None
    return cohen_kappa(agreement.both_passed, agreement.false_fails, agreement.false_passes, agreement.both_failed)


def agreement_figures(agreement: Agreement) -> dict[str, Any]:
    """Return one row of a calibration as plain data."""
    rate = wilson_interval(agreement.agreed, agreement.judged)
    return {
        **agreement.model_dump(),
        "labels": agreement.judged + agreement.errors,
        "judged": agreement.judged,
        "agreed": agreement.agreed,
        "agreement": rate._asdict() if rate is not None else None,
        "kappa": compute_kappa(agreement),
    }


@dataclass(frozen=True)
class JudgeCalibration:
    """A run's judge, and the calibration of the most similar judge."""

    model: str
    calibration: Calibration | None
    differs: tuple[JudgeDifference, ...] = ()
    """How its judge differs from this one; empty if it is the same judge."""

    @property
    def counts(self) -> bool:
        """Whether the calibration is of exactly this judge."""
        return self.calibration is not None and not self.differs

    def sentence(self) -> str:
        """Return a sentence about the judge."""
        return f"{self.model} {self.told()}"

    def told(self) -> str:
        """Return the sentence without the judge's name."""
        if self.calibration is None:
            return "is not calibrated"
        if self.differs:
            others = " and ".join(_DIFFERENCES[name] for name in self.differs)
            return f"is not calibrated (calibrated with {others}, {self.calibration.at[:10]})"
        return f"agreed with people in {describe_calibration(self.calibration)}"

    def data(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        calibration = self.calibration
        return {
            "judge": self.model,
            "calibrated": self.counts,
            "differs": list(self.differs),
            "sentence": self.sentence(),
            "at": calibration.at if calibration is not None else None,
            "file": calibration.file if calibration is not None else None,
            "overall": agreement_figures(calibration.overall) if calibration is not None and self.counts else None,
        }


def describe_calibration(calibration: Calibration) -> str:
    """Return `22 of 24 labels (κ 0.83; 1 false pass, 1 false fail), calibrated 2026-11-15 on labelled.yml`."""
    overall = calibration.overall
    value = compute_kappa(overall)
    agreed = "one label only, so no κ" if value is None else f"κ {value:.2f}"
    passes = count_noun(overall.false_passes, "false pass", "false passes")
    wrong = f"{passes}, {count_noun(overall.false_fails, 'false fail')}"
    errors = f", {overall.errors} not judged" if overall.errors else ""
    labels = count_noun(overall.judged, "label").partition(" ")[2]
    return (
        f"{overall.agreed:,} of {overall.judged:,} {labels} ({agreed}; {wrong}{errors}), "
        f"calibrated {calibration.at[:10]} on {calibration.file}"
    )


def count_noun(number: int, one: str, many: str = "") -> str:
    """Return `1 false pass` or `2 false passes`."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def find_judge_calibration(run: BenchmarkRun, known: Iterable[Calibration] = ()) -> JudgeCalibration | None:
    """Return the calibration of a run's judge: the one stored with the run, otherwise one made since; None without a
    judge.
    """
    if run.judging is None:
        return None
    frozen = (run.calibration,) if run.calibration is not None else ()
    nearest = find_nearest_calibration(run.judging, (*frozen, *known))
    return JudgeCalibration(
        run.judging.model, nearest, find_judge_differences(run.judging, nearest.judge) if nearest is not None else ()
    )
