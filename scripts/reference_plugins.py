"""The page for authors of plug-ins: the entry point, the names, and every name they may import."""

import ast
import inspect
from dataclasses import fields
from pathlib import Path

import clerkship.plugin
from clerkship.domains.contract import DomainSpec
from clerkship.library.dataset_type import DatasetType
from clerkship.plugin.contract import CONTRACT, Plugin
from clerkship.plugin.load import GROUP
from clerkship.simulators.spec import Spec
from scripts.reference_signatures import stub_of

EXAMPLE = Path(__file__).parent.parent / "examples" / "shop_plugin"
FIELD_WORDS = {
    "contract": f"required: the version of this contract that it was written for, {CONTRACT}",
    "simulators": "each a `Spec`, with its own assertions and steps; its kind is `prefix.name`",
    "domains": "each a `DomainSpec`, with its own assertions and steps; its kind is `prefix.name`",
    "assertions": "classes of assertions that belong to no simulator: `prefix.name`",
    "steps": "likewise",
    "faults": "classes of faults: `prefix.name` is the step `fault.prefix.name`",
    "dataset_types": "each a `DatasetType` that belongs to no simulator: `prefix.name`",
    "filters": "filters for templates that belong to no simulator: `prefix.name`, and a function",
    "events": "classes of `Payload` that agents report with `sandboxes.report`; the kind is `prefix.name`",
    "agents": "a sort, `prefix` or `prefix.name`, and a function of the rest of `--agent` and the settings: a `Solver`",
    "reactions": "each a `ReactionPair` of two kinds of simulators, one of which at least is `prefix.name`",
}
SPEC_WORDS = {
    "kind": "required: what an environment calls it, `prefix.name`",
    "summary": "required: a sentence for the reference",
    "state": "required: a class of `State`, whose verbs emit and whose `apply` alone changes anything",
    "events": "required: every `Payload` it may emit, each of a kind that starts with its own",
    "operations": "required: what it can be asked to do, each an `Operation`, in any protocol",
    "routes": "required: its operations over HTTP, each a `Route`",
    "handle": "required: a class of `Handle`, for agents in Python",
    "exercise": "required: requests that touch every operation, for the conformance suite",
    "exercise_datasets": "each a `Dataset` that the exercise starts from; required if `dataset` is given",
    "config": "what may be set in the environment's file",
    "dataset": "the type of dataset it is loaded from",
    "prepare": "what it makes of its datasets, once, for every playground to lay its changes over",
    "configure": "fills in what its config leaves to the environment: `configure(config, environment)`",
    "domains": "the `DomainSpec` of each domain that its operations call; an environment must have one of each",
    "refuse": "how a `Refusal` is said in its protocol; JSON if not given",
    "assertions": "checks on its state: `prefix.name`",
    "steps": "what a scenario may do to it, `prefix.kind.verb`",
    "example": "path and query of a GET to try first, as `clerkship up` shows it; else its first that takes nothing",
    "listeners": "listeners of protocols other than HTTP (`clerkship.sandbox.listener.ProtocolListener`)",
    "outbound": (
        "how it delivers messages to an agent that registered an address with `OperationContext.register_callback` "
        "(`clerkship.transports.outbound.delivery.OutboundDelivery`)"
    ),
    "assets": "folders of static files of its package (`clerkship.transports.assets.AssetFolder`)",
    "authentication": (
        "the schemes of `clerkship.sandbox.authentication` that it takes, one of which is enough; a bearer token if "
        "not given: [authentication](../decisions/authentication.md)"
    ),
    "cors": "a `clerkship.sandbox.cors.CorsPolicy`: which web pages may read its answers; none if not given",
    "attack": "a `SandboxAttack`: what `clerkship suite attack` does in such a sandbox; nothing if not given",
    "converses": "whether a person can sit on it: its state is a `Conversation`",
    "dataset_types": "the types of dataset that it brings, each a `DatasetType`: `prefix.name`",
    "filters": "the filters for templates that it brings: `prefix.name`, and a function (see `Filter`)",
    "scaffold": "a `TaskScaffold`: what `clerkship new task` writes for an environment with such a sandbox",
}
TYPE_WORDS = {
    "name": "required: what `type` of a dataset calls it, `prefix.name`",
    "summary": "required: what is in such a dataset, in a line",
    "model": "required: a subclass of `DatasetFile`; its fields are the keys, and a part of `clerkship schema dataset`",
    "load": "required: a function of an instance of `model` and a `DatasetSource`; it returns a `Dataset`, or None",
    "finder": "makes an `EntityFinder` of a dataset, for `entities` and `for_each`; `RecordFinder` if not given",
    "has_files": "whether its datasets hold files that steps can name",
    "built_in": "datasets that need no file: `prefix.name.dataset`, and an instance of `model`",
}
DOMAIN_WORDS = SPEC_WORDS | {
    "exercise": "required: calls (functions of its state and an `ActionContext`) that lead to every event it declares, "
    "for the conformance suite",
    "exercise_datasets": "datasets that the conformance suite loads it from",
}
CONSTANTS = {
    "CONTRACT": "the version of this contract",
    "JSON": "`application/json`",
    "MISSING": "what `lookup` gives where there is nothing",
    "NOTHING": "what an agent that holds nothing returns when it is closed",
    "NO_REPLY": "a reply that never arrives: the connection breaks",
    "ConnectionInfo": "how an agent connects to a listener: host, port, user",
    "DomainCall": "one call of a domain: a function of its state and the context to change it in",
    "Duration": "a field's type: `10m`, `+2h`, seconds",
    "Entry": "`on_turn` or `on_task`",
    "Expected": "a field's type: a literal or a matcher",
    "Filter": "a function of a value, the filter's argument (empty if it has none) and a function that writes as text",
    "Flag": "a field's type: true or false, and nothing that looks like it",
    "Harm": "a kind of harm that a write can carry: `instruction`, `amount` or `note`",
    "Load": "what makes a solver: takes what follows the sort and its colon, and the settings",
    "Number": "a field's type: a number",
    "Said": "part of what an agent returns for a turn: a `Say`, or one of its own events",
    "Record": "a map of names to JSON values",
    "React": "the function of a reaction: `react(state, act, event)` changes the state of the target",
    "Whole": "a field's type: a whole number",
}


