"""Measure both feeds: MLLP against the server of `hl7`, SFTP against the server of OpenSSH. Prints two tables.

python -m benchmarks.feeds [--quick]
"""

import argparse

from benchmarks import feeds_mllp, feeds_sftp


def main() -> None:
    """Parse the command line, and print both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="that it works at all: seconds instead of minutes")
    quick = parser.parse_args().quick
    print(feeds_mllp.table(feeds_mllp.measure(0.5, 1) if quick else feeds_mllp.measure()), flush=True)
    print()
    print(feeds_sftp.table(feeds_sftp.measure(16, 100, 1) if quick else feeds_sftp.measure()), flush=True)


if __name__ == "__main__":
    main()
