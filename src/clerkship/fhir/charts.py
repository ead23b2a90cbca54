"""The chart that some datasets make together: read once, for all who use the same ones."""

import threading
from collections import OrderedDict
from collections.abc import Sequence

from clerkship.fhir.chart import Chart
from clerkship.model.dataset import Dataset

MOST = 8
"""Charts kept at once: those of a few suites; one of 100,000 resources is a few hundred megabytes."""
_LOCK = threading.Lock()
_KNOWN: OrderedDict[tuple[str, ...], Chart] = OrderedDict()


def chart_of(datasets: Sequence[Dataset]) -> Chart:
    """All their resources; of two with the same key that of the later dataset."""
    key = tuple(dataset.hash for dataset in datasets)
    with _LOCK:
        if key in _KNOWN:
            _KNOWN.move_to_end(key)
            return _KNOWN[key]
        chart = Chart(line for dataset in datasets for line in dataset.lines or ())
        _KNOWN[key] = chart
        while len(_KNOWN) > MOST:
            _KNOWN.popitem(last=False)
        return chart
