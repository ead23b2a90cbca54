"""The chart cache: the same datasets share one chart, until it is evicted."""

from clerkship.formats.fhir.chart import MAX_CHARTS, load_chart
from clerkship.model.dataset import Dataset


def build_dataset(id: str, gender: str = "female") -> Dataset:
    line = f'{{"resourceType":"Patient","id":"{id}","gender":"{gender}"}}'.encode()
    return Dataset(name=id, type="fhir", lines=(line,))


def test_same_datasets_share_one_chart() -> None:
    chart = load_chart([build_dataset("a"), build_dataset("b")])
    assert list(chart) == ["Patient/a", "Patient/b"]
    assert load_chart([build_dataset("a"), build_dataset("b")]) is chart
    assert load_chart([build_dataset("b"), build_dataset("a")]) is not chart


def test_later_dataset_overrides_resources_of_earlier_ones() -> None:
    assert b"male" in load_chart([build_dataset("a"), build_dataset("a", "male")])["Patient/a"]


def test_least_recently_used_chart_is_evicted() -> None:
    first = load_chart([build_dataset("first")])
    for number in range(MAX_CHARTS):
        load_chart([build_dataset(f"n{number}")])
    assert load_chart([build_dataset("first")]) is not first
    assert list(load_chart([])) == []
