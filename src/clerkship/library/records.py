"""Datasets of plain records."""

from typing import Annotated, Literal

from pydantic import Field

from clerkship.library.dataset_type import DatasetSource, DatasetType
from clerkship.model.dataset import Dataset, DatasetFile, Record


class RecordsDatasetFile(DatasetFile):
    """Plain records, which tasks bind as entities."""

    type: Literal["records"]
    records: Annotated[tuple[Record, ...], Field(description="the records themselves")] = ()


def load_records(written: RecordsDatasetFile, source: DatasetSource) -> Dataset:
    """Return the records that are written out."""
    return Dataset(name=written.name, type=written.type, records=written.records)


RECORDS_DATASET = DatasetType(name="records", summary="plain records", model=RecordsDatasetFile, load=load_records)
