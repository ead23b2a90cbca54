"""The load benchmark works with small sizes, and its chart is an SVG."""

from collections import defaultdict
from pathlib import Path
from xml.etree import ElementTree

import pytest

from benchmarks import load
from benchmarks.load import CASES
from benchmarks.picture import Curve, draw
from benchmarks.table import render_table

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("case", "values"),
    [
        ("busy", ("40", "20")),
        ("waiting", ("400", "200")),
        ("playgrounds", ("20",)),
        ("long_log", ("300",)),
        ("stopped", ("8",)),
    ],
)
def test_case_reports_its_measurements(case: str, values: tuple[str, ...], tmp_path: Path) -> None:
    found = CASES[case](tmp_path, *values)
    assert all(value >= 0 for value in found.values())


def test_chart_is_an_svg_with_a_panel_for_each_curve() -> None:
    curves = [Curve("a < b", "trials", "ms", {1: 0.5, 10: 0.6}), Curve("flat", "events", "MB", {1: 50.0, 1000: 50.0})]
    root = ElementTree.fromstring(draw(curves))
    space = "{http://www.w3.org/2000/svg}"
    assert len(root.findall(f"{space}g")) == 2
    assert [path.get("d", "").count("L") for path in root.iter(f"{space}path")] == [1, 1]
    assert "a < b" in "".join(root.itertext())


def test_every_figure_has_a_row_and_every_growth_a_curve(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load, "measure", lambda case: defaultdict(lambda: 2.0))
    curves: list[Curve] = []
    table = render_table(("what", "time", "memory"), load.measure_all(curves))
    assert "| 10,000 trials, 200 at once | 2.0 s (0.20 ms each) | 2 MB |" in table
    assert "| … its last 20 events | 2.0 ms |  |" in table
    assert draw(curves).count("<path") == len(curves) == 6
