"""Imports follow the layers, without cycles and not inside functions."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import clerkship
from clerkship.reactions.registry import PAIRS

ROOT = Path(clerkship.__file__).parent
# From left to right. A room may import those in columns to its left, itself, and what stands beside it in ALLOWED.
LAYERS: list[set[str]] = [
    {"by_name"},
    {"old_paths"},
    {"model"},
    {"kit"},
    {"text", "providers"},
    {"formats", "llm"},
    {"events", "settings"},
    {"suite_files"},
    {"sandbox"},
    {"transports"},
    {"assertions"},
    {"payer"},
    {"simulators", "actors"},
    {"reactions", "recording", "monitors"},
    {"model_proxy", "mcp", "traces"},
    {"playground"},
    {"engine", "store", "report"},
    {"checks", "client"},
    {"plugin"},
    {"service"},
    {"rasa"},
    {"viewer"},
    {"api"},
    {"cli", "pytest_plugin"},
]
ENTRY = {"__init__", "__main__"}
LEVEL = {room: level for level, rooms in enumerate(LAYERS) for room in rooms}
MODULES = sorted(path for path in ROOT.rglob("*.py") if "demo" not in path.parts)


@pytest.fixture(autouse=True, scope="module")
def forget_parsed_modules() -> Iterator[None]:
    """Let the parsed modules go after the last test: they take hundreds of megabytes."""
    yield
    parse.cache_clear()


def name_of(path: Path) -> str:
    """Return the dotted name of a module's file."""
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(path: Path) -> Iterator[tuple[str, bool]]:
    """Yield our own modules that a module imports, and whether inside a function."""
    for node, inside in _statements(parse(path), inside=False):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "clerkship":
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            for name in names:
                yield (name if name in KNOWN else node.module), inside
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "clerkship":
                    yield alias.name, inside


@cache
def parse(path: Path) -> ast.Module:
    """Parse a module, once."""
    return ast.parse(path.read_text(encoding="utf-8"))


def _statements(node: ast.AST, *, inside: bool) -> Iterator[tuple[ast.stmt, bool]]:
    """Yield the statements below a node, and whether each is in a function; expressions hold none."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            continue
        if isinstance(child, ast.stmt):
            yield child, inside
        is_function = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)
        yield from _statements(child, inside=inside or is_function)


FILES = {name_of(path): path for path in MODULES}
KNOWN = FILES.keys()


@cache
def imports_of(module: str) -> set[str]:
    """Return our own modules that a module imports."""
    return {target for target, _ in imports(FILES[module]) if target != module}


@cache
def graph() -> dict[str, set[str]]:
    """Return what each module imports."""
    return {module: imports_of(module) for module in FILES}


def package_of(module: str) -> str:
    """Return the package of a module."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def test_every_package_is_in_the_layer_list() -> None:
    rooms = {package_of(module) for module in FILES} - ENTRY
    assert rooms == set(LEVEL)


def test_imports_point_to_lower_layers() -> None:
    upward = [
        (module, target)
        for module in sorted(FILES)
        if (room := package_of(module)) not in ENTRY
        for target in sorted(imports_of(module))
        if package_of(target) not in ENTRY | {room} and LEVEL[package_of(target)] >= LEVEL[room]
    ]
    assert upward == []


def test_there_are_no_import_cycles() -> None:
    done: set[str] = set()

    def visit(module: str, path: list[str]) -> None:
        assert module not in path, f"a cycle: {' -> '.join([*path[path.index(module) :], module])}"
        if module in done:
            return
        for target in sorted(graph().get(module, ())):
            visit(target, [*path, module])
        done.add(module)

    for module in sorted(FILES):
        visit(module, [])


def test_own_modules_are_not_imported_inside_functions() -> None:
    late = [(name_of(path), target) for path in MODULES for target, inside in imports(path) if inside]
    assert late == []


def test_own_modules_are_imported_by_name_only_with_load() -> None:
    """Elsewhere the name comes from a user: the module of an agent, or the class of an exception in its process.

    The pytest plug-in imports nothing of ours, not even that function.
    """
    importing = {path.relative_to(ROOT).as_posix() for path in MODULES if "import_module" in path.read_text("utf-8")}
    assert importing == {"by_name.py", "actors/python_target.py", "actors/host_link.py", "pytest_plugin.py"}


