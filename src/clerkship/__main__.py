"""The command line's first line: `--version` answers before anything heavy is imported."""

import importlib
import sys

from clerkship import __version__


def main() -> int:
    """Run the command line and return its exit code."""
    if sys.argv[1:] in (["--version"], ["-V"]):
        sys.stdout.write(f"clerkship {__version__}\n")
        return 0
    # By name, because a plain import here would cost --version a third of a second.
    code: int = importlib.import_module("clerkship.cli.app").run(sys.argv[1:])
    return code


if __name__ == "__main__":
    sys.exit(main())
