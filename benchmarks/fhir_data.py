"""Measure how many synthetic patients are generated per second, and how large their charts are.

python -m benchmarks.fhir_data [--quick]
"""

import argparse
import gc
import time
from typing import NamedTuple

from clerkship.suite_files.synthetic.generator import generate_lines

SEED = 7


class Made(NamedTuple):
    """A generated dataset with its size and time."""

    patients: int
    resources: int
    size: int
    seconds: float

    @property
    def rate(self) -> float:
        """Patients per second."""
        return self.patients / self.seconds


def made(patients: int) -> Made:
    """Generate so many patients, rendered and in the order of a dataset."""
    gc.collect()
    began = time.perf_counter()
    found = generate_lines(patients, SEED)
    taken = time.perf_counter() - began
    return Made(patients, len(found), sum(map(len, found)), taken)


def measured(*, quick: bool = False) -> list[Made]:
    """Measure a small and a large dataset, after a first call that warms up."""
    made(10)
    return [made(patients) for patients in ((100,) if quick else (100, 1000))]


def table(rows: list[Made]) -> str:
    """Return the results as the table in docs/performance.md."""
    head = "| patients | resources | size | seconds | patients/s | resources/s |\n|---:|---:|---:|---:|---:|---:|"
    body = [
        f"| {row.patients:,} | {row.resources:,} | {row.size / 1e6:.1f} MB | {row.seconds:.2f} | {row.rate:,.0f} "
        f"| {row.resources / row.seconds:,.0f} |"
        for row in rows
    ]
    return "\n".join([head, *body])


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="the small valley alone")
    print(table(measured(quick=parser.parse_args().quick)))


if __name__ == "__main__":
    main()
