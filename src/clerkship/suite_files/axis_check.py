"""Check the axes of criteria: a misspelt one would not gate, and its score would be a group of its own."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from clerkship.model.environment import AXES, GATE_AXES
from clerkship.model.names import did_you_mean, find_nearest_name
from clerkship.suite_files.definition import Definition
from clerkship.suite_files.shape import as_list, as_map
from clerkship.suite_files.yaml import KeyPath


@dataclass
class AxisCheck:
    """Checks axes against those that the environments and benchmarks of a folder declare."""

    gating: frozenset[str]
    declared: frozenset[str]
    """All axes that are declared, in lower case, with those that gate."""
    warned: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, declarations: Iterable[Mapping[str, Any]]) -> "AxisCheck":
        """Return the check for the environments and benchmarks of a folder, as the files have them."""
        gating, others = set(GATE_AXES), set(AXES)
        for data in declarations:
            gating |= {_fold(axis) for axis in as_list(data.get("gate_axes")) if isinstance(axis, str)}
            others |= {_fold(axis) for axis in as_list(data.get("axes")) if isinstance(axis, str)}
        return cls(frozenset(gating), frozenset(gating | others))

    def check(self, definition: Definition) -> None:
        """Report an undeclared axis that is close to a gating one, and warn of any other, once for each."""
        for number, criterion in enumerate(map(as_map, as_list(definition.fields.get("criteria")))):
            axis = criterion.get("axis")
            if isinstance(axis, str) and _fold(axis) not in self.declared:
                self._report(definition, axis, ["criteria", number, "axis"])

    def _report(self, definition: Definition, axis: str, path: KeyPath) -> None:
        declare = f"declare it: `axes: [{axis}]` in an environment or a benchmark"
        nearest = find_nearest_name(_fold(axis), self.gating)
        if nearest is not None:
            message = f"unknown axis `{axis}`: it would not gate as `{nearest}` does"
            definition.problem(path, message, f"did you mean `{nearest}`? If not, {declare}")
        elif _fold(axis) not in self.warned:
            self.warned.add(_fold(axis))
            hint = did_you_mean(_fold(axis), self.declared)
            hint = f"{hint} If not, {declare}" if hint.startswith("did") else declare
            definition.warning(path, f"the axis `{axis}` is declared nowhere", hint)


def _fold(axis: str) -> str:
    return axis.strip().casefold()
