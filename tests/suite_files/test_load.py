"""Load a folder into a library, or report all mistakes in it."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from textwrap import dedent

import pytest

from clerkship.engine.catalog import RegisteredCatalog
from clerkship.model.errors import InputError, InputProblem
from clerkship.suite_files.library import Library
from clerkship.suite_files.load import load_library
from tests.waiting import processor_limit

CATALOG = RegisteredCatalog()
DEMO = Path(__file__).parents[1] / "front_desk"

CLINIC = """\
environment:
  name: clinic
  datasets: [patients]
  simulators:
    chat: {kind: chat}
    drop: {kind: files}
    archive: {kind: files, datasets: []}
datasets:
  - name: patients
    type: records
    records:
      - {type: Patient, id: p-1, name: Rosa, mrn: "11"}
      - {type: Patient, id: p-2, name: Tom, mrn: "12"}
      - {type: Device, id: d-1, name: Rosa}
"""
TASK = "task:\n  name: A\n"


class Workspace:
    """A folder of files to load."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def write(self, **files: str) -> "Workspace":
        """Write files by name without `.yml`; `__` in a name is a slash."""
        for name, text in files.items():
            path = self.root / f"{name.replace('__', '/')}.yml"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(dedent(text), encoding="utf-8")
        return self

    def load(self) -> Library:
        return load_library(self.root, CATALOG)

    def problems(self) -> tuple[InputProblem, ...]:
        with pytest.raises(InputError) as caught:
            self.load()
        return caught.value.problems

    def lines(self) -> list[str]:
        """Return the problems as text, with paths relative to the folder."""
        return [str(problem).replace(f"{self.root}{os.sep}", "") for problem in self.problems()]


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


@pytest.fixture
def clinic(workspace: Workspace) -> Workspace:
    """A valid folder with an environment and a dataset."""
    return workspace.write(clinic=CLINIC)


def test_demo_loads_with_everything_it_refers_to() -> None:
    library = load_library(DEMO, CATALOG)
    loaded = library.tasks["File an inbound referral and acknowledge it"]
    assert loaded.environment.name == "front-desk"
    assert loaded.entities["patient"]["mrn"] == "448377"
    assert loaded.task.criteria[0].assertion.args == {
        "sandbox": "drop",
        "path": "patients/448377/*",
        "text": {"matches": "^REFERRAL TO CARDIOLOGY\\n.*\\nReason: palpitations since [0-9-]+\\n$"},
    }
    assert loaded.solution is not None
    assert "def on_task" in loaded.solution


def test_file_loads_the_folder_around_it() -> None:
    file = DEMO / "tasks" / "opening_hours.yml"
    for place in (file, DEMO):
        library = load_library(place, CATALOG)
        assert [loaded.task.name for loaded in library.select(file=file)] == ["Tell a caller the opening hours"]


def test_file_loads_despite_mistakes_in_other_files(workspace: Workspace) -> None:
    workspace.write(good=TASK, bad="task: {name: B, criteria: [{label: x, assertion: {nevr: x}}]}\n")
    library = load_library(workspace.root / "good.yml", CATALOG)
    assert [loaded.task.name for loaded in library.select(file=workspace.root / "good.yml")] == ["A"]
    [warning] = library.warnings
    assert str(warning).endswith(
        "1 mistake in other files of this folder, which are skipped; run `clerkship validate` to see them"
    )
    with pytest.raises(InputError, match="unknown assertion `nevr`"):
        load_library(workspace.root / "bad.yml", CATALOG)


def test_file_fails_with_mistakes_in_files_it_needs(workspace: Workspace) -> None:
    place = "environment: {name: clinic, simulators: {x: {kind: flies}}}\n"
    workspace.write(good="task: {name: A, environment: clinic}\n", place=place)
    with pytest.raises(InputError, match="unknown simulator `flies`"):
        load_library(workspace.root / "good.yml", CATALOG)


def test_task_without_environment_uses_a_chat_sandbox(workspace: Workspace) -> None:
    assert workspace.write(a=TASK).load().tasks["A"].environment.name == "conversation"


@pytest.mark.parametrize("name", ["nothing.yml", "nothing", "x" * 5000, "a\0b"])
def test_missing_path_is_rejected(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError) as caught:
        load_library(tmp_path / name, CATALOG)
    [problem] = caught.value.problems
    assert problem.message in ("there is no such file or folder", "it cannot be read: File name too long")


def test_file_without_yaml_suffix_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "task.txt").write_text(TASK)
    with pytest.raises(InputError, match=r"task.txt: it is not a YAML file; expected a name that ends in .yml"):
        load_library(tmp_path / "task.txt", CATALOG)


def test_folder_without_tasks_is_rejected_with_a_hint(clinic: Workspace) -> None:
    [line] = clinic.lines()
    hint = "add a YAML file with the key `task`, `scenario` or `test_cases`"
    assert line == f"{clinic.root}: there is no task in this folder; {hint}"


def test_hidden_files_and_folders_are_ignored(workspace: Workspace) -> None:
    workspace.write(a=TASK, **{".hidden__b": "nonsense", ".c": "nonsense"})
    assert list(workspace.load().tasks) == ["A"]