def test_transports_do_not_depend_on_the_models() -> None:
    crossing = [
        (module, target)
        for module, targets in graph().items()
        for target in targets
        if package_of(module) == "transports" and package_of(target) == "llm"
    ]
    assert crossing == []


def test_no_simulator_imports_another() -> None:
    kinds = [path.name for path in (ROOT / "simulators").iterdir() if (path / "__init__.py").exists()]
    crossing = [
        (module, target)
        for module, targets in graph().items()
        for target in targets
        for kind in kinds
        if f"{module}.".startswith(f"clerkship.simulators.{kind}.")
        and any(f"{target}.".startswith(f"clerkship.simulators.{other}.") for other in kinds if other != kind)
    ]
    assert crossing == []


@pytest.mark.parametrize(("simulator", "format"), [("fhir", "hl7"), ("hl7", "fhir")])
def test_simulator_does_not_contain_the_format_of_another(simulator: str, format: str) -> None:
    crossing = [
        (module, target)
        for module, targets in graph().items()
        for target in targets
        if f"{module}.".startswith(f"clerkship.simulators.{simulator}.")
        and f"{target}.".startswith(f"clerkship.formats.{format}.")
        and module != "clerkship.simulators.fhir.datasets.pid"  # `{{ patient.pid }}` of templates, not the simulator
    ]
    assert crossing == []


def test_reactions_are_imported_only_by_the_registry() -> None:
    pairs = {path.parent.name for path in (ROOT / "reactions").glob("*_to_*/__init__.py")}
    early = [
        (module, target)
        for module, targets in graph().items()
        for target in targets
        for pair in pairs
        if f"{target}.".startswith(f"clerkship.reactions.{pair}.")
        and not f"{module}.".startswith(f"clerkship.reactions.{pair}.")
    ]
    assert pairs == {Path(pair.module.replace(".", "/")).name for pair in PAIRS}
    assert early == []


KINDS = sorted(path.name for path in (ROOT / "simulators").iterdir() if (path / "__init__.py").exists())
WORDS = {"chat", "files", "messages"}
"""Kinds that are common words: a text may contain one, but not be one, nor start with one and a dot."""
NAMED = {
    # The environment of a project that has none is a conversation, so the model has to say which kind that is.
    ("model/environment.py", "chat"),
    # The error about a person on a channel says which kind of sandbox has channels.
    ("model/environment.py", "messages"),
    ("model/environment.py", "voice"),
    # A key of a dataset's byte form, which any type of dataset may use.
    ("model/dataset.py", "files"),
    # The patient portal is a channel on which people write; the kind `portal` is a payer portal.
    ("model/conversation_key.py", "portal"),
    ("model/scenario.py", "portal"),
    ("suite_files/call_check.py", "portal"),
}


def _names_kind(text: str, kind: str) -> bool:
    if kind in WORDS:
        return text == kind or text.startswith(f"{kind}.")
    return kind in text.lower()


def _texts(tree: ast.Module) -> Iterator[str]:
    """Yield the texts of a module, documentation included, and the modules that it imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


@pytest.mark.parametrize("package", ["suite_files", "model"])
def test_suite_files_and_model_name_no_simulator_kind(package: str) -> None:
    named = {
        (path.relative_to(ROOT).as_posix(), kind)
        for path in MODULES
        if path.relative_to(ROOT).parts[0] == package and "synthetic" not in path.parts  # it writes FHIR
        for text in _texts(parse(path))
        for kind in KINDS
        if _names_kind(text, kind)
    }
    assert named - NAMED == set()


SCENARIO = """
scenario:
  name: One
  simulation_context: A customer.
  setup: {person: {opening: Hello}}
  goals: {assertions: [{flow_completed: x}]}
