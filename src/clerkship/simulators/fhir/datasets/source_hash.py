"""The hash of the code that compiles and searches FHIR datasets. It is part of every key of the cache."""

import hashlib
from functools import cache
from pathlib import Path

_SOURCE_FILES = (
    *("formats/fhir/*.py", "formats/fhir/tables/*", "suite_files/document.py", "simulators/fhir/datasets/*.py"),
    *("suite_files/synthetic/*.py", "suite_files/synthetic/tables/*.json", "text/*.py", "text/tables/*.json"),
    *("formats/fhir/search/*.py", "formats/fhir/evaluation/*.py", "model/dataset.py", "model/matcher.py"),
)


@cache
def hash_source_files() -> bytes:
    """Hash the code that builds and searches datasets: a change of code makes the cache invalid between releases."""
    package = Path(__file__).parents[3]
    files = [path for part in _SOURCE_FILES for path in sorted(package.glob(part))]
    return hashlib.sha256(b"".join(hashlib.sha256(path.read_bytes()).digest() for path in files)).digest()
