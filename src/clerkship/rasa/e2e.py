"""Load Rasa's E2E test files, with the conftest files above them, as tasks."""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from clerkship.model.call import AssertionCall
from clerkship.model.environment import CONVERSATION_ENVIRONMENT
from clerkship.model.names import did_you_mean
from clerkship.model.variables import UnknownVariable, expand
from clerkship.rasa.e2e_case import (
    E2E_ASSERTIONS,
    CaseFixtures,
    E2eCase,
    E2eFile,
    build_task,
    has_assertions,
    list_flow_ids,
)
from clerkship.suite_files.agent_check import AgentCheck
from clerkship.suite_files.call_check import CallCheck
from clerkship.suite_files.catalog import Catalog
from clerkship.suite_files.definition import Definition, as_list, as_map, read_as
from clerkship.suite_files.environment_check import build_environment_info, is_known
from clerkship.suite_files.file_keys import OWN_KEYS, TEST_KEYS, find_near_key
from clerkship.suite_files.library import LoadedTask
from clerkship.suite_files.source import Reporter, SourceFolder
from clerkship.suite_files.task_check import CriteriaCheck
from clerkship.suite_files.yaml import KeyPath as Keys
from clerkship.suite_files.yaml import YamlTree

CONFTEST_NAMES = ("conftest.yml", "conftest.yaml")
_SCENARIO_CONFTEST_FOLDER = "eval"
"""The conftest in this folder is for scenarios, not for E2E tests."""
_COMMANDS_KEY = "commands"
"""The key of steps in tests of dialogue understanding, which compare commands and not behaviour."""
_RESULT_KEYS = frozenset({"status", "rating", "pass_status"})
"""Keys of test cases in files of results, which have the names of test cases but no steps."""
_MAX_CASE_NAME_LENGTH = 150
_MAX_STEM_LENGTH = 30
"""The most characters of a file's name that are added to the name of a test case."""
_CLOCK_SLOT = "mocked_datetime"
_VARIABLE = re.compile(r"(?<!\$)\$\{[A-Za-z_]")

_CONVERSATION = build_environment_info(CONVERSATION_ENVIRONMENT.model_dump())


def is_e2e(tree: YamlTree) -> bool:
    """Return whether a file is an E2E test file, or a conftest for such files."""
    path = Path(tree.file)
    if not isinstance(tree.data, dict) or (
        _is_conftest(path) and path.resolve().parent.name == _SCENARIO_CONFTEST_FOLDER
    ):
        return False
    return bool(TEST_KEYS & tree.data.keys()) or (_is_conftest(path) and "llm_judge" in tree.data)


def find_unsupported_tests(tree: YamlTree) -> str:
    """Return why a file contains no test to load; an empty string if it does, or if it is a conftest."""
    if _is_conftest(Path(tree.file)) or "test_cases" not in tree.data:
        return ""
    cases = tree.data["test_cases"]
    if not any(map(find_near_key, tree.data.keys() - OWN_KEYS)) and (cases is None or cases == []):
        return "`test_cases` has no entries"
    if as_list(cases) and all(_is_result(as_map(case)) for case in as_list(cases)):
        return "results of tests (test cases with `status` or `rating`, and no steps) are not read"
    steps = [as_map(step) for case in as_list(cases) for step in as_list(as_map(case).get("steps"))]
    is_other = any(_COMMANDS_KEY in step for step in steps) and not any("assertions" in step for step in steps)
    return "dialogue-understanding tests (steps with `commands`) are not supported" if is_other else ""


def _is_conftest(path: Path) -> bool:
    return path.name in CONFTEST_NAMES


def _is_result(case: Mapping[str, Any]) -> bool:
    return not case.get("steps") and not _RESULT_KEYS.isdisjoint(case)


@dataclass
class SharedNames:
    """The fixtures, metadata and stubs of one or several files."""

    fixtures: dict[str, Definition] = field(default_factory=dict)
    metadata: dict[str, Definition] = field(default_factory=dict)
    stubs: dict[str, Definition] = field(default_factory=dict)

    def over(self, other: "SharedNames") -> "SharedNames":
        """Return both, where names of this one take precedence."""
        return SharedNames(other.fixtures | self.fixtures, other.metadata | self.metadata, other.stubs | self.stubs)


