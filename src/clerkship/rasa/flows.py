"""Read the flows of a Rasa project from files or folders. Unknown parts are skipped with a warning."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field, JsonValue

from clerkship.model.errors import InputError, InputProblem
from clerkship.model.frozen import Frozen
from clerkship.model.names import did_you_mean
from clerkship.rasa.names import BUILT_IN_FLOW_PREFIX
from clerkship.suite_files.file_keys import top_keys
from clerkship.suite_files.source import SourceFolder, is_existing_folder
from clerkship.suite_files.validation_message import describe_value
from clerkship.suite_files.yaml import YamlTree

StepKind = Literal["collect", "action", "call", "link", "set_slots", "noop"]
END = "END"
"""The `next` of a step that ends the flow."""
_FLOWS_KEY = "flows"
_STEP_KINDS: tuple[StepKind, ...] = ("collect", "action", "call", "link", "set_slots", "noop")
_NAMED_STEP_KINDS = ("collect", "action", "call", "link")
_FLOW_KEYS = {"name", "description", "if", "steps", "always_include_in_prompt", "run_pattern_completed", "nlu_trigger"}


class FlowEdge(NamedTuple):
    """One way from a step to the next."""

    to: int | None
    """The number of the next step; None if the flow ends."""
    condition: str | None = None
    """The condition; None if there is none."""
    unless: tuple[str, ...] = ()
    """The conditions of earlier branches, which must all be false."""


class FlowStep(Frozen):
    """One step: what it does, its target, and where it leads."""

    id: Annotated[str | None, Field(description="id of the step")] = None
    kind: StepKind
    target: Annotated[str, Field(description="name of a slot, an action or a flow")] = ""
    hint: Annotated[str, Field(description="description of the step")] = ""
    rejections: Annotated[tuple[str, ...], Field(description="responses to an invalid value")] = ()
    rejected_if: Annotated[tuple[str, ...], Field(description="conditions under which a value is invalid")] = ()
    slots: Annotated[dict[str, JsonValue], Field(description="slots that it sets")] = {}
    edges: tuple[FlowEdge, ...] = ()


class Flow(Frozen):
    """One flow of an assistant."""

    id: str
    name: str = ""
    description: str = ""
    guard: Annotated[str | None, Field(description="condition for users to start it")] = None
    steps: tuple[FlowStep, ...]
    file: str = ""
    line: int = 0
    column: int = 0

    @property
    def words(self) -> str:
        """The name of the flow for people."""
        return self.name or self.id.replace("_", " ").replace("-", " ").strip() or self.id

    @property
    def is_for_people(self) -> bool:
        """Whether a user can start it. Other flows are only called by flows."""
        return (self.guard or "").strip().lower() not in ("false", "0", "no")


_FLOW_KEYS |= {"persisted_slots", "file_path", "translation", "metadata"}
_STEP_KEYS = {"id", "next", "description", "metadata", *_STEP_KINDS}
_KEYS_BY_STEP_KIND = {
    "collect": {"utter", "ask_before_filling", "reset_after_flow_ends", "rejections", "force_slot_filling"}
    | {"ask_confirm_digressions", "block_digressions", "silence_timeout"},
    "call": {"exit_if", "mcp_server", "mapping"},
}
_KeyPath = list[int | str]


@dataclass(frozen=True)
class ProjectFlows:
    """The flows that were read, and warnings about them."""

    flows: dict[str, Flow]
    warnings: tuple[InputProblem, ...] = ()


def read_flows(paths: Iterable[Path]) -> ProjectFlows:
    """Read flows. Raise InputError if a file cannot be read, or if there are no flows."""
    reader, problems = _FlowReader(), list[InputProblem]()
    for path in paths:
        folder, files = _list_files(path)
        for tree in map(folder.read, files):
            if tree is not None:
                reader.add_file(tree)
        problems += folder.report.sorted()
    if problems:
        raise InputError(problems)
    if not reader.flows:
        where = ", ".join(map(str, paths))
        warnings = "; ".join(map(str, reader.warnings[:3]))
        hint = warnings or "expected YAML files with the key `flows`, as in `data` of a Rasa project"
        raise InputError.of("there are no flows", file=where, hint=hint)
    return ProjectFlows(reader.flows, tuple(reader.warnings))


def _list_files(path: Path) -> tuple[SourceFolder, list[Path]]:
    if not is_existing_folder(path, "there is no such file or folder", "the flows of a Rasa project are in `data`"):
        return SourceFolder(path.parent, allow_merge_keys=True), [path]
    folder = SourceFolder(path, allow_merge_keys=True)
    return folder, [file for file in folder.files() if _FLOWS_KEY in top_keys(file)]


@dataclass
class _FlowReader:
    """Collects the flows of several files."""

    flows: dict[str, Flow] = field(default_factory=dict)
    warnings: list[InputProblem] = field(default_factory=list)

    def add_file(self, tree: YamlTree) -> None:
        data = tree.data if isinstance(tree.data, dict) else {}
        flows = data.get(_FLOWS_KEY)
        if not isinstance(flows, dict):
            self.warn(tree, [_FLOWS_KEY], f"expected a map of flows by id, not {describe_value(flows)}")
            return
        for name, written in flows.items():
            if not str(name).startswith(
                BUILT_IN_FLOW_PREFIX
            ):  # a customised pattern of the engine, which users do not start
                self._add_flow(tree, str(name), written)

    def _add_flow(self, tree: YamlTree, name: str, written: Any) -> None:
        place: _KeyPath = [_FLOWS_KEY, name]
        if name in self.flows:
            self.warn(
                tree,
                place,
                "the flow is skipped: there is another one with this id",
                f"the other is in {self.flows[name].file}",
            )
            return
        steps = written.get("steps") if isinstance(written, dict) else None
        if not isinstance(written, dict) or not isinstance(steps, list) or not steps:
            self.warn(tree, place, "the flow is skipped: it has no steps")
            return
        self.warn_of_unknown_keys(tree, place, written, _FLOW_KEYS)
        guard, spot = written.get("if"), tree.locate(place, key=True)
        self.flows[name] = Flow(
            id=name,
            name=to_one_line(written.get("name")),
            description=to_one_line(written.get("description")),
            guard=None if guard is None else str(guard),
            steps=tuple(_StepReader(self, tree, place).build(steps)),
            file=spot.file,
            line=spot.line,
            column=spot.column,
        )

    def warn_of_unknown_keys(
        self, tree: YamlTree, place: _KeyPath, written: Mapping[str, Any], known: Iterable[str]
    ) -> None:
        """Warn of keys that are not supported."""
        names = set(known)
        for key in written:
            if key not in names:
                hint = did_you_mean(str(key), names)
                self.warn(tree, [*place, key], f"unknown key `{key}` is skipped", hint if "mean" in hint else "")

    def warn(self, tree: YamlTree, place: _KeyPath, message: str, hint: str = "") -> None:
        """Add a warning at a path."""
        self.warnings.append(tree.locate(place, key=True).problem(message, hint))


@dataclass
class _RawStep:
    """A step as in the file, and the number of the step that follows by default."""

    place: _KeyPath
    data: dict[str, Any]
    follower: int | None = None
    branches: list[tuple[str | None, int | str | None]] = field(default_factory=list)
    """Targets by condition: the number of a step, or its id."""


class _StepReader:
    """Reads the steps of one flow, including nested ones, into one list."""

    def __init__(self, reader: _FlowReader, tree: YamlTree, place: _KeyPath) -> None:
        self._reader, self._tree, self._place = reader, tree, place
        self._all: list[_RawStep] = []

    def build(self, steps: list[Any]) -> Iterator[FlowStep]:
        """Yield each step with its edges."""
        self._append(steps, [*self._place, "steps"])
        ids = {
            str(step.data["id"]): number for number, step in reversed(list(enumerate(self._all))) if "id" in step.data
        }
        for step in self._all:
            yield self._step(step, tuple(self._edges(step, ids)))

    def _append(self, steps: list[Any], place: _KeyPath) -> int | None:
        """Append a list of steps; return the number of the first."""
        first: int | None = None
        before: _RawStep | None = None
        for number, data in enumerate(steps):
            here = [*place, number]
            if not isinstance(data, dict):
                self._reader.warn(self._tree, here, f"expected a step, not {describe_value(data)}; it is skipped")
                continue
            step = _RawStep(here, data)
            own = len(self._all)
            self._all.append(step)
            first = own if first is None else first
            if before is not None:
                before.follower = own
            self._add_branches(step)
            before = step
        return first

    def _add_branches(self, step: _RawStep) -> None:
        following = step.data.get("next")
        if following is None:
            return
        branches = following if isinstance(following, list) else [{"then": following}]
        for number, branch in enumerate(branches):
            place = [*step.place, "next", number]
            if not isinstance(branch, dict) or not {"then", "else"} & set(branch):
                self._reader.warn(self._tree, place, "expected `if` and `then`, or `else`; it is skipped")
                continue
            target = branch.get("then", branch.get("else"))
            condition = None if branch.get("if") is None else to_one_line(branch["if"])
            inner = "then" if "then" in branch else "else"
            step.branches.append(
                (condition, self._append(target, [*place, inner]) if isinstance(target, list) else _to_step_id(target))
            )

    def _edges(self, step: _RawStep, ids: Mapping[str, int]) -> Iterator[FlowEdge]:
        if "link" in step.data:
            return
        if not step.branches:
            yield FlowEdge(step.follower)
            return
        before: list[str] = []
        for condition, target in step.branches:
            if isinstance(target, str) and target != END and target not in ids:
                hint = did_you_mean(target, ids)
                self._reader.warn(self._tree, [*step.place, "next"], f"no step `{target}`: treated as the end", hint)
            to = target if isinstance(target, int) else ids.get(target or END)
            yield FlowEdge(to, condition, tuple(before))
            before += [condition] if condition is not None else []

    def _step(self, step: _RawStep, edges: tuple[FlowEdge, ...]) -> FlowStep:
        data = step.data
        kind = next((key for key in _STEP_KINDS if key in data), None)
        if kind is None:
            self._reader.warn(self._tree, step.place, "the step is skipped: its kind is unknown")
        self._reader.warn_of_unknown_keys(
            self._tree, step.place, data, _STEP_KEYS | _KEYS_BY_STEP_KIND.get(kind or "", set())
        )
        target = to_one_line(data.get(kind)) if kind in _NAMED_STEP_KINDS else ""
        if kind in _NAMED_STEP_KINDS and not target:
            self._reader.warn(self._tree, [*step.place, kind], f"the step is skipped: `{kind}` needs a name, as text")
            kind = None
        rejections = data.get("rejections")
        refused = [item for item in rejections if isinstance(item, dict)] if isinstance(rejections, list) else []
        return FlowStep(
            id=str(data["id"]) if "id" in data else None,
            kind=kind or "noop",
            target=target,
            hint=to_one_line(data.get("description")),
            rejections=tuple(item["utter"] for item in refused if isinstance(item.get("utter"), str)),
            rejected_if=tuple(to_one_line(item["if"]) for item in refused if item.get("if") is not None),
            slots=_parse_set_slots(data.get("set_slots")),
            edges=edges,
        )


def _parse_set_slots(written: Any) -> dict[str, Any]:
    """Return the slots of a list of maps with one slot each, or of one map."""
    maps = written if isinstance(written, list) else [written]
    return {str(name): value for part in maps if isinstance(part, dict) for name, value in part.items()}


def _to_step_id(target: Any) -> str:
    return END if target is None else str(target)


def to_one_line(text: Any) -> str:
    """Return a text on one line, without unprintable characters."""
    if text is None or isinstance(text, dict | list):
        return ""
    return "".join(char for char in " ".join(str(text).split()) if char.isprintable())
