"""Writes docs/reference from the code, so that what is documented is what there is.

python scripts/reference.py            write the pages
python scripts/reference.py --check    exit 1 if they are not current
"""

import inspect
import sys
import types
from collections.abc import Collection, Iterator, Sequence
from dataclasses import fields as dataclass_fields
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

import typer
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from clerkship.actors.contract import History, Message, Say, Turn
from clerkship.cli.app import app
from clerkship.engine.catalog import Registered, only_ours
from clerkship.events.agent import AGENT_EVENTS
from clerkship.events.event import Payload
from clerkship.events.request import MAX_BODY, MAX_INLINE_BODY, MAX_TOTAL_BODIES
from clerkship.events.sidecar import MAX_UNAUTHENTICATED
from clerkship.faults.chaos import PROFILES
from clerkship.llm.scripted import ScriptedAnswer
from clerkship.model.benchmark import Benchmark
from clerkship.model.calibration import Agreement, Calibration, CalibrationFile, JudgeIdentity
from clerkship.model.conftest import EvaluationConfig, LlmConfig, SimulationConfig
from clerkship.model.criterion import Criterion
from clerkship.model.environment import Environment, SharedDomain, Simulator
from clerkship.model.labelled import Label, LabelledConversation, LabelledFile, LabelledTurn
from clerkship.model.matcher import MATCHERS
from clerkship.model.persona import Persona
from clerkship.model.quality import Metric
from clerkship.model.run import TaskRun, Verdict
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
from clerkship.model.task import Entity, ForEach, Task
from clerkship.pytest_plugin import AttackLimits, Limits
from clerkship.rasa.e2e_file import E2eCase, E2eFile, E2eStep, Stub
from clerkship.report.jsonl import BLOB_LIMIT, FORMAT
from clerkship.report.junit import BUDGET as JUNIT_BUDGET
from clerkship.report.junit import ELEMENTS
from clerkship.report.markdown import COMMENT, SUMMARY
from clerkship.report.outcome import OUTCOMES, standing
from clerkship.sandbox.route import Route
from clerkship.service.attacking import AttackReport
from clerkship.service.testing import Result
from clerkship.settings import Settings
from clerkship.simulators.fhir.datasets.pid import Messaged
from clerkship.simulators.spec import Spec
from sandbox.handle import Sandboxes

sys.path.insert(0, str(Path(__file__).parent.parent))  # it is run as a script, and imported by a test
from scripts.reference_assertions import differences, which_are_whose
from scripts.reference_domains import domains_page
from scripts.reference_e2e import E2E, RESULTS
from scripts.reference_fhir import fhir_page
from scripts.reference_hl7 import hl7_page
from scripts.reference_plugins import plugins_page
from scripts.reference_prompts import prompts_page

