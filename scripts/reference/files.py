"""The pages about files, matchers and templates."""

from pydantic import BaseModel

from clerkship.engine.catalog import RegisteredCatalog
from clerkship.llm.scripted import ScriptedAnswer
from clerkship.model.calibration import (
    Agreement,
    Calibration,
    CalibrationFile,
    JudgeIdentity,
    Label,
    LabelledConversation,
    LabelledFile,
    LabelledTurn,
)
from clerkship.model.conftest import EvaluationConfig, LlmConfig, SimulationConfig
from clerkship.model.environment import Environment, SharedDomain, Simulator
from clerkship.model.matcher import MATCHERS
from clerkship.model.persona import Persona
from clerkship.model.quality import Metric
from clerkship.model.scenario import (
    EndRule,
    EventMatch,
    PersonVariant,
    Scenario,
    ScenarioPerson,
    ScriptLine,
    ScriptRule,
)
from clerkship.model.scenario_file import (
    ExpectedTool,
    ExpectedToolCall,
    Goals,
    ScenarioFile,
    ScenarioSetup,
    ToolGroupEntry,
)
from clerkship.model.task import Benchmark, Criterion, Entity, ForEach, Task
from clerkship.model.variant import CallChange, Variant, WrongSolution
from clerkship.rasa.e2e_case import ActionStub, E2eCase, E2eFile, E2eStep
from clerkship.simulators.fhir.datasets.pid import RecordWithPid
from scripts.reference.render import render_page
from scripts.reference.tables import describe_model, docstring, rows

_MODELS: tuple[tuple[str, type[BaseModel]], ...] = (
    ("task", Task),
    ("task.entities[]", Entity),
    ("task.for_each", ForEach),
    ("task.criteria[]", Criterion),
    ("task.wrong[]", WrongSolution),
    ("task.ways[]", Variant),
    ("task.wrong[].changes[]", CallChange),
    ("task.scenario", Scenario),
    ("task.scenario.person", ScenarioPerson),
    ("task.scenario.person.by_trial[]", PersonVariant),
    ("task.scenario.person.lines[]", ScriptLine),
    ("task.scenario.person.script[]", ScriptRule),
    ("task.scenario.person.end", EndRule),
    ("an event, in `when`", EventMatch),
    ("scenario", ScenarioFile),
    ("scenario.setup", ScenarioSetup),
    ("scenario.goals", Goals),
    ("scenario.goals.expected_tools[]", ExpectedTool),
    ("…expected_tools[].tool_called", ExpectedToolCall),
    ("…expected_tools[].tool_group[]", ToolGroupEntry),
    ("scenario.goals.metrics[], task.metrics[]", Metric),
    ("environment", Environment),
    ("environment.simulators.*", Simulator),
    ("environment.domains.*", SharedDomain),
)
_OTHER_MODELS: tuple[tuple[str, type[BaseModel]], ...] = (
    ("benchmark", Benchmark),
    ("persona", Persona),
    ("E2E test files", E2eFile),
    ("test_cases[]", E2eCase),
    ("test_cases[].steps[]", E2eStep),
    ("stub_custom_actions.*", ActionStub),
    ("conftest.yml: evaluation", EvaluationConfig),
    ("conftest.yml: simulation", SimulationConfig),
    ("conftest.yml: llm", LlmConfig),
    ("labelled sets, for `clerkship judge calibrate`", LabelledFile),
    ("labelled[]", LabelledConversation),
    ("labelled[].turns[]", LabelledTurn),
    ("labelled[].labels[]", Label),
    ("calibration.json", CalibrationFile),
    ("calibrations[]", Calibration),
    ("calibrations[].judge", JudgeIdentity),
    ("calibrations[].overall, calibrations[].criteria.*", Agreement),
    ("a script of answers, for `--judge scripted:file`", ScriptedAnswer),
)
_MATCHERS = {
    "equals": "the same value; a bare literal means this",
    "in": "one of a list",
    "matches": "text in which the regular expression is found; a pattern with exponential backtracking is refused",
    "contains": "text that contains it, a list with this item, a map with this key",
    "gt": "greater than a number or a date; `1986` and `1986-03` mean their first instant",
    "gte": "at least",
    "lt": "less than",
    "lte": "at most",
    "exists": "`true`: there is a value (`null` is one); `false`: there is none",
    "not": "values that do not match a literal or a matcher",
    "approx": "a number near this one: `approx: 3.1`, or `approx: {value: 3.1, tolerance: 0.05}`",
    "within": "a date near this one: `within: {of: 2026-03-02, by: 2d}`",
    "says": (
        "a text that says all of these, in whatever words and notation: words, numbers (`773 0418`, digits in words), "
        "phone numbers, dates with or without the year (also `the 6th`), times (`half past two`): "
        "`says: [2026-03-06, '14:30', Toussaint]`; a list in the list has wordings of one value"
    ),
    "says_only": "a text that says no date and no time but these: `says_only: [2026-03-06, '14:30']`",
    "only_asks_to_call": "a text that says nothing but these names and numbers and that one should call: "
    "`only_asks_to_call: [Ana Ruiz, Riverbend, '+15550100100']`",
}
_FILTERS = {
    "upper": "in capital letters",
    "lower": "in small letters",
    "title": "Each Word Capitalised",
    "trim": "without surrounding spaces",
    "words": "as inside a longer text: elements of a FHIR resource in words",
    "first": "the first item",
    "last": "the last item",
    "length": "the number of items",
    "join": 'the items joined by a text: `join(", ")`',
    "default": 'another value if it is null: `default("none")`',
    "date": 'a date in a format: `date("%d.%m.%Y")`; the default format gives `2026-03-02`',
    "plus": 'a later date: `plus("3d")`',
    "minus": 'an earlier date: `minus("2w")`',
    "hl7": "a text for a field of an HL7 message, with delimiters and line ends escaped",
    "hl7date": "a date or time in HL7's format: `20260302`, `20260302090000-0500`",
    "base64": 'a text in base64, such as an attachment of a chart; `base64("…")` adds lines to it',
    "pdf": "a text as a PDF file in base64, such as a document of a chart",
}


def files_page(catalog: RegisteredCatalog) -> str:
    """Return the page of all keys of YAML files."""
    datasets = [(f"dataset, of type {name}", type.model) for name, type in catalog.dataset_types.items()]
    models = (*_MODELS, *datasets, *_OTHER_MODELS)
    sections = "\n".join(f"## {name}\n\n{docstring(model)}\n\n{describe_model(model)}" for name, model in models)
    return render_page("files.md", sections=sections)


def matchers_page() -> str:
    """Return the page of matchers."""
    return render_page("matchers.md", matchers=rows((f"`{name}`", _MATCHERS[name]) for name in MATCHERS))


def templates_page(catalog: RegisteredCatalog) -> str:
    """Return the page of template expressions and filters."""
    assert _FILTERS.keys() == set(catalog.filters)
    filters = rows((f"`{name}`", text) for name, text in _FILTERS.items())
    derived = rows((f"`{name}`", text) for name, (text, _) in RecordWithPid.derived.items())
    return render_page("templates.md", filters=filters, derived=derived)
