"""Measure requests to models: the overhead of a call beyond HTTP, the use of an endpoint, the time of a replay.

    python -m benchmarks.judging [--quick]

The endpoint is a process on this machine that answers at once or after 200 ms. The time of a real model is not
included.
"""

import argparse
import asyncio
import gc
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import orjson
from pydantic import BaseModel

from benchmarks.model_server import ANSWER, ModelServer
from benchmarks.table import print_table, times
from clerkship.actors.contract import Message
from clerkship.actors.python import PythonSolver
from clerkship.engine.catalog import RegisteredCatalog
from clerkship.engine.model_build import build_model
from clerkship.llm.contract import Question
from clerkship.model.frozen import Flag
from clerkship.model.model_choice import ModelChoice
from clerkship.service.planning.plan import plan_run
from clerkship.service.planning.request import RunRequest
from clerkship.service.running import execute
from clerkship.settings import Settings
from clerkship.store.sqlite import SqliteStore

CATALOG = RegisteredCatalog()
LATENCY = 0.2
AIM = 0.9


class Verdict(BaseModel):
    """The answer that a judge must give."""

    reasoning: str
    passed: Flag


PROMPT = "Turn 1. The user says: Where is my order? The agent says: It is late by two days.\n" * 40
QUESTION = Question(PROMPT, Verdict, "You decide whether one conversation meets one criterion.", "criterion")


def asked(address: str, count: int) -> float:
    """Return the seconds of so many requests, one after the other, each validated and counted."""
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
    """Return the seconds for the same bytes with httpx alone, including parsing the JSON."""
    schema = {"name": "Verdict", "schema": QUESTION.schema, "strict": True}
    turns = [{"role": "system", "content": QUESTION.instructions}, {"role": "user", "content": QUESTION.prompt}]
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
    """How much of an endpoint's capacity was used."""

    seconds: float
    """From its first question to its last answer."""
    busy: float
    """How many it answered at one time, of those it may; over all that time."""
    most: int
    whole: float
    """Seconds for everything: planning, playing, judging, keeping."""


def play(folder: Path, judge: str, count: int, settings: Settings, **how: Any) -> float:
    """Return the seconds of so many judged conversations, all of which pass."""
    if not (folder / "eval").exists():
        (folder / "eval").mkdir()
        (folder / "eval" / "order.yml").write_text(SCENARIO)
    store = SqliteStore(folder / f"store-{time.perf_counter_ns()}.db")
    request = RunRequest(
        path=folder / "eval",
        agent=PythonSolver("bot", answer),
        trials=count,
        judge=judge,
        **{"concurrency": count, **how},
    )
    gc.collect()
    began = time.perf_counter()
    result = execute(plan_run(request, settings, CATALOG), store, CATALOG)
    taken = time.perf_counter() - began
    store.close()
    assert result.counts.passed == count, result.counts
    return taken


def conversations(server: ModelServer, count: int, limit: int) -> Load:
    """Run so many judged conversations at once against an endpoint with a limit of concurrent requests."""
    with tempfile.TemporaryDirectory() as name:
        server.busy()
        whole = play(Path(name), f"openai:some@{server.address}", count, Settings(endpoint_calls=limit))
        found = server.busy()
        assert found["calls"] == count * CRITERIA, found
        return Load(found["seconds"], found["mean"] / limit, int(found["most"]), whole)


def replayed(count: int, rounds: int) -> tuple[float, float]:
    """Return the seconds of so many judged conversations with recorded answers, and with a scripted judge."""
    with tempfile.TemporaryDirectory() as name, ModelServer(0) as server:
        folder, settings = Path(name), Settings(endpoint_calls=32)
        judge = f"openai:some@{server.address}"
        play(folder, judge, count, settings, concurrency=32, tape="record")
        server.busy()
        again = [play(folder, judge, count, settings, concurrency=8, tape="replay") for _ in range(rounds)]
        assert server.busy()["calls"] == 0
        script = folder / "answers.yml"
        script.write_bytes(b"- {answer: " + ANSWER + b"}\n")
        bare = [play(folder, f"scripted:{script}", count, settings, concurrency=8) for _ in range(rounds)]
        return min(again), min(bare)


def overhead(count: int, rounds: int) -> tuple[float, float]:
    """Return the milliseconds of a model call and of the bare request, the best of several alternating rounds."""
    with ModelServer(0) as server:
        mine, bare = [], []
        for _ in range(rounds):
            bare.append(posted(server.address, count))
            mine.append(asked(server.address, count))
    return min(mine) / count * 1000, min(bare) / count * 1000


def rows(*, quick: bool) -> Iterator[tuple[str, ...]]:
    """Measure everything, in small sizes if it has to be quick."""
    mine, bare = overhead(50 if quick else 500, 2 if quick else 5)
    beside = f"{bare:.2f} ms (httpx alone)"
    yield "one question to a model that answers at once", f"{mine:.2f} ms", beside, times(mine / bare)
    with ModelServer(LATENCY) as server:
        count = 40 if quick else 200
        for limit in (8,) if quick else (8, 16, 32, 64):
            # The busiest of some rounds: what else the machine does is not ours.
            rounds = 1 if quick or limit == 8 else 2
            load = max((conversations(server, count, limit) for _ in range(rounds)), key=lambda one: one.busy)
            yield (
                f"{count} conversations at once, {CRITERIA} criteria each, {limit} questions at once",
                f"{load.seconds:.2f} s",
                f"{count * CRITERIA * LATENCY / limit:.2f} s (the model's own time)",
                f"busy {load.busy:.0%}",
                f"≥ {AIM:.0%}",
            )
    count = 100 if quick else 500
    again, scripted = replayed(count, 2)
    what = f"{count} conversations of {CRITERIA} criteria each, replayed"
    beside = f"{count / scripted:,.0f} a second (a scripted judge)"
    yield what, f"{count / again:,.0f} a second", beside, times(again / scripted)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--quick", action="store_true", help="small sizes only")
    print_table(("what", "ours", "beside it", "ratio", "aim"), rows(quick=parser.parse_args().quick))


if __name__ == "__main__":
    main()
