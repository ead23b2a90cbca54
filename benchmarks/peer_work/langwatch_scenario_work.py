"""langwatch-scenario: scripted scenarios without a model, the last step of the script being the check."""

import asyncio
import os
from pathlib import Path

import scenario
from work import PERSON, REPLIES, Stopwatch, Taken, in_order, measure

# One at a time it mostly waits: the thread that takes its events sleeps a tenth of a second before each.
AT_ONCE = 100


class Agent(scenario.AgentAdapter):
    """The agent, for conversations and for numbers."""

    async def call(self, input: scenario.AgentInput) -> scenario.AgentReturnTypes:
        text = input.last_new_user_message_str()
        return REPLIES.get(text) or str(int(text) * 2)


class Person(scenario.AgentAdapter):
    """The required agent for the person's role; the script has every line, so it is never called."""

    role = scenario.AgentRole.USER

    async def call(self, input: scenario.AgentInput) -> scenario.AgentReturnTypes:
        raise AssertionError("the script has the person's lines")


def texts(state: scenario.ScenarioState) -> list[str]:
    """Return the messages so far."""
    return [str(message.get("content")) for message in state.messages]


def script(shape: str, n: int) -> list:
    """The person's lines, the agent's turns, the check, the verdict."""

    def right(state: scenario.ScenarioState) -> None:
        said = texts(state)
        assert in_order(said) if shape == "conversation" else said[-1] == str(n * 2)

    lines = PERSON if shape == "conversation" else (str(n),)
    steps = [step for line in lines for step in (scenario.user(line), scenario.agent())]
    return [*steps, right, scenario.succeed()]


async def every(shape: str, cases: int) -> Taken:
    """All of them, so many at once; each in the caller's loop, which is the cheaper of its two ways."""
    gate = asyncio.Semaphore(AT_ONCE)

    async def one(n: int) -> bool:
        async with gate:
            result = await scenario.arun(
                name=f"Case {n}", description="", agents=[Person(), Agent()], script=script(shape, n), verbose=False
            )
            return result.success

    watch = Stopwatch()
    done = await asyncio.gather(*(one(n) for n in range(cases)))
    taken = watch.taken(persisted=written())
    assert all(done)
    assert len(done) == cases
    return taken


def written() -> bool:
    """Whether it left a file in the working folder, other than the one that has git ignore its cache of model calls."""
    return any(file.is_file() and file.name != ".gitignore" for file in Path.cwd().rglob("*"))


def run(shape: str, cases: int, folder: Path) -> Taken:
    """All of them in a folder of its own."""
    os.chdir(folder)
    return asyncio.run(every(shape, cases))


if __name__ == "__main__":
    measure(run)
