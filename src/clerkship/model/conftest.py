"""`eval/conftest.yml`: the models that play the user and that judge, for a folder of scenarios."""

import re
from pathlib import Path
from typing import Annotated, Any, Self

import orjson
from pydantic import ConfigDict, Field, JsonValue, field_validator, model_validator

from clerkship.model.frozen import Frozen, Number, Whole
from clerkship.model.usage import Prices

DollarsPerToken = Annotated[Number, Field(ge=0, le=1)]
_CLIENT_PARAMETERS = frozenset[str](orjson.loads((Path(__file__).parent / "client_parameters.json").read_bytes()))
"""Parameters that client libraries take for themselves, or that are set here: they are not sent to the model."""
_VERSION_PATTERN = r"^[A-Za-z0-9._-]+$"

_VARIABLE_REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
MaxCalls = Annotated[Whole | None, Field(ge=1, le=1000, description="questions under way at one time")]


class LlmConfig(Frozen):
    """A model. Keys that are not listed here are sent with each request unchanged."""

    model_config = ConfigDict(frozen=True, extra="allow")
    provider: Annotated[
        str,
        Field(
            min_length=1,
            description="whose interface it has: `openai`, `azure`, `anthropic`, `ollama`, `lm_studio`, `vllm` "
            "(or `self-hosted`, `hosted_vllm`); any other one of OpenAI's sort, with its `api_base`",
        ),
    ]
    model: Annotated[str, Field(description="its name; for `azure` its `deployment` will do")] = ""
    api_base: Annotated[str | None, Field(description="its address, where that is not the usual one")] = None
    api_key: Annotated[str | None, Field(description="`${NAME}`: the variable that has the key")] = None
    timeout: Annotated[Number | None, Field(gt=0, le=3600, description="seconds for one answer")] = None
    api_version: Annotated[str | None, Field(pattern=_VERSION_PATTERN, description="of Azure's interface")] = None
    deployment: Annotated[str | None, Field(min_length=1, description="what Azure calls the model")] = None
    input_cost_per_token: Annotated[
        DollarsPerToken | None, Field(description="dollars for a token of what it is told")
    ] = None
    output_cost_per_token: Annotated[
        DollarsPerToken | None, Field(description="dollars for a token of what it answers")
    ] = None
    cache_read_input_token_cost: Annotated[
        DollarsPerToken | None, Field(description="dollars for a token that it was told lately")
    ] = None

    @model_validator(mode="after")
    def _has_a_name(self) -> Self:
        if not (self.model.strip() or self.deployment):
            raise ValueError("`model` is missing")
        return self

    @field_validator("api_key")
    @classmethod
    def _no_key_in_a_file(cls, value: str | None) -> str | None:
        if value is not None and not _VARIABLE_REFERENCE.fullmatch(value):
            raise ValueError("a key has no place in a file: write ${NAME}, and set that variable")
        return value

    @property
    def key_from(self) -> str:
        """The environment variable that holds the API key; empty for the provider's default variable."""
        found = _VARIABLE_REFERENCE.fullmatch(self.api_key or "")
        return found[1] if found else ""

    @property
    def parameters(self) -> dict[str, JsonValue]:
        """The parameters that are sent with each request."""
        extra: dict[str, Any] = self.model_extra or {}
        return {name: value for name, value in extra.items() if name not in _CLIENT_PARAMETERS}

    @property
    def name(self) -> str:
        """The model name that is sent with each request."""
        return self.deployment or self.model

    @property
    def prices(self) -> Prices | None:
        """The prices of the model; None if the file does not give them."""
        if self.input_cost_per_token is None or self.output_cost_per_token is None:
            return None
        cached = self.cache_read_input_token_cost
        return Prices(
            input=self.input_cost_per_token * 1_000_000,
            output=self.output_cost_per_token * 1_000_000,
            cached_input=cached * 1_000_000 if cached is not None else None,
        )


class SimulationConfig(Frozen):
    """The model that plays the user."""

    llm: LlmConfig
    simulated_user_prompt: Annotated[str | None, Field(description="a template of your own, for the person")] = None
    max_concurrent_llm_calls: MaxCalls = None


class EvaluationConfig(Frozen):
    """The model that judges."""

    llm: LlmConfig
    criteria_judge_prompt: Annotated[str | None, Field(description="a template of your own, for criteria")] = None
    metrics_judge_prompt: Annotated[str | None, Field(description="a template of your own, for metrics")] = None
    max_concurrent_llm_calls: MaxCalls = None


class Conftest(Frozen):
    """The models of an evaluation folder."""

    simulation: SimulationConfig | None = None
    evaluation: EvaluationConfig | None = None

    def prompts(self) -> dict[tuple[str, str], str]:
        """Return the paths of the prompt templates, by block and key."""
        blocks = {"simulation": self.simulation, "evaluation": self.evaluation}
        return {
            (name, key): path
            for name, block in blocks.items()
            for key, path in (block.model_dump() if block is not None else {}).items()
            if key.endswith("_prompt") and path is not None
        }
