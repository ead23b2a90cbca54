"""Read a Rasa domain from a file or a folder of files, with every mistake at its place."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from clerkship.model.agent_domain import AgentDomain
from clerkship.model.errors import InputError, InputProblem
from clerkship.rasa.names import DOMAIN_KEYS
from clerkship.suite_files.file_keys import top_keys
from clerkship.suite_files.source import SUFFIXES, SourceFolder, is_existing_folder
from clerkship.suite_files.validation_message import describe_value
from clerkship.suite_files.yaml import YamlTree

_FLOWS_KEY = "flows"
_CONTROLLED_MAPPINGS = {"controlled", "custom"}
"""Types of mapping for slots that the assistant fills itself."""


def is_domain(path: Path) -> bool:
    """Return whether a file, or a file in a folder, has a key of a domain."""
    files = sorted(path.rglob("*")) if path.is_dir() else [path]
    return any(file.suffix in SUFFIXES and top_keys(file) & DOMAIN_KEYS for file in files)


def read_domain(path: Path) -> AgentDomain:
    """Read a domain; the files of a folder are merged. Raise InputError with every mistake."""
    is_folder = is_existing_folder(path, "there is no such domain", "give a file, or a folder of files")
    folder = SourceFolder(path if is_folder else path.parent, allow_merge_keys=True)
    files = folder.files() if is_folder else [path]
    reader = _DomainReader(folder)
    for file in files:
        tree = folder.read(file) if not is_folder or top_keys(file) & {*DOMAIN_KEYS, _FLOWS_KEY} else None
        if tree is not None:
            reader.add_file(tree)
    problems = folder.report.sorted()
    if not problems and not reader.is_domain:
        hint = "expected `slots`, `actions`, `responses`, `forms` or `intents`"
        problems = [InputProblem(file=str(path), message="this is not a Rasa domain", hint=hint)]
    if problems:
        raise InputError(problems)
    return reader.build_domain(str(path), _read_flow_names_beside(path))


@dataclass
class _DomainReader:
    """Collects the names of a domain. Names of a kind are None if no file lists that kind."""

    folder: SourceFolder
    is_domain: bool = False
    slots: dict[str, str] = field(default_factory=dict)
    choices: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    controlled: set[str] = field(default_factory=set)
    names: dict[str, set[str]] = field(default_factory=dict)

    def build_domain(self, source: str, flows_beside: set[str]) -> AgentDomain:
        """Return the domain. Forms and responses are run like actions, so they count as actions too."""
        actions = self.names.get("actions")
        if actions is not None:
            actions = actions | self.names.get("forms", set()) | self.names.get("responses", set())
        flows = self.names.get(_FLOWS_KEY, set()) | flows_beside
        responses = self.names.get("responses")
        return AgentDomain(
            source=source,
            slots=self.slots,
            choices=self.choices,
            controlled=frozenset(self.controlled),
            actions=None if actions is None else frozenset(actions),
            responses=None if responses is None else frozenset(responses),
            flows=frozenset(flows) if flows else None,
        )

    def add_file(self, tree: YamlTree) -> None:
        if not isinstance(tree.data, dict):
            self.folder.report.note(
                tree, [], f"expected a map with `slots`, `actions`, `responses`, not {describe_value(tree.data)}"
            )
            return
        self.is_domain = self.is_domain or not DOMAIN_KEYS.isdisjoint(tree.data)
        if "slots" in tree.data:
            self._add_slots(tree, tree.data["slots"])
        for key in ("actions", "forms", "responses", _FLOWS_KEY):
            if key in tree.data:
                self.names.setdefault(key, set()).update(self._list_names(tree, key, tree.data[key]))

    def _add_slots(self, tree: YamlTree, written: Any) -> None:
        if not isinstance(written, dict | None):
            self.folder.report.note(tree, ["slots"], f"expected a map of slots by name, not {describe_value(written)}")
            return
        for name, slot in (written or {}).items():
            kind = slot.get("type") if isinstance(slot, dict) else None
            if not isinstance(slot, dict):
                self.folder.report.note(
                    tree, ["slots", name], f"expected a map with the slot's `type`, not {describe_value(slot)}"
                )
            elif not isinstance(kind, str):
                message = "`type` is missing" if "type" not in slot else f"expected a type, not {describe_value(kind)}"
                place = ["slots", name, "type"] if "type" in slot else ["slots", name]
                self.folder.report.note(tree, place, message, "use text, bool, float, list, categorical or any")
            self.slots[name] = kind if isinstance(kind, str) else "any"
            if isinstance(slot, dict):
                self._add_slot_values(name, slot)

    def _add_slot_values(self, name: str, slot: dict[str, Any]) -> None:
        """Record the values of a slot, and whether users fill it. Mistakes there are ignored."""
        values, mappings = slot.get("values"), slot.get("mappings")
        if isinstance(values, list):
            self.choices[name] = tuple(value for value in values if isinstance(value, str | int | float))
        types = [part.get("type") for part in mappings if isinstance(part, dict)] if isinstance(mappings, list) else []
        if types and set(types) <= _CONTROLLED_MAPPINGS:
            self.controlled.add(name)

    def _list_names(self, tree: YamlTree, key: str, written: Any) -> Iterator[str]:
        """Yield names from a map, or from a list of texts and maps with one key."""
        if isinstance(written, dict):
            yield from written
        elif isinstance(written, list) and key in ("actions", "forms"):
            for number, item in enumerate(written):
                if isinstance(item, str):
                    yield item
                elif isinstance(item, dict) and len(item) == 1:
                    yield from item
                else:
                    self.folder.report.note(
                        tree, [key, number], f"expected a name, or a map with one, not {describe_value(item)}"
                    )
        elif written is not None:
            expected = "a list of names" if key == "actions" else "a map by name"
            self.folder.report.note(tree, [key], f"expected {expected}, not {describe_value(written)}")


def _read_flow_names_beside(path: Path) -> set[str]:
    """Return the names of the flows in `data` beside the domain. Mistakes there are ignored."""
    data = SourceFolder(path.resolve().parent / "data", allow_merge_keys=True)
    files = [file for file in data.files() if _FLOWS_KEY in top_keys(file)] if data.root.is_dir() else []
    written = [tree.data.get(_FLOWS_KEY) for tree in map(data.read, files) if tree and isinstance(tree.data, dict)]
    return {name for flows in written if isinstance(flows, dict) for name in flows}
