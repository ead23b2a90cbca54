"""The evidence of a model's verdict on one criterion: citations, votes, and the judge."""

import re
from dataclasses import dataclass

import orjson

from clerkship.model.run import CriterionRun, FieldCheck

_PLACE = re.compile(r"T\d+(?:\.\d+)?|#\d+(?:\.\.#\d+)?")


@dataclass(frozen=True)
class CriterionVote:
    """One of several votes on a criterion."""

    number: int
    word: str
    """`pass`, `fail`, or `not cast`."""
    reason: str


@dataclass(frozen=True)
class JudgeEvidence:
    """The evidence of a judged criterion, by kind."""

    cites: tuple[FieldCheck, ...]
    votes: tuple[CriterionVote, ...]
    judge: str
    rest: tuple[FieldCheck, ...]


def is_citation(row: FieldCheck) -> bool:
    """Return whether a row of evidence is a location and the words that occur there."""
    return bool(_PLACE.fullmatch(row.path)) and isinstance(row.expected, dict) and "contains" in row.expected


def describe_move(row: FieldCheck) -> str:
    """Return that a quotation was moved to the line that has it, to follow its place; empty if it was not."""
    moved_from = row.expected.get("moved_from")
    return f" (moved from {moved_from})" if moved_from else ""


def parse_judge_evidence(criterion: CriterionRun) -> JudgeEvidence:
    """Sort the rows of evidence by kind."""
    cites, rest = list[FieldCheck](), list[FieldCheck]()
    votes, judge = tuple[CriterionVote, ...](), ""
    for row in criterion.evidence:
        if is_citation(row):
            cites.append(row)
        elif row.path == "votes" and isinstance(row.actual, dict):
            votes = tuple(_parse_vote(one) for one in row.actual.get("each", ()))
        elif row.path == "judge" and isinstance(row.actual, dict):
            judge = _describe_judge(row.actual)
        else:
            rest.append(row)
    return JudgeEvidence(tuple(cites), votes, judge, tuple(rest))


def _parse_vote(given: dict[str, object]) -> CriterionVote:
    if "error" in given:
        return CriterionVote(_number(given), "not cast", str(given["error"]))
    return CriterionVote(_number(given), "pass" if given.get("passed") else "fail", str(given.get("reasoning", "")))


def _number(given: dict[str, object]) -> int:
    number = given.get("vote")
    return number if isinstance(number, int) else 0


def _describe_judge(judge: dict[str, object]) -> str:
    """Return `openai:gpt-5.1, prompt criterion-9d5c4813d274, {"temperature":0}`."""
    parameters = judge.get("parameters")
    parts = [str(judge.get("model", "")), f"prompt {judge['prompt']}" if judge.get("prompt") else ""]
    parts += [orjson.dumps(parameters, default=str).decode()] if parameters else []
    return ", ".join(filter(None, parts))