UNKNOWN = {
    "top": ("task: {name: A}\ntsk: {}\n", "t.yml:2:1: tsk: unknown key `tsk`; did you mean `task`?"),
    "task": (
        "task:\n  name: A\n  critera: []\n",
        "t.yml:3:3: task.critera: unknown key `critera`; did you mean `criteria`?",
    ),
    "criterion": (
        "task:\n  name: A\n  criteria:\n    - {label: x, wieght: 2, assertion: {never: files.*}}\n",
        "t.yml:4:18: task.criteria.0.wieght: unknown key `wieght`; did you mean `weight`?",
    ),
    "assertion": (
        "task:\n  name: A\n  criteria:\n    - {label: x, assertion: {file_present: {pth: x, sandbox: drop}}}\n",
        "t.yml:4:45: task.criteria.0.assertion.file_present.pth: unknown key `pth`; did you mean `path`?",
    ),
    "assertion in the other spelling": (
        "task:\n  name: A\n  criteria:\n    - label: x\n      assertion:\n        assert: file-present\n"
        "        path: x\n        txt: y\n",
        "t.yml:8:9: task.criteria.0.assertion.txt: unknown key `txt`; did you mean `text`?",
    ),
    "assertion with dashes": (
        "task:\n  name: A\n  criteria:\n    - {label: x, assertion: {file-present: {path: x, txt: y}}}\n",
        "t.yml:4:54: task.criteria.0.assertion.file-present.txt: unknown key `txt`; did you mean `text`?",
    ),
    "inside an assertion": (
        "task:\n  name: A\n  criteria:\n    - label: x\n      assertion:\n        sequencing:\n"
        "          - {event: files.file.read}\n          - {event: files.file.read, wihtin: 5m}\n",
        "t.yml:8:38: task.criteria.0.assertion.sequencing.1.wihtin: unknown key `wihtin`; did you mean `within`?",
    ),
    "step": (
        "task:\n  name: A\n  scenario:\n    steps:\n      - files.drop: {sandbox: drop, path: a, txt: b, text: c}\n",
        "t.yml:5:46: task.scenario.steps.0.files.drop.txt: unknown key `txt`; did you mean `text`?",
    ),
    "steps alone": (
        "task:\n  name: A\n  scenario:\n    - files.drop: {sandbox: drop, path: a, txt: b, text: c}\n",
        "t.yml:4:44: task.scenario.0.files.drop.txt: unknown key `txt`; did you mean `text`?",
    ),
    "person": (
        "task:\n  name: A\n  scenario:\n    person: {openning: x}\n",
        "t.yml:4:14: task.scenario.person.openning: unknown key `openning`; did you mean `opening`?",
    ),
    "event of a rule": (
        "task:\n  name: A\n  scenario:\n    person:\n      script:\n        - {when: {evnt: files.*}, say: x}\n",
        "t.yml:6:19: task.scenario.person.script.0.when.evnt: unknown key `evnt`; did you mean `event`?",
    ),
    "environment": (
        "environment: {name: e, tikc: 5s}\n",
        "t.yml:1:24: environment.tikc: unknown key `tikc`; did you mean `tick`?",
    ),
    "simulator": (
        "environment: {name: e, simulators: {a: {kind: files, confg: {}}}}\n",
        "t.yml:1:54: environment.simulators.a.confg: unknown key `confg`; did you mean `config`?",
    ),
    "simulator's config": (
        "environment: {name: e, simulators: {a: {kind: files, config: {read-only: true}}}}\n",
        "t.yml:1:63: environment.simulators.a.config.read-only: unknown key `read-only`; did you mean `read_only`?",
    ),
    "dataset": (
        "dataset: {name: d, type: files, fils: {}}\n",
        "t.yml:1:33: dataset.fils: unknown key `fils`; did you mean `files`?",
    ),
    "benchmark": (
        "benchmark: {name: b, slug: b, tags: [], concurency: 3}\n",
        "t.yml:1:41: benchmark.concurency: unknown key `concurency`; did you mean `concurrency`?",
    ),
}


@pytest.mark.parametrize("level", UNKNOWN)
def test_unknown_key_is_reported_with_the_nearest_name(clinic: Workspace, level: str) -> None:
    text, line = UNKNOWN[level]
    named = text.replace("name: A\n", "name: A\n", 1)
    assert line in clinic.write(t=named, other="task: {name: Other, environment: clinic}\n").lines()


def test_misspelled_key_is_not_also_reported_as_missing(clinic: Workspace) -> None:
    clinic.write(t="task: {nam: A}\n")
    assert clinic.lines() == ["t.yml:1:8: task.nam: unknown key `nam`; did you mean `name`?"]