def plugins_page(head: str) -> str:
    """The page."""
    return f"""{head}
# Plug-ins

A package brings simulators, domains, assertions, steps, faults, reactions, sorts of agent, types of dataset and filters
for templates by an entry point in the group `{GROUP}`:

```toml
[project.entry-points."{GROUP}"]
acme = "acme_pager:PLUGIN"
```

The entry point's name is the prefix. Every name that the plug-in brings starts with it: the kind `acme.pager`, its
events `acme.pager.message.sent`, its steps `acme.pager.receive`, assertions `acme.paged`, faults `acme.static` (the
step `fault.acme.static`), agents `--agent acme:…` or `acme.bot:…`, types of dataset `acme.roster`, filters
`{{{{ ward.number | acme.digits }}}}`. Small letters, digits and `_`. Several packages may
share a prefix, as long as no name is there twice; the first word of any name of ours is no prefix.

A plug-in that cannot be imported, breaks a rule or wants a name that is taken is broken: all of it is left out, it is
said once, on standard error (with `--json` under `warnings`), and nothing else is affected. A file that names something
of it gets an error with the reason. `clerkship plugins` lists what is installed. `CLERKSHIP_PLUGINS=off` leaves all of
them out. A run's record has the packages it used, with their versions, under `plugins`.

## Plugin

What the entry point leads to.

{_fields(Plugin, FIELD_WORDS)}
## Spec

One simulator. `clerkship conformance acme.pager` checks that it does what all must; so does
`clerkship.conformance.check_simulator(SPEC)` in a test, or each of `clerkship.conformance.CHECKS`. `check_simulator`
raises `NotConforming` at the first check that fails. Otherwise it returns a `ConformanceReport`: `report.checks` has
for each check how many requests were `sent` and `refused`, `report.requests` the sums, and `print(report)` shows both.

{_fields(Spec, SPEC_WORDS)}
## DomainSpec

One [domain](domains.md). `clerkship conformance acme.book` checks it; so does
`clerkship.conformance.check_domain(SPEC)` in a test, or each of `clerkship.conformance.DOMAIN_CHECKS`.

{_fields(DomainSpec, DOMAIN_WORDS)}
## DatasetType

A type of dataset. A loader reports a mistake with `source.note(key, message, hint)` and returns None; `source.read(key,
path, reader)` and `source.documents(file, folder, forms)` read files and folders beside the one that names them, and
report what cannot be read. A finder raises `BadBinding` for a `type` or `where` that no record can fit.

{_fields(DatasetType, TYPE_WORDS)}
## What to import

All of it is in `clerkship.plugin`. What is not there may change without notice.

Each table is followed by the signatures. They leave out what is private, and what a class inherits.

{_names()}

## A worked example with a dataset

The package [examples/shop_plugin](../../examples/shop_plugin/README.md) ports a small benchmark about the
orders of a shop. The tests run it as it is shown here.

The state of the simulator holds the records of a dataset. `orders_by_id` is its `prepare`:

{_file("src/shop_bench/state.py", "python")}

An assertion compares the end state with the dataset:

{_file("src/shop_bench/end_state.py", "python")}

The simulator has two operations, over HTTP and for agents in Python:

{_file("src/shop_bench/simulator.py", "python")}

A task names the dataset in its environment:

{_file("practice/cancel.yml", "yaml")}

The package's agent, and the event that it reports of itself, are in
[agent.py](../../examples/shop_plugin/src/shop_bench/agent.py).
"""


