"""Calibration records: labelled cases, and how often a judge model agrees with the labels that people gave."""

from typing import Annotated, Any, Literal

from pydantic import Field, JsonValue, model_validator

from clerkship.model.frozen import Flag, Frozen, Whole

NonBlankText = Annotated[str, Field(min_length=1, pattern=r"\S")]


class Label(Frozen):
    """Whether one criterion holds, according to a person."""

    criterion: Annotated[NonBlankText, Field(description="criterion in plain language, as in `goals.criteria`")]
    passed: Annotated[Flag, Field(description="whether it holds, according to a person who read the conversation")]
    note: Annotated[str, Field(description="reason, for later readers; the judge does not see it")] = ""


class LabelledTurn(Frozen):
    """One message of the user, and what the agent then did and said."""

    user: Annotated[
        NonBlankText | None, Field(description="message of the user; none if the agent continues by itself")
    ] = None
    agent: Annotated[
        tuple[NonBlankText, ...], Field(description="messages of the agent: a text, or a list of texts")
    ] = ()
    events: Annotated[
        tuple[dict[str, JsonValue], ...],
        Field(description="events of the agent, each a map with one key: `flow_started: check_order`"),
    ] = ()

    @model_validator(mode="before")
    @classmethod
    def _parse_single_text(cls, value: Any) -> Any:
        if isinstance(value, dict) and isinstance(value.get("agent"), str):
            return value | {"agent": [value["agent"]]}
        return value

    @model_validator(mode="after")
    def _require_content(self) -> "LabelledTurn":
        if self.user is None and not self.agent and not self.events:
            raise ValueError("the turn is empty: give `user`, `agent` or `events`")
        return self


class LabelledConversation(Frozen):
    """One conversation with its labels: either written out in turns, or taken from a stored run."""

    name: Annotated[NonBlankText, Field(description="name in the list of disagreements")]
    simulation_context: Annotated[
        str | None, Field(description="description of the simulated user; the judge sees it, as in a run")
    ] = None
    turns: tuple[LabelledTurn, ...] = ()
    run: Annotated[str | None, Field(description="instead of `turns`: a stored run, by id or `latest`")] = None
    task: Annotated[str | None, Field(description="with `run`: name of the task, or a part of it")] = None
    trial: Annotated[Whole | None, Field(ge=1, description="with `run`: number of the trial; default: 1")] = None
    labels: Annotated[tuple[Label, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _check_source(self) -> "LabelledConversation":
        if (self.run is None) == (not self.turns):
            raise ValueError("give either `turns`, or `run` and `task`")
        if (self.run is None) != (self.task is None):
            raise ValueError("`run` and `task` must be given together")
        if self.run is None and self.trial is not None:
            raise ValueError("`trial` needs `run` and `task`")
        if self.run is not None and self.simulation_context is not None:
            raise ValueError("`simulation_context` needs `turns`; a stored run has its own")
        return self


class LabelledFile(Frozen):
    """A labelled set."""

    labelled: Annotated[
        tuple[LabelledConversation, ...], Field(min_length=1, description="conversations, each with its labels")
    ]


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
