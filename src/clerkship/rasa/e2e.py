"""E2E test files: what they and the conftest files above them define, what is wrong there, and the tasks they are."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, JsonValue, ValidationError

from clerkship.kit.registry import UnknownName
from clerkship.library.catalog import Catalog
from clerkship.library.check import Checker, as_list, as_map, surroundings
from clerkship.library.complaint import complain
from clerkship.library.foreign import TEST_KEYS
from clerkship.library.known import Known
from clerkship.library.library import LoadedTask
from clerkship.library.note import Note
from clerkship.library.reporting import Reporter
from clerkship.library.source import Folder
from clerkship.library.yaml import Tree
from clerkship.model.call import AssertionCall
from clerkship.model.environment import CONVERSATION
from clerkship.model.names import did_you_mean
from clerkship.model.variables import UnknownVariable, expand
from clerkship.rasa.e2e_case import ASSERTIONS, Given, flow_ids, has_assertions, task_of
from clerkship.rasa.e2e_file import E2eCase, E2eFile

CONFTEST = ("conftest.yml", "conftest.yaml")
_NOT_OURS = "eval"
"""The conftest of this folder is about scenarios, and no part of this."""
_LEGACY = {"bot", "utter", "slot_was_set", "slot_was_not_set"}
_CLOCK = "mocked_datetime"
_VARIABLE = re.compile(r"(?<!\$)\$\{[A-Za-z_]")

Path_ = list[int | str]
Sort = Literal["fixtures", "metadata"]


class Defined(NamedTuple):
    """Something a file gives a name to, and where."""

    value: Any
    tree: Tree
    path: Path_


def is_e2e(tree: Tree) -> bool:
    """Whether a file is an E2E test file, or the conftest of such."""
    path = Path(tree.file)
    if not isinstance(tree.data, dict) or (_is_conftest(path) and path.resolve().parent.name == _NOT_OURS):
        return False
    return bool(TEST_KEYS & tree.data.keys()) or (_is_conftest(path) and "llm_judge" in tree.data)


def _is_conftest(path: Path) -> bool:
    return path.name in CONFTEST


@dataclass
class Definitions:
    """What one file defines, or several, one over the other."""

    fixtures: dict[str, Defined] = field(default_factory=dict)
    metadata: dict[str, Defined] = field(default_factory=dict)
    stubs: dict[str, Defined] = field(default_factory=dict)

    def over(self, other: "Definitions") -> "Definitions":
        """Both, with this one's where both have a name."""
        return Definitions(other.fixtures | self.fixtures, other.metadata | self.metadata, other.stubs | self.stubs)


