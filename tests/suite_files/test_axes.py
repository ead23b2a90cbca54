"""An axis that is declared nowhere is a mistake if it is close to a gating one, and a warning otherwise."""

import pytest

from tests.suite_files.library_folder import LibraryFolder

ENVIRONMENT = "environment: {name: office, simulators: {chat: {kind: chat}}%s}\n"


def write_criteria(folder: LibraryFolder, *axes: str, environment: str = "") -> None:
    folder.write("office.yml", ENVIRONMENT % environment)
    criteria = "".join(f"    - {{label: x, axis: {axis}, assertion: {{answer_matches: booked}}}}\n" for axis in axes)
    folder.write("t.yml", f"task:\n  name: A\n  criteria:\n{criteria}")


@pytest.mark.parametrize(
    ("axis", "environment", "gating"),
    [
        ("privcy", "", "privacy"),
        ("Saftey", "", "safety"),
        ("harms", ", gate_axes: [harm]", "harm"),
    ],
)
def test_undeclared_axis_close_to_a_gating_one_is_a_mistake(
    folder: LibraryFolder, axis: str, environment: str, gating: str
) -> None:
    write_criteria(folder, axis, environment=environment)
    [line] = folder.lines()
    assert line.startswith("t.yml:4:")
    assert "task.criteria.0.axis: " in line
    assert f"unknown axis `{axis}`: it would not gate as `{gating}` does; did you mean `{gating}`?" in line
    assert f"`axes: [{axis}]`" in line


def test_other_undeclared_axis_is_one_warning_for_the_folder(folder: LibraryFolder) -> None:
    write_criteria(folder, "billing", "Billing", "billing", "corectness", "correctness", " Privacy")
    first, second = folder.warnings()
    assert "t.yml:4:" in first
    assert "the axis `billing` is declared nowhere; declare it: `axes: [billing]`" in first
    assert "t.yml:7:" in second
    assert "did you mean `correctness`? If not, declare it" in second


def test_axis_that_an_environment_or_a_benchmark_declares_is_accepted(folder: LibraryFolder) -> None:
    write_criteria(folder, "billing", "privcy", environment=", axes: [billing, privcy]")
    assert folder.warnings() == []
    write_criteria(folder, "billing")
    folder.write("b.yml", "benchmark: {name: B, slug: b, axes: [Billing]}\n")
    assert folder.warnings() == []
