"""Draft scenario files from a project's flows: plan, write by rules or a model, validate and save them."""

import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path

from clerkship.engine.catalog import RegisteredCatalog
from clerkship.engine.model_build import build_model
from clerkship.kit.atomic_write import write_atomically
from clerkship.llm.prompts import Prompts
from clerkship.llm.trial_model import TrialModel, UsageCounter
from clerkship.model.errors import InputError, InputProblem, PlatformError
from clerkship.model.model_choice import ModelChoice
from clerkship.model.names import did_you_mean
from clerkship.model.usage import NO_USAGE, Usage
from clerkship.rasa import names
from clerkship.rasa.drafts.kinds import (
    KINDS,
    Draft,
    DraftKind,
    DraftPlan,
    RasaProject,
    draft_by_rules,
    plan_draft,
    plan_out_of_scope,
)
from clerkship.rasa.drafts.model_writer import write_drafts
from clerkship.rasa.drafts.text import DraftTarget, build_goals, render_draft
from clerkship.rasa.flows import ProjectFlows, read_flows
from clerkship.service.checking import load_and_check
from clerkship.service.schemas import add_modeline, find_schema_folder, write_schemas_for
from clerkship.settings import Settings
from clerkship.suite_files.foreign import find_domain, read_domain
from clerkship.text.folding import to_file_stem

_MAX_STEM_LENGTH = 60
_MAX_SHOWN = 20
_FOR_ALL_FLOWS = "out_of_scope"
"""The kind of which there is one draft for all flows."""
FindMistakes = Callable[[list["DraftFile"]], dict[str, str]]
"""Return the mistakes in drafts, by file name."""
RenderFile = Callable[[Path, Draft], "DraftFile"]
"""Return the file of a draft."""


@dataclass(frozen=True, kw_only=True)
class DraftRequest:
    """What to draft, from which files, and into which folder."""

    sources: tuple[Path, ...]
    to: Path
    domain: Path | None = None
    model: str | None = None
    kinds: tuple[str, ...] = ()
    flows: tuple[str, ...] = ()
    target: DraftTarget = "rasa"
    force: bool = False
    dry_run: bool = False


@dataclass(frozen=True)
class DraftFile:
    """A drafted scenario file."""

    path: Path
    draft: Draft
    text: str


@dataclass
class DraftResult:
    """The drafted files, and what was skipped."""

    written: list[DraftFile] = field(default_factory=list)
    kept: list[Path] = field(default_factory=list)
    """Existing files, which were not changed."""
    skipped: list[tuple[str, str, str]] = field(default_factory=list)
    """Flow, kind, and the reason why there is no draft."""
    warnings: list[InputProblem] = field(default_factory=list)
    domain: str | None = None
    model: str | None = None
    usage: Usage = NO_USAGE
    outage: bool = False

    def exit_code(self) -> int:
        """Return 2 if the model could not be reached, even if there are drafts; otherwise 0."""
        return 2 if self.outage else 0


def draft_scenarios(request: DraftRequest, settings: Settings, catalog: RegisteredCatalog) -> DraftResult:
    """Draft scenario files. Existing files are kept, unless `force` is set."""
    kinds, flows = _parse_kinds(request.kinds), read_flows(request.sources)
    domain_path = request.domain or find_domain(request.sources[0])
    domain = read_domain(domain_path) if domain_path is not None else None
    project = RasaProject(flows.flows, domain)
    drafts = DraftResult(warnings=[*flows.warnings], domain=str(domain_path) if domain_path is not None else None)
    chosen = _select_flows(request.flows, flows)
    planned = dict(_plan_drafts(chosen, kinds, project, request, drafts))
    drafts.kept = [path for path in planned if path.exists() and not request.force]
    plans = {path: plan for path, plan in planned.items() if path not in drafts.kept}
    drafts.warnings += _find_warnings(plans.values(), project)
    drafted = _write_drafts(list(plans.values()), project, request, settings, drafts)
    render = partial(_render_file, project, request.target)
    made = [render(path, one) for path, one in zip(plans, drafted, strict=True)]
    files = _replace_invalid(made, project, render, partial(_find_mistakes, domain_path, settings, catalog))
    if not request.dry_run:
        schemas = find_schema_folder(request.to)
        for file in files:
            _save(file, add_modeline(file.path, file.text, schemas))
        write_schemas_for({file.path: file.text for file in files}, schemas, catalog)
    drafts.written = files
    return drafts


def _parse_kinds(wanted: Sequence[str]) -> tuple[DraftKind, ...]:
    names = [name.lower().replace("-", "_").replace(" ", "_") for name in wanted]
    for name in names:
        if name not in KINDS:
            raise InputError.of(f"unknown kind `{name}`", hint=did_you_mean(name, KINDS))
    return tuple(kind for kind in KINDS if kind in names or not names)


def _select_flows(wanted: Sequence[str], flows: ProjectFlows) -> list[str]:
    for pattern in wanted:
        if not any(fnmatchcase(name, pattern) for name in flows.flows):
            raise InputError.of(f"no flow `{pattern}`", hint=did_you_mean(pattern, flows.flows))
    return [name for name in flows.flows if not wanted or any(fnmatchcase(name, pattern) for pattern in wanted)]


