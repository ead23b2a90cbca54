"""A run as JUnit XML, which continuous integration systems read.

There is no single schema. This output suits GitLab, GitHub's report actions and Jenkins: text inside `failure` as
well as a `message` attribute (GitLab shows the one, GitHub the other), dotted class names, seconds, and no two cases
with the same class and name (GitLab keeps only the first).
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import PurePosixPath
from xml.sax.saxutils import escape, quoteattr

from clerkship.kit.statistics import wilson_interval
from clerkship.model.run import BenchmarkRun, Counts, TaskRun
from clerkship.model.seals import SealCheck
from clerkship.report.costs import per_verdict
from clerkship.report.detail import JunitCase
from clerkship.report.judging_summary import JudgingSummary
from clerkship.report.labels import rerun_command, show_command
from clerkship.report.outcome import ResultClass, classify_result, describe_ending, is_not_recorded, outcome
from clerkship.report.plain_text import (
    explain_failure,
    failed_checks,
    failed_criteria,
    headline,
    skipped_criteria,
    to_one_line,
)
from clerkship.report.published_version import describe_notes, describe_published
from clerkship.report.repeats import TaskRate, compute_repeats, list_curves
from clerkship.report.templates import TemplateRates
from clerkship.settings import get_command_prefix

MAX_TEXT_BYTES = 20_000_000
"""Bytes of explanations in one file: GitLab accepts at most 30 MB."""
MAX_CASE_BYTES = 16_000
MIN_CASE_BYTES = 400
ELEMENTS: dict[ResultClass, str] = {"failed": "failure", "errored": "error", "skipped": "skipped"}

# XML 1.0, 2.2: these are illegal even as references, or discouraged.
_ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff]")


def render_junit(
    run: BenchmarkRun,
    counts: Counts,
    cases: Callable[[], Iterable[JunitCase]],
    judged: JudgingSummary | None = None,
    seals: SealCheck | None = None,
) -> Iterator[str]:
    """Yield the file in pieces. The cases are iterated twice, because their totals come first."""
    tally: Counter[ResultClass] = Counter()
    seconds = 0.0
    judged = judged or JudgingSummary.of(run)
    rates: dict[str, TaskRate] = {}
    templates = TemplateRates()
    for case in cases():
        judged.add(case.task_run)
        templates.add(case.task_run)
        rates.setdefault(case.task_run.task, TaskRate(case.task_run.task)).add(case.task_run)
        tally[classify_result(case.task_run)] += 1
        seconds += case.seconds
    missing = run.count_missing(counts)
    changed = seals is not None and seals.is_changed
    tally["errored"] += bool(missing) + changed
    sums = (
        f'tests="{tally.total()}" failures="{tally["failed"]}" errors="{tally["errored"]}" '
        f'skipped="{tally["skipped"]}" time="{seconds:.3f}"'
    )
    name = _attribute(run.name)
    about = {} if changed else _rate_properties(run, counts, rates, templates)
    about |= {"seals": seals.state()} if seals is not None else {}
    yield f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name={name} {sums}>\n'
    yield f"<testsuite name={name} {sums}{_timestamp(run.started_at)}>\n{_properties(run, counts, judged, about)}"
    room = min(MAX_CASE_BYTES, max(MIN_CASE_BYTES, MAX_TEXT_BYTES // max(tally.total() - tally["passed"], 1)))
    seen: Counter[tuple[str, str]] = Counter()
    for case in cases():
        yield _render_case(run, case, room, seen)
    if missing:
        yield _render_not_run(run, missing, seen)
    if seals is not None and changed:
        yield _render_changed(run, seals, seen)
    yield "</testsuite>\n</testsuites>\n"


def _timestamp(text: str) -> str:
    """Return ISO 8601 in UTC without a zone, as the schemas require."""
    try:
        return f' timestamp="{datetime.fromisoformat(text).astimezone(UTC):%Y-%m-%dT%H:%M:%S}"'
    except ValueError:
        return ""


def _rate_properties(
    run: BenchmarkRun, counts: Counts, tasks: Mapping[str, TaskRate], templates: TemplateRates
) -> dict[str, str]:
    """Return the properties that are computed over all trials."""
    rate = wilson_interval(counts.passed, counts.graded)
    properties = {"pass_rate": f"{rate.rate:.4f}"} if rate is not None else {}
    properties |= {"pass_rate_interval": f"{rate.low:.4f} to {rate.high:.4f}"} if rate is not None else {}
    properties |= {
        curve.name: curve.words() for curve in (list_curves(compute_repeats(tasks.values())) if run.trials > 1 else ())
    }
    return properties | {f"template: {one.task}": one.words() for one in templates.rates()}


def _properties(run: BenchmarkRun, counts: Counts, judged: JudgingSummary, about: Mapping[str, str]) -> str:
    facts = {
        "run": run.id,
        "status": run.status,
        "solver": run.solver,
        "seed": run.seed,
        "trials": run.trials,
        "grading": run.grading,
        "clerkship": run.clerkship,
        **_published_properties(run),
        "pass_rate": "none",
        "pass_rate_interval": "none",
        **about,
        "not_run": run.count_missing(counts),
        **({"isolation": run.isolation} if run.isolation is not None else {}),
        **({"judge": run.judge.who} if run.judge is not None else {}),
        **({"person": run.person.who} if run.person is not None else {}),
        **_judging_properties(judged),
        "again": rerun_command(run),
    }
    rows = "".join(f"<property name={_attribute(name)} value={_attribute(str(v))}/>\n" for name, v in facts.items())
    return f"<properties>\n{rows}</properties>\n"


def _published_properties(run: BenchmarkRun) -> dict[str, str]:
    """Return the properties about the published version that the tasks are from; empty if there is none."""
    facts = {"published": describe_published(run), "published_notes": "\n".join(describe_notes(run))}
    return {name: text for name, text in facts.items() if text}


def _judging_properties(summary: JudgingSummary) -> dict[str, object]:
    """Return the properties about models; empty if none was used."""
    if summary.is_empty:
        return {}
    facts: dict[str, object] = {"judged_verdicts": summary.verdicts, "judge_errors": summary.errors}
    names = {"judge": "judge_calibration", "votes": "judge_disagreement", "flips": "judge_flips"}
    names |= {"people": "invalid_person", "quality": "quality", "models": "models", "warning": "addressed_judge"}
    facts |= {names[about]: words for about, words in summary.lines() if about in names}
    price = per_verdict(summary.used, summary.verdicts)
    return facts | ({} if price is None else {"cost_per_verdict": f"{price:.6f}"})


def _render_case(run: BenchmarkRun, case: JunitCase, room: int, seen: Counter[tuple[str, str]]) -> str:
    task_run = case.task_run
    classname, name = _unique(_classname(run, case.source, task_run.template), _name(run, task_run), seen)
    file = _file(run, case.source) if case.source else ""
    result = classify_result(task_run)
    if result == "passed":
        left = "\n".join(
            [f"failed: {to_one_line(criterion.label)}" for criterion in failed_criteria(task_run)]
            + [f"warning: {to_one_line(criterion.label)}" for criterion in failed_checks(task_run)]
            + [f"skipped: {to_one_line(criterion.label)}" for criterion in skipped_criteria(task_run)]
        )
        output = f"<system-out>{_cut_to_size(room, left, _text)}</system-out>" if left else ""
        return _render_testcase(classname, name, output, case.seconds, file)
    text = "\n".join(
        (headline(task_run), f"{describe_ending(task_run)}.", *explain_failure(task_run), show_command(task_run))
    )
    body = _cut_to_size(room - room // 4, text, _text)
    message = _cut_to_size(room // 4, to_one_line(headline(task_run)), _attribute)
    # Not a word that ActiveSupport, GitLab's XML parser, treats as a type: `yaml`, `file`, `integer` ...
    sort = f" type={_attribute(_error_type(task_run))}" if result != "skipped" else ""
    element = ELEMENTS[result]
    problem = f"<{element}{sort} message={message}>{body}</{element}>"
    return _render_testcase(classname, name, problem, case.seconds, file)


def _render_testcase(classname: str, name: str, body: str, seconds: float = 0.0, file: str = "") -> str:
    where = f" file={_attribute(file)}" if file else ""
    head = f'<testcase classname={_attribute(classname)} name={_attribute(name)}{where} time="{seconds:.3f}"'
    return f"{head}>\n{body}\n</testcase>\n" if body else f"{head}/>\n"


def _error_type(task_run: TaskRun) -> str:
    return "not_recorded" if is_not_recorded(task_run) else outcome(task_run)


def _render_not_run(run: BenchmarkRun, missing: int, seen: Counter[tuple[str, str]]) -> str:
    """Render an error case for a run that was stopped: it must not appear green."""
    classname, name = _unique(_classname(run, ""), f"{missing:,} trials were not run", seen)
    how = "stopped" if run.status == "cancelled" else "interrupted"
    message = _attribute(f"the run was {how}; continue it with: {get_command_prefix()} resume {run.id}")
    return _render_testcase(classname, name, f'<error type="not_run" message={message}></error>')


def _render_changed(run: BenchmarkRun, seals: SealCheck, seen: Counter[tuple[str, str]]) -> str:
    """Render an error case for a changed run: none of its verdicts may count as a pass."""
    classname, name = _unique(_classname(run, ""), "seals of the run", seen)
    body = _text("\n".join(seals.sentences()))
    error = f'<error type="changed" message={_attribute(seals.headline())}>{body}</error>'
    return _render_testcase(classname, name, error)


def _classname(run: BenchmarkRun, source: str, template: str = "") -> str:
    """Return suite, file and template, dotted: Jenkins and GitLab group by it."""
    parts = (run.name, *PurePosixPath(source).with_suffix("").parts) if source else (run.name,)
    return ".".join((*parts, template.replace(".", " ").strip()) if template else parts)


def _name(run: BenchmarkRun, task_run: TaskRun) -> str:
    trial = f" [trial {task_run.trial}]" if run.trials > 1 else ""
    attempt = f" [attempt {task_run.attempt}]" if task_run.attempt > 1 else ""
    return f"{task_run.task}{trial}{attempt}"


def _file(run: BenchmarkRun, source: str) -> str:
    """Return the path of the task's file, relative to the folder where the run was started."""
    path = PurePosixPath(run.path)
    return str(path if path.name == PurePosixPath(source).name else path / source)


