"""`eval/conftest.yml`: which models play the user and judge, as the evaluation files of Rasa have it."""

import re
from typing import Annotated, Any, ClassVar

from pydantic import ConfigDict, Field, JsonValue, field_validator

from clerkship.model.frozen import Frozen, Number, Whole

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
Calls = Annotated[Whole | None, Field(ge=1, le=1000, description="questions under way at one time")]


class Llm(Frozen):
    """A model. Keys that are not named here go into each request as they are."""

    model_config = ConfigDict(frozen=True, extra="allow")
    provider: Annotated[str, Field(min_length=1, description="whose interface it has; `openai` is there now")]
    model: Annotated[str, Field(min_length=1, description="its name")]
    api_base: Annotated[str | None, Field(description="its address, where that is not the usual one")] = None
    api_key: Annotated[str | None, Field(description="`${NAME}`: the variable that has the key")] = None
    timeout: Annotated[Number | None, Field(gt=0, le=3600, description="seconds for one answer")] = None

    _CLIENT: ClassVar[frozenset[str]] = frozenset(
        {"cache", "num_retries", "max_retries", "api_version", "api_type", "deployment", "drop_params", "use_ssl"}
    )
    """What is said to the client library of others, and not to the model."""

    @field_validator("api_key")
    @classmethod
    def _no_key_in_a_file(cls, value: str | None) -> str | None:
        if value is not None and not _VARIABLE.fullmatch(value):
            raise ValueError("a key has no place in a file: write ${NAME}, and set that variable")
        return value

    @property
    def key_from(self) -> str:
        """The variable that has its key; empty for the usual one."""
        found = _VARIABLE.fullmatch(self.api_key or "")
        return found[1] if found else ""

    @property
    def parameters(self) -> dict[str, JsonValue]:
        """What is sent with each question."""
        extra: dict[str, Any] = self.model_extra or {}
        return {name: value for name, value in extra.items() if name not in self._CLIENT}


class Simulation(Frozen):
    """Who plays the user."""

    llm: Llm
    simulated_user_prompt: Annotated[str | None, Field(description="a template of your own, for the person")] = None
    max_concurrent_llm_calls: Calls = None


class Evaluation(Frozen):
    """Who judges."""

    llm: Llm
    criteria_judge_prompt: Annotated[str | None, Field(description="a template of your own, for criteria")] = None
    metrics_judge_prompt: Annotated[str | None, Field(description="a template of your own, for metrics")] = None
    max_concurrent_llm_calls: Calls = None


class Conftest(Frozen):
    """The models of an evaluation folder."""

    simulation: Simulation | None = None
    evaluation: Evaluation | None = None

    def prompts(self) -> dict[tuple[str, str], str]:
        """The templates it names, by block and key."""
        blocks = {"simulation": self.simulation, "evaluation": self.evaluation}
        return {
            (name, key): path
            for name, block in blocks.items()
            for key, path in (block.model_dump() if block is not None else {}).items()
            if key.endswith("_prompt") and path is not None
        }
