"""deepeval: cases through evaluate() and its exact match, conversations through its simulator with a fake model."""

import os
from pathlib import Path

from deepeval import evaluate
from deepeval.dataset import ConversationalGolden
from deepeval.evaluate.configs import AsyncConfig, CacheConfig, DisplayConfig
from deepeval.metrics import ExactMatchMetric
from deepeval.models import DeepEvalBaseLLM
from deepeval.simulator import ConversationSimulator
from deepeval.test_case import LLMTestCase, Turn
from work import AGENT, PERSON, REPLIES, Stopwatch, Taken, in_order, measure


class Person(DeepEvalBaseLLM):
    """The fake model that plays the person: it knows its next line from the last reply in the prompt."""

    def load_model(self):
        return self

    def get_model_name(self):
        return "scripted"

    def generate(self, prompt, schema=None):
        said = max((n + 1 for n, reply in enumerate(AGENT) if reply in prompt), default=0)
        return schema(simulated_input=PERSON[said])

    async def a_generate(self, prompt, schema=None):
        return self.generate(prompt, schema)


async def answer(input: str) -> Turn:
    """The agent in conversation."""
    return Turn(role="assistant", content=REPLIES[input])


def conversations(cases: int) -> Taken:
    """Simulate, then look for the words in order."""
    goldens = [ConversationalGolden(scenario="A parcel is late") for _ in range(cases)]
    simulator = ConversationSimulator(model_callback=answer, simulator_model=Person(), max_concurrent=100)
    watch = Stopwatch()
    done = simulator.simulate(conversational_goldens=goldens, max_user_simulations=3)
    right = sum(in_order([turn.content for turn in case.turns]) for case in done)
    taken = watch.taken(persisted=written())
    assert right == cases
    return taken


def singles(cases: int) -> Taken:
    """Answer and evaluate, printing nothing and caching nothing."""
    watch = Stopwatch()
    asked = [LLMTestCase(input=str(n), actual_output=str(n * 2), expected_output=str(n * 2)) for n in range(cases)]
    result = evaluate(
        asked,
        [ExactMatchMetric()],
        async_config=AsyncConfig(run_async=False),
        display_config=DisplayConfig(show_indicator=False, print_results=False, inspect_after_run=False),
        cache_config=CacheConfig(write_cache=False),
    )
    taken = watch.taken(persisted=written())
    assert all(case.success for case in result.test_results)
    assert len(result.test_results) == cases
    return taken


def written() -> bool:
    """Whether it left a file in the working folder, where it keeps its results."""
    return any(file.is_file() for file in Path.cwd().rglob("*"))


def run(shape: str, cases: int, folder: Path) -> Taken:
    """One or the other, in a folder of its own."""
    os.chdir(folder)
    return conversations(cases) if shape == "conversation" else singles(cases)


if __name__ == "__main__":
    measure(run)
