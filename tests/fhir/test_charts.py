"""Charts are shared: the same datasets, the same chart, until too many others were asked for."""

from clerkship.fhir import charts
from clerkship.fhir.chart_cache import load_chart
from clerkship.model.dataset import Dataset


def dataset(id: str, gender: str = "female") -> Dataset:
    """One patient."""
    line = f'{{"resourceType":"Patient","id":"{id}","gender":"{gender}"}}'.encode()
    return Dataset(name=id, type="fhir", lines=(line,))


def test_the_same_datasets_have_the_same_chart() -> None:
    one = load_chart([dataset("a"), dataset("b")])
    assert list(one) == ["Patient/a", "Patient/b"]
    assert load_chart([dataset("a"), dataset("b")]) is one
    assert load_chart([dataset("b"), dataset("a")]) is not one


def test_the_later_dataset_has_the_last_word() -> None:
    assert b"male" in load_chart([dataset("a"), dataset("a", "male")])["Patient/a"]


def test_charts_that_nobody_asks_for_are_let_go() -> None:
    first = load_chart([dataset("first")])
    for number in range(charts.MAX_CHARTS):
        load_chart([dataset(f"n{number}")])
    assert load_chart([dataset("first")]) is not first
    assert list(load_chart([])) == []
