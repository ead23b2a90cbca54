"""Cassettes for a run: which there are, whom they know, and what a replayed run is called."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import orjson
from pydantic import JsonValue

from clerkship.actors.contract import Solver
from clerkship.actors.recorded import RECORDED, RecordedSolver
from clerkship.engine.models import Models
from clerkship.llm.absent import AbsentModel
from clerkship.llm.contract import Model
from clerkship.llm.recalled import RecalledModel
from clerkship.model.conftest import Conftest, Evaluation, Llm, Simulation
from clerkship.model.model_choice import ModelChoice
from clerkship.model.names import did_you_mean
from clerkship.model.plan import Plan
from clerkship.model.problem import InputError, Problem
from clerkship.model.redaction import Redactor
from clerkship.model.run import Asking, BenchmarkRun, Tape
from clerkship.model.snapshot import Snapshot
from clerkship.model.usage import Role
from clerkship.model.variables import names_in
from clerkship.recording.cassette import Embedding, Entry, Exchange, Turn, address, cassette_of
from clerkship.recording.redaction import Veil, worth_hiding
from clerkship.recording.session import Part, Tapes
from clerkship.service.casting import Cast, Needs, manner_of, rates
from clerkship.settings import Settings, secrets, variables
from clerkship.store.contract import Store, UnknownRun

JUDGES: tuple[Role, ...] = ("judge", "metrics", "person_check")
"""What is asked of whoever judges."""
_FLAGS: Mapping[str, tuple[Role, ...]] = {"--judge": JUDGES, "--person": ("person",)}


@dataclass(frozen=True)
class Deck:
    """Where cassettes are, and what else is needed to use them."""

    root: Path
    """The folder that sources of tasks are named from."""
    settings: Settings
    conftest: Conftest | None = None
    trials: int | None = None
    """How often each task is run, at most: what is recorded of other trials says nothing here."""
    begins_anew: bool = False
    """Whether what cannot be made out is recorded anew. Only where all of it is asked again."""


def check_tape(asking: Asking) -> None:
    """What excludes each other, or makes no sense alone."""
    if asking.tapes_agent and asking.tape not in ("record", "refresh"):
        raise InputError.of("--record-agent takes down what an agent answers", hint="give --record or --refresh too")


def taped(cast: Cast, deck: Deck, snapshots: Sequence[Snapshot], needs: Needs) -> Cast:
    """The same people with cassettes in front of them, where that was asked for."""
    asking = cast.models.asking
    check_tape(asking)
    if asking.tape is None:
        return cast
    tapes = open_tapes(asking.tape, deck, snapshots)
    if asking.tape == "replay":
        cast = _recalled(cast, deck, tapes, snapshots, needs)
    tapes.parts = _parts(cast, deck.settings, tapes.veil)
    if asking.tape == "replay":
        cast = replace(
            cast, judge=_as_known(cast.judge, tapes, "judge"), person=_as_known(cast.person, tapes, "person")
        )
    return replace(cast, models=replace(cast.models, tapes=tapes))


def _parts(cast: Cast, settings: Settings, veil: Veil) -> dict[Role, Part]:
    parts: dict[Role, Part] = {}
    for roles, choice in ((JUDGES, cast.judge), (("person",), cast.person)):
        if choice is not None and not choice.skips:
            parts |= dict.fromkeys(roles, _part(choice, settings, veil))
    return parts


def _as_known(choice: ModelChoice | None, tapes: Tapes, role: Role) -> ModelChoice | None:
    """As a replay keeps it: by the name that cassettes have. How it is asked stays, so that whoever goes on from there
    can ask it."""
    part = tapes.parts.get(role)
    if choice is None or part is None:
        return choice
    version = Redactor(tapes.veil.names, variants=False).text(choice.api_version)
    return choice.model_copy(
        update={
            "who": part.name,
            "parameters": dict(part.parameters),
            "embeddings": part.vectors,
            "api_version": version,
        }
    )


def open_tapes(mode: Tape, deck: Deck, snapshots: Iterable[Snapshot]) -> Tapes:
    """The cassettes of some tasks, read; what is wrong with one is said now."""
    known = {name: variables().get(name, "") for name in sorted(_names_in(deck.conftest))}
    tapes = Tapes(
        mode,
        lambda source: cassette_of(deck.root / source),
        veil=Veil(known, worth_hiding(secrets(deck.settings))),
        begins_anew=deck.begins_anew,
    )
    for source in dict.fromkeys(snapshot.source for snapshot in snapshots):
        cassette = tapes.cassette(source)
        if mode != "replay":
            _refuse_unwritable(cassette.path)
    return tapes


def _names_in(conftest: Conftest | None) -> set[str]:
    """The variables that name a model, or where it is."""
    return {
        name
        for llm in _llms(conftest)
        for text in (llm.name, llm.api_base or "", llm.api_version or "")
        for name in names_in(text)
    }


def _llms(conftest: Conftest | None) -> list[Llm]:
    blocks = (conftest.evaluation, conftest.simulation) if conftest is not None else ()
    return [block.llm for block in blocks if block is not None]


def _refuse_unwritable(path: Path) -> None:
    there = next(folder for folder in path.parents if folder.exists())
    if not os.access(there, os.W_OK):
        raise InputError.of("it cannot be written to, and recordings go there", file=str(there))


def _part(choice: ModelChoice, settings: Settings, veil: Veil) -> Part:
    """Without the address where it is the settings' own: that is where a model is asked, not who it is."""
    name = choice.who.removesuffix(f"@{settings.openai_base_url}")
    by = Redactor(veil.names, variants=False)
    return Part(by.text(name), choice.parameters, by.text(choice.embeddings))


