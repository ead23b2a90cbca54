"""Datasets that an environment names and nothing there uses."""

from collections.abc import Collection, Iterator, Mapping

from clerkship.kit.registry import UnknownName
from clerkship.library.catalog import Catalog
from clerkship.library.yaml import Path
from clerkship.model.dataset import Dataset
from clerkship.model.environment import Environment

HINT = "leave it out, or add a simulator that is loaded from it"


def unused_datasets(
    environment: Environment, datasets: Mapping[str, Dataset], taken: Collection[str], catalog: Catalog
) -> Iterator[tuple[Path, str]]:
    """Yield the place and a warning for each; `taken` are the datasets that tasks bind records or take files from."""
    types = _loaded_types(environment, catalog)
    for number, name in enumerate(environment.datasets):
        dataset = datasets.get(name)
        if dataset is None or dataset.type in types or name in taken:
            continue
        message = f"`{name}` is not used: no simulator of `{environment.name}` is loaded from a dataset of type "
        yield ["datasets", number], f"{message}{dataset.type}, and no task binds a record of it"


def _loaded_types(environment: Environment, catalog: Catalog) -> set[str | None]:
    """Return the types of dataset that the parts of an environment are loaded from."""
    found: set[str | None] = set()
    for simulator in environment.simulators.values():
        try:
            found.add(catalog.simulator(simulator.kind).dataset)
        except UnknownName:  # reported where it is named
            continue
    return found
