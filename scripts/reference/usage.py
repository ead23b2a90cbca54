"""The pages about commands, settings, reports, the pytest fixture and prompts."""

import inspect
from collections.abc import Iterator
from dataclasses import fields
from typing import Any, get_args

from clerkship.cli.app import LazyCommand, app
from clerkship.llm.prompts import BUILT_IN, list_prompt_parts, list_prompts
from clerkship.model.run import TaskRun, Verdict
from clerkship.model.snapshot import GRADING_VERSION
from clerkship.pytest_plugin import FixtureAttackOptions, FixtureRunOptions
from clerkship.rasa.results import MAX_EVENTS
from clerkship.report.atif import SCHEMA_VERSION
from clerkship.report.fax_pages import MAX_FAX_PAGES
from clerkship.report.grading_versions import GRADING_CHANGES
from clerkship.report.html import MAX_PAGE_DATA
from clerkship.report.jsonl import FORMAT, MAX_BLOB_BYTES
from clerkship.report.junit import ELEMENTS
from clerkship.report.junit import MAX_TEXT_BYTES as JUNIT_BUDGET
from clerkship.report.markdown_page import MAX_COMMENT_BYTES, MAX_SUMMARY_BYTES
from clerkship.report.outcome import OUTCOMES, classify_result
from clerkship.report.page_images import MAX_PICTURE_BYTES, MAX_PICTURES
from clerkship.report.results_table import COLUMNS, SEPARATOR
from clerkship.service.attacking import AttackReport
from clerkship.service.testing import Result
from clerkship.settings import Settings
from clerkship.suite_files.conftest import PROMPT_CHECKS
from scripts.reference.render import render_page
from scripts.reference.tables import describe_members, rows

_JSON_LINES = {
    "run": "first line: the record of the run; `seals` has the result of checking its seals, `notes` "
    "what to know of how a published version was graded",
    "snapshot": "a frozen task, by its `sha256`; datasets are named by hash only",
    "task_run": "the record of a trial, with criteria and evidence; `sidecar` may differ between machines",
    "blob": f"a body too large for the log, by its `sha256`, in `base64` (null above {MAX_BLOB_BYTES // 1024} KB)",
    "event": "one event, with `run`, `task`, `trial`, `attempt` and `seq`; `event` is the line of the log",
    "summary": "last line: counts, pass rate with its interval, calls and tokens of models (`judged`), exit code; a "
    "file without this line is incomplete",
}
_PROMPT_QUESTIONS = {
    "criterion": "whether a criterion holds",
    "recite": "for a new quotation, where a verdict quotes text that does not exist",
    "metrics": "for ratings of a conversation",
    "relevance": "`generative_response_is_relevant`",
    "variations": "the same with `compat: rasa`",
    "groundedness": "`generative_response_is_grounded`",
    "person": "for the next message of a person",
    "person_check": "whether a person kept to the role",
    "draft": "for a draft of a scenario file",
}


def commands_page() -> str:
    """Return the page of commands."""
    sections = "\n".join(_command(name, command) for name, command in _list_commands(app))
    return render_page("commands.md", sections=sections)


def _list_commands(group: Any, before: str = "") -> Iterator[tuple[str, Any]]:
    for name in group.list_commands(None):
        command = group.get_command(None, name)
        if isinstance(command, LazyCommand):
            yield f"{before}{name}", command.loaded
        else:
            yield from _list_commands(command, f"{before}{name} ")


def _command(name: str, command: Any) -> str:
    options = rows(
        (f"`{' '.join(parameter.opts)}`", (parameter.help or "").strip())
        for parameter in command.params
        if parameter.name != "help"
    )
    return f"## clerkship {name}\n\n{inspect.cleandoc(command.help or '')}\n\n| | |\n|---|---|\n{options}\n"


def settings_page() -> str:
    """Return the page of settings."""
    settings = rows(
        (f"`CLERKSHIP_{setting.name.upper()}`", setting.metadata["about"], _show_default(setting.default))
        for setting in fields(Settings)
    )
    return render_page("settings.md", settings=settings)


def _show_default(default: object) -> str:
    return "none" if default in ("", None, ()) else f"`{default}`"


def reports_page() -> str:
    """Return the page of report formats."""
    return render_page(
        "reports.md",
        junit=rows((OUTCOMES[name][0].lower(), _junit_element(name), OUTCOMES[name][1]) for name in OUTCOMES),
        jsonl=rows((f"`{type}`", text) for type, text in _JSON_LINES.items()),
        COMMENT=MAX_COMMENT_BYTES,
        CSV_COLUMNS=COLUMNS,
        SEPARATOR=SEPARATOR,
        ATIF=SCHEMA_VERSION,
        FORMAT=FORMAT,
        JUNIT_BUDGET=JUNIT_BUDGET,
        FAX_PAGES=MAX_FAX_PAGES,
        MAX_EVENTS=MAX_EVENTS,
        PAGE_DATA=MAX_PAGE_DATA,
        PICTURES=MAX_PICTURES,
        PICTURE_BYTES=MAX_PICTURE_BYTES,
        SUMMARY=MAX_SUMMARY_BYTES,
    )


def grading_page() -> str:
    """Return the page of grading versions, the newest first."""
    versions = ((version, "; ".join(changes)) for version, changes in reversed([*GRADING_CHANGES.items()]))
    return render_page("grading.md", CURRENT=GRADING_VERSION, versions=rows(versions))


def _junit_element(outcome: str) -> str:
    record = {"run": "r", "task": "t", "ending": "agent_done", "head": "", "events": 0, "snapshot": ""}
    record |= {"status": "completed", "verdict": outcome} if outcome in get_args(Verdict) else {"status": outcome}
    element = ELEMENTS.get(classify_result(TaskRun.model_validate(record)))
    return f"`{element}`" if element else "none"


def pytest_page() -> str:
    """Return the page of the pytest fixture."""
    result = [(name, text) for name, text in describe_members(Result) if not name.startswith("explain")]
    methods = ("problems", "findings", "exit_code")
    return render_page(
        "pytest.md",
        limits=", ".join(f"`{name}`" for name in FixtureRunOptions.__annotations__),
        attack_limits=", ".join(f"`{name}`" for name in FixtureAttackOptions.__annotations__),
        result=rows((f"`result.{name}`", text) for name, text in result),
        attack_report=rows((f"`report.{name}()`", inspect.getdoc(getattr(AttackReport, name))) for name in methods),
    )


def prompts_page() -> str:
    """Return the page of prompts."""
    keys = {trial.name: key for key, trial in PROMPT_CHECKS.items()}
    table = rows(
        (
            f"[{name}](#{name})",
            _PROMPT_QUESTIONS.get(name, ""),
            f"`{BUILT_IN[name].version}`",
            f"`{keys[name]}`" if name in keys else "",
        )
        for name in list_prompts()
    )
    sections = "\n".join(
        f"## {name}\n\n```jinja\n{BUILT_IN[name].text.strip()}\n```\n"
        for name in (*list_prompts(), *list_prompt_parts())
    )
    return render_page("prompts.md", table=table, sections=sections, parts=f"`{'` and `'.join(list_prompt_parts())}`")
