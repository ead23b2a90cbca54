"""Models that are asked: what a call costs beyond the HTTP it takes, and how busy many conversations keep an endpoint.

    python -m benchmarks.judging [--quick]

The endpoint is a process of its own on this machine, and answers at once or after 200 ms; what a real model thinks is
not in it.
"""

import argparse
import asyncio
import gc
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import httpx
import orjson
from pydantic import BaseModel

from benchmarks.model_server import ModelServer
from clerkship.actors.contract import Message
from clerkship.actors.python import PythonSolver
from clerkship.engine.catalog import Registered
from clerkship.engine.model_build import build_model
from clerkship.llm.contract import Question
from clerkship.model.frozen import Flag
from clerkship.model.model_choice import ModelChoice
from clerkship.service.running import RunRequest, execute, plan_run
from clerkship.settings import Settings
from clerkship.store.sqlite import SqliteStore

CATALOG = Registered()
LATENCY = 0.2
AIM = 0.9


class Verdict(BaseModel):
    """What a judge is asked for."""

    reasoning: str
    passed: Flag


PROMPT = "Turn 1. The user says: Where is my order? The agent says: It is late by two days.\n" * 40
QUESTION = Question(PROMPT, Verdict, "You decide whether one conversation meets one criterion.", "criterion")


def asked(address: str, count: int) -> float:
    """Seconds for so many questions, one after the other, each validated and counted."""
    model = build_model(ModelChoice(who=f"openai:some@{address}"), Settings())
    assert model is not None
    model.ask(QUESTION)
    gc.collect()
    began = time.perf_counter()
    for _ in range(count):
        assert model.ask(QUESTION).usage.completion_tokens == 40
    taken = time.perf_counter() - began
    model.close()
    return taken


def posted(address: str, count: int) -> float:
    """Seconds for the same bytes through httpx alone, and the answer read as JSON."""
    schema = {"name": "Verdict", "schema": QUESTION.schema, "strict": True}
    turns = [{"role": "system", "content": QUESTION.orders}, {"role": "user", "content": QUESTION.prompt}]
    form = {"type": "json_schema", "json_schema": schema}
    body = orjson.dumps({"model": "some", "messages": turns, "response_format": form})

    async def post() -> float:
        async with httpx.AsyncClient(trust_env=False, headers={"content-type": "application/json"}) as client:
            await client.post(f"{address}/chat/completions", content=body)
            gc.collect()
            began = time.perf_counter()
            for _ in range(count):
                found = await client.post(f"{address}/chat/completions", content=body)
                orjson.loads(found.content)["choices"][0]["message"]["content"]
            return time.perf_counter() - began

    return asyncio.run(post())


SCENARIO = """scenario:
  name: Order
  simulation_context: You are an impatient customer who wants to know where an order is.
  setup:
    person: {lines: [Where is my order?]}
  goals:
    criteria:
      - The agent says why the order is late
      - The agent is polite
      - The agent says by how much it is late
"""
CRITERIA = 3


def answer(message: Message) -> str:
    """An agent that takes no time."""
    return "It is late by two days, I am sorry: there is snow on the road."


class Load(NamedTuple):
    """How busy an endpoint was kept."""

    seconds: float
    """From its first question to its last answer."""
    busy: float
    """How many it answered at one time, of those it may; over all that time."""
    most: int
    whole: float
    """Seconds for everything: planning, playing, judging, keeping."""


def conversations(server: ModelServer, count: int, limit: int) -> Load:
    """So many judged conversations at once, against an endpoint that may be asked so many questions at once."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "eval").mkdir()
        (folder / "eval" / "order.yml").write_text(SCENARIO)
        store = SqliteStore(folder / "store.db")
        judge = f"openai:some@{server.address}"
        request = RunRequest(
            path=folder / "eval",
            agent=PythonSolver("bot", answer),
            trials=count,
            concurrency=count,
            judge=judge,
        )
        settings = Settings(endpoint_calls=limit)
        server.busy()
        gc.collect()
        began = time.perf_counter()
        result = execute(plan_run(request, settings, CATALOG), store, CATALOG)
        whole = time.perf_counter() - began
        store.close()
        found = server.busy()
        assert result.counts.passed == count, result.counts
        assert found["calls"] == count * CRITERIA, found
        return Load(found["seconds"], found["mean"] / limit, int(found["most"]), whole)


def overhead(count: int, rounds: int) -> tuple[float, float]:
    """Milliseconds of a question and of the bare request, the best of some rounds that take turns."""
    with ModelServer(0) as server:
        mine, bare = [], []
        for _ in range(rounds):
            bare.append(posted(server.address, count))
            mine.append(asked(server.address, count))
    return min(mine) / count * 1000, min(bare) / count * 1000


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--quick", action="store_true", help="small sizes only")
    small = parser.parse_args().quick
    print("| what | ours | beside it | ratio | aim |\n|---|---|---|---|---|")
    mine, bare = overhead(50 if small else 500, 2 if small else 5)
    print(f"| one question to a model that answers at once | {mine:.2f} ms | {bare:.2f} ms (httpx alone) ", end="")
    print(f"| {mine / bare:.2f}× | |", flush=True)
    with ModelServer(LATENCY) as server:
        for limit in (8,) if small else (8, 32, 64):
            count = 40 if small else 200
            load = conversations(server, count, limit)
            least = count * CRITERIA * LATENCY / limit
            print(f"| {count} conversations at once, {CRITERIA} criteria each, {limit} questions at once ", end="")
            print(
                f"| {load.seconds:.2f} s ({load.whole:.2f} s with all else) | {least:.2f} s (the model's own time) ",
                end="",
            )
            print(f"| busy {load.busy:.1%}, {load.most} at most | ≥ {AIM:.0%} |", flush=True)


if __name__ == "__main__":
    main()
