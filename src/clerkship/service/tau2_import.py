"""Convert a domain of a tau2-bench checkout to a suite: its tables, policy, tools, tasks and people."""

import hashlib
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from clerkship.model.errors import InputError
from clerkship.model.task import MAX_NAME_LENGTH
from clerkship.service.scaffold import write_files
from clerkship.service.tau2_tools import FIELDS, PERSON_DATA, Tau2Function, Tau2Functions, read_functions
from clerkship.suite_files.source import Unreadable, read_text
from clerkship.text.folding import to_file_stem

STEPS_OF_A_TURN = 2
"""Steps of tau2 in one turn: what the person says, and what the agent says."""
DEFAULT_STEPS = 200
"""The default limit of tau2."""
POLICIES = (("policy.md",), ("main_policy.md", "tech_support_manual.md"))
"""The files of a policy: the first set of which there is any."""
_BASIS = ("DB", "COMMUNICATE")
"""The parts of the reward where a task does not say."""
_SCENARIO_PARTS = {
    "reason_for_call": "",
    "known_info": "",
    "unknown_info": "What you do not know: ",
    "task_instructions": "",
}


class CannotConvert(Exception):
    """Raised for a task that has something which has no counterpart; the message says what."""


class Tau2Import(NamedTuple):
    """What was written, and which tasks were left out."""

    tasks: int
    files: tuple[Path, ...]
    skipped: tuple[tuple[str, str], ...]
    """Tasks that were not converted, each with the reason."""


class Tau2Table(NamedTuple):
    """A table of the database of a domain."""

    records: Any
    key: str = ""
    """The field that is the id, if it is a list; else empty."""

    def find(self, id: str) -> dict[str, Any]:
        """Return a record; an empty one if there is none."""
        if isinstance(self.records, dict):
            return dict(self.records.get(id, {}))
        return next((record for record in self.records if record[self.key] == id), {})


class Tau2Domain(NamedTuple):
    """What the tasks of a domain refer to."""

    name: str
    tables: Mapping[str, Tau2Table]
    functions: Tau2Functions
    max_turns: int

    def find(self, side: str, method: str) -> Tau2Function:
        """Return a function by its name in tau2; raise CannotConvert if there is none."""
        function = self.functions.find(side, method)
        if function is None:
            raise CannotConvert(f"there is no {'tool' if side == 'assistant' else 'tool of the person'} `{method}`")
        return function


