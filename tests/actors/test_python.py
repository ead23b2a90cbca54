"""Agents written in Python: functions, classes, objects and modules, sync and async."""

import sys
from pathlib import Path
from typing import Any

import pytest

from clerkship.actors.contract import Message, Say
from clerkship.actors.python import PythonSolver, load_python
from clerkship.actors.reply import parse_replies
from clerkship.engine.build import build_solver
from clerkship.engine.catalog import RegisteredCatalog
from clerkship.events.agent import SlotSet
from clerkship.model.errors import InputError
from clerkship.settings import Settings
from tests.workbench import Workbench

TALK = """
    task:
      name: Talk
      task_item: {topic: tea}
      scenario: {starts: person, person: {opening: Hello, end: {when: .}}}
      criteria: [{label: says it, assertion: {bot_uttered: {text_matches: "^heard Hello$"}}}]
"""


def plain(message: Message) -> str:
    """A sync function."""
    return f"heard {message.text}"


async def waits(message: Message) -> str:
    """An async function."""
    return f"heard {message.text}"


def with_sandboxes(message: Message, sandboxes: Any) -> str:
    """A function that takes sandboxes."""
    assert list(sandboxes) == ["chat"]
    return f"heard {message.text}"


class Both:
    """An agent with both entry points."""

    async def on_turn(self, message: Message) -> Say:
        return Say(f"heard {message.text}", utter_name="utter_heard")

    def on_task(self, task_item: dict[str, Any]) -> str:
        return str(task_item)


class Static:
    """An agent with a static method as entry point."""

    @staticmethod
    def on_turn(message: Message) -> dict[str, Any]:
        return {"text": f"heard {message.text}", "buttons": [{"title": "ok"}]}


@pytest.mark.parametrize("agent", [plain, waits, with_sandboxes, Both, Both(), Static])
def test_functions_classes_objects_and_modules_are_agents(bench: Workbench, agent: Any) -> None:
    bench.write("a.yml", TALK)
    task_run = bench.run_one(PythonSolver("agent", agent))
    assert (task_run.verdict, task_run.agent_error) == ("pass", "")


def test_message_has_turn_sandbox_and_task_item(bench: Workbench) -> None:
    seen: list[Message] = []

    def looks(message: Message) -> str:
        seen.append(message)
        return "."

    bench.write("a.yml", TALK)
    bench.run_one(looks)
    assert seen == [Message("Hello", 1, "chat", {"topic": "tea"})]


def test_a_module_is_found_from_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_bot_of_tests.py").write_text("def on_turn(message):\n    return 'x'\nagent = None\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    with pytest.raises(InputError, match="neither on_turn nor on_task"):
        load_python("my_bot_of_tests:agent")
    with pytest.raises(InputError, match="no `bot`"):
        load_python("my_bot_of_tests:bot")
    with pytest.raises(InputError, match="did you mean `on_turn`"):
        load_python("my_bot_of_tests:on_trun")


def test_module_of_another_folder_is_not_reused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "bot_of_two_folders.py").write_text(f"where = '{name}'\ndef agent(task_item): pass\n")
        monkeypatch.chdir(tmp_path / name)
        load_python("bot_of_two_folders:agent")
        assert sys.modules["bot_of_two_folders"].where == name


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("1/0", "ZeroDivisionError"),
        ("def agent(x):\n    return 1", "the first parameter of the function must be `message` or `task_item`"),
        ("import no_such_thing_at_all", "no module `no_such_thing_at_all`; install it in the environment of clerkship"),
        ("def agent(:", "SyntaxError"),
    ],
)
def test_agent_that_cannot_be_loaded_is_an_error_with_a_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, said: str
) -> None:
    name = f"broken_bot_{abs(hash(source))}"
    (tmp_path / f"{name}.py").write_text(source)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    with pytest.raises(InputError, match=said):
        load_python(f"{name}:agent")


def test_agent_that_imports_a_module_of_a_missing_extra_is_an_error_that_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bot_with_browser.py").write_text("from playwright.sync_api import sync_playwright")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    for name in [name for name in sys.modules if name.partition(".")[0] == "playwright"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "playwright", None)  # as if it was not installed
    with pytest.raises(InputError) as caught:
        load_python("bot_with_browser:agent")
    assert "no module `playwright" in str(caught.value)
    assert "install the extra `browser`" in str(caught.value)
    assert "pip install 'clerkship[browser]'" in str(caught.value)


def test_unknown_agent_is_rejected_with_the_nearest_name() -> None:
    with pytest.raises(InputError, match="did you mean `oracle`"):
        build_solver("oracel", RegisteredCatalog(), Settings())
    with pytest.raises(InputError, match="unknown agent `pyton:a:b`; did you mean `python`"):
        build_solver("pyton:a:b", RegisteredCatalog(), Settings())
    with pytest.raises(InputError, match="no module; write `python:module:name`"):
        build_solver("python:", RegisteredCatalog(), Settings())
    with pytest.raises(InputError, match="nop takes no arguments"):
        build_solver("nop:x", RegisteredCatalog(), Settings())


def test_replies_come_in_many_forms() -> None:
    assert parse_replies(None) == []
    assert parse_replies("") == []
    assert parse_replies("a") == [Say("a")]
    assert parse_replies(["a", None, {"text": "b"}]) == [Say("a"), Say("b")]
    assert parse_replies(Say("c", metadata={"k": [1]})) == [Say("c", metadata={"k": [1]})]
    assert parse_replies([SlotSet(name="a", value=1), "b"]) == [SlotSet(name="a", value=1), Say("b")]
    assert parse_replies({"kind": "agent.slot.set", "name": "a"}) == [SlotSet(name="a")]


def test_oracle_rejects_a_task_without_a_solution(bench: Workbench) -> None:
    bench.write("a.yml", TALK)
    task_run = bench.run_one("oracle")
    assert (task_run.status, task_run.verdict) == ("errored", None)
    assert "no `solution`" in task_run.error