@dataclass
class E2eFiles:
    """The E2E test files of one folder."""

    folder: SourceFolder
    catalog: Catalog
    agent: AgentCheck
    reporter: Reporter
    _expanded: dict[str, Any] = field(default_factory=dict)
    """The data of each file, with environment variables replaced."""
    _generative: bool = False
    """Whether a model has to judge assertions in them."""
    _conftests: dict[Path, SharedNames] = field(default_factory=dict)
    """Names by folder."""

    def load(self, trees: Sequence[YamlTree], taken: Collection[str]) -> Iterator[LoadedTask]:
        """Yield a task for each test case; report every mistake."""
        self._generative = any("'generative_" in str(tree.data) for tree in trees)
        for tree in trees:
            if _is_conftest(Path(tree.file)):
                self._conftest(tree)
        names = set(taken)
        for tree in trees:
            if not _is_conftest(Path(tree.file)):
                for loaded in self._tasks(tree, names):
                    names.add(loaded.task.name)
                    yield loaded

    def _conftest(self, tree: YamlTree) -> None:
        file, _ = self._file(tree)
        if tree.data.get("test_cases"):
            file.problem(["test_cases"], "a conftest may not have test cases", "move them to another file", key=True)
        folder = Path(tree.file).parent
        self._conftests[folder] = self._names(file).over(self._conftests.get(folder, SharedNames()))

    def _tasks(self, tree: YamlTree, taken: set[str]) -> Iterator[LoadedTask]:
        file, written = self._file(tree)
        names = self._names(file).over(self._shared(Path(tree.file).parent))
        if "test_cases" not in tree.data:
            file.problem([], "`test_cases` is missing", f"only {CONFTEST_NAMES[0]} may have none")
        if not CaseCheck(self, file, names).check() or written is None:
            return
        counts = Counter[str]()
        for number, case in enumerate(written.test_cases):
            counts[case.test_case] += 1
            written_name = _cut(case.test_case, _MAX_CASE_NAME_LENGTH)
            name = _choose_unused_name(
                written_name, counts[case.test_case], _cut(Path(tree.file).stem, _MAX_STEM_LENGTH), taken
            )
            if counts[case.test_case] > 1:
                self._warn_of_repeated_name(file, number, case.test_case, name)
            elif written_name != case.test_case:
                message = f"the name has {len(case.test_case)} characters, so this test case is called {name!r}"
                file.warning(["test_cases", number, "test_case"], message)
            task = build_task(case, name, _resolve_fixtures(case, names), self.catalog.assertion)
            _warn_of_ignored_steps(file, ["test_cases", number, "steps"], case)
            CriteriaCheck(self.catalog, file, ["test_cases", number], "").warn_of_idle_pass(task)
            location = tree.locate(["test_cases", number])
            yield LoadedTask(task, CONVERSATION_ENVIRONMENT, {}, None, tree.file, location.line, location.column)

    def _warn_of_repeated_name(self, file: Definition, number: int, written: str, chosen: str) -> None:
        first = next(n for n, case in enumerate(file.data["test_cases"]) if case["test_case"] == written)
        message = f"another test case has this name too, so this one is called {chosen[:160]!r}"
        hint = f"the other is at {file.locate('test_cases', first, 'test_case').text}"
        file.warning(["test_cases", number, "test_case"], message, hint)

    def _file(self, tree: YamlTree) -> tuple[Definition, E2eFile | None]:
        """Return a file as one definition and as a model; report every mistake in its form and its variables."""
        file = Definition("e2e", tree, [], tree.data, self.reporter)

        def report(path: Keys, unknown: UnknownVariable) -> None:
            file.problem(path, str(unknown), unknown.hint, silences=True)

        self._expanded[tree.file] = expand(tree.data, self.catalog.variables(), report)
        if "llm_judge" in tree.data and self._generative:
            file.warning(["llm_judge"], "`llm_judge` has no effect: --judge sets the model of a run", key=True)
        return file, file.read(E2eFile, {key: value for key, value in tree.data.items() if value is not None})

    def expanded(self, tree: YamlTree, path: Keys) -> Any:
        """Return the value at a path, with environment variables replaced."""
        here: Any = self._expanded.get(tree.file, tree.data)
        for part in path:
            here = here[part]
        return here

    def _names(self, file: Definition) -> SharedNames:
        stubs = {
            name: self._named(file, ["stub_custom_actions", name], value)
            for name, value in as_map(file.data.get("stub_custom_actions")).items()
        }
        fixtures = self._listed(file, "fixtures", "fixtures")
        return SharedNames(fixtures, self._listed(file, "metadata", "sets of metadata"), stubs)

    def _named(self, file: Definition, path: Keys, value: Any) -> Definition:
        return Definition("e2e", file.tree, path, value, self.reporter)

    def _listed(self, file: Definition, key: str, plural: str) -> dict[str, Definition]:
        definitions: dict[str, Definition] = {}
        for number, item in enumerate(as_list(file.data.get(key))):
            for name, value in as_map(item).items():
                path: Keys = [key, number, name]
                if name in definitions:
                    other = file.tree.locate(definitions[name].path, key=True)
                    hint = f"the other is at {other.text}"
                    file.problem(path, f"two {plural} have the name `{name[:60]}`", hint, key=True)
                definitions.setdefault(name, self._named(file, path, value))
        return definitions

    def _shared(self, folder: Path) -> SharedNames:
        """Return the names that the conftest files define, from the outermost folder down to this one."""
        shared = SharedNames()
        for place in reversed(list(_walk_up(folder, self.folder.root))):
            shared = self._conftest_of(place).over(shared)
        return shared

    def _conftest_of(self, folder: Path) -> SharedNames:
        """Return the names of a folder's conftest. One above the loaded folder is read when it is needed."""
        if folder not in self._conftests and not folder.resolve().is_relative_to(self.folder.root.resolve()):
            for path in (
                folder / name for name in CONFTEST_NAMES if folder.resolve().name != _SCENARIO_CONFTEST_FOLDER
            ):
                tree = SourceFolder(folder, self.folder.report).read(path) if _is_readable_file(path) else None
                if tree is not None and isinstance(tree.data, dict):
                    self._conftest(tree)
        return self._conftests.setdefault(folder, SharedNames())