def name_task(domain: str, id: str) -> str:
    """Return the name of a task. Of a long id, the end is replaced by a hash of it."""
    name = f"{domain} {id}"
    return name if len(name) <= MAX_NAME_LENGTH else f"{name[: MAX_NAME_LENGTH - 9]} {_hash(id)}"


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def import_tau2(checkout: Path, domain: str, out: Path, max_steps: int = DEFAULT_STEPS) -> Tau2Import:
    """Write the suite of a domain into a folder; raise InputError."""
    data, source = checkout / "data" / "tau2" / "domains" / domain, checkout / "src" / "tau2" / "domains" / domain
    if not data.is_dir() or not source.is_dir():
        known = sorted(path.name for path in (checkout / "data" / "tau2" / "domains").glob("*") if path.is_dir())
        hint = f"domains: {', '.join(known)}" if known else "expected the folder of a checkout of tau2-bench"
        raise InputError.of(
            f"there is no domain `{domain}` in data/tau2/domains and src/tau2/domains", file=str(checkout), hint=hint
        )
    functions = read_functions(source, domain)
    tables = read_tables(data, has_person_data=bool(functions.person_database))
    read = Tau2Domain(domain, tables, functions, max(max_steps // STEPS_OF_A_TURN, 1))
    files, count, skipped = _render_environment(data, read, out), 0, list[tuple[str, str]]()
    for id, task, tags in _list_tasks(data, skipped):
        try:
            converted = convert_task(task, read, tags)
        except CannotConvert as reason:
            skipped.append((id, str(reason)))
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            skipped.append((id, f"it is not in the expected form: {type(error).__name__}: {error}"))
        else:
            stem = to_file_stem(f"{domain} {id}", 60)
            file = out / "tasks" / f"{stem}.yml"
            file = out / "tasks" / f"{stem}_{_hash(id)}.yml" if file in files else file
            files[file] = _render({"task": converted})
            count += 1
    return Tau2Import(count, tuple(write_files(files)), tuple(skipped))


def _list_tasks(data: Path, skipped: list[tuple[str, str]]) -> Iterator[tuple[str, Any, list[str]]]:
    """Yield the id of each task, what the file has of it, and its splits as tags.

    A task of `tasks_NAME.json` is one of the split NAME; another version of a task of `tasks.json` is left out.
    """
    splits: dict[str, list[str]] = {}
    tasks = {_read_id(task): task for task in _read_list(data / "tasks.json")}
    if (data / "split_tasks.json").exists():
        for name, ids in _read_json(data / "split_tasks.json").items():
            for id in ids:
                splits.setdefault(str(id), []).append(name)
    for file in sorted(data.glob("tasks_*.json")):
        name = file.stem.removeprefix("tasks_")
        for task in _read_list(file):
            id = _read_id(task)
            if tasks.setdefault(id, task) == task:
                splits.setdefault(id, []).append(name)
            else:
                skipped.append((id, f"{file.name} has another version of it than tasks.json"))
    for id, task in tasks.items():
        yield id, task, [f"split-{name}" for name in dict.fromkeys(splits.get(id, ()))]


def _read_id(task: Any) -> str:
    return str(task.get("id")) if isinstance(task, dict) else "?"


def _read_list(file: Path) -> list[Any]:
    written = _read_json(file)
    if not isinstance(written, list):
        raise InputError.of("expected a list of tasks", file=str(file))
    return written


def read_tables(folder: Path, *, has_person_data: bool = False) -> dict[str, Tau2Table]:
    """Return the tables of `db.json` or `db.toml`, by name, and one with what else is in the database.

    With `has_person_data`, also the table of `user_db`. Raises InputError for what is no database.
    """
    database, file = _read_database(folder, "db")
    tables, fields = dict[str, Tau2Table](), dict[str, Any]()
    for name, records in database.items():
        values = [*records.values()] if isinstance(records, dict) else records
        if not isinstance(values, list) or not all(isinstance(value, dict) for value in values):
            fields[name] = {"value": records}
        else:
            tables[name] = Tau2Table(records, "" if isinstance(records, dict) else _find_key(name, values, file))
    if not tables:
        raise InputError.of("there are no tables in the database", file=str(file))
    tables[FIELDS] = Tau2Table(fields)
    if has_person_data:
        person, _ = _read_database(folder, "user_db")
        records = {name: value if isinstance(value, dict) else {"value": value} for name, value in person.items()}
        tables[PERSON_DATA] = Tau2Table(records)
    return tables


def _read_database(folder: Path, stem: str) -> tuple[dict[str, Any], Path]:
    file = folder / f"{stem}.json"
    database = _read_json(file) if file.exists() else _read_toml(file := folder / f"{stem}.toml")
    if not isinstance(database, dict):
        raise InputError.of("expected a map of tables", file=str(file))
    return database, file


def _find_key(name: str, records: list[dict[str, Any]], file: Path) -> str:
    """Return the field of a list of records that is the id: a text that is different in each."""
    for field in sorted(records[0], key=lambda field: not field.endswith("id")) if records else ():
        values = [record.get(field) for record in records]
        if all(isinstance(value, str) for value in values) and len(set(values)) == len(values):
            return str(field)
    raise InputError.of(f"the records of the list `{name}` have no field that is an id", file=str(file))


def _render_environment(data: Path, domain: Tau2Domain, out: Path) -> dict[Path, str]:
    """Return the files of the dataset and the environment."""
    name, tables, functions = domain.name, domain.tables, domain.functions
    lists = {name: table.key for name, table in tables.items() if table.key}
    named = {name: {"file": f"{name}.json", "key": lists[name]} if name in lists else f"{name}.json" for name in tables}
    dataset: dict[str, Any] = {"name": name, "type": "tables", "tables": named, "functions": "functions.py"}
    if functions.not_for_agents:
        dataset["not_for_agents"] = functions.not_for_agents
    simulators = {"desk": {"kind": "tables"}, "chat": {"kind": "chat"}}
    files = {out / "domain" / f"{name}.json": _render(table.records) for name, table in tables.items()}
    files[out / "domain" / "functions.py"] = functions.render(lists)
    policies = (list(filter(Path.exists, (data / file for file in each))) for each in POLICIES)
    if policy := next(filter(None, policies), None):
        files[out / "domain" / "policy.md"] = "\n\n".join(map(_read, policy))
        dataset["policy"] = "policy.md"
    files[out / "domain" / "dataset.yml"] = _render({"dataset": dataset})
    environment = {"name": name, "datasets": [name], "simulators": simulators}
    return files | {out / "environment.yml": _render({"environment": environment})}


def convert_task(task: Mapping[str, Any], domain: Tau2Domain, splits: list[str]) -> dict[str, Any]:
    """Return a task in our form; raise CannotConvert."""
    criteria = task.get("evaluation_criteria") or {}
    basis = tuple(criteria.get("reward_basis") or _BASIS)
    if unknown := [part for part in basis if part not in _PARTS]:
        raise CannotConvert(f"its reward needs {', '.join(unknown)}, which is not known")
    state = task.get("initial_state") or {}
    history = state.get("message_history") or []
    person = {"name": "customer", "simulation_context": _escape(_render_person(task["user_scenario"]))}
    if tools := _list_person_tools(task.get("user_tools"), domain):
        person["tools"] = tools
    scenario = {
        "starts": "person",
        "max_turns": domain.max_turns,
        "person": person | _convert_opening(history),
        "steps": [*_convert_initial_state(state, domain), *_convert_history(history, domain)],
    }
    return {
        "name": _escape(name_task(domain.name, str(task["id"]))),
        "environment": domain.name,
        "tags": ["tau2", *splits],
        "scenario": scenario,
        "criteria": [check for part in basis for check in _PARTS[part](criteria, domain)],
    }


def _list_person_tools(named: list[str] | None, domain: Tau2Domain) -> list[str]:
    """Return the tools that the person may use: those that the task names, or all."""
    if named is None:
        return [tool.name for tool in domain.functions.person_tools]
    return [domain.find("user", name).name for name in named]


def _render_person(written: Mapping[str, Any]) -> str:
    """Return who the person is and what they want, as one text."""
    persona, instructions = written.get("persona"), written["instructions"]
    parts = [f"Who you are: {persona.strip()}"] if persona else []
    if isinstance(instructions, str):
        return "\n".join([*parts, instructions])
    texts = ((intro, instructions.get(name)) for name, intro in _SCENARIO_PARTS.items())
    return "\n".join([*parts, *(f"{intro}{text}" for intro, text in texts if text)])


def _convert_call(domain: Tau2Domain, side: str, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {"function": domain.find(side, name).name, "arguments": _escape(arguments)}


def _find_actions(criteria: Mapping[str, Any], domain: Tau2Domain) -> Iterator[tuple[Tau2Function, Mapping[str, Any]]]:
    """Yield each reference action with its function."""
    for action in criteria.get("actions") or ():
        yield domain.find(action.get("requestor") or "assistant", action["name"]), action


def _convert_database(criteria: Mapping[str, Any], domain: Tau2Domain) -> Iterator[dict[str, Any]]:
    calls = [
        {"name": function.name, "arguments": _escape(action["arguments"]), "may_refuse": True}
        for function, action in _find_actions(criteria, domain)
        if not function.reads
    ]
    yield _gate("The records are as after the reference actions", {"table_no_other_changes": {"calls": calls}})


def _convert_communication(criteria: Mapping[str, Any], domain: Tau2Domain) -> Iterator[dict[str, Any]]:
    for info in criteria.get("communicate_info") or ():
        yield _gate(f"The person was told: {info}", {"bot_uttered": {"text_matches": to_pattern(str(info))}})


def _convert_statements(criteria: Mapping[str, Any], domain: Tau2Domain) -> Iterator[dict[str, Any]]:
    for statement in criteria.get("nl_assertions") or ():
        yield _gate(str(statement), {"judged": _escape(str(statement))})


def _convert_actions(criteria: Mapping[str, Any], domain: Tau2Domain) -> Iterator[dict[str, Any]]:
    for function, action in _find_actions(criteria, domain):
        compared, arguments = action.get("compare_args"), action["arguments"]
        names = arguments if compared is None else compared
        where = {f"arguments.{name}": arguments.get(name) for name in names}
        event = {
            "event": "tables.function.called",
            "actor": "agent" if function.side == "assistant" else "person",
            "where": {"name": function.name, **_escape(where)},
        }
        yield _gate(f"{function.name} was called", {"event_occurred": event})


def _convert_assertions(criteria: Mapping[str, Any], domain: Tau2Domain) -> Iterator[dict[str, Any]]:
    for each in criteria.get("env_assertions") or ():
        call = _convert_call(domain, each["env_type"], each["func_name"], each["arguments"])
        value = each.get("assert_value")
        label = each.get("message") or f"{each['func_name']}({', '.join(map(str, each['arguments'].values()))})"
        yield _gate(label, {"table_function_returns": {**call, "value": True if value is None else value}})


_PARTS = {
    "DB": _convert_database,
    "COMMUNICATE": _convert_communication,
    "NL_ASSERTION": _convert_statements,
    "ACTION": _convert_actions,
    "ENV_ASSERTION": _convert_assertions,
}
"""What yields the criteria for each part of the reward. Each criterion gates, because tau2 multiplies the parts."""


def to_pattern(info: str) -> str:
    """Return a pattern for a text that tau2 looks for in what the agent says: any case, commas do not count."""
    return "(?i)" + ",*".join(re.escape(sign) for sign in info.replace(",", ""))


def _gate(label: str, assertion: Mapping[str, Any]) -> dict[str, Any]:
    return {"label": _escape(label[:200]), "gate": True, "assertion": assertion}


def _convert_initial_state(state: Mapping[str, Any], domain: Tau2Domain) -> Iterator[dict[str, Any]]:
    """Yield the steps that put the initial state of a task in place."""
    data = state.get("initialization_data") or {}
    for name, records in (data.get("agent_data") or {}).items():
        if name not in domain.tables or not isinstance(records, dict):
            raise CannotConvert(f"`agent_data` changes `{name}`, which is no table with ids")
        yield from (_put(domain, name, id, record) for id, record in records.items())
    for name, record in (data.get("user_data") or {}).items():
        table = PERSON_DATA if PERSON_DATA in domain.tables else name
        if not isinstance(record, dict) or table not in domain.tables:
            raise CannotConvert(f"`user_data` changes `{name}`, which is no record")
        yield from (
            [_put(domain, table, name, record)]
            if table == PERSON_DATA
            else (_put(domain, name, id, each) for id, each in record.items())
        )
    for action in state.get("initialization_actions") or ():
        call = _convert_call(domain, action["env_type"], action["func_name"], action["arguments"])
        yield {"tables.call": call}


def _put(domain: Tau2Domain, table: str, id: str, record: Mapping[str, Any]) -> dict[str, Any]:
    merged = _merge(domain.tables[table].find(id), record)
    return {"tables.put": {"table": table, "id": id, "record": _escape(merged)}}


def _list_lines(history: list[Mapping[str, Any]]) -> list[dict[str, str]]:
    """Return what was said in a history."""
    sides = {"user": "person", "assistant": "agent"}
    said = [(sides[each["role"]], each.get("content")) for each in history if each["role"] in sides]
    return [{side: _escape(text)} for side, text in said if text]


def _convert_opening(history: list[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the opening of a person who has said something that no agent has answered."""
    lines = _list_lines(history)
    if not lines or any("agent" in line for line in lines):
        return {}
    return {"opening": "\n".join(line["person"] for line in lines), "fallback": {"improvise": True}}


def _convert_history(history: list[Mapping[str, Any]], domain: Tau2Domain) -> Iterator[dict[str, Any]]:
    """Yield the steps for a conversation that a task continues: the calls that changed something, and what was said."""
    for message in history:
        for call in message.get("tool_calls") or ():
            side = call.get("requestor") or message["role"]
            function = domain.functions.find(side, call["name"])
            if function is not None and not function.reads:
                yield {"tables.call": _convert_call(domain, side, call["name"], call["arguments"])}
    lines = _list_lines(history)
    if any("agent" in line for line in lines):
        yield {"chat.past": {"messages": lines}}


def _merge(record: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record with changes, in which maps are merged."""
    merged = dict(record)
    for name, value in changes.items():
        old = merged.get(name)
        merged[name] = _merge(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return merged


def _escape(value: Any) -> Any:
    """Return a value in which no text is read as a template or a variable."""
    if isinstance(value, str):
        return value.replace("{{", "{ {").replace("{%", "{ %").replace("${", "$ {")
    if isinstance(value, dict):
        return {name: _escape(each) for name, each in value.items()}
    return [_escape(each) for each in value] if isinstance(value, list) else value


def _render(data: Any) -> str:
    """Return data as JSON, which is YAML."""
    return orjson.dumps(data, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()


def _read(file: Path) -> str:
    try:
        return read_text(file)
    except Unreadable as unreadable:
        raise InputError.of(unreadable.message, file=str(file), hint=unreadable.hint) from None


def _read_json(file: Path) -> Any:
    try:
        return orjson.loads(file.read_bytes())
    except OSError as error:
        raise InputError.of(f"it cannot be read: {error.strerror}", file=str(file)) from None
    except orjson.JSONDecodeError as error:
        raise InputError.of(f"line {error.lineno}: it is not JSON: {error.msg}", file=str(file)) from None


def _read_toml(file: Path) -> Any:
    try:
        return tomllib.loads(_read(file))
    except tomllib.TOMLDecodeError as error:
        raise InputError.of(f"it is not TOML: {error}", file=str(file)) from None
