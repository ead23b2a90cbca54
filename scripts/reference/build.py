"""Builds the pages of docs/reference from the code, and llms.txt from the index of all pages."""

from functools import cache
from pathlib import Path

from clerkship.engine.catalog import build_catalog_without_plugins
from scripts.reference.agents import agents_page
from scripts.reference.api import api_page
from scripts.reference.cds import cds_page
from scripts.reference.cds_service import cds_service_page
from scripts.reference.environment import (
    assertions_page,
    domains_page,
    events_page,
    monitors_page,
    simulators_page,
    steps_page,
)
from scripts.reference.fax import fax_page
from scripts.reference.fhir import fhir_page
from scripts.reference.files import files_page, matchers_page, templates_page
from scripts.reference.hl7 import hl7_page
from scripts.reference.llms import build_llms_text
from scripts.reference.mcp import mcp_page
from scripts.reference.messages import messages_page, portal_to_fhir_page
from scripts.reference.payers import fhir_to_payer_page, payer_page
from scripts.reference.plugins import plugins_page
from scripts.reference.portal import portal_page
from scripts.reference.render import render_page
from scripts.reference.usage import commands_page, grading_page, prompts_page, pytest_page, reports_page, settings_page
from scripts.reference.voice import voice_page
from scripts.reference.x12 import x12_page

FOLDER = Path(__file__).parent.parent.parent / "docs" / "reference"


@cache
def build_pages() -> dict[str, str]:
    """Return every generated page by its file name."""
    catalog = build_catalog_without_plugins()
    return {
        "README.md": render_page("README.md"),
        "files.md": files_page(catalog),
        "assertions.md": assertions_page(catalog),
        "monitors.md": monitors_page(catalog),
        "matchers.md": matchers_page(),
        "templates.md": templates_page(catalog),
        "steps.md": steps_page(catalog),
        "events.md": events_page(catalog),
        "simulators.md": simulators_page(catalog),
        "domains.md": domains_page(catalog),
        "fhir.md": fhir_page(),
        "hl7.md": hl7_page(),
        "x12.md": x12_page(),
        "mcp.md": mcp_page(),
        "messages.md": messages_page(),
        "fax.md": fax_page(),
        "portal.md": portal_page(),
        "voice.md": voice_page(),
        "cds.md": cds_page(),
        "portal_to_fhir.md": portal_to_fhir_page(),
        "cds_service.md": cds_service_page(),
        "payer.md": payer_page(),
        "fhir_to_payer.md": fhir_to_payer_page(),
        "agents.md": agents_page(),
        "commands.md": commands_page(),
        "api.md": api_page(),
        "settings.md": settings_page(),
        "reports.md": reports_page(),
        "grading.md": grading_page(),
        "pytest.md": pytest_page(),
        "plugins.md": plugins_page(),
        "prompts.md": prompts_page(),
        "../../llms.txt": build_llms_text(),
    }


def find_stale_pages(folder: Path = FOLDER) -> list[str]:
    """Return the names of pages that differ from what the code generates."""
    return [
        name
        for name, text in build_pages().items()
        if not (folder / name).exists() or (folder / name).read_text(encoding="utf-8") != text
    ]


def write_pages(folder: Path = FOLDER) -> None:
    """Write every page."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in build_pages().items():
        (folder / name).write_text(text, encoding="utf-8")