WRONG = [
    ("name: 5", "2:9: task.name: expected text, not 5; quote it if it is text"),
    ("name: ''", "2:9: task.name: expected text that is not empty"),
    ("tags: [yes, 2, true]", "3:15: task.tags.1: expected text, not 2; quote it if it is text"),
    ("tags: [yes, 2, true]", "3:18: task.tags.2: expected text, not true; quote it if it is text"),
    ("tags: x", "3:9: task.tags: expected a list, not 'x'"),
    ("timeout: true", "3:12: task.timeout: expected a number, not true"),
    ("timeout: 0", "3:12: task.timeout: expected more than 0, not 0"),
    ("timeout: 1e9", "3:12: task.timeout: expected at most 86,400, not 1000000000.0"),
    ("task_item: [a]", "3:14: task.task_item: expected a map, not a list"),
    ("criteria: {a: b}", "3:13: task.criteria: expected a list, not a map"),
    ("criteria: [{label: x}]", "3:14: task.criteria.0: `assertion` is missing"),
    ("criteria: [5]", "3:14: task.criteria.0: expected a map, not 5"),
    (
        "criteria: [{label: x, assertion: }]",
        "3:36: task.criteria.0.assertion: expected a map with one key, the assertion's name, not nothing",
    ),
    (
        "criteria: [{label: x, assertion: {a: 1, b: 2}}]",
        "3:36: task.criteria.0.assertion: expected a map with one key, the assertion's name, not 2 (a, b)",
    ),
    (
        "criteria: [{label: x, gate: 'no', assertion: x}]",
        "3:31: task.criteria.0.gate: expected true or false, not 'no'",
    ),
    ("scenario: {starts: robot}", "3:22: task.scenario.starts: expected agent or person, not 'robot'"),
    ("scenario: {max_turns: 1.5}", "3:25: task.scenario.max_turns: expected a whole number, not 1.5"),
    ("scenario: {max_turns: 0}", "3:25: task.scenario.max_turns: expected at least 1, not 0"),
    ("scenario: {starts: person}", "3:13: task.scenario: `starts: person` needs a person with an `opening`"),
    (
        "scenario: {person: {script: [{when: 5, say: x}]}}",
        "3:39: task.scenario.person.script.0.when: expected text or a map, not 5",
    ),
    (
        "scenario: {person: {script: [{when: x, say: 5}]}}",
        "3:47: task.scenario.person.script.0.say: expected text or a list, not 5",
    ),
    (
        "scenario: {person: {script: [{when: '(', say: x}]}}",
        "3:39: task.scenario.person.script.0.when: not a regular expression: missing ) at position 1",
    ),
    (
        "scenario: {steps: [{at: soon, clock.advance: {by: 1m}}]}",
        "3:27: task.scenario.steps.0.at: expected a duration such as 30m, 1h30m or a number of seconds, not 'soon'",
    ),
    ("scenario: {steps: [x]}", "3:22: task.scenario.steps.0: expected a map with one key, the step's name, not 'x'"),
    (
        "criteria: [{label: x, assertion: {event_count: {event: files.*, expected: {gte: lots}}}}]",
        "3:77: task.criteria.0.assertion.event_count.expected: expected a number or a date to compare with, not 'lots'",
    ),
    (
        "criteria: [{label: x, assertion: {bot_uttered: {text_matches: '['}}}]",
        "3:65: task.criteria.0.assertion.bot_uttered.text_matches: not a regular expression",
    ),
    (
        "criteria: [{label: x, assertion: {sequencing: [{flow_strted: x}]}}]",
        "3:50: task.criteria.0.assertion.sequencing.0: did you mean `flow_started`? expected {event: kind, …}",
    ),
    (
        "criteria: [{label: x, assertion: {sequencing: [{event: files.*, within: 5m}]}}]",
        "3:49: task.criteria.0.assertion.sequencing: `within` and `until` limit the gap to the step before",
    ),
]


@pytest.mark.parametrize(("written", "line"), WRONG)
def test_wrong_type_is_reported_with_what_was_expected(clinic: Workspace, written: str, line: str) -> None:
    text = f"task:\n  {written}\n" if written.startswith("name") else f"task:\n  name: A\n  {written}\n"
    assert any(found.startswith(f"t.yml:{line}") for found in clinic.write(t=text).lines())


@pytest.mark.parametrize(
    ("now", "message"),
    [
        ("2026-03-02", "expected a time with its zone, such as 2026-03-02T09:00:00-05:00, not '2026-03-02'"),
        ("2026-03-02T09:00:00", "not '2026-03-02T09:00:00'"),
        ("soon", "not 'soon'"),
        ("2026", "not 2026"),
        ("true", "expected a time with its zone"),
    ],
)
def test_time_without_zone_is_rejected(workspace: Workspace, now: str, message: str) -> None:
    [line] = workspace.write(e=f"environment: {{name: e, now: {now}}}\n").lines()
    assert line.startswith("e.yml:1:29: environment.now: expected a time with its zone")
    assert message in line


def test_duplicate_task_name_is_reported_with_both_places(workspace: Workspace) -> None:
    workspace.write(a=TASK, b="tasks:\n  - {name: B}\n  - {name: A}\n")
    assert workspace.lines() == ["b.yml:3:12: tasks.1.name: two tasks are called 'A'; the other is at a.yml:2:9"]


def test_duplicate_benchmark_slug_is_reported_at_the_slug(workspace: Workspace) -> None:
    workspace.write(a=TASK, b="benchmarks: [{name: x, slug: s}, {name: y, slug: s}]\n")
    [line] = workspace.lines()
    assert line.startswith("b.yml:1:50: benchmarks.1.slug: two benchmarks are called 's'")