FOLDER = Path(__file__).parent.parent / "docs" / "reference"
HEAD = "<!-- Written by `make docs` from the code. Change the code, not this page. -->\n"
_WORDS = {"str": "text", "int": "whole number", "float": "number", "bool": "true or false", "timedelta": "duration"}
_WORDS |= {"datetime": "date and time", "Any": "anything", "StepCall": "step", "AssertionCall": "assertion"}
MATCHER_WORDS = {
    "equals": "the same value; what a bare literal means",
    "in": "one of a list",
    "matches": "text in which the regular expression is found; a pattern with exponential backtracking is refused",
    "contains": "text with this in it, a list with this item, a map with this key",
    "gt": "greater than: a number or a date; `1986`, `1986-03` and a day are their first moments",
    "gte": "at least",
    "lt": "less than",
    "lte": "at most",
    "exists": "`true`: there is a value (`null` is one); `false`: there is none",
    "not": "not that: a literal or a matcher",
    "approx": "near a number: `approx: 3.1`, or `approx: {value: 3.1, tolerance: 0.05}`",
    "within": "near a date: `within: {of: 2026-03-02, by: 2d}`",
}
MESSAGE_WORDS = {
    "text": "what the person said",
    "turn": "which turn it is, from 1",
    "sandbox": "where they said it",
    "task_item": "the task's, if it has one",
    "metadata": "what was sent along with it, unseen",
    "slots": "what the scenario set before the conversation began",
}
SAY_WORDS = {
    "text": "what is said",
    "utter_name": "the response's name, for assertions",
    "buttons": "choices shown with it, each a map",
    "metadata": "anything else, kept in the log. Assertions on generated replies read `utter_source` (what wrote the "
    "reply), `search_results` and `domain_ground_truth` (what it was made from)",
    "custom": "what is not text: an image, an attachment, a payload that the channel draws",
}
HISTORY_WORDS = {
    "turns": "those that have been had, in order; the next `on_turn` brings the one after them",
    "slots": "as they stand, as far as the log tells",
    "sandbox": "where it is had",
    "task_item": "the task's, if it has one",
}
TURN_WORDS = {
    "turn": "which, from 1; 0 is what the agent said and did before the person's first line",
    "text": "what the person said; `None` in turn 0",
    "metadata": "what was sent along with it, unseen",
    "answer": "what was said and done upon it, as `on_turn` returns it; what was done in sandboxes is in them",
}
LINE_WORDS = {
    "run": "first: the run's record; `seals` says whether the run is as it was saved",
    "snapshot": "a task as it was frozen, by its `sha256`; its datasets are named by hash alone",
    "task_run": "a trial's record, criteria and evidence included; `sidecar` is what differs between machines",
    "blob": f"a body too large for the log, by its `sha256`, in `base64` (null above {BLOB_LIMIT // 1024} KB)",
    "event": "one event, with `run`, `task`, `trial`, `attempt` and `seq` beside it; `event` is the log's own line",
    "summary": "last: counts, pass rate with its interval, what models said and took (`judged`), exit code; a file "
    "without this line was cut off",
}
BOX_MEMBERS = ("get_as(kind, name)", "now", "report(payload)", "wait(duration)")
SORTS = """| `--agent` | |
|---|---|
| `nop` | does nothing |
| `oracle` | runs each task's own solution |
| `python:module:name` | an object in this process, [trusted](../security.md), or in its own with `--agent-process` |
| `command:words` | a program, in lines of JSON |
| `http:address`, or the address alone | a web server, by POST |
| `openai:model`, `openai:model@address` | a model behind a chat-completions endpoint |
| `rasa:address` | an assistant behind a Rasa server |
| `recorded`, `recorded:whose` | an agent as it was recorded, with `--replay` |
"""
OUTSIDE = """## Messages

What agents outside this process are sent, as one JSON object:

| key | |
|---|---|
| `type` | `turn` or `task` |
| `text`, `turn`, `sandbox` | of a turn: what the person said, which turn it is, where they said it |
| `task_item` | the task's; in a turn `null` if it has none |
| `slots`, `metadata` | of a turn: what the scenario set before the conversation began; what was sent along, unseen |
| `history` | of the first turn after a [`fork`](commands.md), there alone: the conversation so far, as below |
| `sandboxes` | by name: `{"kind", "url", "token"}`, its bearer token, [or more](simulators.md) |
| `clock` | `{"url", "token"}` of the simulated clock |
| `now` | the simulated time |
| `conversation`, `trial` | over HTTP alone: a name of this trial that nobody can guess, and which repetition it is |

The reply to a turn is `{"say": …}`: text, a map with `text` (and `utter_name`, `buttons`, `metadata`), a list of
those, or `null` for silence. The reply to a task is `{"answer": …}`. Beside either may stand `"report"`: one of the
agent's own events, or a list of them, each with its `kind` from the table above and that event's fields, such as
`{"kind": "agent.slot.set", "name": "day", "value": "Monday"}`. A reply has at most 8 MB, and at most 10,000 events are
taken in a trial.

`history` is `{"turns": […], "slots": {…}}`. A turn is `{"turn", "text", "metadata", "say"}`: the person's line (`null`
in turn 0, which is what was said before it), and a list of what an agent said and reported upon it, in order, in the
shapes of a reply. An agent that does not look at it takes the conversation for a new one; `fork --warm-up` sends it
the earlier lines instead, one by one, and throws away what it answers.

## A program

`--agent "command:node agent.mjs"`: a shell's words, without a shell, run in the working folder; on Linux and macOS.
One process per trial, started when there is something to say to it. Each message is one line on its standard input,
each reply one line on standard output; lines with `report` alone may come before it, and empty lines do not count.
Standard error is kept beside the log, its last 64 KB.

Its environment is ours without `CLERKSHIP_*`, plus:

| variable | |
|---|---|
| `CLERKSHIP_TASK_FILE` | a file with the first message and its tokens; only this user can read it, removed afterwards |
| `CLERKSHIP_PROCESS` | a mark by which its children are found |

A program need not know of messages: if the first line it prints does not begin with `{"`, and it ends with exit code
0, all it prints is its answer, as text. One that prints nothing and ends with 0 has answered `null`. Another exit
code, a line that is not JSON or too long, or an end in the middle of a conversation is the agent's error, shown with
the end of its standard error.

No token is in a variable, because other processes could read it there. With `--isolate auto`, the default, the program
cannot see the store, the files of the tasks and other processes, where the machine can hide them:
[what is hidden, and what is not](../decisions/isolation.md). `always` refuses to run where it cannot; `never` hides
nothing. The run's summary and its reports say which level it had.

When the trial is over its input is closed; what still runs after 0.25 seconds gets SIGTERM, and 0.3 seconds later
SIGKILL: the program, its session, and (on Linux) every process that bears its mark. A process that left the session
and wiped its environment is not found.

## A web server

`--agent https://host/path`: one POST per turn or task, with the message as its body; the reply has status 200 to 299.
Redirects are not followed. With `CLERKSHIP_WEBHOOK_SECRET` each message is signed as Standard Webhooks has it:
`webhook-id`, `webhook-timestamp` (seconds), and `webhook-signature: v1,` with the base64 of HMAC-SHA256 over
`id.timestamp.body`. The secret is taken as it is, or as base64 after `whsec_`. A server that cannot be reached, or
replies with anything else, is the agent's error. The part of the address after `?` is sent and not kept.

## A model

`--agent openai:model[@address]`: `POST address/chat/completions`. The address is `CLERKSHIP_OPENAI_BASE_URL` or
`OPENAI_BASE_URL` if none is given, the key `CLERKSHIP_OPENAI_API_KEY` or `OPENAI_API_KEY`. The task's `instruction`
comes first, then whatever else is in `task_item`; and the simulated time. Tools are the operations of the sandboxes,
as `<sandbox>__<operation>`, or `<operation>` where there is one sandbox (in a conversation its own is not counted),
with the fields of the operation's input as arguments; at work also `finish(answer)` and
`wait(duration)`. Each call is an `agent.action.executed`. What cannot be called, and what a sandbox refuses, is told
to the model. After 50 rounds without a word it is the agent's error. In a conversation that it goes on with
([`fork`](commands.md)), what was said before stands in its messages; what its tools gave then does not.

Status 408, 409, 425, 429, 5xx, a timeout and a broken connection are tried again, four times in all, as long apart as
`Retry-After` says (up to 30 seconds); then the run is errored, as it is at once on any other status. Tokens used are
kept beside the log.

## A Rasa server

`--agent rasa:http://host:5005`: an assistant behind Rasa's REST channel, started with `--enable-api` and `rest:` in
its `credentials.yml`. It answers people and takes no tasks. Each trial is a conversation of its own, whose name
(`conversation_id`) is kept beside the log.

Each turn is a POST to `/webhooks/rest/webhook`, with `{"is_simulation": true}` and whatever goes along with the line as
its metadata; then a GET of `/conversations/<id>/tracker?include_events=ALL`. Where slots are to be set,
`/session_start` is sent first and read, and then the slots are posted to `/conversations/<id>/tracker/events`, on top
of what the session's start has set. Without slots nothing is sent before the first turn. In a conversation that it
goes on with ([`fork`](commands.md)), the person's lines, its utterances, slots, actions, flows and active loops are
posted there too, and read back. A flow under way does not go on by that, for the engine's own `stack` is in no log:
`--warm-up`.

What is new in the tracker is what the assistant did and said, in the tracker's order; where it has nothing that was
said, the channel's own answer counts. An utterance keeps `metadata` as it is, `metadata.utter_action` is its
`utter_name`, and what is not text stands in `custom` under Rasa's names: `custom`, `image`, `attachment`, `elements`,
`quick_replies`. A tracker may lose its beginning (one kept in memory does, after a restart); nothing is told twice.

| in the tracker | in the log |
|---|---|
| `bot` | a message of the agent's |
| `action`, `slot` | `agent.action.executed`, `agent.slot.set` |
| `flow_…` | `agent.flow.…`; where `pattern_clarification` starts also `agent.clarification.offered` |
| `skill_…`, `ordered_block_…`, `memory_…` | `agent.skill.…`, `agent.block.…`, `agent.memory.…` |
| `tool_executed`, `mcp_tool_executed` | `agent.tool.executed` |
| `session_started`, `restart`, `reminder`, `active_loop` and the like | `agent.noted`, under its own name |
| `user`, `user_featurization`, `entities`, `stack` | nothing |
| anything else, or what cannot be read | nothing; counted beside the log as `tracker_events_skipped` |

A turn is sent once, whatever becomes of it. If the connection breaks, the error says whether the turn may have been
delivered; if the answer takes too long, `unanswered` beside the log does. A server that cannot be reached, or answers
nonsense, is the agent's error. Status 401, 403, 404, 405 and 409 (no model is loaded) are for whoever started the
server to mend: the run is errored. An empty list, and nothing said in the tracker, is silence.

`CLERKSHIP_RASA_TOKEN` is what the server has as `--auth-token`, and goes in the query. `CLERKSHIP_RASA_JWT` is a token
to be sent as it is; with `CLERKSHIP_RASA_JWT_SECRET`, the server's `--jwt-secret`, one of an admin is signed by HS256.
Neither is shown or kept.
"""
FILTER_WORDS = {
    "upper": "in capitals",
    "lower": "in small letters",
    "title": "Each Word Capitalised",
    "trim": "without space around it",
    "words": "as it stands in the middle of a text: of a resource's parts in words",
    "first": "the first item",
    "last": "the last item",
    "length": "how many",
    "join": 'items joined by a text: `join(", ")`',
    "default": 'another value where it is null: `default("none")`',
    "date": 'a date in a form: `date("%d.%m.%Y")`; without one, `2026-03-02`',
    "plus": 'a date moved on: `plus("3d")`',
    "minus": 'a date moved back: `minus("2w")`',
    "hl7": "a text as it may stand in a field of an HL7 message: delimiters and line ends are escaped",
    "hl7date": "a date or time as HL7 writes it: `20260302`, `20260302090000-0500`",
}


