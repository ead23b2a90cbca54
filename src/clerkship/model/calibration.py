"""How far a judge agrees with people, as it is kept: who judged and how, and how often it said what they said."""

from typing import Annotated, Literal

from pydantic import Field, JsonValue

from clerkship.model.frozen import Frozen


class JudgeIdentity(Frozen):
    """Who judges, and how: with another of these it is another judge."""

    model: Annotated[str, Field(description="as a run keeps it, such as openai:gpt-5.1")]
    parameters: Annotated[dict[str, JsonValue], Field(description="what goes into each request")] = {}
    prompt: Annotated[str, Field(description="the mark of the prompt for criteria")]
    votes: Annotated[int, Field(description="how often each question is asked")] = 1


class Agreement(Frozen):
    """Labels beside verdicts. What could not be judged is counted apart: it neither agrees nor disagrees."""

    both_passed: Annotated[int, Field(ge=0)] = 0
    both_failed: Annotated[int, Field(ge=0)] = 0
    false_passes: Annotated[int, Field(ge=0, description="the judge says pass, the person fail")] = 0
    false_fails: Annotated[int, Field(ge=0, description="the judge says fail, the person pass")] = 0
    errors: Annotated[int, Field(ge=0, description="labels without a verdict")] = 0

    @property
    def judged(self) -> int:
        """Labels with a verdict."""
        return self.agreed + self.false_passes + self.false_fails

    @property
    def agreed(self) -> int:
        """Where both said the same."""
        return self.both_passed + self.both_failed

    @property
    def one_label(self) -> bool:
        """Whether the person said the same of all: then agreement can be had by saying so too."""
        passes, fails = self.both_passed + self.false_fails, self.both_failed + self.false_passes
        return not (passes and fails)

    def __add__(self, other: "Agreement") -> "Agreement":
        """Both together."""
        return Agreement(**{name: getattr(self, name) + getattr(other, name) for name in Agreement.model_fields})


class Calibration(Frozen):
    """One judge held against one labelled set."""

    judge: JudgeIdentity
    file: Annotated[str, Field(description="the labelled set")]
    labels: Annotated[str, Field(description="SHA-256 of the labelled set, its start")]
    at: Annotated[str, Field(description="when")]
    overall: Agreement
    criteria: Annotated[dict[str, Agreement], Field(description="the same by criterion")] = {}


class CalibrationFile(Frozen):
    """What `judge calibrate --save` writes: one for each judge, the newest."""

    calibrations: tuple[Calibration, ...] = ()


JudgeDifference = Literal["model", "parameters", "prompt", "votes"]


def find_judge_differences(one: JudgeIdentity, other: JudgeIdentity) -> tuple[JudgeDifference, ...]:
    """In what two judges differ."""
    names: tuple[JudgeDifference, ...] = ("model", "parameters", "prompt", "votes")
    return tuple(name for name in names if getattr(one, name) != getattr(other, name))


def find_nearest_calibration(judge: JudgeIdentity, known: tuple[Calibration, ...]) -> Calibration | None:
    """The newest of this very judge; else the newest of its model, asked otherwise."""
    same = [found for found in known if found.judge.model == judge.model]
    newest = sorted(same, key=lambda found: found.at, reverse=True)
    return min(newest, key=lambda found: len(find_judge_differences(judge, found.judge)), default=None)