NAMES = [
    ("criteria: [{label: x, assertion: {nevr: files.*}}]", "unknown assertion `nevr`; did you mean `never`?"),
    ("criteria: [{label: x, assertion: file_presnt}]", "unknown assertion `file_presnt`; did you mean `file_present`?"),
    (
        "criteria: [{label: x, assertion: {fax.queued: {}}}]",
        "this is an event: write `event_occurred: {",
    ),
    ("criteria: [{label: x, assertion: {assert: 5}}]", "unknown assertion `assert`"),
    ("scenario: [files.dorp: {path: x}]", "unknown step `files.dorp`; did you mean `files.drop`?"),
    ("scenario: [fault.latncy: {by: 1s}]", "unknown step `fault.latncy`; did you mean `fault.latency`?"),
    (
        "criteria: [{label: x, assertion: {never: files.file.raed}}]",
        "unknown event `files.file.raed`; did you mean `files.file.read`?",
    ),
    ("criteria: [{label: x, assertion: {never: 'flies.*'}}]", "no event matches `flies.*`; did you mean `files.*`?"),
    (
        "criteria: [{label: x, assertion: {sequencing: [{event: files.*}, {event: files.*, until: {event: chat.x}}]}}]",
        "sequencing.1.until.event: unknown event `chat.x`",
    ),
    (
        "scenario: {person: {script: [{when: {event: files.file.writen}, say: x}]}}",
        "person.script.0.when.event: unknown event `files.file.writen`; did you mean `files.file.written`?",
    ),
    (
        "scenario: [files.drop: {sandbox: drp, path: a, text: b}]",
        "files.drop.sandbox: no sandbox `drp` in clinic; did you mean `drop`?",
    ),
    (
        "scenario: [files.drop: {path: a, text: b}]",
        "`sandbox` is missing: expected one of kind files; use one of drop, archive",
    ),
    ("scenario: [files.drop: {sandbox: chat, path: a, text: b}]", "`chat` is not a sandbox of kind files"),
    ("scenario: {person: {sandbox: drop}}", "`drop` is not a sandbox of kind chat"),
    ("scenario: [fault.error: {sandbox: drpo}]", "no sandbox `drpo` in clinic; did you mean `drop`?"),
    (
        "scenario: [fault.drop: {sandbox: drop, operation: raed_file}]",
        "fault.drop.operation: `drop` has no operation `raed_file`; did you mean `read_file`?",
    ),
    ("scenario: [fault.drop: {sandbox: drop, operation: on_turn}]", "`drop` has no operation `on_turn`"),
    ("scenario: [fault.latency: {by: 1s, operation: sned_message}]", "did you mean `send_message`?"),
    ("environment: clinik", "environment: unknown environment `clinik`; did you mean `clinic`?"),
    (
        "criteria: [{label: x, input_entity_id: p, assertion: {never: files.*}}]",
        "no entity `p`; the task has no entities",
    ),
    ("entities: [{id: p, dataset: patiens}]", "dataset: unknown dataset `patiens`; did you mean `patients`?"),
    ("task_item: {a: '{{ nw }}'}", "task_item.a: unknown name `nw`; did you mean `now`?"),
    ("task_item: {a: ['{{ 9**9**9 }}']}", "task_item.a.0: `9**9**9` is not an expression"),
]


@pytest.mark.parametrize(("written", "message"), NAMES)
def test_unknown_name_is_rejected_with_the_nearest(clinic: Workspace, written: str, message: str) -> None:
    [line] = clinic.write(t=f"task:\n  name: A\n  {written}\n").lines()
    assert line.startswith("t.yml:3:")
    assert message in line


ENVIRONMENTS = [
    ("datasets: [patiens]", "environment.datasets.0: unknown dataset `patiens`; did you mean `patients`?"),
    (
        "simulators: {a: {kind: flies}}",
        "environment.simulators.a.kind: unknown simulator `flies`; did you mean `files`?",
    ),
    (
        "simulators: {a: {kind: files, datasets: [patients]}}",
        "environment.simulators.a.datasets.0: `patients` is not a dataset of this environment",
    ),
    (
        "simulators: {clock: {kind: chat}}",
        "environment.simulators.clock: the name `clock` is reserved: it is the playground's own",
    ),
    (
        "simulators: {control: {kind: chat}}",
        "environment.simulators.control: the name `control` is reserved: it is the playground's",
    ),
    (
        "simulators: {A b: {kind: chat}}",
        "environment.simulators.A b: expected a lower-case letter, then lower-case letters, digits, - and _, not 'A b'",
    ),
    ("reactions: [a file b]", "environment.reactions.0: expected `sandbox.event -> sandbox`, such as"),
    ("reactions: [a.file.written -> a]", "environment.reactions.0: unknown sandbox `a`"),
]


@pytest.mark.parametrize(("written", "message"), ENVIRONMENTS)
def test_unknown_name_in_an_environment_is_rejected(clinic: Workspace, written: str, message: str) -> None:
    clinic.write(e=f"environment: {{name: e, {written}}}\n", t="task: {name: A, environment: clinic}\n")
    [line] = clinic.lines()
    assert line.startswith("e.yml:1:")
    assert message in line