def _recalled(cast: Cast, deck: Deck, tapes: Tapes, snapshots: Sequence[Snapshot], needs: Needs) -> Cast:
    """Who is not named, or not to be had here, is whoever was recorded."""
    models, conftest = cast.models, deck.conftest
    evaluation = conftest.evaluation if conftest is not None else None
    simulation = conftest.simulation if conftest is not None else None
    wants_judge = (needs.judge or needs.rated or rates(models.asking)) and not models.skips_judged
    if wants_judge and _is_away(models.judge):
        found = _asked_as(_recorded(tapes, deck, snapshots, "--judge"), models.judge, evaluation, deck.settings)
        cast = replace(cast, judge=found, models=replace(cast.models, judge=_remembered(found)))
    if needs.person and _is_away(models.person):
        found = _asked_as(_recorded(tapes, deck, snapshots, "--person"), models.person, simulation, deck.settings)
        cast = replace(cast, person=found, models=replace(cast.models, person=_remembered(found)))
    return cast


def _remembered(found: ModelChoice | None) -> RecalledModel:
    """Whoever that was; where nobody was, each question is missed, and that is said."""
    return RecalledModel(found.who if found is not None else "nobody")


def _asked_as(
    found: ModelChoice | None, model: Model | None, block: Evaluation | Simulation | None, settings: Settings
) -> ModelChoice | None:
    """In the conftest's manner, where it was the conftest's and is not to be had here: as where it is."""
    if found is None or block is None or not isinstance(model, AbsentModel):
        return found
    vectors = {"embeddings": found.embeddings or settings.embeddings}
    return found.model_copy(update=vectors | manner_of(block.llm, block.max_concurrent_llm_calls))


def _is_away(model: Model | None) -> bool:
    return model is None or isinstance(model, AbsentModel)


def _recorded(tapes: Tapes, deck: Deck, snapshots: Iterable[Snapshot], flag: str) -> ModelChoice | None:
    """The one model that cassettes know in some roles."""
    roles, entries = _FLAGS[flag], _entries(tapes, snapshots, deck.trials)
    asked = [entry for entry in entries if isinstance(entry, Exchange) and entry.role in roles]
    found = {(entry.model, orjson.dumps(entry.parameters, option=orjson.OPT_SORT_KEYS)) for entry in asked}
    if len(found) > 1:
        named = ", ".join(sorted({model for model, _ in found}))
        raise InputError.of(f"recorded with more than one model: {named}", hint=f"say which with {flag}")
    made = [entry for entry in entries if isinstance(entry, Embedding) and entry.role in roles]
    if not found:
        return None
    [(name, written)] = found
    parameters: dict[str, JsonValue] = orjson.loads(written)
    vectors = next((entry.model.removeprefix(f"{name} ") for entry in made if entry.model.startswith(name)), "")
    return ModelChoice(who=name, parameters=parameters, embeddings=vectors)


