"""Writes docs/reference from the code.

python -m scripts.reference            write the pages python -m scripts.reference --check    exit with 1 if a page
is not current
"""

import sys
from collections.abc import Sequence

from scripts.reference.build import find_stale_pages, write_pages


def main(arguments: Sequence[str]) -> int:
    """Write the pages, or check that they are current."""
    if "--check" not in arguments:
        write_pages()
        return 0
    stale = find_stale_pages()
    print("not current: " + ", ".join(stale) if stale else "current")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