def pages() -> dict[str, str]:
    """Every page by its file name."""
    catalog = only_ours()
    return {
        "README.md": _index(),
        "files.md": _files(catalog),
        "assertions.md": _assertions(catalog),
        "matchers.md": _matchers(),
        "templates.md": _templates(catalog),
        "steps.md": _steps(catalog),
        "events.md": _events(catalog),
        "simulators.md": _simulators(catalog),
        "domains.md": domains_page(HEAD, catalog, _fields),
        "fhir.md": fhir_page(HEAD),
        "hl7.md": hl7_page(HEAD),
        "agents.md": _agents(),
        "commands.md": _commands(),
        "settings.md": _settings(),
        "reports.md": _reports(),
        "pytest.md": _pytest(),
        "plugins.md": plugins_page(HEAD),
        "prompts.md": prompts_page(HEAD),
    }


def _index() -> str:
    return f"""{HEAD}
# Reference

| page | what it lists |
|---|---|
| [files](files.md) | every key of the YAML files |
| [assertions](assertions.md) | what a criterion can check |
| [matchers](matchers.md) | what `expected` and `where` can say |
| [templates](templates.md) | what `{{{{ … }}}}` can say |
| [steps](steps.md) | what a scenario can do, faults included |
| [events](events.md) | what can be in a log |
| [simulators](simulators.md) | what can be simulated, and how it is reached |
| [domains](domains.md) | state that several simulators share |
| [FHIR](fhir.md) | what of FHIR R4 is simulated, and what is refused |
| [HL7 v2](hl7.md) | which messages are taken, how they are acknowledged, and what is refused |
| [agents](agents.md) | the sorts of agent there are, what each gets, and what it may return |
| [commands](commands.md) | the command line |
| [settings](settings.md) | environment variables |
| [reports](reports.md) | what is in the files for machines |
| [pytest](pytest.md) | the `clerkship` fixture |
| [prompts](prompts.md) | what models are told, word for word |
| [plug-ins](plugins.md) | what a package from elsewhere may bring, and what it imports |
"""