def _entries(tapes: Tapes, snapshots: Iterable[Snapshot], trials: int | None = None) -> list[Entry]:
    """All that is recorded for some tasks; for their first trials, where it is said how many there are."""
    sources: dict[str, set[str]] = {}
    for snapshot in snapshots:
        sources.setdefault(snapshot.source, set()).add(snapshot.task.name)
    return [
        entry
        for source, tasks in sources.items()
        for entry in tapes.cassette(source).entries.values()
        if any(task in tasks and (trials is None or trial <= trials) for task, trial in entry.of)
    ]


def taped_agent(solver: Solver, models: Models, snapshots: Sequence[Snapshot]) -> Solver:
    """The agent, where it is taken down or played from cassettes; what cannot be is said before anything runs."""
    tapes = models.tapes
    if isinstance(solver, RecordedSolver):
        if tapes is None or tapes.mode != "replay":
            raise InputError.of(f"agent `{solver.name}` plays what was recorded", hint="give --replay")
        solver = RecordedSolver(_whose(solver.whose, tapes, snapshots))
        tapes.solver = solver.whose
    elif tapes is not None and models.asking.tapes_agent:
        at_work = [s for s in snapshots if s.task.scenario is None or s.task.scenario.starts != "person"]
        if at_work:
            raise InputError(
                Problem(
                    file=snapshot.source,
                    message=f"{snapshot.task.name!r} gives the agent work (on_task), and that cannot be recorded",
                    hint="choose conversations with --task or --tag, or leave --record-agent out",
                )
                for snapshot in at_work
            )
        tapes.solver = solver.name
    return solver


def _whose(wanted: str, tapes: Tapes, snapshots: Iterable[Snapshot]) -> str:
    """The one agent that is recorded for some tasks, or the one of them that is meant."""
    known = sorted({entry.solver for entry in _entries(tapes, snapshots) if isinstance(entry, Turn)})
    if not known:
        raise InputError.of("no agent is recorded for these tasks", hint="--record --record-agent does that")
    if wanted in known or (not wanted and len(known) == 1):
        return wanted or known[0]
    if wanted:
        raise InputError.of(f"agent `{wanted}` is not recorded", hint=did_you_mean(wanted, known))
    hint = f"say which with --agent {RECORDED}:{known[0]}"
    raise InputError.of(f"more than one agent is recorded: {', '.join(known)}", hint=hint)


def as_replayed(run: BenchmarkRun, plan: Plan, snapshots: Sequence[Snapshot], tapes: Tapes) -> BenchmarkRun:
    """The record of a run that is the same wherever and whenever it is done: called by what it replays, and begun
    when its first playground's clock says so."""
    cassettes = {source: tapes.cassette(source).digest for source in sorted({s.source for s in snapshots})}
    who = [run.solver, *(choice and choice.model_dump(mode="json") for choice in (run.judge, run.person))]
    told = address([plan.hash, who, run.asking.model_dump(mode="json"), cassettes, run.made_by, run.origin])
    began = min(snapshot.environment.now for snapshot in snapshots)
    return run.model_copy(update={"id": f"replay-{told[:12]}", "started_at": began.astimezone(UTC).isoformat()})


def free_name(run: BenchmarkRun, store: Store) -> BenchmarkRun:
    """The same run, by a name that the store does not have yet: what is replayed twice is called the same twice."""
    name, number = run.id, 1
    while _has(store, name):
        number += 1
        name = f"{run.id}-{number}"
    return run.model_copy(update={"id": name})


def _has(store: Store, name: str) -> bool:
    try:
        return store.run(name).id == name
    except UnknownRun:
        return False


def moment(run: BenchmarkRun, now: datetime) -> datetime:
    """The time that goes into the names of what is written about a run."""
    return datetime.fromisoformat(run.started_at) if run.replayed else now