@pytest.mark.parametrize(
    ("reaction", "message"),
    [
        ("drop.file.writen -> archive", "files has no event `file.writen`; did you mean `file.written`?"),
        (
            "drop.file.read -> archive",
            "files does not react to files.file.read; it reacts to fax.arrived, files.file.written",
        ),
        ("drop.file.written -> chat", "chat does not react to files.file.written; it reacts to no event"),
        ("drop.file.written -> archiv", "unknown sandbox `archiv`; did you mean `archive`?"),
    ],
)
def test_impossible_reaction_is_rejected(clinic: Workspace, reaction: str, message: str) -> None:
    text = CLINIC.replace("datasets:\n  - name", f"  reactions:\n    - {reaction}\ndatasets:\n  - name")
    [line] = clinic.write(clinic=text, t=TASK).lines()
    assert line.startswith("clinic.yml:9:7: environment.reactions.0: ")
    assert message in line


def test_reaction_can_cover_several_events(clinic: Workspace) -> None:
    text = CLINIC.replace("datasets:\n  - name", "  reactions: ['drop.file.* -> archive']\ndatasets:\n  - name")
    assert list(clinic.write(clinic=text, t=TASK).load().tasks) == ["A"]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("type: Patient", "`p` must match one record, but 2 of patients match Patient: p-1, p-2"),
        ("where: {name: Rosa}", "`p` must match one record, but 2 of patients match record with name 'Rosa': p-1, d-1"),
        ("type: Patient, where: {name: Eva}", "`p` matches no Patient with name 'Eva' in patients; it has 3 records"),
        ("where: {name.²: 1}", "`p` matches no record with name.² 1 in patients"),
        ("where: {tags: {contains: [1]}}", "`p` matches no record with tags contains [1] in patients"),
    ],
)
def test_entity_without_exactly_one_record_is_rejected(clinic: Workspace, query: str, message: str) -> None:
    entities = f"entities: [{{id: p, dataset: patients, {query}}}]"
    clinic.write(t=f"task:\n  name: A\n  {entities}\n  task_item: {{a: '{{{{ p.id }}}}'}}\n")
    [line] = clinic.lines()
    assert line.startswith("t.yml:3:14: task.entities.0: ")
    assert message in line


def test_slow_pattern_does_not_hang_a_binding(clinic: Workspace) -> None:
    clinic.write(
        d=f"dataset: {{name: d, type: records, records: [{{a: {'a' * 60}}}]}}\n",
        t="task: {name: A, entities: [{id: p, dataset: d, where: {a: {matches: '^(a|aa)+$(?<=b)'}}}]}\n",
    )
    [line] = clinic.lines()
    assert "where.a: the pattern is too slow" in line


def test_entity_of_a_dataset_of_files_is_rejected(clinic: Workspace) -> None:
    clinic.write(
        d="dataset: {name: letters, type: files, files: {a: b}}\n",
        t="task: {name: A, entities: [{id: p, dataset: letters}]}\n",
    )
    [line] = clinic.lines()
    assert line.endswith("`p` matches no record in letters; it holds files, not records")


def test_duplicate_and_reserved_entity_ids_are_rejected(clinic: Workspace) -> None:
    bind = "dataset: patients, where: {id: p-1}"
    clinic.write(t=f"task:\n  name: A\n  entities: [{{id: p, {bind}}}, {{id: p, {bind}}}, {{id: now, {bind}}}]\n")
    messages = [problem.message for problem in clinic.problems()]
    assert messages == ["the id `p` is already used", "the id `now` is already used"]


def test_template_of_an_unbound_entity_is_not_reported_again(clinic: Workspace) -> None:
    clinic.write(
        t="""\
        task:
          name: A
          entities: [{id: p, dataset: patients, where: {id: nobody}}]
          task_item: {a: "{{ p.name }}", b: "{{ p.name | uper }}", c: "{{ q.name }}"}
          scenario:
            - clock.advance: {by: "{{ p.wait }}"}
        """
    )
    assert [problem.key for problem in clinic.problems()] == ["task.entities.0", "task.task_item.c"]


def test_output_of_a_tasks_templates_is_limited(clinic: Workspace) -> None:
    texts = "".join(f"    t{n}: 'x{{{{ p.a }}}}'\n" for n in range(200))
    clinic.write(
        d=f"dataset: {{name: d, type: records, records: [{{a: {'x' * 900_000}}}]}}\n",
        t=f"task:\n  name: A\n  entities: [{{id: p, dataset: d}}]\n  task_item:\n{texts}",
    )
    [line] = clinic.lines()
    assert line.endswith("the task's templates write more than 10,000,000 characters in total")


@pytest.mark.parametrize(
    ("file", "source", "message"),
    [
        ("s.py", "def on_task(:\n", "s.py: not Python: invalid syntax (s.py, line 1)"),
        ("s.py", "-" * 200_000 + "1", "s.py: not Python: "),
        ("absent.py", None, "absent.py: there is no such file; paths are relative to t.yml"),
        ("../s.py", None, "../s.py: it is outside the folder; move it into the folder"),
        (".", None, ".: it is a folder"),
    ],
)
def test_invalid_solution_is_reported_at_its_key(
    workspace: Workspace, file: str, source: str | None, message: str
) -> None:
    if source is not None:
        (workspace.root / file).write_text(source)
    [line] = workspace.write(t=f"task:\n  name: A\n  solution: {file}\n").lines()
    assert line.startswith(f"t.yml:3:13: task.solution: {message}")


