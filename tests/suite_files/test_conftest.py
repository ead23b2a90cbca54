"""`eval/conftest.yml`: where it is found, and the mistakes that are reported."""

from pathlib import Path

import pytest

from clerkship.engine.catalog import build_catalog_without_plugins
from clerkship.model.errors import InputError
from clerkship.suite_files.calibration import find_calibration_file
from clerkship.suite_files.conftest import find_conftest_near
from clerkship.suite_files.load import load_library

SCENARIO = """
scenario:
  name: A
  simulation_context: You ask.
  setup: {person: {opening: Hi}}
"""
GOOD = """
simulation:
  llm: {provider: openai, model: gpt-5.1, timeout: 30, reasoning_effort: "none", cache: {no-cache: true}}
  simulated_user_prompt: prompts/user.jinja2
  max_concurrent_llm_calls: 3
evaluation:
  llm: {provider: openai, model: gpt-5.1, api_key: "${MY_KEY}"}
  criteria_judge_prompt: prompts/judge.jinja2
"""


def project(folder: Path, conftest: str) -> Path:
    """Write a project with an evaluation folder."""
    (folder / "eval" / "scenarios").mkdir(parents=True)
    (folder / "prompts").mkdir()
    (folder / "prompts" / "user.jinja2").write_text("You are {{ simulation_context }}")
    (folder / "prompts" / "judge.jinja2").write_text("Judge {{ criteria_text }} by {{ transcript }}.")
    (folder / "prompts" / "empty.jinja2").write_text(" \n")
    (folder / "outside").mkdir()
    (folder / "eval" / "scenarios" / "a.yml").write_text(SCENARIO)
    (folder / "eval" / "conftest.yml").write_text(conftest)
    return folder / "eval"


@pytest.mark.parametrize("place", ["", "scenarios", "scenarios/a.yml"])
def test_conftest_is_found_from_file_folder_and_project(tmp_path: Path, place: str) -> None:
    library = load_library(project(tmp_path, GOOD) / place, build_catalog_without_plugins())
    assert list(library.tasks) == ["A"]
    conftest = library.conftest
    assert conftest is not None
    assert conftest.simulation is not None
    assert conftest.evaluation is not None
    assert conftest.simulation.llm.parameters == {"reasoning_effort": "none"}
    assert (conftest.simulation.llm.timeout, conftest.simulation.max_concurrent_llm_calls) == (30, 3)
    assert conftest.evaluation.llm.key_from == "MY_KEY"


@pytest.mark.parametrize("place", ["scenarios/orders", "scenarios/orders/late.yml", "scenarios/orders/by/post"])
def test_conftest_and_calibration_are_found_from_subfolders(tmp_path: Path, place: str) -> None:
    folder = project(tmp_path, GOOD)
    for file in ("orders/late.yml", "orders/by/post/lost.yml"):
        (folder / "scenarios" / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / "scenarios" / file).write_text(SCENARIO)
    (folder / "scenarios" / "conftest.yml").write_text("fixtures: []")  # of other tests, and passed over
    calibration = folder / "calibration.json"
    calibration.write_text('{"calibrations": []}')
    library = load_library(folder / place, build_catalog_without_plugins())
    assert library.conftest is not None
    assert library.conftest.evaluation is not None
    assert set(library.prompts) == {"person", "criterion"}
    assert find_calibration_file(library.root) == calibration.resolve()
    assert find_conftest_near(folder / place / "labelled.yml") == (folder / "conftest.yml").resolve()


@pytest.mark.parametrize("below", ["other/project/scenarios/a", "1/2/3/4/5/6/7"])
def test_conftest_of_another_project_or_far_above_is_ignored(tmp_path: Path, below: str) -> None:
    folder = project(tmp_path, GOOD)
    (folder / "other" / "project" / ".git").mkdir(parents=True)
    (folder / "calibration.json").write_text('{"calibrations": []}')
    (folder / below).mkdir(parents=True)
    (folder / below / "a.yml").write_text(SCENARIO)
    assert load_library(folder / below, build_catalog_without_plugins()).conftest is None
    assert find_calibration_file(folder / below) is None


def test_folder_without_conftest_has_none(tmp_path: Path) -> None:
    (tmp_path / "a.yml").write_text(SCENARIO)
    assert load_library(tmp_path, build_catalog_without_plugins()).conftest is None


def test_other_file_named_conftest_above_is_ignored(tmp_path: Path) -> None:
    folder = project(tmp_path, "fixtures: []")
    assert load_library(folder / "scenarios", build_catalog_without_plugins()).conftest is None