def _resolve_fixtures(case: E2eCase, names: SharedNames) -> CaseFixtures:
    slots: dict[str, JsonValue] = {}
    for name in case.fixtures:
        slots |= {slot: value for part in as_list(names.fixtures[name].data) for slot, value in as_map(part).items()}
    own = f"{to_stub_name(case.test_case)}::"
    general = {name: stub.data for name, stub in names.stubs.items() if "::" not in name}
    special = {name.removeprefix(own): stub.data for name, stub in names.stubs.items() if name.startswith(own)}
    return CaseFixtures(slots, {name: metadata.data for name, metadata in names.metadata.items()}, general | special)


def _warn_of_ignored_steps(file: Definition, path: Keys, case: E2eCase) -> None:
    ignored = [number for number, step in enumerate(case.steps) if step.user is None]
    if ignored and has_assertions(case):
        what = "1 step is" if len(ignored) == 1 else f"{len(ignored)} steps are"
        message = f"{what} not checked: {case.test_case!r} has assertions, so only these are checked"
        file.warning([*path, ignored[0]], message, key=True)


@dataclass
class CaseCheck:
    """Checks the names in the test cases of a file, even if the cases are invalid."""

    files: E2eFiles
    file: Definition
    names: SharedNames
    _is_complete: bool = True
    """Whether no name occurs in a file that could not be read."""

    def check(self) -> bool:
        """Report every mistake. Return whether there is none and every name is known."""
        before = self.files.folder.report.calls
        names: set[str] = set()
        for number, case in enumerate(as_list(self.file.data.get("test_cases"))):
            if isinstance(case, dict):
                names.add(to_stub_name(str(case.get("test_case"))))
                self._check_case(case, ["test_cases", number])
        self._check_stubs(names)
        return self._is_complete and self.files.folder.report.calls == before

    def _check_case(self, case: Mapping[str, Any], path: Keys) -> None:
        for number, name in enumerate(as_list(case.get("fixtures"))):
            if isinstance(name, str):
                self._check_fixture(name, [*path, "fixtures", number])
        self._check_metadata(case.get("metadata"), [*path, "metadata"])
        for number, step in enumerate(as_list(case.get("steps"))):
            self._check_step(as_map(step), [*path, "steps", number])

    def _check_fixture(self, name: str, path: Keys) -> None:
        fixture = self.names.fixtures.get(name)
        if fixture is None:
            self._unknown("fixture", name, self.names.fixtures, path)
            return
        for number, slots in enumerate(as_list(self.files.expanded(fixture.tree, fixture.path))):
            self.files.agent.check_slots(slots, [number], fixture)
            if _CLOCK_SLOT in as_map(slots):
                message = f"`{_CLOCK_SLOT}` is not supported: the agent uses its own clock"
                hint = "use `now` of an environment, for agents that read the playground's clock"
                fixture.problem([number, _CLOCK_SLOT], message, hint, key=True)

    def _check_metadata(self, name: Any, path: Keys) -> None:
        if isinstance(name, str) and name not in self.names.metadata:
            self._unknown("metadata", name, self.names.metadata, path)

    def _unknown(self, what: str, name: str, known: Mapping[str, Any], path: Keys) -> None:
        if any(name in text for text in self.files.folder.unreadable_texts):
            self._is_complete = False
            return
        hint = did_you_mean(name, known) or f"define it in this file, or in a {CONFTEST_NAMES[0]} beside or above it"
        self.file.problem(path, f"unknown {what} `{name[:60]}`", hint)

    def _check_step(self, step: Mapping[str, Any], path: Keys) -> None:
        self._check_metadata(step.get("metadata"), [*path, "metadata"])
        text = step.get("bot")
        if isinstance(text, str) and _VARIABLE.search(text):
            hint = "use the assertion `bot_uttered` with `text_matches`"
            message = "`bot` is compared literally: environment variables are not replaced"
            self.file.problem([*path, "bot"], message, hint)
        for key in ("slot_was_set", "slot_was_not_set"):
            for number, slot in enumerate(as_list(step.get(key))):
                slots = {slot: None} if isinstance(slot, str) else slot
                self.files.agent.check_slots(slots, [*path, key, number], self.file)
        ordered = step.get("assertion_order_enabled") is True
        for number in range(len(as_list(step.get("assertions")))):
            self._check_assertion([*path, "assertions", number], ordered=ordered)

    def _check_assertion(self, path: Keys, *, ordered: bool) -> None:
        written = self.files.expanded(self.file.tree, path)
        call = read_as(AssertionCall, written)
        if call is None:
            return  # reported when the file is read
        at: Keys = [*path, call.name]
        if call.name not in E2E_ASSERTIONS:
            self.file.problem(at, *self._refusal(call.name), key=True)
        elif any("turn" in as_map(part) for part in (call.args if isinstance(call.args, list) else [call.args])):
            self.file.problem(at, "`turn` is not allowed here: an assertion applies to its own step")
        else:
            calls = CallCheck(self.files.catalog, self.file, self.files.agent, _CONVERSATION)
            calls.check_assertion(written, path)
            if ordered and call.name == "flow_started" and _needs_all_flows(call.args):
                message = "`all` of several flows cannot be ordered"
                self.file.problem(at, message, "write an assertion for each flow")

    def _refusal(self, name: str) -> tuple[str, str]:
        if name == "sequencing":
            hint = "use `assertion_order_enabled: true` to check the order of a step's assertions, or a scenario file"
            return "`sequencing` is not part of E2E test files", hint
        if is_known(self.files.catalog.assertion, name):
            return f"`{name}` is not part of E2E test files", "use it in a task or a scenario file"
        return f"unknown assertion `{name[:60]}`", did_you_mean(name, E2E_ASSERTIONS)

    def _check_stubs(self, names: Collection[str]) -> None:
        for key in as_map(self.file.data.get("stub_custom_actions")):
            case, double, _ = key.partition("::")
            if double and case not in names:
                message, hint = f"no test case `{case[:60]}` in this file", did_you_mean(case, names)
                self.file.problem(["stub_custom_actions", key], message, hint, key=True)


def to_stub_name(case: str) -> str:
    """Return the name of a test case in the key of a stub."""
    return case.replace(" ", "_")


def _choose_unused_name(name: str, number: int, stem: str, taken: Collection[str]) -> str:
    """Return an unused name for the test case with this name and its number among those of its file.

    A repeated name in one file gets the number. A name that another file has gets the name of the file.
    """
    names = [name, f"{name} ({stem})"] if number == 1 else [f"{name} ({number})"]
    names += [f"{name} ({stem} {other})" for other in range(2, len(taken) + 3)]
    return next(free for free in names if free not in taken)


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def _walk_up(folder: Path, root: Path) -> Iterator[Path]:
    """Yield a folder and those above it, up to the working folder, or up to `root` if that is elsewhere."""
    here = Path.cwd()
    top = here if root.resolve().is_relative_to(here) else root.resolve()
    while True:
        yield folder
        if folder.resolve() == top or folder.parent == folder:
            return
        folder = folder.parent


def _is_readable_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a folder above may not be readable
        return False


def _needs_all_flows(args: Any) -> bool:
    """Return whether the assertion requires each of several flows."""
    return len(list_flow_ids(args)) > 1 and str(as_map(args).get("operator", "all")).lower() == "all"
