"""The pages of the single-payer site: every page with all samples, in both versions."""

import re
from dataclasses import replace

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]

from clerkship.simulators.portal.rendering import CSRF_FIELD, TEMPLATES, complete_page, render_page
from clerkship.simulators.portal.views import DraftView, FieldMistake, View
from scripts.portal_screenshots import SITE, open_browser, open_site
from tests.report.browser import PROGRAM
from tests.simulators.portal.page_checks import find_field_names, find_page_problems, parse_page
from tests.simulators.portal.sample_views import Sample, build_samples

SAMPLES = {version: {sample.name: sample for sample in build_samples("one_page", version)} for version in (1, 2)}
SECTIONS = ("patient", "request", "providers", "diagnoses", "services", "clinical", "documents", "review")


def _render(sample: Sample) -> str:
    return render_page(sample.frame, sample.view).decode()


def _draft(name: str = "draft", version: int = 1) -> Sample:
    return SAMPLES[version][name]


def test_every_view_has_a_template_and_a_sample() -> None:
    pages = {view.page for view in View.__subclasses__()}
    templates = {path.stem for path in (TEMPLATES / "one_page").glob("*.html")}
    assert pages <= templates
    assert pages == {sample.view.page for sample in SAMPLES[1].values()}
    assert templates - pages == {"base", "macros", "words"}


@pytest.mark.parametrize("version", [1, 2])
def test_every_page_is_valid_and_accessible_html(version: int) -> None:
    problems = {
        name: found
        for name, sample in SAMPLES[version].items()
        if (found := find_page_problems(_render(sample).encode()))
    }
    assert problems == {}


def test_both_versions_have_the_same_fields_and_buttons() -> None:
    for name, sample in SAMPLES[1].items():
        other = SAMPLES[2][name]
        names = [find_field_names(parse_page(_render(each).encode())) for each in (sample, other)]
        assert names[0] == names[1], name


def test_version_2_has_other_labels_and_another_order() -> None:
    first, second = _render(_draft()), _render(_draft(version=2))
    assert "Submit request" in first
    assert "Submit request" not in second
    orders = [re.findall(r'<section class="numbered" id="section-(\w+)"', html) for html in (first, second)]
    assert orders[0] == list(SECTIONS)
    assert orders[1] != orders[0]
    assert sorted(orders[1]) == sorted(SECTIONS)
    fields = [[each["name"] for each in parse_page(html.encode()).find("input")] for html in (first, second)]
    assert fields[0] != fields[1]


def test_form_has_only_the_sections_that_are_shown() -> None:
    html = _render(_draft("draft-request"))
    assert re.findall(r'id="section-(\w+)"', html) == ["patient", "request"]
    assert 'value="next"' in html
    assert 'value="submit"' not in html


def test_all_sections_are_one_form_with_one_token() -> None:
    page = parse_page(_render(_draft()).encode())
    forms = [form for form in page.forms if form[0][1]["action"].startswith("/drafts/")]
    assert len(forms) == 1
    names = {each.get("name") for _, each in forms[0]}
    assert {
        "revision",
        "member",
        "review",
        "servicing_npi",
        "diagnosis_code",
        "units",
        "note",
        "file",
        "attest",
    } <= names


def test_form_has_every_field_and_button_of_the_contract() -> None:
    """The table in templates/README.md; `back` has no meaning on one page."""
    samples = ("draft-first", "draft", "draft-search", "draft-diagnosis-search", "draft-provider-search")
    names = set().union(*(find_field_names(parse_page(_render(_draft(name)).encode())) for name in samples))
    text = (TEMPLATES / "README.md").read_text(encoding="utf-8")
    table = text.split("|---|---|---|")[1].split("On every step")[0]
    rows = [row.split("|")[2:4] for row in table.splitlines() if row.startswith("|")]
    fields = {name for row in rows for name in re.findall(r"`([a-z_]+)`", row[0])}
    actions = {name for row in rows for name in re.findall(r"`([a-z_]+)(?::[A-Z]+)?`", row[1])}
    buttons = {name.removeprefix("action=").partition(":")[0] for name in names if name.startswith("action=")}
    assert fields - names == set()
    # The sample of a search for providers is one for the servicing provider.
    assert (actions | {"save", "leave"}) - buttons == {"choose_requesting"}


def test_enter_key_saves_the_draft() -> None:
    """Browsers press the first button of a form when Enter is pressed in a field."""
    page = parse_page(_render(_draft()).encode())
    form = next(form for form in page.forms if form[0][1]["action"].startswith("/drafts/"))
    first = next(each for tag, each in form if tag == "button")
    assert first["value"] == "save"


def test_new_request_begins_on_the_page_of_drafts() -> None:
    posts = {
        name
        for name, sample in SAMPLES[1].items()
        if any(form[0][1]["action"] == "/drafts" for form in parse_page(_render(sample).encode()).forms)
    }
    assert posts == {"draft_list", "draft_list-empty"}
    assert 'href="/drafts"' in _render(SAMPLES[1]["home"])


def test_menu_has_only_what_the_account_may_use() -> None:
    sample = SAMPLES[1]["home"]
    html = _render(sample._replace(frame=replace(sample.frame, rights=("eligibility",))))
    assert 'href="/members"' in html
    assert not {'href="/requests"', 'href="/drafts"', 'href="/claims"'} & set(re.findall(r'href="[^"]+"', html))


def test_problem_stands_in_the_summary_and_at_its_field() -> None:
    sample = _draft()
    view = replace(sample.view, problems=[FieldMistake("place", "Choose a place."), FieldMistake("", "Not possible.")])
    html = _render(sample._replace(view=view))
    assert '<a href="#place">Choose a place.</a>' in html
    assert re.search(r'<select id="place"[^>]*aria-describedby="place-problem" aria-invalid="true"', html)
    assert html.count("Not possible.") == 1


def test_typed_text_is_escaped_and_never_taken_for_a_path() -> None:
    sample = _draft()
    assert isinstance(sample.view, DraftView)
    typed = "/<script>alert(1)</script>\"' onfocus='x"
    fields = find_field_names(parse_page(_render(sample).encode()))
    view = replace(sample.view, values=dict.fromkeys(fields, typed))
    html = complete_page(render_page(sample.frame, view), "/sandboxes/7", "t0ken")
    assert b"<script>alert" not in html
    assert b"onfocus='x" not in html
    assert b"/sandboxes/7/&lt;script" not in html
    assert find_page_problems(html) == []


def test_completed_page_has_the_path_and_the_token_everywhere() -> None:
    for sample in SAMPLES[1].values():
        html = complete_page(_render(sample).encode(), "/sandboxes/7", "t0ken")
        assert CSRF_FIELD.encode() not in html
        page = parse_page(html)
        paths = [each[name] for _, each in page.elements for name in ("href", "src", "action") if name in each]
        assert {path[:1] for path in paths} <= {"/", "#"}
        assert all(path.startswith(("/sandboxes/7/", "#")) for path in paths), sample.name


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.skipif(PROGRAM is None, reason="no Chromium on this machine")
@pytest.mark.parametrize("width", [1400, 834])
def test_axe_finds_no_serious_violation_and_no_page_scrolls_sideways(width: int) -> None:
    axe, found = Axe(), []
    with open_browser() as browser:
        page = open_site(browser, list(SAMPLES[1].values()), width).new_page()
        for name in SAMPLES[1]:
            page.goto(f"{SITE}/{name}")
            violations = axe.run(page).response["violations"]
            found += [(name, each["id"]) for each in violations if each["impact"] in ("serious", "critical")]
            if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
                found.append((name, "scrolls sideways"))
    assert found == []
