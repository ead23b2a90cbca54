"""The pages of the multi-payer hub: every page with all samples, in both versions."""

import re
from dataclasses import replace

import pytest

from clerkship.simulators.portal.rendering import TEMPLATES, complete_page, render_page
from clerkship.simulators.portal.views import View
from tests.simulators.portal.page_checks import find_field_names, find_page_problems, parse_page
from tests.simulators.portal.sample_views import Sample, build_samples

SAMPLES = {version: {sample.name: sample for sample in build_samples("wizard", version)} for version in (1, 2)}
STEPS = ("patient", "request", "providers", "diagnoses", "services", "clinical", "documents", "review")


def _render(sample: Sample) -> bytes:
    return render_page(sample.frame, sample.view)


def _field_order(html: bytes) -> list[str]:
    """Return the names of the fields in the order in which they stand on the page."""
    return [each["name"] for each in parse_page(html).find("input", "select", "textarea") if "name" in each]


def test_every_view_has_a_template_and_a_sample() -> None:
    pages = {view.page for view in View.__subclasses__()}
    templates = {path.stem for path in (TEMPLATES / "wizard").glob("*.html")}
    assert pages == {sample.view.page for sample in SAMPLES[1].values()}
    assert templates - pages == {"base", "crumbs", "draft_rows", "parts"}
    assert pages <= templates


@pytest.mark.parametrize("version", [1, 2])
def test_every_page_is_valid_and_accessible_html(version: int) -> None:
    found = {name: find_page_problems(_render(sample)) for name, sample in SAMPLES[version].items()}
    assert {name: problems for name, problems in found.items() if problems} == {}


def test_both_versions_have_the_same_fields_and_buttons() -> None:
    for name, sample in SAMPLES[1].items():
        names = [find_field_names(parse_page(_render(each))) for each in (sample, SAMPLES[2][name])]
        assert names[0] == names[1], name


@pytest.mark.parametrize(
    "name", ["draft-patient", "draft-request", "draft-providers", "draft-services", "draft-review"]
)
def test_version_2_has_other_labels_and_another_order(name: str) -> None:
    first, second = _render(SAMPLES[1][name]), _render(SAMPLES[2][name])
    assert _field_order(first) != _field_order(second)
    labels = [set(re.findall(rb"<(?:label|legend)[^>]*>([^<]+)", html)) for html in (first, second)]
    assert labels[0] != labels[1]


def test_steps_have_every_field_and_button_of_the_contract() -> None:
    """The table in templates/README.md, and the buttons of all steps."""
    names = set().union(
        *(find_field_names(parse_page(_render(sample))) for name, sample in SAMPLES[1].items() if "draft-" in name)
    )
    text = (TEMPLATES / "README.md").read_text(encoding="utf-8")
    rows = [row.split("|")[2:4] for row in text.split("|---|---|---|")[1].splitlines() if row.startswith("|")]
    fields = {name for row in rows for name in re.findall(r"`([a-z_]+)`", row[0])}
    actions = {name for row in rows for name in re.findall(r"`([a-z_]+)(?::[A-Z]+)?`", row[1])}
    buttons = {name.removeprefix("action=").partition(":")[0] for name in names if name.startswith("action=")}
    assert fields - names == set()
    # The sample of a search for providers is one for the servicing provider.
    assert (actions | {"next", "back", "save", "leave"}) - buttons == {"choose_requesting"}


def test_every_step_is_one_form_that_posts_to_its_own_path() -> None:
    for sample in SAMPLES[1].values():
        if sample.view.page != "draft":
            continue
        forms = [form for form in parse_page(_render(sample)).forms if form[0][1]["action"].startswith("/drafts/")]
        (form,) = forms
        assert form[0][1]["action"] == f"/drafts/D-58213/{sample.name.split('-')[1]}"
        assert "revision" in {each.get("name") for _, each in form}


def test_enter_key_never_removes_or_submits() -> None:
    """Browsers press the first button of a form when Enter is pressed in a field."""
    first = {}
    for name, sample in SAMPLES[1].items():
        for form in parse_page(_render(sample)).forms:
            if form[0][1]["action"].startswith("/drafts/D-58213/") and sample.view.page == "draft":
                first[name.split("-")[1]] = next(each for tag, each in form if tag == "button")["value"]
    assert first == {
        "patient": "find_member",
        "request": "next",
        "providers": "save",
        "diagnoses": "add_diagnosis",
        "services": "add_service",
        "clinical": "update",
        "documents": "upload",
        "review": "save",
    }


def test_problem_of_another_step_links_to_that_step() -> None:
    html = _render(SAMPLES[1]["draft-review-problem"]).decode()
    assert '<a href="/drafts/D-58213/diagnoses#diagnosis_code">' in html
    assert '<a href="#attest">' in html


def test_only_steps_that_are_done_are_links() -> None:
    page = parse_page(_render(SAMPLES[1]["draft-services"]))
    links = {each["href"].rpartition("/")[2] for each in page.find("a") if "/drafts/D-" in each["href"]}
    assert links == set(STEPS[:4])


def test_pages_offer_only_what_the_account_may_use() -> None:
    html = _render(SAMPLES[1]["home-eligibility-only"]).decode()
    assert 'href="/members"' in html
    assert not re.search(r'(href|action)="/(requests|drafts|claims|inbox|authorization-check)', html)


def test_typed_text_is_escaped_and_never_taken_for_a_path() -> None:
    typed = "/<script>alert(1)</script>\"' onfocus='x"
    for name, sample in SAMPLES[1].items():
        values = dict.fromkeys(find_field_names(parse_page(_render(sample))), typed)
        html = complete_page(render_page(sample.frame, replace(sample.view, values=values)), "/sandboxes/7", "t0ken")
        assert b"<script>alert" not in html, name
        assert b"/sandboxes/7/&lt;script" not in html, name
        assert find_page_problems(html) == [], name
