"""inspect_ai: samples answered by its mock model, with usage supplied so that no tokeniser is fetched."""

from pathlib import Path

from inspect_ai import Task, eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.log import read_eval_log
from inspect_ai.model import ChatMessageUser, ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import CORRECT, INCORRECT, Score, accuracy, exact, scorer
from inspect_ai.solver import generate, solver
from work import PERSON, REPLIES, Stopwatch, Taken, in_order, measure


def answer(messages, tools, tool_choice, config):
    """The model: it doubles a number, or knows the reply."""
    text = messages[-1].text
    output = ModelOutput.from_content("mockllm/model", REPLIES.get(text) or str(int(text) * 2))
    output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    return output


@solver
def talk():
    """The person: says the next line after each reply."""

    async def solve(state, generate):
        state = await generate(state)
        for line in PERSON[1:]:
            state.messages.append(ChatMessageUser(content=line))
            state = await generate(state)
        return state

    return solve


@scorer(metrics=[accuracy()])
def words_in_order():
    """The check."""

    async def score(state, target):
        return Score(value=CORRECT if in_order([m.text for m in state.messages]) else INCORRECT)

    return score


def task(shape: str, cases: int) -> Task:
    """As many samples, each with an input of its own when it is one turn."""
    if shape == "conversation":
        samples = [Sample(id=n, input=PERSON[0], target="in order") for n in range(cases)]
        return Task(dataset=MemoryDataset(samples), solver=talk(), scorer=words_in_order())
    samples = [Sample(id=n, input=str(n), target=str(n * 2)) for n in range(cases)]
    return Task(dataset=MemoryDataset(samples), solver=generate(), scorer=exact())


def right(log) -> float:
    """The share the scorer found right."""
    return log.results.scores[0].metrics["accuracy" if "accuracy" in log.results.scores[0].metrics else "mean"].value


def run(shape: str, cases: int, folder: Path) -> Taken:
    """Build, evaluate, count what the log file holds. The settings are the quickest we found for it."""
    work = task(shape, cases)
    model = get_model("mockllm/model", custom_outputs=answer)
    options = {"log_realtime": False, "max_samples": 200, "max_connections": 200}
    watch = Stopwatch()
    (log,) = eval(work, model=model, log_dir=str(folder), display="none", **options)
    kept = [file for file in folder.glob("*.eval") if file.stat().st_size > 0]
    taken = watch.taken(persisted=bool(kept))
    assert log.status == "success", log.error
    assert right(log) == 1.0
    assert len(read_eval_log(str(kept[0])).samples) == cases
    return taken


if __name__ == "__main__":
    measure(run)