"""


def test_validating_scenario_files_imports_only_the_chat_simulator(tmp_path: Path) -> None:
    """A kind is imported when a file names it, or one of its assertions or steps."""
    (tmp_path / "one.yml").write_text(SCENARIO, encoding="utf-8")
    code = (
        "import sys\n"
        "from clerkship.cli.app import run\n"
        "assert run(['validate', sys.argv[1]]) == 0\n"
        "packages = ('clerkship.formats.', 'clerkship.suite_files.synthetic', 'clerkship.simulators.')\n"
        "light = tuple(f'clerkship.simulators.{name}' for name in ('registry', 'domains', 'spec', 'chat'))\n"
        "heavy = [name for name in sys.modules if name.startswith(packages) and not name.startswith(light)]\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True, timeout=60)


RASA_OUTSIDE = {
    "actors/agent_kinds.py": "the kind of agent `rasa:` in the list of agents",
    "actors/registry.py": "the sort of agent `rasa:`",
    "cli/commands.py": "the help of the command that drafts from flows",
    "cli/generate.py": "the command that drafts from flows",
    "cli/report_options.py": "the option --results",
    "engine/score.py": "a reading: no gate for inaction under `compat: rasa`",
    "events/evidence.py": "which reading of the assertions holds",
    "suite_files/foreign.py": "the package that reads files of other tools",
    "suite_files/agent_check.py": "a hint of a message",
    "model/task.py": "the field `compat`",
    "sandbox/assertion.py": "how an assertion declares that it has two readings",
    "service/checking.py": "the option --agent of `validate`",
    "service/exporting.py": "a message about the option --results",
    "service/report_targets.py": "the option --results",
    "service/planning/options.py": "the options --agent and --compat",
    "service/planning/request.py": "the option --compat",
    "settings.py": "the keys of a server",
}
"""Modules outside `rasa/` and `assertions/` that contain the word, and why.

An assertion that has two readings contains both: docs/decisions/0017-rasa-compatibility.md says why."""


def test_rasa_is_named_outside_its_package_only_in_allowed_modules() -> None:
    naming = {
        path.relative_to(ROOT).as_posix()
        for path in MODULES
        if path.relative_to(ROOT).parts[0] not in ("rasa", "assertions")
        and "rasa" in path.read_text(encoding="utf-8").lower()
    }
    assert naming == set(RASA_OUTSIDE)


def test_rasa_is_imported_directly_only_by_its_commands() -> None:
    importing = {
        module
        for module, targets in graph().items()
        for target in targets
        if package_of(target) == "rasa" and package_of(module) != "rasa"
    }
    assert importing == {"clerkship.cli.generate"}


def test_run_without_rasa_files_does_not_import_rasa(tmp_path: Path) -> None:
    task = "task:\n  name: Two\n  task_item: {instruction: Nothing.}\n  criteria: []\n"
    (tmp_path / "one.yml").write_text(SCENARIO, encoding="utf-8")
    (tmp_path / "two.yml").write_text(task, encoding="utf-8")
    code = (
        "import sys\n"
        "from clerkship.cli.app import run\n"
        "assert run(['run', sys.argv[1], '--agent', 'nop', '--junit', 'report.xml']) == 1\n"
        "named = [name for name in sys.modules if name.startswith('clerkship.rasa')]\n"
        "assert not named, named\n"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True, timeout=60, cwd=tmp_path)


def test_every_module_has_a_docstring_and_is_short() -> None:
    for path in MODULES:
        text, tree = path.read_text(encoding="utf-8"), parse(path)
        if text.strip():
            assert ast.get_docstring(tree), f"{path.name} does not say what it is for"
        assert text.count("\n") <= 600, f"{path.name} has over 600 lines"
        for node, _ in _statements(tree, inside=False):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                size = (node.end_lineno or node.lineno) - node.lineno + 1
                assert size <= 80, f"{path.name}: {node.name} has {size} lines"


def test_no_class_has_more_than_25_methods() -> None:
    for path in MODULES:
        for node, _ in _statements(parse(path), inside=False):
            if isinstance(node, ast.ClassDef):
                methods = [each for each in node.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)]
                assert len(methods) <= 25, f"{path.name}: {node.name} has {len(methods)} methods"