@dataclass
class E2eFiles:
    """The E2E test files of one folder."""

    folder: Folder
    catalog: Catalog
    known: Known
    reporter: Reporter
    _expanded: dict[str, Any] = field(default_factory=dict)
    """Each file as it will be run: with environment variables put in."""
    _generative: bool = False
    """Whether a model has something to judge in them."""
    _conftests: dict[Path, Definitions] = field(default_factory=dict)
    """By their folder."""

    def load(self, trees: Sequence[Tree], taken: Collection[str]) -> Iterator[LoadedTask]:
        """A task for each test case; what is wrong is taken down."""
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

    def _conftest(self, tree: Tree) -> None:
        self._file(tree)
        if "test_cases" in tree.data:
            self.reporter.problem(
                tree, ["test_cases"], "a conftest has no test cases", "put them in a file of their own", key=True
            )
        folder = Path(tree.file).parent
        self._conftests[folder] = self._definitions(tree).over(self._conftests.get(folder, Definitions()))

    def _tasks(self, tree: Tree, taken: set[str]) -> Iterator[LoadedTask]:
        written = self._file(tree)
        known = self._definitions(tree).over(self._shared(Path(tree.file).parent))
        if "test_cases" not in tree.data:
            hint = f"what several files share is kept in {CONFTEST[0]}"
            self.reporter.problem(tree, [], "`test_cases` is missing", hint)
        wrong = CaseCheck(self, tree, known).check()
        if written is None or wrong:
            return
        for number, case in enumerate(written.test_cases):
            name = _free(case.test_case, Path(tree.file).stem, taken)
            task = task_of(case, name, self._given(case, known), self.catalog.assertion)
            self._note_ignored(tree, ["test_cases", number, "steps"], case)
            spot = tree.locate(["test_cases", number])
            yield LoadedTask(task, CONVERSATION, {}, None, tree.file, spot.line, spot.column)

    def _file(self, tree: Tree) -> E2eFile | None:
        def told(path: Path_, unknown: UnknownVariable) -> None:
            self.reporter.problem(tree, path, str(unknown), unknown.hint, spoils=True)

        self._expanded[tree.file] = expand(tree.data, self.catalog.variables(), told)
        if "llm_judge" in tree.data and self._generative:
            message = "`llm_judge` is not used: --judge names the model of a run"
            self.reporter.warning(tree, ["llm_judge"], message, key=True)
        try:
            return E2eFile.model_validate(tree.data)
        except ValidationError as error:
            self.complain(tree, error, E2eFile, [])
            return None

    def as_run(self, tree: Tree, path: Path_) -> Any:
        """What stands at a path, with environment variables put in."""
        here: Any = self._expanded.get(tree.file, tree.data)
        for part in path:
            here = here[part]
        return here

    def complain(self, tree: Tree, error: ValidationError, model: type[BaseModel], path: Path_) -> None:
        """All of an error's problems, at their places."""
        for find in complain(error, model, tree, path):
            self.folder.report.add(tree.file, find)

    def _definitions(self, tree: Tree) -> Definitions:
        stubs = {
            name: Defined(value, tree, ["stub_custom_actions", name])
            for name, value in as_map(tree.data.get("stub_custom_actions")).items()
        }
        return Definitions(self._named(tree, "fixtures"), self._named(tree, "metadata"), stubs)

    def _named(self, tree: Tree, sort: Sort) -> dict[str, Defined]:
        found: dict[str, Defined] = {}
        for number, item in enumerate(as_list(tree.data.get(sort))):
            for name, value in as_map(item).items():
                path: Path_ = [sort, number, name]
                if name in found:
                    other = tree.locate(found[name].path, key=True)
                    message = f"two {'fixtures' if sort == 'fixtures' else 'sets of metadata'} are called `{name[:60]}`"
                    self.reporter.problem(
                        tree, path, message, f"the other is at {other.file}:{other.line}:{other.column}", key=True
                    )
                found.setdefault(name, Defined(value, tree, path))
        return found

    def _shared(self, folder: Path) -> Definitions:
        """What the conftest files from the outermost folder down to this one define."""
        shared = Definitions()
        for place in reversed(list(_upward(folder, self.folder.root))):
            shared = self._conftest_of(place).over(shared)
        return shared

    def _conftest_of(self, folder: Path) -> Definitions:
        """Of a folder above the one that was asked for, the conftest is read when it is needed."""
        if folder not in self._conftests and not folder.resolve().is_relative_to(self.folder.root.resolve()):
            for path in (folder / name for name in CONFTEST if folder.resolve().name != _NOT_OURS):
                tree = Folder(folder, self.folder.report).read(path) if _is_there(path) else None
                if tree is not None and isinstance(tree.data, dict):
                    self._conftest(tree)
        return self._conftests.setdefault(folder, Definitions())

    def _given(self, case: E2eCase, known: Definitions) -> Given:
        slots: dict[str, JsonValue] = {}
        for name in case.fixtures:
            slots |= _slots(known.fixtures[name].value)
        own = f"{stub_name(case.test_case)}::"
        general = {name: stub.value for name, stub in known.stubs.items() if "::" not in name}
        special = {name.removeprefix(own): stub.value for name, stub in known.stubs.items() if name.startswith(own)}
        return Given(slots, {name: data.value for name, data in known.metadata.items()}, general | special)

    def _note_ignored(self, tree: Tree, path: Path_, case: E2eCase) -> None:
        ignored = [number for number, step in enumerate(case.steps) if step.user is None]
        if ignored and has_assertions(case):
            what = "1 step is" if len(ignored) == 1 else f"{len(ignored)} steps are"
            message = f"{what} not checked: {case.test_case!r} has assertions, and then they alone count"
            self.reporter.warning(tree, [*path, ignored[0]], message, key=True)


