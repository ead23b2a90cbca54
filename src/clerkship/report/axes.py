"""Scores by axis: which axes a report shows, and their names."""

from collections.abc import Iterable, Mapping, Sequence

from clerkship.model.run import DEFAULT_AXIS

NO_AXIS = "no axis"


def axis_name(axis: str | None) -> str:
    """Return the name of an axis in reports."""
    return NO_AXIS if axis in (None, DEFAULT_AXIS) else str(axis)


def list_axes(scores: Iterable[Iterable[str]]) -> list[str]:
    """Return all axes in order of name, the default one last; empty if there is only the default one."""
    found = {axis for axes in scores for axis in axes}
    return [] if found <= {DEFAULT_AXIS} else sorted(found, key=lambda axis: (axis == DEFAULT_AXIS, axis))


def describe_axes(axes: Mapping[str, float]) -> list[str]:
    """Return `safety 0.50` for each axis; empty if there is only the default one."""
    return [f"{axis_name(axis)} {axes[axis]:.2f}" for axis in list_axes([axes])]


def average_axes(rows: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the mean of each axis over the rows that have it."""
    found: dict[str, list[float]] = {}
    for axes in rows:
        for axis, score in axes.items():
            found.setdefault(axis, []).append(score)
    return {axis: sum(scores) / len(scores) for axis, scores in sorted(found.items())}
