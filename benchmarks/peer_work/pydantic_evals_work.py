"""pydantic-evals: a dataset of cases, each answered by a coroutine and held against its expected output."""

from pathlib import Path

from pydantic_evals import Case, Dataset
from pydantic_evals.evaluators import EqualsExpected
from work import Stopwatch, Taken, measure


async def double(n: int) -> int:
    """The agent. A coroutine, because a plain function is handed to a thread, which costs more."""
    return n * 2


def load(cases: int, folder: Path) -> Taken:
    """Read the same cases from a file; one evaluator for all of them, which is quicker for it than one each."""
    lines = (f"  - {{name: Case {n}, inputs: {n}, expected_output: {n * 2}}}\n" for n in range(cases))
    file = folder / "cases.yaml"
    file.write_text("name: doubles\ncases:\n" + "".join(lines) + "evaluators: [EqualsExpected]\n")
    watch = Stopwatch()
    dataset = Dataset[int, int, None].from_file(file)
    taken = watch.taken(persisted=False)
    assert len(dataset.cases) == cases
    return taken


def run(shape: str, cases: int, folder: Path) -> Taken:
    """Build, evaluate, count."""
    if shape == "load":
        return load(cases, folder)
    dataset = Dataset(
        name="doubles",
        cases=[Case(name=f"Case {n}", inputs=n, expected_output=n * 2) for n in range(cases)],
        evaluators=[EqualsExpected()],
    )
    watch = Stopwatch()
    result = dataset.evaluate_sync(double, progress=False)
    taken = watch.taken(persisted=any(folder.iterdir()))
    assert len(result.cases) == cases
    assert not result.failures
    assert all(case.assertions["EqualsExpected"].value for case in result.cases)
    return taken


if __name__ == "__main__":
    measure(run)