def _files(catalog: Registered) -> str:
    parts: list[tuple[str, type[BaseModel]]] = [
        ("task", Task),
        ("task.entities[]", Entity),
        ("task.for_each", ForEach),
        ("task.criteria[]", Criterion),
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
        *((f"dataset, of type {name}", type.model) for name, type in catalog.dataset_types.items()),
        ("benchmark", Benchmark),
        ("persona", Persona),
        ("E2E test files", E2eFile),
        ("test_cases[]", E2eCase),
        ("test_cases[].steps[]", E2eStep),
        ("stub_custom_actions.*", Stub),
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
    ]
    sections = "\n".join(f"## {name}\n\n{_doc(model)}\n\n{_fields(model)}" for name, model in parts)
    return f"""{HEAD}
# Files

A folder of YAML 1.2 files. Each file is a map with one or more of `task`, `environment`, `dataset`, `benchmark`
(or their plurals, with a list), or with `scenario`: a conversation, in the format of `eval/scenarios/*.yml`, which is a
task by another name; or an E2E test file, known by `test_cases`. `!include other.yml` takes in a file of the same
folder. An unknown key is an error. `clerkship schema task`, `clerkship schema scenario` and so on print the same as
JSON Schema.

`${{NAME}}` in a text stands for an environment variable, `$${{NAME}}` for that text itself. It is replaced when the
task is built; the snapshot keeps the name, and not the value. Only what is written in the YAML files is replaced: not
the values that [templates](templates.md) put in, not the records of a dataset, not files that a step names, nothing
that an agent or a model says. A task's `name`, `entities` and `for_each` have no variables.

A value of eight characters or more is not shown. Reports, `show`, `events`, `compare` and the results folder have
`${{NAME}}` in its place, whoever wrote it: as it is, in upper and lower case, in base64, percent-encoded, escaped as in
JSON or HTML, in hex. The store has no values to compare with, so they are read from the environment when something is
shown. Set the same variables then as for the run, or write the reports together with the run. In the log an author's
`${{NAME}}` stays a name too; what an agent said or did is kept as it was, so the store itself is as secret as that.

Of a scenario file, what is marked (ours) is our addition to its format. Every criterion of it gates. It is known by its
`name`, and by the name of its file. The slots it names must be in the agent's domain, and their values of the right
type; actions, responses and flows that are not there are warned about. The domain is `--domain`, else what a connected
agent says of itself, else `domain.yml`, `domain.yaml` or `domain/` in the folder, beside it or up to two folders above,
with the flows of `data/` beside that. Where there is none, that is said. Files of a Rasa project are passed over.

{sections}
{E2E}"""


def _assertions(catalog: Registered) -> str:
    sections = "\n".join(
        f"## {name}\n\n{_doc(model)}\n\n{_aliases(model.aliases)}{_shorthand(model.shorthand)}"
        f"{_fields(model)}{_inner(model)}"
        for name, model in catalog.assertions.items()
    )
    return f"""{HEAD}
# Assertions

An assertion is a map with one key, its name; `-` and `_` are the same, and `{{assert: name, …}}` is accepted too. It
passes or fails, with a score, a sentence, and each expectation beside what was found. One that cannot be judged is
an error of that criterion alone.

{which_are_whose(catalog)}
{sections}
{differences(catalog)}"""


def _aliases(names: Sequence[str]) -> str:
    return f"Also called {', '.join(f'`{name}`' for name in names)}.\n\n" if names else ""


def _shorthand(field: str | None) -> str:
    return f"A bare value stands for `{field}`.\n\n" if field else ""


def _matchers() -> str:
    rows = "\n".join(f"| `{name}` | {MATCHER_WORDS[name]} |" for name in MATCHERS)
    return f"""{HEAD}
# Matchers

Wherever a value is expected (`expected`, `where`, `text`, `count`) it may be a literal or a map of matchers, all of
which must hold. A map whose keys are not all matchers is a literal. Equality is JSON's: 1 is 1.0, `true` is not 1,
and "1" is neither.

| matcher | holds for |
|---|---|
{rows}

`where` maps dotted paths to values: `slots.0.start`, `slots[0].start`, `slots.*.start`.

## In a chart

In what starts with `fhir_` a path is one of FHIR's. A step into a list means every item of it, an index picks from all
that was found so far (`name.given[0]`), and `value` finds `valueQuantity`, or whichever it is. What is no plain dotted
path is read as FHIRPath: `code.coding.where(system = 'http://loinc.org').code`, `name.given.count()`,
`value > 5.5 'mmol/L'`. In `fields` of `fhir_resource_state`, `now()` and `today()` are the playground's time at the end
of the run; elsewhere there is no clock. There is no `resolve()`. A path that R4 does not have is a mistake at load.

Such a path may lead to several values. A literal or a map of matchers holds if it holds for one of them; `not` holds if
what it denies holds for none; `exists` asks whether there are any. A list is compared with all of them together, and
`null` means that there is nothing.
"""