@dataclass
class CaseCheck:
    """Whether the names in a file's test cases mean something, each at its place, well written or badly."""

    files: E2eFiles
    tree: Tree
    known: Definitions
    _wrong: bool = False

    def check(self) -> bool:
        """Look at every case; whether anything is wrong."""
        names: dict[str, int] = {}
        for number, case in enumerate(as_list(self.tree.data.get("test_cases"))):
            if isinstance(case, dict):
                self._check_name(case.get("test_case"), number, names)
                self._check_case(case, ["test_cases", number])
        self._check_stubs({stub_name(name) for name in names})
        return self._wrong

    def _say(self, path: Path_, message: str, hint: str = "", *, key: bool = False) -> None:
        self._wrong = True
        self.files.reporter.problem(self.tree, path, message, hint, key=key)

    def _check_name(self, name: Any, number: int, names: dict[str, int]) -> None:
        if isinstance(name, str) and names.setdefault(name, number) != number:
            other = self.tree.locate(["test_cases", names[name], "test_case"])
            hint = f"the other is at {other.file}:{other.line}:{other.column}"
            self._say(["test_cases", number, "test_case"], f"two test cases are called {name[:100]!r}", hint)

    def _check_case(self, case: Mapping[str, Any], path: Path_) -> None:
        for number, name in enumerate(as_list(case.get("fixtures"))):
            if isinstance(name, str):
                self._check_fixture(name, [*path, "fixtures", number])
        self._check_metadata(case.get("metadata"), [*path, "metadata"])
        steps = as_list(case.get("steps"))
        if steps and all(as_map(step).keys() & _LEGACY and "user" not in as_map(step) for step in steps):
            self._say([*path, "steps"], "no `user` step: nobody says anything")
        for number, step in enumerate(steps):
            self._check_step(as_map(step), [*path, "steps", number])

    def _check_fixture(self, name: str, path: Path_) -> None:
        found = self.known.fixtures.get(name)
        if found is None:
            self._unknown("fixture", name, self.known.fixtures, path)
            return
        for number, slots in enumerate(as_list(self.files.as_run(found.tree, found.path))):
            self.files.known.check_slots(slots, [*found.path, number], self._noting(found.tree))
            if _CLOCK in as_map(slots):
                self._wrong = True
                message = f"`{_CLOCK}` cannot be set: an agent's clock is its own"
                hint = "a task's environment has a `now`, for agents that ask the playground for the time"
                self.files.reporter.problem(found.tree, [*found.path, number, _CLOCK], message, hint, key=True)

    def _noting(self, tree: Tree) -> Note:
        def note(path: Path_, message: str, hint: str = "", *, key: bool = False) -> None:
            self._wrong = True
            self.files.reporter.problem(tree, path, message, hint, key=key)

        return note

    def _check_metadata(self, name: Any, path: Path_) -> None:
        if isinstance(name, str) and name not in self.known.metadata:
            self._unknown("metadata", name, self.known.metadata, path)

    def _unknown(self, what: str, name: str, known: Mapping[str, Any], path: Path_) -> None:
        self._wrong = True
        if not any(name in text for text in self.files.folder.unread):
            hint = did_you_mean(name, known) or f"define it in this file, or in a {CONFTEST[0]} beside or above it"
            self._say(path, f"unknown {what} `{name[:60]}`", hint)

    def _check_step(self, step: Mapping[str, Any], path: Path_) -> None:
        self._check_metadata(step.get("metadata"), [*path, "metadata"])
        said = step.get("bot")
        if isinstance(said, str) and _VARIABLE.search(said):
            hint = "use the assertion `bot_uttered` with `text_matches`"
            self._say([*path, "bot"], "`bot` is compared as it stands, and takes no environment variable", hint)
        for key in ("slot_was_set", "slot_was_not_set"):
            for number, slot in enumerate(as_list(step.get(key))):
                slots = {slot: None} if isinstance(slot, str) else slot
                self.files.known.check_slots(slots, [*path, key, number], self._say)
        for number, written in enumerate(as_list(step.get("assertions"))):
            self._check_assertion(
                written, [*path, "assertions", number], ordered=step.get("assertion_order_enabled") is True
            )

    def _check_assertion(self, written: Any, path: Path_, *, ordered: bool) -> None:
        try:
            written = self.files.as_run(self.tree, path)
            call = AssertionCall.model_validate(written)
        except ValidationError:
            return  # said when the file is read
        at: Path_ = [*path, call.name]
        if call.name not in ASSERTIONS:
            self._say(at, *self._refusal(call.name), key=True)
        elif _names_turn(call.args):
            self._say(at, "`turn` is not for these files: an assertion is about the step it stands in")
        else:
            self._checker().check_assertion(written, path, surroundings(CONVERSATION.model_dump()))
            if ordered and call.name == "flow_started" and _is_all(call.args):
                self._say(at, "`all` of several flows has no one place in an order", "write an assertion for each flow")

    def _refusal(self, name: str) -> tuple[str, str]:
        if name == "sequencing":
            hint = "`assertion_order_enabled: true` checks the order of a step's assertions; scenario files have it"
            return "`sequencing` is not part of E2E test files", hint
        try:
            self.files.catalog.assertion(name)
        except UnknownName:
            return f"unknown assertion `{name[:60]}`", did_you_mean(name, ASSERTIONS)
        return f"`{name}` is not part of E2E test files", "a task or a scenario file takes it"

    def _checker(self) -> Checker:
        def note_all(error: ValidationError, model: type[BaseModel], path: Path_) -> None:
            self._wrong = True
            self.files.complain(self.tree, error, model, path)

        def warn(path: Path_, message: str, hint: str = "", *, key: bool = False) -> None:
            self.files.reporter.warning(self.tree, path, message, hint, key=key)

        return Checker(self.files.catalog, self._say, note_all, warn, self.files.known)

    def _check_stubs(self, names: Collection[str]) -> None:
        for key in as_map(self.tree.data.get("stub_custom_actions")):
            case, double, _ = key.partition("::")
            if double and case not in names:
                hint = did_you_mean(case, names)
                self._say(["stub_custom_actions", key], f"no test case `{case[:60]}` in this file", hint, key=True)


