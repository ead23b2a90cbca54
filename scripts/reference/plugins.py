"""The page for authors of plug-ins: the entry point, the fields of each spec, and every name to import."""

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path

import clerkship.plugin
from clerkship.engine.plugin_contract import CONTRACT, Plugin
from clerkship.engine.plugin_loading import ENTRY_POINT_GROUP
from clerkship.sandbox.component import DomainSpec
from clerkship.simulators.spec import Spec
from clerkship.suite_files.dataset_type import DatasetType
from scripts.reference.render import AUTHENTICATION, render_page
from scripts.reference.signatures import stub_of
from scripts.reference.tables import describe_dataclass

_EXAMPLE = Path(__file__).parent.parent.parent / "examples" / "shop_plugin"
_PLUGIN_FIELDS = {
    "contract": f"required: the version of this contract that the plug-in was written for, {CONTRACT}",
    "simulators": "each a `Spec`, with its own assertions and steps; its kind is `prefix.name`",
    "domains": "each a `DomainSpec`, with its own assertions and steps; its kind is `prefix.name`",
    "assertions": "assertion classes that belong to no simulator: `prefix.name`",
    "monitors": "monitor classes, which run on every task with one of their kinds of sandbox: `prefix.name`",
    "steps": "step classes that belong to no simulator: `prefix.name`",
    "faults": "fault classes: `prefix.name` is the step `fault.prefix.name`",
    "dataset_types": "each a `DatasetType` that belongs to no simulator: `prefix.name`",
    "filters": "template filters that belong to no simulator: `prefix.name` and a function",
    "events": "classes of `Payload` that agents report with `sandboxes.report`; the kind is `prefix.name`",
    "agents": "`prefix` or `prefix.name`, and a function of the rest of `--agent` and the settings: a `Solver`",
    "reactions": "each a `ReactionPair` of two kinds of simulators, at least one of them `prefix.name`",
}
_SPEC_FIELDS = {
    "kind": "required: the kind that environments name, `prefix.name`",
    "summary": "required: one sentence for the reference",
    "state": "required: a class of `State`; its methods emit events, and only `apply` changes it",
    "events": "required: every `Payload` that it can emit; each kind starts with the simulator's kind",
    "operations": "required: each `Operation` that it offers, over any protocol",
    "routes": "required: its operations over HTTP, each a `Route`",
    "build_routes": "builds further routes from the config and the base, where operations follow from the datasets",
    "handle": "required: a class of `Handle`, for Python agents",
    "exercise": "required: requests that reach every operation, for the conformance suite",
    "documents": "the function that lists the texts that every agent may read, such as policies, each a "
    "`PublicDocument`: they are [resources over MCP](mcp.md#resources)",
    "exercise_datasets": "each a `Dataset` that the exercise starts from; required if `dataset` is given",
    "config": "the model of its config in an environment",
    "dataset": "the type of dataset that it is loaded from",
    "more_datasets": "other types of dataset that it is loaded from, too",
    "prepare": "builds its base from its datasets, once; every playground keeps its changes on top of that base",
    "names": (
        'names that a config and the base define, by sort: `{"shelf": lambda config, base: config.shelves}`; a field '
        'with `NameOf("shelf")` must hold one of them'
    ),
    "configure": "fills in what its config leaves to the environment: `configure(config, environment)`",
    "domains": "the `DomainSpec` of each domain that its operations call; an environment must have each of them",
    "refuse": "renders a `Refusal` in its protocol; as JSON if not given",
    "assertions": "assertions on its state: `prefix.name`",
    "steps": "steps of a scenario on it: `prefix.kind.verb`",
    "example": "path and query of a GET that `clerkship up` shows first; the first one without parameters if not given",
    "extras": "extras of Clerkship that its operations need, each a `SimulatorExtra`; listeners name theirs",
    "listeners": "listeners for protocols other than HTTP (`clerkship.sandbox.listener.ProtocolListener`)",
    "outbound": (
        "how it delivers messages to an agent that registered an address with `OperationContext.register_callback` "
        "(`clerkship.transports.outbound.delivery.OutboundDelivery`)"
    ),
    "assets": "folders of static files of its package (`clerkship.transports.assets.AssetFolder`)",
    "authentication": (
        "its schemes of `clerkship.sandbox.authentication`; a request needs one of them; a bearer token if not given: "
        f"[authentication]({AUTHENTICATION.partition('#')[0]})"
    ),
    "cors": "a `clerkship.sandbox.cors.CorsPolicy`: which web pages may read its replies; none if not given",
    "activity": (
        "`module:function` that lists what the agent did in such a sandbox, each a `Disclosure` or a "
        "`RejectedIdentity`: `list_activity(evidence, sandbox)`; monitors read it"
    ),
    "run_coverage": (
        "`module:name` of a tuple of `CoverageDimension`: what `clerkship coverage` counts in such a sandbox besides "
        "operations, events, steps, faults and assertions; no run imports it"
    ),
    "view": (
        "`module:function` that lists what a reviewer is shown of its state at one moment of a trial, each a "
        "`StateRow`: `list_rows(state, trial)`; no run imports it. If it is not given, changed records and public "
        "attributes are shown"
    ),
    "attack": "a `SandboxAttack`: what `clerkship suite attack` does in such a sandbox; nothing if not given",
    "converses": "whether a person can use it: its state is a `Conversation`",
    "channels": "channels on which people are reached at an address; the state is then a `ConversationHost`",
    "dataset_types": "its dataset types, each a `DatasetType`: `prefix.name`",
    "filters": "its template filters: `prefix.name` and a function (see `Filter`)",
    "scaffold": "a `TaskScaffold`, or a YAML file of one: what `clerkship new task` writes for an environment with it",
}
_DATASET_TYPE_FIELDS = {
    "name": "required: the `type` of a dataset, `prefix.name`",
    "summary": "required: one line about such datasets",
    "model": "required: a subclass of `DatasetFile`; its fields are the keys, and part of `clerkship schema dataset`",
    "load": "required: a function of an instance of `model` and a `DatasetSource` that returns a `Dataset` or None",
    "finder": "builds an `EntityFinder` of a dataset, for `entities` and `for_each`; `RecordFinder` if not given",
    "has_files": "whether its datasets hold files that steps can name",
    "has_code": "whether its datasets hold code that every run executes; a server refuses to run it",
    "built_in": "datasets that need no file: `prefix.name.dataset` and an instance of `model`",
}
_DOMAIN_FIELDS = _SPEC_FIELDS | {
    "exercise": "required: calls (functions of its state and an `ActionContext`) that lead to every event it declares, "
    "for the conformance suite",
    "exercise_datasets": "datasets that the conformance suite loads it from",
}
CONSTANTS = {
    "Activity": "a `Disclosure` or a `RejectedIdentity`",
    "MonitorAxis": "`safety` or `privacy`",
    "CONTRACT": "the version of this contract",
    "JSON": "`application/json`",
    "MISSING": "what `lookup` returns if there is no value",
    "NO_FACTS": "what an agent without facts returns when it is closed",
    "NO_REPLY": "a reply that never arrives: the connection breaks",
    "PageBox": "a box on a page, in dots: left, top, width and height",
    "ConnectionInfo": "how an agent connects to a listener: host, port, user",
    "DomainCall": "one call of a domain: a function of its state and an `ActionContext`",
    "Duration": "the type of a field: `10m`, `+2h`, seconds",
    "EntryPointName": "`on_turn` or `on_task`",
    "Expected": "the type of a field: a literal or a matcher",
    "Filter": "a function of a value, the filter's argument (empty if it has none) and a function that renders text",
    "Flag": "the type of a field: only true or false",
    "Harm": "a kind of harm that a write can carry: `instruction`, `amount` or `note`",
    "LoadSolver": "builds a solver from the rest of `--agent` and the settings",
    "Number": "the type of a field: a number",
    "Override": "called in place of a method of a handle, with that method and the arguments of the call",
    "ReplyPart": "part of what an agent returns for a turn: a `Say` or a reported event",
    "Record": "a map of names to JSON values",
    "React": "the function of a reaction: `react(state, action, event)` changes the state of the target",
    "Whole": "the type of a field: a whole number",
}