def _unique(classname: str, name: str, seen: Counter[tuple[str, str]]) -> tuple[str, str]:
    """Return a unique class and name: names that differ only in characters illegal in XML are numbered."""
    wanted = unique = (_escape_illegal(classname), _escape_illegal(name))
    while unique in seen:
        seen[wanted] += 1
        unique = (wanted[0], f"{wanted[1]} ({seen[wanted]})")
    seen[unique] = 1
    return unique


def _cut_to_size(room: int, text: str, render: Callable[[str], str]) -> str:
    """Render a text, cut so that the result fits; a character may take six bytes."""
    rendered = render(text)
    while (size := len(rendered.encode())) > room:
        text = text[: len(text) * (room - 4) // size]
        rendered = render(f"{text}…")
    return rendered


def _escape_illegal(text: str) -> str:
    """Replace characters that are illegal in XML by Python escapes."""
    return _ILLEGAL.sub(lambda match: f"\\x{ord(match[0]):02x}", text)


def _attribute(text: str) -> str:
    return _escape_commands(quoteattr(_escape_illegal(text)))


def _text(text: str) -> str:
    return _escape_commands(escape(_escape_illegal(text), {"\r": "&#13;"}))


def _escape_commands(xml: str) -> str:
    """Escape what a CI system would execute as a command if the file is printed there."""
    return xml.replace("::", "&#58;:").replace("##", "&#35;#")