def _templates(catalog: Registered) -> str:
    assert FILTER_WORDS.keys() == set(catalog.filters)
    rows = "\n".join(f"| `{name}` | {words} |" for name, words in FILTER_WORDS.items())
    derived = "\n".join(f"| `{name}` | {told} |" for name, (told, _) in Messaged.derived.items())
    return f"""{HEAD}
# Templates

`{{{{ patient.name }}}}` in `task_item`, `scenario` and `criteria` is replaced when the file is loaded. The names are
the task's entity ids, and `now`, the environment's time. A text that is one expression takes the value's type. An
expression is a path and filters, `{{{{ now | plus("3d") | date }}}}`, and nothing else: no loops, no calls, no
arithmetic. An unknown name is an error at validation. Output is capped at 1,000,000 characters. A persona in a file of
its own has templates too, filled in for each task that names it; and so has `where` of an entity, with those before it.
Scenario files and E2E test files have no templates: braces in them are text.

What a template puts in is data. It is not read as a template again, and `${{NAME}}` in it is not replaced: the agent
gets what the record has. Nor is `${{NAME}}` replaced in the argument of a filter; that is an error.

To write `{{{{` or `{{%` itself, put it in quotes inside an expression: `{{{{ "{{{{" }}}}` gives `{{{{`, and
`{{{{ '{{{{ name }}}}' }}}}` gives `{{{{ name }}}}`. The quoted text is taken as it is. `}}}}` needs no escape.

| filter | gives |
|---|---|
{rows}

## FHIR

Of a record of a FHIR dataset, what stands in the middle of a text is written in words: a HumanName as
`Maria Elena Lopez`, of several the official one; an Address on one line; a CodeableConcept by its text or the first
display; a Quantity with its unit; a Period, a Range, a Reference by its display. Alone in a value it is the data
itself. `{{{{ observation.value }}}}` finds `valueQuantity`, or however it is spelled. Besides its elements a record
has, where there is something to make them of:

| name | gives |
|---|---|
{derived}
"""


def _steps(catalog: Registered) -> str:
    sections = "\n".join(
        f"## {name}\n\n{_doc(model)}\n\n{_aliases(model.aliases)}{_fields(model)}"
        for name, model in catalog.steps.items()
    )
    return f"""{HEAD}
# Steps

A scenario is a list of steps, each a map with one key, `kind.verb`. They run in order before the agent starts; one with
`at: +10m` runs while it works, in simulated time. A step that cannot be done makes the run errored: it is the author's
mistake, not the agent's. What a step takes from a file beside the task's (`template`), or from a dataset (`dataset` and
`file`), is read when the task is, and kept with the run.

`fault.*` steps put a fault in the way of requests to come, through either door. They strike in the order they were put
there, each by a chance of its own; one that answers instead of the sandbox leaves nothing for the rest. Every strike
is a `fault.injected` in the log, with what it did under `details`. The clock is not struck, nor a request no simulator
knows. An agent that answers with `on_turn` makes no request: its turns are struck by `latency` and `drop` alone, as
the operation `on_turn`.

{sections}
## Chaos

`clerkship run --chaos PROFILE` puts these in front of every task's own steps.

| profile | steps |
|---|---|
{_chaos()}
"""


def _chaos() -> str:
    return "\n".join(
        f"| `{profile}` | {'<br>'.join(f'`{call.name}: {_flow(call.args)}`' for call in calls)} |"
        for profile, calls in PROFILES.items()
    )


def _flow(args: Any) -> str:
    return "{" + ", ".join(f"{key}: {value}" for key, value in (args or {}).items()) + "}"


def _events(catalog: Registered) -> str:
    rows = "\n".join(
        f"| `{kind}` | {_sentence(model)} | {', '.join(f'`{name}`' for name in model.model_fields)} |"
        for kind, model in sorted(catalog.events.items())
    )
    return f"""{HEAD}
# Events

Every event has `seq` (order of arrival), `at` (simulated time), `source` (the sandbox, or `run`, `scenario`, `agent`),
`kind`, `actor` (`agent`, `person`, `scenario`, `reaction`, `run`), `cause` (the `seq` of the event it follows from) and
a payload. Order means (`at`, `seq`).

An event that is the record of a request of the agent also has `request`:

- `method`, `path` and `query` as they were sent, the query percent-encoded, each cut where it is long. Over SFTP the
  operation and the path; over MLLP the operation, and the type and control id of the message.
- `status`: the HTTP status; 0 if the connection broke before the answer.
- `answer`: the answer in the terms of the protocol, such as `AA`.
- `over`: `sftp` or `mllp`; left out for HTTP and for calls in process.
- `size` and `body`: the size of the body, and the body, where the payload does not hold it. A body over
  {MAX_INLINE_BODY} bytes is a blob. At most {MAX_BODY:,} bytes of one body are kept, and {MAX_TOTAL_BODIES:,} of a trial: a
  body shorter than `size` was cut, and one that is missing was not kept.

The record is the first event that the request caused, or the event that sums up the others (`fhir.bundle.processed`). A
request that causes no event of its simulator gets a `sandbox.answered`, a refused one a `sandbox.refused`. In a
`fault.injected` the status is the one that the agent received. Headers are never kept, and credentials are replaced.
Requests without a valid credential are not in the log: how many there were, and the first {MAX_UNAUTHENTICATED}, are in
the sidecar of the trial under `unauthenticated`.

`show`, `events` and the reports print a request on one line, such as `GET Condition?patient=p2 → 200, 1 match`.

| kind | what happened | payload |
|---|---|---|
{rows}
"""


