"""The environments in which linuxforhealth-x12 and pyx12 are installed."""

from pathlib import Path

from tests.clients.installs import python_environment

PROGRAMS = Path(__file__).parent / "programs"


def linuxforhealth_python() -> str:
    """Return the Python that has linuxforhealth-x12. Raises `CannotInstall`."""
    return str(python_environment("linuxforhealth-x12", PROGRAMS / "linuxforhealth.txt"))


def pyx12_python() -> str:
    """Return the Python that has pyx12. Raises `CannotInstall`."""
    return str(python_environment("pyx12", PROGRAMS / "pyx12.txt"))
