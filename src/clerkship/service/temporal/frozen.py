"""A run as workers get it: its record, plan and tasks in one piece, and each dataset in another."""

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import orjson

from clerkship.model.run import BenchmarkRun
from clerkship.service.planning.plan import RunPlan


class FrozenRecord(NamedTuple):
    """The record of a run, and everything that is stored to repeat it, by hash."""

    run: BenchmarkRun
    frozen: dict[str, bytes]


async def save_frozen(plan: RunPlan, save: Callable[[bytes], Awaitable[str]]) -> str:
    """Save a frozen run, and return its digest. Datasets are saved by themselves, as other runs have them too."""
    datasets = {dataset.hash: await save(dataset.data) for dataset in plan.datasets.values()}
    texts = {address: data.decode() for address, data in plan.frozen().items() if address not in datasets}
    head = {"run": plan.run.model_dump(mode="json"), "frozen": texts, "datasets": datasets}
    return await save(orjson.dumps(head))


async def load_frozen(digest: str, load: Callable[[str], Awaitable[bytes]]) -> FrozenRecord:
    """Load a frozen run by its digest."""
    head: dict[str, Any] = orjson.loads(await load(digest))
    frozen = {address: text.encode() for address, text in head["frozen"].items()}
    frozen |= {address: await load(content) for address, content in head["datasets"].items()}
    return FrozenRecord(BenchmarkRun.model_validate(head["run"]), frozen)
