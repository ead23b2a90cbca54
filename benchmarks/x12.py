"""Measure X12: the library beside linuxforhealth-x12 and pyx12. Prints a table.

python -m benchmarks.x12 [--quick]
"""

import argparse

from benchmarks import x12_library


def main() -> None:
    """Parse the command line, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="that it works at all: seconds instead of minutes")
    quick = parser.parse_args().quick
    print(x12_library.table(x12_library.measure(20, 1) if quick else x12_library.measure()), flush=True)


if __name__ == "__main__":
    main()
