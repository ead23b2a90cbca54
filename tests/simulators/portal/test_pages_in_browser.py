"""Pages of both layouts in Chromium: axe-core, and the scripts."""

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Browser, Page

from clerkship.simulators.portal.rendering import TEMPLATES
from scripts.portal_screenshots import SITE, open_site
from tests.simulators.portal.page_fit import find_misfits
from tests.simulators.portal.sample_views import build_samples

LAYOUTS = [layout for layout in ("wizard", "one_page") if (TEMPLATES / layout).is_dir()]
FEW = ("request", "draft-problem", "draft-services-problem")


def _find_violations(browser: Browser, layout: str, version: int, names: tuple[str, ...]) -> list[str]:
    """Return the serious and critical violations that axe-core finds, with the elements."""
    samples = [sample for sample in build_samples(layout, version) if not names or sample.name in names]
    context = open_site(browser, samples)
    page, axe, found = context.new_page(), Axe(), []
    for sample in samples:
        page.goto(f"{SITE}/{sample.name}")
        for violation in axe.run(page).response["violations"]:
            if violation["impact"] in ("serious", "critical"):
                found += [f"{sample.name}: {violation['id']}: {node['html'][:200]}" for node in violation["nodes"]]
    context.close()
    return found


@pytest.mark.long
@pytest.mark.parametrize("layout", ["wizard", pytest.param("one_page", marks=pytest.mark.slow)])
def test_axe_finds_no_serious_violation_on_the_main_pages(browser: Browser, layout: str) -> None:
    assert _find_violations(browser, layout, 1, FEW) == []


@pytest.mark.slow
@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_axe_finds_no_serious_violation_on_any_page(browser: Browser, layout: str, version: int) -> None:
    assert _find_violations(browser, layout, version, ()) == []


@pytest.mark.slow
@pytest.mark.parametrize("width", [1440, 1280, 768])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_nothing_is_clipped_or_overlaps_at_desktop_and_tablet_width(browser: Browser, layout: str, width: int) -> None:
    samples = build_samples(layout)
    context = open_site(browser, samples, width)
    page, found = context.new_page(), dict[str, list[str]]()
    for sample in samples:
        page.goto(f"{SITE}/{sample.name}")
        found[sample.name] = find_misfits(page)
    context.close()
    assert {name: misfits for name, misfits in found.items() if misfits} == {}


@pytest.fixture
def services(browser: Browser) -> Page:
    """Return the page of a wizard's services, with a short code list."""
    context = open_site(browser, [each for each in build_samples("wizard") if each.name == "draft-services-first"])
    codes = '{"codes": {"72148": "MRI of the lumbar spine", "72141": "MRI of the neck", "97110": "Exercise"}}'
    context.route("**/codes/procedures.json", lambda route: route.fulfill(body=codes, content_type="application/json"))
    page = context.new_page()
    page.clock.install()
    page.goto(f"{SITE}/draft-services-first")
    return page


def test_code_is_chosen_from_suggestions_with_the_keyboard(services: Page) -> None:
    field = services.get_by_role("combobox", name="Procedure code")
    field.press_sequentially("mri lum")
    options = services.get_by_role("listbox", name="Suggestions").get_by_role("option")
    options.first.wait_for()
    assert options.all_inner_texts() == ["72148 MRI of the lumbar spine"]
    assert field.get_attribute("aria-expanded") == "true"
    field.press("ArrowDown")
    assert field.get_attribute("aria-activedescendant") == options.get_attribute("id")
    field.press("Enter")
    assert field.input_value() == "72148"
    assert field.get_attribute("aria-expanded") == "false"
    assert services.url == f"{SITE}/draft-services-first"
    services.context.close()


@pytest.mark.slow
def test_session_countdown_warns_before_the_session_ends(services: Page) -> None:
    notice = services.locator("[data-idle-minutes]")
    services.clock.run_for(17 * 60_000)
    assert notice.inner_text() == ""
    services.clock.run_for(90_000)
    assert notice.inner_text() == "Your session ends in 2 minutes. Save your work to stay signed in."
    services.clock.run_for(2 * 60_000)
    assert notice.inner_text() == "Your session has ended. Sign in again to go on."
    services.context.close()