def plugins_page() -> str:
    """Return the page for authors of plug-ins."""
    return render_page(
        "plugins.md",
        GROUP=ENTRY_POINT_GROUP,
        plugin=_describe(Plugin, _PLUGIN_FIELDS),
        spec=_describe(Spec, _SPEC_FIELDS),
        domain_spec=_describe(DomainSpec, _DOMAIN_FIELDS),
        dataset_type=_describe(DatasetType, _DATASET_TYPE_FIELDS),
        names=_names(),
        kind_modules=_kind_modules(),
        state=_show_file("src/shop_bench/state.py", "python"),
        assertion=_show_file("src/shop_bench/end_state.py", "python"),
        simulator=_show_file("src/shop_bench/simulator.py", "python"),
        task=_show_file("practice/cancel.yml", "yaml"),
    )


def _describe(model: type, descriptions: dict[str, str]) -> str:
    return f"| field | meaning |\n|---|---|\n{describe_dataclass(model, descriptions)}\n"


def _names() -> str:
    """Return the exported names by subject, each with its first sentence."""
    groups = exported_names()
    return "\n".join(_group(subject, sorted(names)) for subject, names in sorted(groups.items())).rstrip("\n")


def _kind_modules() -> str:
    """Return the public modules of one kind each, with their names."""
    rows = ["| module | names |", "|---|---|"]
    for path in sorted(Path(clerkship.plugin.__file__).parent.glob("[a-z]*.py")):
        names = [alias.name for node in _imports(path) for alias in node.names]
        rows.append(f"| `clerkship.plugin.{path.stem}` | {', '.join(f'`{name}`' for name in sorted(names))} |")
    return "\n".join(rows)


