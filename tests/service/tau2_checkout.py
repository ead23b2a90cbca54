"""A stand-in for a checkout of tau2-bench: the layout and the names that the import reads, with a domain of our own."""

import json
from pathlib import Path
from typing import Any

CODE = {
    "__init__.py": "",
    "environment/__init__.py": "",
    "domains/__init__.py": "",
    "domains/lending/__init__.py": "",
    "environment/db.py": "from pydantic import BaseModel\n\n\nclass DB(BaseModel):\n    pass\n",
    "environment/toolkit.py": """
class ToolType:
    READ, WRITE = "read", "write"


def is_tool(kind=ToolType.READ):
    return lambda function: function


class ToolKitBase:
    def __init__(self, db):
        self.db = db
""",
    "domains/lending/data_model.py": """
from typing import Dict, List, Literal, Optional
from pydantic import BaseModel
from tau2.environment.db import DB

Status = Literal["in", "out"]


class Book(BaseModel):
    title: str
    status: Status
    reader: Optional[str] = None


class Reader(BaseModel):
    reader_id: str
    name: str
    fees: float = 0.0


class LendingDB(DB):
    books: Dict[str, Book]
    readers: List[Reader]
""",
    "domains/lending/tools.py": '''
from typing import List, Optional
from tau2.domains.lending.data_model import Book, LendingDB, Reader, Status
from tau2.environment.toolkit import ToolKitBase, ToolType, is_tool


class LendingTools(ToolKitBase):
    db: LendingDB

    @is_tool(ToolType.READ)
    def find_books(self, status: Status, titles: Optional[List[str]] = None) -> List[Book]:
        """Find books.

        Args:
            status: in or out
        """
        return [book for book in self.db.books.values() if book.status == status]

    @is_tool(ToolType.WRITE)
    def lend(self, book_id: str, reader_id: str) -> Book:
        """Lend a book."""
        book = self.db.books[book_id]
        if book.status == "out":
            raise ValueError("it is lent")
        reader = next(each for each in self.db.readers if each.reader_id == reader_id)
        book.status, book.reader = "out", reader.reader_id
        return book

    @is_tool(ToolType.WRITE)
    def add_fee(self, reader_id: str, amount: float) -> str:
        """Add a fee."""
        next(each for each in self.db.readers if each.reader_id == reader_id).fees += amount
        return "done"

    def not_a_tool(self) -> None:
        """Not for agents."""
''',
}
DATABASE = {
    "books": {"b1": {"title": "Dune", "status": "in"}, "b2": {"title": "Emma", "status": "in"}},
    "readers": [{"reader_id": "r1", "name": "Ada"}, {"reader_id": "r2", "name": "Bob", "fees": 1.0}],
}


def build_task(id: str, **criteria: Any) -> dict[str, Any]:
    """Return a task in the form of tau2."""
    instructions = {
        "domain": "lending",
        "reason_for_call": "You want to borrow Dune.",
        "known_info": "Your reader id is r1. The price is {{ 5 }}.",
        "unknown_info": None,
        "task_instructions": "Be brief.",
    }
    return {
        "id": id,
        "description": {"purpose": None},
        "user_scenario": {"persona": "A hurried reader.", "instructions": instructions},
        "initial_state": None,
        "evaluation_criteria": criteria,
    }


def build_action(name: str, requestor: str = "assistant", **arguments: Any) -> dict[str, Any]:
    """Return an action in the form of tau2."""
    return {"action_id": f"0_{name}", "requestor": requestor, "name": name, "arguments": arguments}


LEND = build_action("lend", book_id="b1", reader_id="r1")
TASKS = [
    build_task(
        "0", actions=[build_action("find_books", status="in"), LEND], communicate_info=["1,200"], nl_assertions=None
    ),
    build_task(
        "1", actions=[], communicate_info=[], nl_assertions=["It said no."], reward_basis=["DB", "NL_ASSERTION"]
    ),
    build_task("2", actions=[LEND], reward_basis=["ACTION"]),
    build_task("3", actions=[build_action("toggle", "user")]),
    build_task("4", env_assertions=[{}], reward_basis=["ENV_ASSERTION"]),
    build_task("5", actions=[LEND])
    | {
        "initial_state": {
            "initialization_data": {"agent_data": {"books": {"b1": {"title": "Dune II"}}}},
            "initialization_actions": [
                {"env_type": "assistant", "func_name": "add_fee", "arguments": {"reader_id": "r1", "amount": 2.5}}
            ],
        }
    },
    build_task("6") | {"initial_state": {"message_history": [{"role": "user", "content": "Hi"}]}},
    {"id": "7"},
]


def write_checkout(folder: Path, tasks: Any = TASKS, database: Any = DATABASE) -> Path:
    """Write the checkout and return its folder."""
    for name, text in CODE.items():
        path = folder / "src" / "tau2" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    data = folder / "data" / "tau2" / "domains" / "lending"
    data.mkdir(parents=True)
    (data / "db.json").write_text(json.dumps(database), encoding="utf-8")
    (data / "tasks.json").write_text(json.dumps(tasks), encoding="utf-8")
    (data / "policy.md").write_text("Lend each book once.\n", encoding="utf-8")
    return folder


def build_simulation(task: str, reward: float, said: str, *calls: dict[str, Any]) -> dict[str, Any]:
    """Return a recorded trajectory in the form of tau2's results."""
    made = [
        {"id": str(number), "name": call["name"], "arguments": call["arguments"]} for number, call in enumerate(calls)
    ]
    messages = [
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": None, "tool_calls": made},
        *({"role": "tool", "id": call["id"], "content": "{}"} for call in made),
        {"role": "assistant", "content": said, "tool_calls": None},
    ]
    return {"task_id": task, "trial": 0, "reward_info": {"reward": reward}, "messages": messages}