def test_circular_include_is_reported_with_its_chain(workspace: Workspace) -> None:
    workspace.write(a="task: !include b.yml\n", b="name: A\ntask_item: !include c.yml\n", c="x: !include b.yml\n")
    assert "c.yml:1:4: include b.yml: circular include: a.yml -> b.yml -> c.yml -> b.yml" in workspace.lines()


@pytest.mark.parametrize(
    "target", ["../secret.yml", "/etc/hostname", "sub/../../secret.yml", "link.yml", "folder/secret.yml"]
)
def test_include_outside_the_folder_is_rejected(tmp_path: Path, target: str) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.yml").write_text("secret: 1\n")
    (tmp_path / "secret.yml").write_text("task: 1\n")
    workspace = Workspace(tmp_path / "inside").write(
        t=f"task:\n  name: A\n  task_item: !include {target}\n", sub__x="[]\n"
    )
    (workspace.root / "link.yml").symlink_to(tmp_path / "secret.yml")
    (workspace.root / "folder").symlink_to(tmp_path / "outside")
    lines = workspace.lines()
    assert f"t.yml:3:14: include {target}: it is outside the folder; move it into the folder" in lines
    assert "link.yml: it is a link to a file outside the folder; copy the file into the folder" in lines


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("nothing.yml", "there is no such file; paths are relative to t.yml"),
        ("'" + "x" * 5000 + "'", "it cannot be read: File name too long"),
        ('"a\\0b"', "it is not a valid file name"),
        ("sub", "it is a folder"),
        ("pipe", "it is not a file"),
        ("loop", "it is a broken link"),
        ("binary.bin", "it is not a text file; save it as UTF-8 text"),
    ],
)
def test_unreadable_include_is_reported_at_its_place(workspace: Workspace, target: str, message: str) -> None:
    (workspace.root / "sub").mkdir()
    os.mkfifo(workspace.root / "pipe")
    (workspace.root / "loop").symlink_to(workspace.root / "loop")
    (workspace.root / "binary.bin").write_bytes(b"\x00\x01")
    [line] = workspace.write(t=f"task:\n  name: A\n  task_item: !include {target}\n").lines()
    assert line.startswith("t.yml:3:14: include ")
    assert line.endswith(message)


def test_invalid_included_file_is_reported_once(workspace: Workspace) -> None:
    workspace.write(a="task:\n  name: A\n  tags: !include b.yml\n  timeout: x\n", b="[a, b\n")
    assert [line.split(":")[0] for line in workspace.lines()] == ["a.yml", "b.yml"]


def test_multiplying_includes_are_stopped(workspace: Workspace) -> None:
    for n in range(8):
        below = ", ".join([f"!include i{n + 1}.yml"] * 30)
        workspace.write(**{f"i{n}": f"[{below}]\n"})
    workspace.write(i8="1\n", t="task:\n  name: A\n  task_item: !include i0.yml\n")
    with processor_limit():
        lines = workspace.lines()
    assert any("more than 1000 includes" in line for line in lines)


def test_depth_limit_includes_included_files(workspace: Workspace) -> None:
    for n in range(19):
        workspace.write(**{f"i{n}": "[" * 60 + f"!include i{n + 1}.yml" + "]" * 60 + "\n"})
    workspace.write(i19="1\n", t="task:\n  name: A\n  task_item: {a: !include i0.yml}\n")
    assert any("nested deeper than 100 levels" in line for line in workspace.lines())


def test_alias_bomb_is_reported_once(workspace: Workspace) -> None:
    bomb = "task: {name: A}\na0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 10)
    )
    [line] = workspace.write(t=bomb).lines()
    assert line.endswith("more than 100,000 values once aliases and includes are followed")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"task: " + b"a" * 1_999_994, "it has 2.0 MB; the limit is 1 MB; split it, or put the data into a dataset"),
        (b"task: 1\n" + bytes(range(256)), "it is not a text file; save it as UTF-8 text"),
        ("task: é".encode("latin-1"), "it is not UTF-8 text: byte 6 is 0xe9; save it as UTF-8 text"),
        ("task: 1".encode("utf-16"), "it is not a text file; save it as UTF-8 text"),
    ],
)
def test_too_large_or_binary_file_is_rejected(workspace: Workspace, data: bytes, message: str) -> None:
    (workspace.root / "t.yml").write_bytes(data)
    assert workspace.lines() == [f"t.yml: {message}"]


def test_byte_order_mark_is_removed(workspace: Workspace) -> None:
    (workspace.root / "t.yml").write_bytes(b"\xef\xbb\xbf" + TASK.encode())
    assert list(workspace.load().tasks) == ["A"]


def test_only_the_first_hundred_of_thirty_thousand_mistakes_are_reported(workspace: Workspace) -> None:
    workspace.write(t="task:\n  name: A\n" + "".join(f"  k{n}: 1\n" for n in range(30_000)))
    with processor_limit():
        lines = workspace.lines()
    assert len(lines) == 101
    assert lines[-1] == "t.yml: and 29,900 more problems"


