"""Tests."""

import os
import sys

# Before anything else is imported, or each process would compile the package anew, and so would each command that a
# guide runs.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
