"""A playground with two conversations and a file drop, and people with fixed answers."""

from collections.abc import Sequence

from clerkship.actors.contract import AgentReply, PersonAction, PersonUnavailable
from clerkship.actors.person_scripted import ScriptedPerson
from clerkship.model.environment import Environment, Simulator
from clerkship.model.scenario import ScenarioPerson
from clerkship.playground.playground import Playground
from clerkship.playground.sandbox import PreparedSimulator
from clerkship.simulators import chat, files

SIMULATORS = {
    "chat": PreparedSimulator(chat.SPEC, chat.SPEC.config()),
    "phone": PreparedSimulator(chat.SPEC, chat.SPEC.config()),
    "drop": PreparedSimulator(files.SPEC, files.SPEC.config()),
}


class ModelPerson(ScriptedPerson):
    """A person played by a model that gives these answers, and then fails."""

    def __init__(self, answers: Sequence[PersonAction]) -> None:
        super().__init__(ScenarioPerson(opening="Hello"))
        self.uses_model = True
        self.heard: list[str] = []
        self._answers = list(answers)

    def hear(self, messages: AgentReply) -> PersonAction:
        self.heard.append(messages.text)
        if not self._answers:
            raise PersonUnavailable("the model does not answer")
        return self._answers.pop(0)


def open_playground(time: str = "stepped") -> Playground:
    """Open a playground with the sandboxes chat, phone and drop."""
    simulators = {name: Simulator(kind=prepared.spec.kind) for name, prepared in SIMULATORS.items()}
    environment = Environment.model_validate({"name": "desk", "simulators": simulators, "time": time})
    return Playground(environment, SIMULATORS, "seed")