def _plan_drafts(
    chosen: Sequence[str], kinds: Sequence[DraftKind], project: RasaProject, request: DraftRequest, drafts: DraftResult
) -> Iterator[tuple[Path, DraftPlan]]:
    """Yield the plan of each draft with the path of its file. The last is for all flows."""
    stems = _build_stems(list(project.flows))
    for name in chosen:
        flow = project.flows[name]
        if not flow.is_for_people:
            drafts.skipped.append((name, "", "users cannot start it"))
            continue
        for kind in kinds:
            plan = plan_draft(flow, kind, project) if kind != _FOR_ALL_FLOWS else ""
            if isinstance(plan, DraftPlan):
                yield request.to / f"{stems[name]}_{kind}.yml", plan
            elif plan:
                drafts.skipped.append((name, kind, plan))
    startable = [project.flows[name] for name in chosen if project.flows[name].is_for_people]
    is_wanted = not request.flows or bool(request.kinds)
    if startable and is_wanted and _FOR_ALL_FLOWS in kinds:
        yield request.to / f"{_FOR_ALL_FLOWS}.yml", plan_out_of_scope(startable)


def _build_stems(flows: Sequence[str]) -> dict[str, str]:
    """Return a unique file name for each flow."""
    stems: dict[str, str] = {}
    for flow in flows:
        stem = to_file_stem(flow, _MAX_STEM_LENGTH) or "flow"
        taken, number, first = set(stems.values()), 1, stem
        while stem in taken:
            number += 1
            stem = f"{first}_{number}"
        stems[flow] = stem
    return stems


def _find_warnings(plans: Iterable[DraftPlan], project: RasaProject) -> list[InputProblem]:
    """Return warnings about names in the flows that are not in the domain, each once."""
    domain = project.domain
    none = InputProblem(
        message="slot names and types were not checked, because no domain is known", hint="use --domain"
    )
    warnings = {} if domain is not None else {("", ""): none}
    for plan in plans:
        flow, path = plan.flow.id, plan.path
        for cycle in path.cycles:
            warnings[flow, cycle] = _build_warning(
                plan, f"flows call each other in a cycle: {cycle}; it is followed once"
            )
        if domain is None:
            continue
        for slot in (step.name for step in path.collected if not project.knows(step.name)):
            warnings[flow, slot] = _build_warning(
                plan, f"it collects the slot `{slot}`, which is not in {domain.source}"
            )
        for action in path.actions() if domain.actions is not None else ():
            if action not in (domain.actions or ()) and action not in names.BUILT_IN_ACTIONS:
                warnings[flow, action] = _build_warning(plan, f"the action `{action}` is not in {domain.source}")
    return list(warnings.values())


def _build_warning(plan: DraftPlan, message: str) -> InputProblem:
    flow = plan.flow
    return InputProblem(file=flow.file, line=flow.line, column=flow.column, key=flow.id, message=message)


def _write_drafts(
    plans: list[DraftPlan], project: RasaProject, request: DraftRequest, settings: Settings, drafts: DraftResult
) -> list[Draft]:
    """Write the drafts with a model if one is given, otherwise by rules. A dry run never calls a model."""
    if request.model is None or request.dry_run:
        return [draft_by_rules(plan) for plan in plans]
    model = build_model(ModelChoice(who=request.model), settings)
    if model is None:
        raise InputError.of(f"`{request.model}` cannot write drafts", hint="use openai:model, or omit --model")
    tally = UsageCounter()
    try:
        drafted = write_drafts(plans, project, TrialModel(model, "draft", 1, tally), Prompts())
    finally:
        model.close()
    drafts.model, drafts.usage = model.name, tally.used().get("draft", NO_USAGE)
    drafts.outage = any(draft.outage for draft in drafted)
    return drafted


def _render_file(project: RasaProject, target: DraftTarget, path: Path, draft: Draft) -> DraftFile:
    return DraftFile(path, draft, render_draft(draft, build_goals(draft.plan, project, target), project, target))


def _replace_invalid(
    files: list[DraftFile], project: RasaProject, render: RenderFile, mistakes: FindMistakes
) -> list[DraftFile]:
    """Return the files, with drafts by rules in place of invalid drafts by a model."""
    wrong = mistakes(files)
    valid = [
        render(file.path, _draft_by_rules_instead(file, wrong[file.path.name], project))
        if file.path.name in wrong
        else file
        for file in files
    ]
    again = mistakes(valid) if wrong else {}
    if again:
        shown = "; ".join(list(again.values())[:_MAX_SHOWN])
        raise PlatformError(f"a draft would not validate, so nothing was written: {shown}")
    return valid


def _find_mistakes(
    domain: Path | None, settings: Settings, catalog: RegisteredCatalog, files: list[DraftFile]
) -> dict[str, str]:
    """Load drafts in a temporary folder; return the first mistake of each invalid file, by file name."""
    with tempfile.TemporaryDirectory(prefix="clerkship-") as temporary:
        folder = Path(temporary, "drafts", "eval", "scenarios")  # deep enough that no folder above counts as a project
        folder.mkdir(parents=True)
        for file in files:
            (folder / file.path.name).write_text(file.text, encoding="utf-8")
        try:
            if files:
                load_and_check(folder, None, settings, catalog, domain=domain)
        except InputError as error:
            return {Path(p.file).name: f"{p.key}: {p.message}" if p.key else p.message for p in error.problems[::-1]}
    return {}


def _draft_by_rules_instead(file: DraftFile, wrong: str, project: RasaProject) -> Draft:
    before = file.draft.plan
    plan = before if before.refused else plan_draft(before.flow, before.kind, project)
    by = file.draft.by
    note = f"the draft of {by} would not validate: {wrong}" if by else wrong
    return draft_by_rules(before if isinstance(plan, str) else plan, note)


def _save(file: DraftFile, text: str) -> None:
    try:
        write_atomically(file.path, [text.encode()])
    except OSError as error:
        raise InputError.of(f"it cannot be written: {error.strerror}", file=str(file.path)) from None
