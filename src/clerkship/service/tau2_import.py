"""Convert a domain of a tau2-bench checkout to a suite: its tables, policy, tools, tasks and people."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from clerkship.model.errors import InputError
from clerkship.service.scaffold import write_files
from clerkship.service.tau2_tools import Tau2Tools, read_tools
from clerkship.suite_files.source import Unreadable, read_text
from clerkship.text.folding import to_file_stem

STEPS_OF_A_TURN = 2
"""Steps of tau2 in one turn: what the person says, and what the agent says."""
DEFAULT_STEPS = 200
"""The default limit of tau2."""
POLICIES = ("policy.md", "main_policy.md")
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
    key: str
    """The field that is the id, if it is a list; else empty."""

    def find(self, id: str) -> dict[str, Any]:
        """Return a record; an empty one if there is none."""
        if isinstance(self.records, dict):
            return dict(self.records.get(id, {}))
        return next((record for record in self.records if record[self.key] == id), {})


def import_tau2(checkout: Path, domain: str, out: Path, max_steps: int = DEFAULT_STEPS) -> Tau2Import:
    """Write the suite of a domain into a folder; raise InputError."""
    data, source = checkout / "data" / "tau2" / "domains" / domain, checkout / "src" / "tau2" / "domains" / domain
    if not data.is_dir() or not source.is_dir():
        known = sorted(path.name for path in (checkout / "data" / "tau2" / "domains").glob("*") if path.is_dir())
        hint = f"domains: {', '.join(known)}" if known else "expected the folder of a checkout of tau2-bench"
        raise InputError.of(
            f"there is no domain `{domain}` in data/tau2/domains and src/tau2/domains", file=str(checkout), hint=hint
        )
    tables, tools = read_tables(data), read_tools(source, domain)
    written = _read_json(data / "tasks.json")
    if not isinstance(written, list):
        raise InputError.of("expected a list of tasks", file=str(data / "tasks.json"))
    files, skipped = _render_environment(data, domain, tables, tools, out), []
    count = 0
    for task in written:
        id = str(task.get("id")) if isinstance(task, dict) else "?"
        try:
            converted = convert_task(task, domain, tables, tools, max_steps)
        except CannotConvert as reason:
            skipped.append((id, str(reason)))
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            skipped.append((id, f"it is not in the expected form: {type(error).__name__}: {error}"))
        else:
            files[out / "tasks" / f"{to_file_stem(f'{domain} {id}', 80)}.yml"] = _render({"task": converted})
            count += 1
    return Tau2Import(count, tuple(write_files(files)), tuple(skipped))


def read_tables(folder: Path) -> dict[str, Tau2Table]:
    """Return the tables of `db.json` or `db.toml`, by name; raise InputError for a database that has other values."""
    file = folder / "db.json"
    database = _read_json(file) if file.exists() else _read_toml(folder / "db.toml")
    tables = {}
    for name, records in database.items() if isinstance(database, dict) else ():
        values = [*records.values()] if isinstance(records, dict) else records
        if not isinstance(values, list) or not all(isinstance(value, dict) for value in values):
            raise InputError.of(f"`{name}` is neither a map nor a list of records", file=str(file))
        tables[name] = Tau2Table(records, "" if isinstance(records, dict) else _find_key(name, values, file))
    if not tables:
        raise InputError.of("there are no tables in the database", file=str(file))
    return tables


def _find_key(name: str, records: list[dict[str, Any]], file: Path) -> str:
    """Return the field of a list of records that is the id: a text that is different in each."""
    for field in sorted(records[0], key=lambda field: not field.endswith("id")) if records else ():
        values = [record.get(field) for record in records]
        if all(isinstance(value, str) for value in values) and len(set(values)) == len(values):
            return str(field)
    raise InputError.of(f"the records of the list `{name}` have no field that is an id", file=str(file))


def _render_environment(
    data: Path, domain: str, tables: Mapping[str, Tau2Table], tools: Tau2Tools, out: Path
) -> dict[Path, str]:
    """Return the files of the dataset and the environment."""
    policy = next((data / name for name in POLICIES if (data / name).exists()), None)
    lists = {name: table.key for name, table in tables.items() if table.key}
    named = {name: {"file": f"{name}.json", "key": lists[name]} if name in lists else f"{name}.json" for name in tables}
    dataset = {"name": domain, "type": "tables", "tables": named, "functions": "functions.py"}
    simulators = {"desk": {"kind": "tables"}, "chat": {"kind": "chat"}}
    files = {out / "domain" / f"{name}.json": _render(table.records) for name, table in tables.items()}
    files[out / "domain" / "functions.py"] = tools.render(lists)
    if policy is not None:
        files[out / "domain" / "policy.md"] = _read(policy)
        dataset["policy"] = "policy.md"
    files[out / "domain" / "dataset.yml"] = _render({"dataset": dataset})
    environment = {"name": domain, "datasets": [domain], "simulators": simulators}
    return files | {out / "environment.yml": _render({"environment": environment})}


def convert_task(
    task: Mapping[str, Any], domain: str, tables: Mapping[str, Tau2Table], tools: Tau2Tools, max_steps: int
) -> dict[str, Any]:
    """Return a task in our form; raise CannotConvert."""
    criteria = task.get("evaluation_criteria") or {}
    basis = tuple(criteria.get("reward_basis") or _BASIS)
    if unknown := [part for part in basis if part not in (*_BASIS, "NL_ASSERTION", "ACTION")]:
        raise CannotConvert(f"its reward needs {', '.join(unknown)}, which checks functions that are no tools")
    calls = [_convert_action(action, tools) for action in criteria.get("actions") or ()]
    checks = [check for part in basis for check in _convert_part(part, criteria, calls, tools)]
    scenario = {
        "starts": "person",
        "max_turns": max(max_steps // STEPS_OF_A_TURN, 1),
        "person": {"name": "customer", "simulation_context": _escape(_render_person(task["user_scenario"]))},
        "steps": list(_convert_initial_state(task.get("initial_state") or {}, tables, tools)),
    }
    return {
        "name": f"{domain} {task['id']}",
        "environment": domain,
        "tags": ["tau2"],
        "scenario": scenario,
        "criteria": checks,
    }


def _render_person(written: Mapping[str, Any]) -> str:
    """Return who the person is and what they want, as one text."""
    persona, instructions = written.get("persona"), written["instructions"]
    parts = [f"Who you are: {persona}"] if persona else []
    if isinstance(instructions, str):
        return "\n".join([*parts, instructions])
    texts = ((intro, instructions.get(name)) for name, intro in _SCENARIO_PARTS.items())
    return "\n".join([*parts, *(f"{intro}{text}" for intro, text in texts if text)])


def _convert_action(action: Mapping[str, Any], tools: Tau2Tools) -> dict[str, Any]:
    if action.get("requestor", "assistant") != "assistant":
        raise CannotConvert(f"the person must call `{action['name']}`, and people have no tools")
    if action["name"] not in {tool.name for tool in tools.tools}:
        raise CannotConvert(f"there is no tool `{action['name']}`")
    return {"name": action["name"], "arguments": action["arguments"], "compare": action.get("compare_args")}


def _convert_part(
    part: str, criteria: Mapping[str, Any], calls: list[dict[str, Any]], tools: Tau2Tools
) -> Iterator[dict[str, Any]]:
    """Yield the criteria for one part of the reward. Each of them gates, because tau2 multiplies the parts."""
    reads = {tool.name for tool in tools.tools if tool.reads}
    if part == "DB":
        reference = [
            {"name": call["name"], "arguments": _escape(call["arguments"]), "may_refuse": True}
            for call in calls
            if call["name"] not in reads
        ]
        yield _gate("The records are as after the reference actions", {"table_no_other_changes": {"calls": reference}})
    elif part == "COMMUNICATE":
        for info in criteria.get("communicate_info") or ():
            yield _gate(f"The person was told: {info}", {"bot_uttered": {"text_matches": to_pattern(str(info))}})
    elif part == "NL_ASSERTION":
        for statement in criteria.get("nl_assertions") or ():
            yield _gate(str(statement), {"judged": _escape(str(statement))})
    else:
        for call in calls:
            names = call["arguments"] if call["compare"] is None else call["compare"]
            where = {f"arguments.{name}": call["arguments"].get(name) for name in names}
            event = {
                "event": "tables.function.called",
                "actor": "agent",
                "where": {"name": call["name"], **_escape(where)},
            }
            yield _gate(f"{call['name']} was called", {"event_occurred": event})


def to_pattern(info: str) -> str:
    """Return a pattern for a text that tau2 looks for in what the agent says: any case, commas do not count."""
    return "(?i)" + ",*".join(re.escape(sign) for sign in info.replace(",", ""))


def _gate(label: str, assertion: Mapping[str, Any]) -> dict[str, Any]:
    return {"label": _escape(label[:200]), "gate": True, "assertion": assertion}


def _convert_initial_state(
    state: Mapping[str, Any], tables: Mapping[str, Tau2Table], tools: Tau2Tools
) -> Iterator[dict[str, Any]]:
    """Yield the steps that put the initial state of a task in place."""
    if state.get("message_history"):
        raise CannotConvert("it continues a conversation (`message_history`)")
    data = state.get("initialization_data") or {}
    if data.get("user_data"):
        raise CannotConvert("it changes the data of the person (`user_data`)")
    for name, records in (data.get("agent_data") or {}).items():
        if name not in tables or not isinstance(records, dict):
            raise CannotConvert(f"`agent_data` changes `{name}`, which is no table with ids")
        for id, record in records.items():
            merged = _merge(tables[name].find(id), record)
            yield {"tables.put": {"table": name, "id": id, "record": _escape(merged)}}
    for action in state.get("initialization_actions") or ():
        if action.get("env_type") != "assistant" or action["func_name"] not in {tool.name for tool in tools.tools}:
            raise CannotConvert(f"it starts with `{action['func_name']}`, which is no tool of the agent")
        yield {"tables.call": {"function": action["func_name"], "arguments": _escape(action["arguments"])}}


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
