"""A policy of a payer, its versions, and which of them applies on a day."""

from collections.abc import Iterator, Sequence
from datetime import date
from itertools import combinations
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from clerkship.model.frozen import Frozen
from clerkship.model.located_error import FieldPath, build_located_error
from clerkship.payer.code_pattern import CodePatterns, matches_any_code
from clerkship.payer.name_sorts import PAYER, PLAN
from clerkship.text.folding import fold_words

PolicyKind = Literal["federal_rule", "plan_document", "medical_policy", "guideline"]
VersionStatus = Literal["in_force", "superseded", "future"]
KIND_LABELS: dict[PolicyKind, str] = {
    "federal_rule": "Federal rule",
    "plan_document": "Plan document",
    "medical_policy": "Medical policy",
    "guideline": "Guideline",
}
"""From the highest rank to the lowest: where two policies conflict, the lower one gives way."""
RANKS: dict[PolicyKind, int] = {kind: rank for rank, kind in enumerate(KIND_LABELS, 1)}


class PolicySection(Frozen):
    """A part of a policy with a heading: paragraphs, then criteria, then a table."""

    heading: Annotated[str, Field(min_length=1, max_length=120, description="its heading")]
    paragraphs: Annotated[tuple[str, ...], Field(description="its text")] = ()
    criteria: Annotated[tuple[str, ...], Field(description="a numbered list, such as what a request must meet")] = ()
    table: Annotated[tuple[tuple[str, ...], ...], Field(description="rows of a table; the first is its header")] = ()


class PolicyVersion(Frozen):
    """One version of a policy."""

    number: Annotated[
        str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9.]{0,19}$", description='its number, in quotes: "2026.1"')
    ]
    effective: Annotated[date, Field(description="first day on which it applies")]
    until: Annotated[date | None, Field(description="last day on which it applies; none if it is not given")] = None
    services: Annotated[
        CodePatterns | None, Field(description="procedure codes, patterns or ranges that it is about; all if not given")
    ] = None
    changes: Annotated[str, Field(description="what is new in it, for its revision history")] = ""
    sections: Annotated[tuple[PolicySection, ...], Field(min_length=1, description="its text")]

    @model_validator(mode="after")
    def _check_days(self) -> Self:
        if self.until is not None and self.until < self.effective:
            raise ValueError(f"`until` ({self.until}) is before `effective` ({self.effective})")
        return self

    def find_status(self, day: date) -> VersionStatus:
        """Return whether it applies on a day, or did before, or will."""
        if day < self.effective:
            return "future"
        return "superseded" if self.until is not None and day > self.until else "in_force"

    def is_about(self, code: str) -> bool:
        """Return whether it is about a procedure."""
        return self.services is None or matches_any_code(self.services, (code,))


class Policy(Frozen):
    """A policy of a payer: a document in versions, with a rank that follows from its kind."""

    id: Annotated[str, Field(pattern=r"^[A-Z][A-Z0-9]*(-[A-Z0-9]+)*-\d+$", description="its id, such as CM-RAD-014")]
    title: Annotated[str, Field(min_length=1, max_length=150, description="its title")]
    publisher: Annotated[str, Field(min_length=1, max_length=80, description="who published it, for the letterhead")]
    kind: Annotated[
        PolicyKind,
        Field(description="its kind, from the highest rank to the lowest; the lower gives way in a conflict"),
    ]
    payer: Annotated[str | None, PAYER, Field(description="number of the payer; all payers if not given")] = None
    plans: Annotated[tuple[Annotated[str, PLAN], ...] | None, Field(description="ids of plans; all if not given")] = (
        None
    )
    versions: Annotated[tuple[PolicyVersion, ...], Field(min_length=1, description="its versions, oldest first")]
    sections: Annotated[
        tuple[PolicySection, ...],
        Field(description="what all versions say after their own sections, unless they have one with the same heading"),
    ] = ()

    @model_validator(mode="after")
    def _check_versions(self) -> Self:
        mistakes: list[tuple[FieldPath, str]] = []
        for (_, first), (place, second) in combinations(enumerate(self.versions), 2):
            if first.number == second.number:
                mistakes.append((("versions", place, "number"), f"two versions have the number {first.number}"))
            if first.effective > second.effective:
                mistakes.append((("versions", place, "effective"), f"it is before that of {first.number}; sort them"))
            elif first.until is None or second.effective <= first.until:
                text = f"version {first.number} applies on this day, too: end it before, with `until`"
                mistakes.append((("versions", place, "effective"), text))
        if mistakes:
            raise build_located_error(mistakes)
        return self

    @property
    def rank(self) -> int:
        """1 is the highest: nothing comes before it."""
        return RANKS[self.kind]

    def find_version(self, number: str) -> PolicyVersion | None:
        """Return the version with a number."""
        return next((each for each in self.versions if each.number == number), None)

    def list_sections(self, version: PolicyVersion) -> list[PolicySection]:
        """Return the sections of a version: its own, then those that all have."""
        own = {each.heading for each in version.sections}
        return [*version.sections, *(each for each in self.sections if each.heading not in own)]


def search_versions(
    policies: Sequence[Policy], text: str = "", code: str = "", day: date | None = None
) -> Iterator[tuple[Policy, PolicyVersion]]:
    """Yield the versions with all words of a text, about a procedure, and in force on a day; the newest first."""
    words = set(fold_words(text))
    for policy in sorted(policies, key=lambda each: (each.rank, each.id)):
        for version in reversed(policy.versions):
            is_asked = (not code or version.is_about(code)) and (day is None or version.find_status(day) == "in_force")
            if is_asked and words <= _list_words(policy, version):
                yield policy, version


def _list_words(policy: Policy, version: PolicyVersion) -> set[str]:
    texts = [policy.id, policy.title, policy.publisher, KIND_LABELS[policy.kind], *(version.services or ())]
    for section in policy.list_sections(version):
        rows = (cell for row in section.table for cell in row)
        texts += [section.heading, *section.paragraphs, *section.criteria, *rows]
    return {word for each in texts for word in fold_words(each)}
