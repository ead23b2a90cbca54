"""A file, a model or an address after `--agent` is answered with what to write instead."""

from pathlib import Path

import pytest

from clerkship.actors.agent_file import AgentSource, read_agent_source
from clerkship.actors.python import load_python
from clerkship.engine.build import build_solver
from clerkship.engine.catalog import RegisteredCatalog
from clerkship.model.errors import InputError
from clerkship.settings import Settings

CLINIC = """
class Helper:
    def lookup(self): ...

class _Base:
    async def on_turn(self, message, sandboxes): ...

class Receptionist(_Base):
    pass

def nurse(task_item, sandboxes): ...

def tidy(text): ...

desk: Receptionist = Receptionist()
"""
PROGRAM = "import sys\nfor line in sys.stdin:\n    print('{}')\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with files that users try to name as agents."""
    monkeypatch.chdir(tmp_path)
    for name, text in {
        "clinic.py": CLINIC,
        "bots/front_desk.py": "class Bot:\n    def on_task(self, task_item): ...\n",
        "loop.py": PROGRAM,
        "both.py": PROGRAM + "class Bot:\n    def on_turn(self, message): ...\n",
        "script.py": "print('hello')\n",
        "broken.py": "def agent(:\n",
        "agent.mjs": "",
        "run": "",
        "work/here.txt": "",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path


def refusal(reference: str) -> str:
    """Return the error for an agent."""
    with pytest.raises(InputError) as wrong:
        build_solver(reference, RegisteredCatalog(), Settings())
    return str(wrong.value)


def test_agents_of_a_file_are_found_without_running_it(folder: Path) -> None:
    assert read_agent_source(folder / "clinic.py") == AgentSource(("Receptionist", "nurse", "desk"), is_program=False)
    assert read_agent_source(folder / "both.py") == AgentSource(("Bot",), is_program=True)
    assert read_agent_source(folder / "broken.py") == AgentSource()
    assert read_agent_source(folder / "nowhere.py") == AgentSource()


def test_class_with_an_imported_base_is_an_agent_only_if_there_is_no_certain_one(folder: Path) -> None:
    derived = "from x import ClinicAgent\nfrom enum import Enum\nclass Mine(ClinicAgent): ...\nclass Kind(Enum): ...\n"
    (folder / "derived.py").write_text(derived, encoding="utf-8")
    assert read_agent_source(folder / "derived.py").names == ("Mine",)
    (folder / "derived.py").write_text(derived + "def bot(message): ...\n", encoding="utf-8")
    assert read_agent_source(folder / "derived.py").names == ("bot",)


@pytest.mark.parametrize(
    ("reference", "advice"),
    [
        ("./clinic.py", "write `python:clinic:Receptionist` or `python:clinic:nurse` or `python:clinic:desk`"),
        ("bots/front_desk.py", "write `python:bots.front_desk:Bot`"),
        ("clinic", "write `python:clinic:Receptionist` or"),
        ("bots.front_desk:Bot", "write `python:bots.front_desk:Bot`"),
        ("./loop.py", 'write `"command:python ./loop.py"`'),
        ("both.py", 'write `python:both:Bot`, or `"command:python both.py"` if it is a program'),
        ("script.py", "it has no class with `on_turn` or `on_task`"),
        ("script.py", 'write `"command:python script.py"`'),
        ("agent.mjs", 'write `"command:node agent.mjs"`'),
        ("run", "make it executable with `chmod +x ./run`, and write `command:./run`"),
        ("./clinic.py:nurse", "write `python:clinic:nurse`"),
        ("clinic.py:nurse", "write `python:clinic:nurse`"),
        ("work", "it is a folder; write `python:module:name`"),
        (".", "it is a folder; write `python:module:name`"),
        ("./work", "it is a folder; write `python:module:name`"),
        ("./nowhere.py", "there is no such file; write `python:module:name` for a Python object, or `command:…`"),
        ("gpt-4.1", "write `openai:gpt-4.1`"),
        ("o4-mini", "write `openai:o4-mini`"),
        ("openai/gpt-5", "write `openai:gpt-5`"),
        ("claude-sonnet-4-5", "write `anthropic:claude-sonnet-4-5`"),
        ("gemini-2.5-pro", "write `gemini:gemini-2.5-pro`"),
        ("ollama:qwen3", "write `openai:qwen3@http://localhost:11434/v1`"),
        ("ollama:qwen3@http://gpu:9/v1", "write `openai:qwen3@http://gpu:9/v1`"),
        ("localhost:8000/chat", "write `http://localhost:8000/chat`"),
        ("node agent.mjs", "did you mean `command:node agent.mjs`?"),
    ],
)
def test_text_without_a_kind_of_agent_is_answered_with_what_to_write(reference: str, advice: str) -> None:
    assert refusal(reference).startswith(f"unknown agent `{reference}`; ")
    assert advice in refusal(reference)


def test_file_outside_of_the_working_folder_is_named_with_its_folder(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder / "work")
    assert f"write `python:front_desk:Bot` in the folder {folder / 'bots'}" in refusal("../bots/front_desk.py")


@pytest.mark.parametrize("text", ["x" * 5000, "a\nb.py", "a\0.py", ""])
def test_text_that_is_no_path_is_refused_plainly(text: str) -> None:
    assert refusal(text).startswith("unknown agent")


@pytest.mark.parametrize(
    ("reference", "advice"),
    [
        ("clinic.py", "not a module; write `python:clinic:Receptionist`"),
        ("./clinic.py:nurse", "not a module; write `python:clinic:nurse`"),
        ("nowhere.py", "not a module; there is no such file"),
    ],
)
def test_python_agent_given_by_its_file_is_answered_with_its_module(reference: str, advice: str) -> None:
    with pytest.raises(InputError) as wrong:
        load_python(reference)
    assert advice in str(wrong.value)


def test_module_without_the_default_name_lists_its_agents(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(folder)
    (folder / "only_a_ward.py").write_text("def ward(message): ...\n", encoding="utf-8")
    with pytest.raises(InputError, match="no `agent` in only_a_ward; write `python:only_a_ward:ward`"):
        load_python("only_a_ward")


def test_class_that_cannot_have_an_entry_point_is_refused_before_the_run(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(folder)
    text = "class Idle:\n    def work(self): ...\nclass Late:\n    def __init__(self): self.on_task = print\n"
    (folder / "idle_ward.py").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match="agent python:idle_ward:Idle: it has neither on_turn nor on_task"):
        load_python("idle_ward:Idle")
    assert load_python("idle_ward:Late").name == "python:idle_ward:Late"


@pytest.mark.parametrize(
    ("reference", "advice"),
    [("rasa", "write rasa:http://localhost:5005"), ("rasa:desk:5005", "write rasa:http://desk:5005")],
)
def test_rasa_server_without_a_scheme_is_answered_with_the_whole_reference(reference: str, advice: str) -> None:
    assert refusal(reference).endswith(f"is not an address; {advice}")
