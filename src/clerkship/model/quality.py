"""How good a conversation was, as a model rated it. Kept beside the verdict, and never part of it."""

from statistics import fmean

from clerkship.model.frozen import Frozen

SCALES = ("helpfulness", "repair_quality", "coherence", "tone")
"""The built-in ratings from 1 to 5."""
COMPLETION = "task_completion"


class Rating(Frozen):
    """One metric: a number from 1 to 5, or yes or no; and why."""

    score: int | None = None
    passed: bool | None = None
    reason: str = ""


class Quality(Frozen):
    """All metrics of one trial, or why there are none."""

    ratings: dict[str, Rating] = {}
    summary: str = ""
    error: str = ""
    model: str = ""
    prompt: str = ""
    """The mark of the prompt."""

    @property
    def bot_quality(self) -> float | None:
        """The mean of the built-in scales that were rated; none if none was."""
        scores = [found.score for name in SCALES if (found := self.ratings.get(name)) and found.score is not None]
        return round(fmean(scores), 2) if scores else None
