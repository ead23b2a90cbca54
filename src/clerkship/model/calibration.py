"""Calibration records: how often a judge model agrees with labels that people gave."""

from typing import Annotated, Literal

from pydantic import Field, JsonValue

from clerkship.model.frozen import Frozen


class JudgeIdentity(Frozen):
    """The settings that make up a judge. A judge that differs in any of them counts as another judge."""

    model: Annotated[str, Field(description="as a run records it, such as openai:gpt-5.1")]
    parameters: Annotated[dict[str, JsonValue], Field(description="parameters that are sent with each request")] = {}
    prompt: Annotated[str, Field(description="hash of the prompt for criteria")]
    votes: Annotated[int, Field(description="how often each criterion is judged")] = 1


class Agreement(Frozen):
    """Counts of a judge's verdicts compared with people's labels. A label without a verdict counts as an error."""

    both_passed: Annotated[int, Field(ge=0)] = 0
    both_failed: Annotated[int, Field(ge=0)] = 0
    false_passes: Annotated[int, Field(ge=0, description="the judge passed what the person failed")] = 0
    false_fails: Annotated[int, Field(ge=0, description="the judge failed what the person passed")] = 0
    errors: Annotated[int, Field(ge=0, description="labels without a verdict")] = 0

    @property
    def judged(self) -> int:
        """Number of labels with a verdict."""
        return self.agreed + self.false_passes + self.false_fails

    @property
    def agreed(self) -> int:
        """Number of labels that equal the verdict."""
        return self.both_passed + self.both_failed

    @property
    def has_one_label(self) -> bool:
        """Whether all labels are the same. Then a judge that always gives one verdict agrees, so agreement means
        little.
        """
        passes, fails = self.both_passed + self.false_fails, self.both_failed + self.false_passes
        return not (passes and fails)

    def __add__(self, other: "Agreement") -> "Agreement":
        return Agreement(**{name: getattr(self, name) + getattr(other, name) for name in Agreement.model_fields})


class Calibration(Frozen):
    """The agreement of one judge with one labelled set."""

    judge: JudgeIdentity
    file: Annotated[str, Field(description="the labelled set")]
    labels: Annotated[str, Field(description="first characters of the SHA-256 of the labelled set")]
    at: Annotated[str, Field(description="time of the calibration")]
    overall: Agreement
    criteria: Annotated[dict[str, Agreement], Field(description="agreement by criterion")] = {}


class CalibrationFile(Frozen):
    """The file that `judge calibrate --save` writes: the newest calibration of each judge."""

    calibrations: tuple[Calibration, ...] = ()


JudgeDifference = Literal["model", "parameters", "prompt", "votes"]


def find_judge_differences(judge: JudgeIdentity, other: JudgeIdentity) -> tuple[JudgeDifference, ...]:
    """Return the fields in which two judges differ."""
    names: tuple[JudgeDifference, ...] = ("model", "parameters", "prompt", "votes")
    return tuple(name for name in names if getattr(judge, name) != getattr(other, name))


def find_nearest_calibration(judge: JudgeIdentity, known: tuple[Calibration, ...]) -> Calibration | None:
    """Return the newest calibration of this judge; without one, the newest of the most similar judge with the same
    model.
    """
    same_model = [calibration for calibration in known if calibration.judge.model == judge.model]
    newest = sorted(same_model, key=lambda calibration: calibration.at, reverse=True)
    return min(newest, key=lambda calibration: len(find_judge_differences(judge, calibration.judge)), default=None)