def _fields(model: type, words: dict[str, str]) -> str:
    rows = "\n".join(f"| `{field.name}` | {words[field.name]} |" for field in fields(model))
    return f"| | |\n|---|---|\n{rows}\n"


def _names() -> str:
    """Return the exported names by subject, each with its first sentence."""
    groups = exported_names()
    return "\n".join(_group(about, sorted(names)) for about, names in sorted(groups.items())).rstrip("\n")


def exported_names() -> dict[str, list[str]]:
    """Return the names that `clerkship.plugin` exports, by subject."""
    tree = ast.parse(Path(clerkship.plugin.__file__).read_text(encoding="utf-8"))
    groups: dict[str, list[str]] = {}
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module:
            groups.setdefault(_about(node.module), []).extend(alias.name for alias in node.names)
    return groups


def _group(about: str, names: list[str]) -> str:
    rows = "\n".join(f"| `{name}` | {_sentence(name)} |" for name in names)
    stubs = "\n\n".join(stub_of(getattr(clerkship.plugin, name)) for name in names if has_signature(name))
    return f"| {about} | |\n|---|---|\n{rows}\n" + (f"\n```python\n{stubs}\n```\n" if stubs else "")


def has_signature(name: str) -> bool:
    """Whether an exported name is a class or a function of ours, and not a constant or the name of a type."""
    thing = getattr(clerkship.plugin, name)
    return name not in CONSTANTS and (inspect.isclass(thing) or inspect.isfunction(thing))


def _file(path: str, language: str) -> str:
    text = (EXAMPLE / path).read_text(encoding="utf-8").rstrip("\n")
    return f"```{language}\n{text}\n```"


def _about(module: str) -> str:
    room = module.split(".")[1]
    return {
        "actors": "agents",
        "domains": "simulators and domains",
        "events": "events and evidence",
        "kit": "time, ids, chance",
        "library": "datasets and templates",
        "model": "fields and values",
        "plugin": "the plug-in",
        "sandbox": "sandboxes",
        "settings": "settings",
        "simulators": "simulators and domains",
    }.get(room, room)


def _sentence(name: str) -> str:
    if name in CONSTANTS:
        return CONSTANTS[name]
    return (inspect.getdoc(getattr(clerkship.plugin, name)) or "").split("\n")[0].removesuffix(".")