def _simulators(catalog: Registered) -> str:
    sections = "\n".join(_simulator(spec, catalog.reacts_to(kind)) for kind, spec in catalog.simulators.items())
    return f"""{HEAD}
# Simulators

Over HTTP a sandbox is at `/<playground>/<sandbox>`, with a token of its own; an agent in Python has both as
`sandboxes["drop"].url` and `.token`, or uses the typed handle and no HTTP at all. Both ways go through the same
handlers and leave the same log. How the token is presented is said under each simulator. Where a scheme needs more,
such as a user, the agent is [told that](../decisions/authentication.md#what-an-agent-is-told) beside the token.

Beside the sandboxes is the clock, which takes the token of any of them as a bearer token: `GET /<playground>/clock/`,
`POST …/clock/advance?by=10m`, `POST …/clock/skip`. A playground that `clerkship up` started also has
`/<playground>/control`, which `events` and `check` read its log through; runs have none.

{sections}"""


def _simulator(spec: Spec, reacts_to: Collection[str]) -> str:
    routes = "\n".join(
        f"| `{route.method} {route.path}` | `{route.operation.name}` | {_what(route)} |" for route in spec.routes
    )
    verbs = "\n".join(f"| `{name}` | {text} |" for name, text in _verbs(spec.handle))
    config = _fields(spec.config) if spec.config.model_fields else "Nothing to configure.\n"
    takes = ", ".join(f"`{kind}`" for kind in reacts_to) or "nothing"
    return f"""## {spec.kind}

{spec.summary} Loaded from datasets of type `{spec.dataset or "none"}`; takes in from other sandboxes: {takes}.

| request | operation | |
|---|---|---|
{routes}

Anything else is refused: 404 for another path, 405 for another method, 401 without a valid credential.

{_authentication(spec)}

| in Python | |
|---|---|
{verbs}

Config:

{config}"""


def _authentication(spec: Spec) -> str:
    """How clients authenticate, what is open, and which web pages may read answers."""
    schemes = ", ".join(f"{scheme.credential} ({scheme.transport or 'HTTP'})" for scheme in spec.authentication)
    names = ", ".join(f"`{route.method} {route.path}`" for route in spec.routes if route.operation.access == "open")
    origins = "none" if spec.cors is None else ", ".join(f"`{origin}`" for origin in spec.cors.origins)
    return f"Credentials: {schemes}. Without a credential: {names or 'nothing'}. CORS, origins: {origins}."


def _what(route: Route) -> str:
    """What an operation does, and what a request for it may have beside its path."""
    fields = route.operation.schema.get("properties", {})
    query = [f"`?{name}=`: {fields[name].get('description', name)}" for name in route.query]
    query += [f"`?…`: {fields[route.free_query].get('description', '')}"] if route.free_query else []
    body = [f"body: {BODIES.get(route.body_type, 'JSON')}"] if route.body else []
    body += ["body: JSON"] if route.json_fields else []
    takes = f" ({'; '.join(query + body)})" if query or body else ""
    return " ".join(route.operation.description.split()).replace("|", "\\|") + takes


BODIES: dict[type, str] = {bytes: "bytes", str: "text"}


def _verbs(handle: type) -> Iterator[tuple[str, str]]:
    for name, member in inspect.getmembers(handle):
        if not name.startswith("_") and name not in ("request",):
            signature = "" if isinstance(member, property) else _signature(member)
            yield f"{name}{signature}", (inspect.getdoc(member) or "").split("\n")[0]


def _signature(function: Any) -> str:
    return "(" + ", ".join(name for name in inspect.signature(function).parameters if name != "self") + ")"


