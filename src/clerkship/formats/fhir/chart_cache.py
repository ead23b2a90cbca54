"""A cache of charts by dataset, so that each combination of datasets is read once."""

import threading
from collections import OrderedDict
from collections.abc import Sequence

from clerkship.formats.fhir.chart import Chart
from clerkship.model.dataset import Dataset

MAX_CHARTS = 8
"""Charts in the cache, enough for a few suites. A chart of 100,000 resources takes a few hundred megabytes."""
_LOCK = threading.Lock()
_CACHE: OrderedDict[tuple[str, ...], Chart] = OrderedDict()


def load_chart(datasets: Sequence[Dataset]) -> Chart:
    """Return all resources of some datasets; of two with the same key, the one of the later dataset."""
    key = tuple(dataset.hash for dataset in datasets)
    with _LOCK:
        if key in _CACHE:
            _CACHE.move_to_end(key)
            return _CACHE[key]
        chart = Chart(line for dataset in datasets for line in dataset.lines or ())
        _CACHE[key] = chart
        while len(_CACHE) > MAX_CHARTS:
            _CACHE.popitem(last=False)
        return chart