def stub_name(case: str) -> str:
    """A test case as the key of a stub names it."""
    return case.replace(" ", "_")


def _free(name: str, stem: str, taken: Collection[str]) -> str:
    """A name nobody has: of two test cases called alike, the later has its file's name with it."""
    names = [name, f"{name} ({stem})", *(f"{name} ({stem} {number})" for number in range(2, len(taken) + 3))]
    return next(free for free in names if free not in taken)


def _upward(folder: Path, root: Path) -> Iterator[Path]:
    """A folder and those above it, as far as the working folder, or the one that was asked for if that is elsewhere."""
    here = Path.cwd()
    top = here if root.resolve().is_relative_to(here) else root.resolve()
    while True:
        yield folder
        if folder.resolve() == top or folder.parent == folder:
            return
        folder = folder.parent


def _is_there(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a folder above that is not ours to look into
        return False


def _slots(fixture: Any) -> dict[str, JsonValue]:
    return {name: value for slots in as_list(fixture) for name, value in as_map(slots).items()}


def _names_turn(args: Any) -> bool:
    return any("turn" in as_map(part) for part in (args if isinstance(args, list) else [args]))


def _is_all(args: Any) -> bool:
    """Whether each of several flows is meant."""
    return len(flow_ids(args)) > 1 and str(as_map(args).get("operator", "all")).lower() == "all"