def _agents() -> str:
    message = "\n".join(
        f"| `message.{field.name}` | {MESSAGE_WORDS[field.name]} |" for field in dataclass_fields(Message)
    )
    say = "\n".join(f"| `{field.name}` | {SAY_WORDS[field.name]} |" for field in dataclass_fields(Say))
    history = "\n".join(f"| `{field.name}` | {HISTORY_WORDS[field.name]} |" for field in dataclass_fields(History))
    turn = "\n".join(f"| `{field.name}` | {TURN_WORDS[field.name]} |" for field in dataclass_fields(Turn))
    boxes = "\n".join(f"| `sandboxes.{name}` | {text} |" for name, text in _verbs(Sandboxes) if name in BOX_MEMBERS)
    reports = "\n".join(
        f"| `{model.__name__}({', '.join(model.model_fields)})` | `{model.kind}` |" for model in AGENT_EVENTS
    )
    return f"""{HEAD}
# Agents

{SORTS}
## In Python

`--agent python:module:name`: a class (a fresh instance for each trial), an object, or a module with `on_turn` and/or
`on_task`; or one function whose first parameter is `message` or `task_item`. Sync or async; the second parameter,
`sandboxes`, may be left out. What it prints goes to standard error.

`on_turn(message, sandboxes)` answers a person. It returns text, a `Say`, a map with `text`, a list of those, or
nothing, which ends the conversation as the agent's silence.

| | |
|---|---|
{message}

| `clerkship.actors.contract.Say` | |
|---|---|
{say}

Beside `on_turn` it may have `on_start(start, sandboxes)`, called before the person's first line with what the scenario
sets (`start.slots`, `start.stubs`, `start.task_item`; `start.sandbox` is where it is); what it returns is said and
done before that line. And
`on_history(history, sandboxes)`, for [`fork`](commands.md): it goes on with a conversation it has not had. Comes after
`on_start`; what it does there reaches nobody.

| `clerkship.plugin.History` | |
|---|---|
{history}

| `clerkship.plugin.Turn` | |
|---|---|
{turn}

`reported_events` lists the kinds of its own events that it reports, such as `["agent.slot.set"]`; `[]` for none. With
it, `run` and `validate` warn before the run about assertions that need others. Left out, nothing is warned about.

`on_task(task_item, sandboxes)` does a piece of work and returns its answer: anything JSON can say, up to 1 MB.

`sandboxes["name"]` is a typed handle, with the verbs under [simulators](simulators.md). When a sandbox refuses, a verb
raises `sandbox.handle.Refused`, whose `reply` has `status`, `headers` and `body`; when a
[fault](steps.md) breaks the connection, `Dropped`, or `Incomplete` in the middle of an answer. Beside the handles:

| | |
|---|---|
| `sandboxes["name"].url`, `.token` | where the same sandbox is over HTTP, and the bearer token for it |
| `sandboxes["name"].credentials` | what other [schemes](../decisions/authentication.md#what-an-agent-is-told) need |
{boxes}

What an agent may `report` of itself, from `clerkship.events.agent`:

| payload | event |
|---|---|
{reports}

{OUTSIDE}"""


def _commands() -> str:
    group: Any = typer.main.get_command(app)
    sections = "\n".join(_command(name, command) for name, command in _flat(group))
    codes = "Exit codes: 0 passed · 1 not passed · 2 something else broke · 130 stopped."
    return f"{HEAD}\n# Commands\n\n{codes}\n\n{sections}"


def _flat(group: Any, before: str = "") -> Iterator[tuple[str, Any]]:
    """Every command by its whole name, those of a group of commands too."""
    for name in group.list_commands(None):
        command = group.get_command(None, name)
        yield from (
            _flat(command, f"{before}{name} ") if hasattr(command, "commands") else [(f"{before}{name}", command)]
        )


def _command(name: str, command: Any) -> str:
    rows = "\n".join(
        f"| `{' '.join(parameter.opts)}` | {(parameter.help or '').strip()} |"
        for parameter in command.params
        if parameter.name != "help"
    )
    return f"## clerkship {name}\n\n{inspect.cleandoc(command.help or '')}\n\n| | |\n|---|---|\n{rows}\n"


def _settings() -> str:
    rows = "\n".join(
        f"| `CLERKSHIP_{setting.name.upper()}` | {setting.metadata['about']} | {_shown(setting.default)} |"
        for setting in dataclass_fields(Settings)
    )
    return f"""{HEAD}
# Settings

Read once, from the environment. Options of a command go before them.

| variable | what it is | default |
|---|---|---|
{rows}
"""


def _reports() -> str:
    lines = "\n".join(f"| `{sort}` | {words} |" for sort, words in LINE_WORDS.items())
    cases = "\n".join(f"| {OUTCOMES[name][0].lower()} | {_element(name)} | {OUTCOMES[name][1]} |" for name in OUTCOMES)
    return f"""{HEAD}
# Reports

`clerkship run` and `clerkship show` write them: `--report` HTML, `--junit`, `--jsonl`, `--markdown`, `--results`. They
are written whatever the verdicts. A report that names a folder, or a place where nothing can be written, is refused
before the run, with exit code 2. One that becomes unwritable during the run is named after the verdicts, with exit
code 2 too; the run and the other reports are kept. With `clerkship show`, `-` is standard output for a report that is
one file.

Of a run that was changed after it was saved, every report names what was changed and gives no pass rate, and the
command exits with 2. JUnit XML has a `testcase` in error for it, `seals of the run`. `--results` writes nothing then.
HTML, Markdown and JUnit XML say under `Seals` what checking the seals found.

## JUnit XML

One `testsuite` per run, with the run's id, solver, seed, grading, version, pass rate and the command to do it again as
properties; one `testcase` per trial, with the suite and the task's file as `classname`, the task as `name`, and the
wall seconds. At most {JUNIT_BUDGET // 1_000_000} MB of explanations are written; where there are more, each is cut.

| outcome | element | |
|---|---|---|
{cases}

## JSON Lines

Everything, one JSON object a line, each with its `type`. New keys and new types of lines may be added; `format` in the
first line rises when one changes its meaning (now {FORMAT}).

| type | what it is |
|---|---|
{lines}

A log's chain can be computed again from the file: start with 32 zero bytes; for each of a trial's `event` lines in
order, take the bytes between `,"event":` and the last brace, and hash (SHA-256) what you have followed by them. The
last hash, in hex, is the trial's `head`. Where the value of a variable was replaced by its name, the line is not the
one that was hashed, and a `blob` not the one of its `sha256`; the log in the store is unchanged.

## Markdown

At most {SUMMARY:,} bytes, which the summary of a GitHub job takes; `--markdown-limit {COMMENT}` for a comment. What
does not fit is left out from the least urgent on, and counted. Whatever an agent or an author wrote stands in `code`,
on one line, with every sign of Markdown and HTML spelled out: nothing in it is obeyed, no name notified.

## Comparisons

`clerkship compare` writes `--markdown`, of at most {COMMENT:,} bytes unless `--markdown-limit` says otherwise, and
`--report`, one HTML page without a script. Both have the gates, the axes, and the tasks and criteria that changed.

{RESULTS}"""