@pytest.mark.parametrize(
    ("key", "text", "told"),
    [
        ("criteria_judge_prompt", "a\n{{ transcript }\n", "own.jinja2:2:1: unexpected '}'"),
        ("criteria_judge_prompt", "{% if transcript %}\nx", "own.jinja2:2:1: Unexpected end of template"),
        (
            "criteria_judge_prompt",
            "{{ transcript }}\n\n{{ gaol }}",
            "own.jinja2:3:1: 'gaol' is undefined; available variables:",
        ),
        ("criteria_judge_prompt", "{{ transcript | shout }}", "own.jinja2:1:1: No filter named 'shout'"),
        ("criteria_judge_prompt", "{% include 'mine.jinja2' %}", "unknown built-in prompt mine.jinja2"),
        (
            "criteria_judge_prompt",
            "{{ transcript }}",
            "own.jinja2: the template does not use `criteria_text` or `criterion`",
        ),
        (
            "criteria_judge_prompt",
            "{{ criterion }}",
            "the template does not use `transcript`; add {{ transcript }}",
        ),
        ("criteria_judge_prompt", "{{ criterion }}{{ transcript }}{{ 1 / 0 }}", "own.jinja2:1:1: division by zero"),
        ("criteria_judge_prompt", "{{ transcript.__class__ }}", "own.jinja2:1:1: access to attribute '__class__'"),
        ("metrics_judge_prompt", "Rate.", "the template does not use `transcript`"),
        ("metrics_judge_prompt", "{{ transcript }}{{ criteria_text }}", "'criteria_text' is undefined"),
        ("simulated_user_prompt", "You are a user.", "the template does not use `simulation_context`"),
    ],
)
@pytest.mark.parametrize("place", ["", "scenarios", "scenarios/a.yml"])
def test_prompt_template_is_checked_before_the_run(tmp_path: Path, key: str, text: str, told: str, place: str) -> None:
    block = "simulation" if key.startswith("simulated") else "evaluation"
    conftest = f"{block}: {{llm: {{provider: openai, model: m}}, {key}: prompts/own.jinja2}}"
    folder = project(tmp_path, conftest)
    (tmp_path / "prompts" / "own.jinja2").write_text(text)
    with pytest.raises(InputError) as wrong:
        load_library(folder / place, build_catalog_without_plugins())
    assert told in str(wrong.value)
    assert str(tmp_path / "prompts" / "own.jinja2") in str(wrong.value)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("criterion", '{% extends "criterion.jinja2" %}{% block orders %}{{ super() }}More.{% endblock %}'),
        ("criterion", "{% if simulation_context %}{{ simulation_context }}{% endif %}{{ transcript }}{{ criterion }}"),
        ("metrics", "{% for metric in metrics %}{{ metric.name }}{% endfor %}{{ transcript }}"),
        ("person", "You are {{ simulation_context }}"),
    ],
)
def test_valid_prompt_templates_are_stored_unchanged(tmp_path: Path, name: str, text: str) -> None:
    key = {"criterion": "criteria_judge_prompt", "metrics": "metrics_judge_prompt"}.get(name, "simulated_user_prompt")
    block = "simulation" if key.startswith("simulated") else "evaluation"
    folder = project(tmp_path, f"{block}: {{llm: {{provider: openai, model: m}}, {key}: prompts/own.jinja2}}")
    (tmp_path / "prompts" / "own.jinja2").write_text(text)
    assert load_library(folder, build_catalog_without_plugins()).prompts == {name: text}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("evaluation: {llm: {model: m}}", "conftest.yml:1:19: evaluation.llm: `provider` is missing"),
        ("evaluation: {llm: {provider: openai}}", "`model` is missing"),
        ("evaluation: {}", "`llm` is missing"),
        ("evaluation: {llm: {provider: openai, model: m}, criteria_prompt: x}", "unknown key `criteria_prompt`"),
        ("evaluation: {llm: {provider: openai, model: m}}\nextra: 1", "unknown key `extra`"),
        ("evaluation: {llm: {provider: openai, model: 5}}", "expected text, not 5"),
        ("evaluation: {llm: {provider: openai, model: m, api_key: sk-1}}", "do not write the key into the file"),
        ("evaluation: {llm: {provider: openai, model: m, timeout: 0}}", "timeout"),
        ("evaluation: {llm: {provider: openai, model: m}, max_concurrent_llm_calls: 0}", "expected at least 1"),
        (
            "evaluation: {llm: {provider: openai, model: m}, criteria_judge_prompt: prompts/none.jinja2}",
            "evaluation.criteria_judge_prompt: prompts/none.jinja2: there is no such file",
        ),
        (
            "evaluation: {llm: {provider: openai, model: m}, metrics_judge_prompt: prompts/empty.jinja2}",
            "prompts/empty.jinja2: the file is empty",
        ),
        (
            "evaluation: {llm: {provider: openai, model: m}, criteria_judge_prompt: ../x.jinja2}",
            "../x.jinja2: it is outside the project",
        ),
        (
            "simulation: {llm: {provider: openai, model: m}, simulated_user_prompt: outside}",
            "outside: it is a folder",
        ),
    ],
)
@pytest.mark.parametrize("place", ["", "scenarios"])
def test_mistakes_are_reported_with_their_place(tmp_path: Path, text: str, told: str, place: str) -> None:
    with pytest.raises(InputError) as wrong:
        load_library(project(tmp_path, text) / place, build_catalog_without_plugins())
    assert told in str(wrong.value)
    assert "conftest.yml:" in str(wrong.value)
    assert "sk-1" not in str(wrong.value)


def test_second_conftest_is_rejected(tmp_path: Path) -> None:
    folder = project(tmp_path, GOOD)
    (folder / "scenarios" / "conftest.yaml").write_text("evaluation: {llm: {provider: openai, model: m}}")
    with pytest.raises(InputError, match="a run can have only one conftest"):
        load_library(folder, build_catalog_without_plugins())
