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
    "environment/environment.py": """
class Environment:
    def __init__(self, tools, user_tools=None):
        self.tools, self.user_tools = tools, user_tools
        self.sync_tools()

    def sync_tools(self):
        pass
""",
    "domains/lending/environment.py": """
from tau2.domains.lending.tools import LendingTools
from tau2.domains.lending.user_tools import ReaderTools
from tau2.environment.environment import Environment


class LendingEnvironment(Environment):
    def sync_tools(self):
        card, readers = self.user_tools.db.card, self.tools.db.readers
        reader = next((each for each in readers if each.reader_id == card.reader_id), None)
        if reader is None:
            return
        if card.paid:
            reader.fees, card.paid = 0.0, 0.0
        card.balance = -reader.fees
        books = self.tools.db.books.values()
        self.user_tools.db.bag = [book.title for book in books if book.reader == card.reader_id]


def get_environment(db=None, user_db=None):
    return LendingEnvironment(LendingTools(db), ReaderTools(user_db))
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
    closes_at: str = "18:00"
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

    def close_at(self, time: str) -> None:
        self.db.closes_at = time

    def assert_no_fees(self, reader_id: str) -> bool:
        return all(each.fees == 0 for each in self.db.readers if each.reader_id == reader_id)
''',
    "domains/lending/user_data_model.py": """
from enum import Enum
from typing import List, Optional
from pydantic import BaseModel
from tau2.environment.db import DB


class Volume(str, Enum):
    LOW = "low"
    HIGH = "high"


class Card(BaseModel):
    reader_id: Optional[str] = None
    balance: float = 0.0
    paid: float = 0.0


class ReaderDB(DB):
    card: Card = Card()
    bag: List[str] = []
    volume: Volume = Volume.LOW
""",
    "domains/lending/user_tools.py": '''
from tau2.domains.lending.user_data_model import ReaderDB, Volume
from tau2.environment.toolkit import ToolKitBase, ToolType, is_tool


class ReaderTools(ToolKitBase):
    db: ReaderDB

    @property
    def card(self):
        return self.db.card

    def set_reader(self, reader_id: str) -> None:
        self.card.reader_id = reader_id

    @is_tool(ToolType.READ)
    def look_at_card(self) -> str:
        """Look at your card."""
        return f"reader {self.card.reader_id}, balance {self.card.balance}"

    @is_tool(ToolType.WRITE)
    def pay(self, amount: float) -> str:
        """Pay your fees with your card."""
        self.card.paid = amount
        if amount + self.card.balance < 0:
            raise ValueError("that is too little")
        return "paid"

    @is_tool(ToolType.WRITE)
    def lend(self, volume: Volume) -> str:
        """Lend an ear."""
        self.db.volume = Volume(volume)
        return "listening"

    def assert_has_book(self, title: str) -> bool:
        return title in self.db.bag
''',
}
DATABASE = {
    "books": {"b1": {"title": "Dune", "status": "in"}, "b2": {"title": "Emma", "status": "in"}},
    "readers": [{"reader_id": "r1", "name": "Ada"}, {"reader_id": "r2", "name": "Bob", "fees": 1.0}],
    "closes_at": "20:00",
}
PERSON_DATABASE = 'volume = "low"\n\n[card]\nbalance = 0.0\n'


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


def build_call(side: str, name: str, **arguments: Any) -> dict[str, Any]:
    """Return a call of a function of an environment in the form of tau2."""
    return {"env_type": side, "func_name": name, "arguments": arguments}


LEND = build_action("lend", book_id="b1", reader_id="r1")
PAY, LISTEN = build_action("pay", "user", amount=2.5), build_action("lend", "user", volume="high")
LONG = "pay_the_fees|" * 20 + "4"
WITH_TOOLS = build_task(
    LONG,
    actions=[LEND, PAY, LISTEN],
    env_assertions=[
        build_call("assistant", "assert_no_fees", reader_id="r1"),
        build_call("user", "assert_has_book", title="Emma") | {"assert_value": False, "message": "no other book"},
    ],
    reward_basis=["DB", "ENV_ASSERTION", "ACTION"],
)
WITH_TOOLS["initial_state"] = {
    "initialization_data": {"user_data": {"card": {"balance": -1.0}}},
    "initialization_actions": [
        build_call("user", "set_reader", reader_id="r1"),
        build_call("assistant", "add_fee", reader_id="r1", amount=2.5),
        build_call("assistant", "close_at", time="21:00"),
    ],
}
HISTORY = [
    {"role": "user", "content": "I want Emma."},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "1", "name": "lend", "arguments": {"book_id": "b2", "reader_id": "r1"}}],
    },
    {"role": "tool", "id": "1", "content": "{}"},
    {"role": "assistant", "content": "Here it is."},
]
TASKS = [
    build_task(
        "0", actions=[build_action("find_books", status="in"), LEND], communicate_info=["1,200"], nl_assertions=None
    ),
    build_task(
        "1", actions=[], communicate_info=[], nl_assertions=["It said no."], reward_basis=["DB", "NL_ASSERTION"]
    ),
    build_task("2", actions=[LEND], reward_basis=["ACTION"]),
    build_task("3", actions=[build_action("toggle", "user")]),
    WITH_TOOLS,
    build_task("5", actions=[LEND])
    | {
        "initial_state": {
            "initialization_data": {"agent_data": {"books": {"b1": {"title": "Dune II"}}}},
            "initialization_actions": [build_call("assistant", "add_fee", reader_id="r1", amount=2.5)],
        },
        "user_tools": ["look_at_card"],
    },
    build_task("6", actions=[LEND]) | {"initial_state": {"message_history": HISTORY}, "user_tools": []},
    {"id": "7"},
    build_task("8", reward_basis=["SMILE"]),
    build_task("9") | {"initial_state": {"message_history": HISTORY[:1]}},
]
SMALL = [TASKS[0], TASKS[1] | {"user_tools": []}, build_task("10")]
SPLITS = {"train": ["0", "1"], "test": [LONG], "base": ["0", "1", LONG]}


def write_checkout(folder: Path, tasks: Any = TASKS, database: Any = DATABASE) -> Path:
    """Write the checkout and return its folder."""
    for name, text in CODE.items():
        path = folder / "src" / "tau2" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    data = folder / "data" / "tau2" / "domains" / "lending"
    data.mkdir(parents=True)
    (data / "db.json").write_text(json.dumps(database), encoding="utf-8")
    (data / "user_db.toml").write_text(PERSON_DATABASE, encoding="utf-8")
    (data / "tasks.json").write_text(json.dumps(tasks), encoding="utf-8")
    (data / "tasks_small.json").write_text(json.dumps(SMALL), encoding="utf-8")
    (data / "split_tasks.json").write_text(json.dumps(SPLITS), encoding="utf-8")
    (data / "main_policy.md").write_text("Lend each book once.\n", encoding="utf-8")
    (data / "tech_support_manual.md").write_text("A card that is lost is blocked.\n", encoding="utf-8")
    return folder


def build_simulation(task: str, reward: float, said: str, *calls: dict[str, Any]) -> dict[str, Any]:
    """Return a recorded trajectory in the form of tau2's results."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Hello"}]
    for number, call in enumerate(calls):
        side = call["requestor"]
        made = {"id": str(number), "name": call["name"], "arguments": call["arguments"], "requestor": side}
        messages += [{"role": side, "content": None, "tool_calls": [made]}, {"role": "tool", "id": str(number)}]
    messages.append({"role": "assistant", "content": said, "tool_calls": None})
    return {"task_id": task, "trial": 0, "reward_info": {"reward": reward}, "messages": messages}