def _element(name: str) -> str:
    graded = name in get_args(Verdict)
    record = {"run": "r", "task": "t", "ending": "agent_done", "head": "", "events": 0, "snapshot": ""}
    record |= {"status": "completed", "verdict": name} if graded else {"status": name}
    found = ELEMENTS.get(standing(TaskRun.model_validate(record)))
    return f"`{found}`" if found else "none"


def _pytest() -> str:
    limits = ", ".join(f"`{name}`" for name in Limits.__annotations__)
    members = "\n".join(
        f"| `result.{name}` | {text} |" for name, text in _verbs(Result) if not name.startswith("explain")
    )
    attack_limits = ", ".join(f"`{name}`" for name in AttackLimits.__annotations__)
    reported = "\n".join(
        f"| `report.{name}()` | {inspect.getdoc(getattr(AttackReport, name))} |"
        for name in ("problems", "findings", "exit_code")
    )
    return f"""{HEAD}
# Pytest

With the package installed, pytest has the fixture `clerkship`. A session that does not use it does not pay for it.

`clerkship.run(path, agent=…, task=…, tags=…)` runs the tasks at a path, from pytest's root folder or else from the
test's own. The agent is a class (a fresh instance for each trial), an object, a function, a module, or a reference
such as `"oracle"` or `"python:module:name"`. `task` and `tags` select, each one text or several. As on the command
line: {limits}.

| | |
|---|---|
| `bool(result)` | as `result.passed` |
| `result.run`, `result.counts`, `result.task_runs` | the records |
{members}

A failed assertion about a result is followed by each trial that did not pass: its reason, every criterion that was not
met with expected beside actual, the log's head, and the command that shows the log. A mistake in the files fails the
test with each place. Ctrl-C ends the run, keeps what finished, and ends the session.

`clerkship.attack(path, only=…, task=…, tags=…)` runs the strategies of `clerkship suite attack` over the tasks at a
path ([guide](../guide/attack_a_suite.md)); `only` names strategies. It also takes {attack_limits}. It keeps no runs.

| | |
|---|---|
{reported}

Runs are kept in the test's `tmp_path`. `--clerkship-store FILE`, or `clerkship_store` in pytest's settings, keeps
them in one place, from pytest's root folder.
"""


def _shown(default: object) -> str:
    return "none" if default in ("", None) else f"`{default}`"


def _fields(model: type[BaseModel]) -> str:
    ours_last = sorted(model.model_fields.items(), key=lambda field: (field[1].description or "").endswith("(ours)"))
    rows = "\n".join(_field(info.alias or name, info) for name, info in ours_last)
    return f"| key | type | default | |\n|---|---|---|---|\n{rows}\n"


def _inner(model: type[BaseModel]) -> str:
    """Describe the models inside its fields, unless another page does or files do not write them by their fields."""
    found = {inner for info in model.model_fields.values() for inner in _models(info.annotation)}
    inner = {model for model in found - {EventMatch} if model.__name__ not in _WORDS}
    return "".join(f"\n{found.__name__}: {_doc(found)}\n\n{_fields(found)}" for found in sorted(inner, key=str))


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from _models(argument)


def _field(name: str, info: FieldInfo) -> str:
    default = "required" if info.is_required() else _default(info.get_default(call_default_factory=True))
    return f"| `{name}` | {_type(info.annotation)} | {default} | {info.description or ''} |"


def _default(value: object) -> str:
    if value is None or value in ("", (), {}):
        return ""
    if isinstance(value, BaseModel):
        return ""
    return f"`[{', '.join(map(str, value))}]`" if isinstance(value, tuple) else f"`{value}`"


def _type(annotation: Any) -> str:
    if annotation is type(None):
        return ""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return " or ".join(f"`{argument}`" for argument in arguments)
    if origin in (Union, types.UnionType):
        return " or ".join(dict.fromkeys(filter(None, map(_type, arguments))))
    if origin in (tuple, list):
        return f"list of {_type(arguments[0])}"
    if origin is dict:
        return "map"
    if hasattr(annotation, "__metadata__"):
        return _type(arguments[0])
    if isinstance(annotation, type) and issubclass(annotation, BaseModel) and annotation.__name__ not in _WORDS:
        return annotation.__name__
    return _WORDS.get(getattr(annotation, "__name__", ""), "anything")


def _doc(model: type[BaseModel]) -> str:
    return inspect.getdoc(model) or ""


def _sentence(model: type[Payload]) -> str:
    return _doc(model).split("\n")[0].removesuffix(".")


def stale(folder: Path = FOLDER) -> list[str]:
    """Pages that are not what the code says."""
    return [
        name
        for name, text in pages().items()
        if not (folder / name).exists() or (folder / name).read_text(encoding="utf-8") != text
    ]


def main(arguments: Sequence[str]) -> int:
    """Write the pages, or check them."""
    if "--check" in arguments:
        found = stale()
        print("not current: " + ", ".join(found) if found else "current")
        return 1 if found else 0
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