@pytest.fixture
def public_folder() -> Iterator[Path]:
    """A folder that every user may read, unlike `tmp_path`."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@contextmanager
def without_privileges() -> Iterator[None]:
    """Be a user to whom file permissions apply; not in a fixture, since reports are written before it ends."""
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(user)


def test_files_and_folders_without_permission_are_reported(public_folder: Path) -> None:
    workspace = Workspace(public_folder).write(
        a=TASK, locked=TASK, shut__b=TASK, d="dataset: {name: d, type: files, folder: data}\n"
    )
    (workspace.root / "data").mkdir()
    (workspace.root / "data" / "secret.txt").write_text("x")
    shut = [workspace.root / "locked.yml", workspace.root / "data" / "secret.txt", workspace.root / "shut"]
    for path in shut:
        path.chmod(0)
    try:
        with without_privileges():
            lines = workspace.lines()
    finally:
        for path in shut:
            path.chmod(0o755)
    assert lines == [
        "d.yml:1:41: dataset.folder: data: secret.txt cannot be read: Permission denied",
        "locked.yml: it cannot be read: Permission denied",
        "shut: it cannot be read: Permission denied",
    ]


@pytest.mark.parametrize(
    ("folder", "message"),
    [
        ("nothing", "nothing: there is no such file; paths are relative to d.yml"),
        ("d.yml", "d.yml: it is not a folder"),
        ("..", "..: it is outside the folder"),
        ("linked", "linked: away.txt is a link to a file outside the folder"),
        ("odd", "odd: the name of the file 'x\\udcff' is not printable text"),
    ],
)
def test_invalid_dataset_folder_is_rejected(tmp_path: Path, folder: str, message: str) -> None:
    workspace = Workspace(tmp_path / "inside").write(
        t=TASK, d=f"dataset:\n  name: d\n  type: files\n  folder: {folder}\n"
    )
    (tmp_path / "outside.txt").write_text("x")
    for name in ("linked", "odd"):
        (workspace.root / name).mkdir()
    (workspace.root / "linked" / "away.txt").symlink_to(tmp_path / "outside.txt")
    Path(os.fsdecode(os.fsencode(workspace.root / "odd") + b"/x\xff")).write_text("x")
    [line] = workspace.lines()
    assert line.startswith(f"d.yml:4:11: dataset.folder: {message}")


def test_dataset_folder_is_relative_to_the_file_that_names_it(workspace: Workspace) -> None:
    workspace.write(t=TASK, d="datasets: [!include deep/d.yml]\n", deep__d="{name: d, type: files, folder: data}\n")
    (workspace.root / "deep" / "data" / "sub").mkdir(parents=True)
    (workspace.root / "deep" / "data" / "sub" / "a.bin").write_bytes(b"\xff\x00")
    assert workspace.load().datasets["d"].files == {"sub/a.bin": b"\xff\x00"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "benchmark: {name: b, slug: b, environment: clinik}\n",
            "unknown environment `clinik`; did you mean `clinic`?",
        ),
        ("benchmark: {name: b, slug: b, tasks: [Bok*, 'A']}\n", "no task `Bok*`; did you mean `Book`?"),
        ("benchmark: {name: b, slug: B b}\n", "expected lower-case letters, digits and -, not 'B b'"),
    ],
)
def test_benchmark_with_unknown_task_or_environment_is_rejected(clinic: Workspace, text: str, message: str) -> None:
    [line] = clinic.write(t="tasks: [{name: A}, {name: Book}]\n", b=text).lines()
    assert message in line


def test_task_without_environment_is_rejected_if_there_are_two(clinic: Workspace) -> None:
    clinic.write(e="environment: {name: other}\n", t=TASK)
    assert clinic.lines() == ["t.yml:2:3: task: `environment` is missing; use one of clinic, other"]


def test_names_of_an_invalid_environment_are_not_reported_as_unknown(workspace: Workspace) -> None:
    workspace.write(
        clinic=CLINIC.replace("chat: {kind: chat}", "chat: {knd: chat}"),
        t="task:\n  name: A\n  environment: clinic\n  scenario: [files.drop: {sandbox: drp, path: a, text: b}]\n",
    )
    assert [line.split(": ", 1)[1] for line in workspace.lines()] == [
        "environment.simulators.chat.knd: unknown key `knd`; did you mean `kind`?",
        "task.scenario.0.files.drop.sandbox: no sandbox `drp` in clinic; did you mean `drop`?",
    ]


def test_names_in_an_unreadable_file_are_not_reported_as_unknown(workspace: Workspace) -> None:
    workspace.write(
        clinic=CLINIC + "  broken: [\n",
        t="task:\n  name: A\n  environment: clinic\n  entities: [{id: p, dataset: patients}]\n",
        u="task:\n  name: B\n  environment: hospital\n",
    )
    assert [line.split(":")[0] for line in workspace.lines()] == ["clinic.yml", "u.yml"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- task: {name: A}\n", "1:1: expected a map with `task`, `scenario`, `test_cases`, `environment` or `dat"),
        ("tasks: {name: A}\n", "1:8: tasks: expected a list under `tasks`; write `task` for a single definition"),
        ("task: 5\n", "1:7: task: expected a map, not 5"),
        ("task:\n", "1:6: task: expected a map, not nothing"),
    ],
)
def test_file_without_definitions_is_rejected_with_a_hint(workspace: Workspace, text: str, message: str) -> None:
    [line] = workspace.write(t=text).lines()
    assert line.startswith(f"t.yml:{message}")


def test_all_mistakes_of_all_files_are_reported_in_order(workspace: Workspace) -> None:
    workspace.write(
        a_clinic="""\
        environment:
          name: clinic
          now: 2026-03-02
          simulators:
            drop: {kind: flies}
            chat: {kind: chat, config: {x: 1}}
        """,
        b_data="""\
        dataset:
          name: patients
          type: record
        """,
        tasks__c="""\
        task:
          name: C
          tag: [x]
          entities: [{id: p, dataset: patient}]
          task_item: {a: "{{ nobody.name }}"}
          criteria:
            - {label: x, weight: -1, assertion: {nevr: x}}
            - {label: y, assertion: {event_occurred: {event: chat.message.snt, where: {text: {matches: "("}}}}}
        """,
        tasks__d="""\
        task:
          name: C
          name: D
          scenario: [files.drop: {pth: x}]
          solution: none.py
        """,
        tasks__e="task: {name: E\n",
    )
    problems = workspace.problems()
    places = [(Path(problem.file).name, problem.line, problem.column) for problem in problems]
    assert places == [
        ("a_clinic.yml", 3, 8),
        ("a_clinic.yml", 5, 18),
        ("a_clinic.yml", 6, 33),
        ("b_data.yml", 3, 9),
        ("c.yml", 3, 3),
        ("c.yml", 4, 31),
        ("c.yml", 5, 18),
        ("c.yml", 7, 26),
        ("c.yml", 7, 42),
        ("c.yml", 8, 54),
        ("c.yml", 8, 86),
        ("d.yml", 2, 9),
        ("d.yml", 3, 3),
        ("d.yml", 4, 27),
        ("d.yml", 5, 13),
        ("e.yml", 2, 1),
    ]
    assert all(len(str(problem)) < 300 for problem in problems)
    assert not any(word in str(problem) for problem in problems for word in ("Input should", "Value error", "type="))


def test_tasks_are_selected_by_name_pattern_and_tag(workspace: Workspace) -> None:
    workspace.write(
        t="tasks: [{name: 'Refill [urgent]', tags: [a]}, {name: Refill, tags: [b]}, {name: Book, tags: [a, b]}]\n"
    )
    library = workspace.load()

    def names(**how: list[str]) -> list[str]:
        return [loaded.task.name for loaded in library.select(**how)]  # type: ignore[arg-type]

    assert names(names=["Refill [urgent]"]) == ["Refill [urgent]"]
    assert names(names=["Refill*"]) == ["Refill [urgent]", "Refill"]
    assert names(names=["*[urgent]"]) == ["Refill [urgent]"]
    assert names(tags=["a"]) == ["Refill [urgent]", "Book"]
    assert names(tags=["b"], names=["R*"]) == ["Refill"]
    with pytest.raises(InputError, match=r"no task `Bok`; did you mean `Book`"):
        names(names=["Bok"])


def test_assertion_with_wrong_or_ambiguous_sandbox_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "a.yml").write_text(
        "environment: {name: desk, simulators: {chat: {kind: chat}, drop: {kind: files}, other: {kind: files}}}\n"
        "task:\n"
        "  name: A\n"
        "  criteria:\n"
        "    - {label: none named, assertion: {file_present: x}}\n"
        "    - {label: wrong kind, assertion: {file_present: {path: x, sandbox: chat}}}\n"
        "    - {label: fine, assertion: {file_present: {path: x, sandbox: drop}}}\n"
    )
    with pytest.raises(InputError) as caught:
        load_library(tmp_path, RegisteredCatalog())
    none_named, wrong_kind = caught.value.problems
    assert (none_named.line, none_named.message) == (5, "`sandbox` is missing: expected one of kind files")
    assert (wrong_kind.line, wrong_kind.message) == (6, "`chat` is not a sandbox of kind files")


def test_unknown_event_field_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "a.yml").write_text(
        "environment: {name: desk, simulators: {drop: {kind: files}}}\n"
        "task:\n"
        "  name: A\n"
        "  criteria:\n"
        "    - {label: a, assertion: {never: {event: files.file.written, where: {pth: x}}}}\n"
        "    - {label: b, assertion: {never: {event: 'files.*', where: {prefix: x, nowhere.at.all: x}}}}\n"
        "    - {label: c, assertion: {sequencing: [{event: files.file.read, where: {size: {gt: 1}, paths.0: x}}]}}\n"
    )
    with pytest.raises(InputError) as caught:
        load_library(tmp_path, RegisteredCatalog())
    assert [(problem.line, problem.message, problem.hint) for problem in caught.value.problems] == [
        (5, "`files.file.written` has no field `pth`", "did you mean `path`?"),
        (
            6,
            "`files.*` has no field `nowhere`",
            "known: complete, count, data, modified, path, prefix, replaced, size, to",
        ),
        (7, "`files.file.read` has no field `paths`", "did you mean `path`?"),
    ]
