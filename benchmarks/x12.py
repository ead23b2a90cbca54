"""Measure X12: the library beside linuxforhealth-x12 and pyx12, then the sandbox. Prints two tables.

python -m benchmarks.x12 [--quick]
"""

import argparse

from benchmarks import x12_library, x12_sandbox


def main() -> None:
    """Parse the command line, and print both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="that it works at all: seconds instead of minutes")
    quick = parser.parse_args().quick
    print(x12_library.table(x12_library.measure(20, 1) if quick else x12_library.measure()), flush=True)
    print()
    print(x12_sandbox.table(0.3, 100, 20) if quick else x12_sandbox.table(), flush=True)


if __name__ == "__main__":
    main()
