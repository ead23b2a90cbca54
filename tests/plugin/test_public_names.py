"""What solutions, examples and guides import has a public name; old paths of stored solutions still work."""

import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from clerkship.actors.python import load_source
from clerkship.old_paths import MOVED

ROOT = Path(__file__).parents[2]
PLACES = ("suites", "examples", "src/clerkship/demo", "src/clerkship/service/templates")
CODE = sorted(path for place in PLACES for suffix in ("*.py", "*.py.txt") for path in (ROOT / place).rglob(suffix))
PAGES = sorted((ROOT / "docs" / "guide").glob("*.md"))
IMPORT = re.compile(r"^\s*(?:from|import) (clerkship[\w.]*)", re.MULTILINE)
PUBLIC = re.compile(r"clerkship(\.client|\.plugin(\.\w+)?)?")


def test_only_public_names_are_imported() -> None:
    inner = [
        (str(path.relative_to(ROOT)), module)
        for path in [*CODE, *PAGES]
        for module in IMPORT.findall(path.read_text(encoding="utf-8"))
        if not PUBLIC.fullmatch(module)
    ]
    assert inner == []


OLD_SOLUTION = """
from clerkship.domains.payer.inquiry import EligibilityInquiry, PersonQuery
from clerkship.hl7.message import build_field, parse_message
from clerkship.sandbox.handle import Dropped, Refused
from clerkship.simulators.x12.requests import RequestHeader, build_eligibility_request, render_requests
from clerkship.x12.interchange import parse_interchanges
from clerkship.x12.segment_path import find_values
from clerkship.x12.validation import validate_set
from clerkship.x12.writer import OutgoingEnvelope


def on_task(task_item):
    return "done"
"""


@pytest.mark.filterwarnings("ignore:.* moved:DeprecationWarning")
def test_stored_solution_with_old_paths_runs() -> None:
    assert load_source(OLD_SOLUTION, "solution.py")


def test_old_paths_give_the_objects_of_the_public_names() -> None:
    code = (
        "import warnings; warnings.simplefilter('error', DeprecationWarning)\n"
        "from clerkship.plugin.x12 import parse_interchanges as new\n"
        "try:\n"
        "    import clerkship.x12.interchange\n"
        "except DeprecationWarning as warning:\n"
        "    assert str(warning) == 'clerkship.x12.interchange moved: import from clerkship.plugin.x12', warning\n"
        "warnings.simplefilter('ignore', DeprecationWarning)\n"
        "from clerkship.x12.interchange import parse_interchanges as old\n"
        "assert old is new\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_old_paths_lead_to_public_modules_that_exist() -> None:
    modules = sorted(set(MOVED.values()))
    assert [public for public in modules if not PUBLIC.fullmatch(public)] == []
    assert all(import_module(public) for public in modules)