def _imports(path: Path) -> Iterator[ast.ImportFrom]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return (node for node in tree.body if isinstance(node, ast.ImportFrom) and node.module)


def exported_names() -> dict[str, list[str]]:
    """Return the names that `clerkship.plugin` exports, by subject."""
    groups: dict[str, list[str]] = {}
    for node in _imports(Path(clerkship.plugin.__file__)):
        groups.setdefault(_subject_of(str(node.module)), []).extend(alias.name for alias in node.names)
    return groups


def _group(subject: str, names: list[str]) -> str:
    rows = "\n".join(f"| `{name}` | {_sentence(name)} |" for name in names)
    stubs = "\n\n".join(stub_of(getattr(clerkship.plugin, name)) for name in names if has_signature(name))
    return f"| {subject} | |\n|---|---|\n{rows}\n" + (f"\n```python\n{stubs}\n```\n" if stubs else "")


def has_signature(name: str) -> bool:
    """Whether an exported name is a class or a function of ours, and not a constant or the name of a type."""
    thing = getattr(clerkship.plugin, name)
    return name not in CONSTANTS and (inspect.isclass(thing) or inspect.isfunction(thing))


def _show_file(path: str, language: str) -> str:
    text = (_EXAMPLE / path).read_text(encoding="utf-8").rstrip("\n")
    return f"```{language}\n{text}\n```"


def _subject_of(module: str) -> str:
    package = module.split(".")[1]
    return {
        "actors": "agents",
        "engine": "the plug-in",
        "events": "events and evidence",
        "kit": "time, ids, chance",
        "model": "fields and values",
        "sandbox": "sandboxes",
        "settings": "settings",
        "simulators": "simulators and domains",
        "suite_files": "datasets and templates",
    }.get(package, package)


def _sentence(name: str) -> str:
    if name in CONSTANTS:
        return CONSTANTS[name]
    return (inspect.getdoc(getattr(clerkship.plugin, name)) or "").split("\n")[0].removesuffix(".")
