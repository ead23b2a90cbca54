"""The keys of a dataset depend on its type."""

import pytest

from tests.suite_files.library_folder import LibraryFolder


@pytest.mark.parametrize(
    ("dataset", "message"),
    [
        ("{name: d, type: recrds}", "dataset.type: unknown dataset type `recrds`; did you mean `records`?"),
        ("{name: d, type: files, records: [{}]}", "dataset.records: unknown key `records`"),
        ("{name: d, type: 5}", "dataset.type: expected text, not 5"),
        ("{name: d}", "dataset: `type` is missing"),
        ("{name: d, type: acme.roster}", "no plug-in `acme` is installed"),
    ],
)
def test_dataset_is_validated_by_its_type(folder: LibraryFolder, dataset: str, message: str) -> None:
    folder.write("d.yml", f"dataset: {dataset}\ntask: {{name: T}}\n")
    assert message in folder.lines()[0]
