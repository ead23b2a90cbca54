"""The command line's first line: `--version` answers before anything heavy is imported."""

import gc
import sys

from clerkship import __version__, by_name


def main() -> int:
    """Run the command line and return its exit code."""
    if sys.argv[1:] in (["--version"], ["-V"]):
        sys.stdout.write(f"clerkship {__version__}\n")
        return 0
    gc.disable()  # imports create many objects and no garbage; collected again once the command is imported
    gc.set_threshold(10_000)  # a command builds much that it keeps until its end: to look at it often finds no garbage
    by_name.freezes_imports = True
    code: int = by_name.load("clerkship.cli.app:run")(sys.argv[1:])
    gc.freeze()  # the interpreter collects before it exits: this leaves it nothing to look at
    return code


if __name__ == "__main__":
    sys.exit(main())
