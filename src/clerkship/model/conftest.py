"""`eval/conftest.yml`: the models that play the user and that judge, for a folder of scenarios."""

import re
from pathlib import Path
from typing import Annotated, Any, Self

import orjson
from pydantic import ConfigDict, Field, JsonValue, field_validator, model_validator

from clerkship.model.duration import Seconds
from clerkship.model.frozen import Frozen, Number, Whole
from clerkship.model.run_options import PersonFacts
from clerkship.model.usage import Prices

DollarsPerToken = Annotated[Number, Field(ge=0, le=1)]
_CLIENT_PARAMETERS = frozenset[str](orjson.loads((Path(__file__).parent / "client_parameters.json").read_bytes()))
"""Parameters that client libraries use themselves, or that Clerkship sets: they are not sent to the model."""
_VERSION_PATTERN = r"^[A-Za-z0-9._-]+$"

_VARIABLE_REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
MaxCalls = Annotated[Whole | None, Field(ge=1, le=1000, description="maximum number of concurrent requests")]


class LlmConfig(Frozen):
    """A model. Keys that are not listed here are sent with each request unchanged."""

    model_config = ConfigDict(frozen=True, extra="allow")
    provider: Annotated[
        str,
        Field(
            min_length=1,
            description="API of the model: `openai`, `azure`, `anthropic`, `gemini`, `ollama`, `lm_studio`, "
            "`vllm` (or `self-hosted`, `hosted_vllm`); any other name for an OpenAI-compatible API at `api_base`",
        ),
    ]
    model: Annotated[str, Field(description="name of the model; for `azure`, `deployment` is enough")] = ""
    api_base: Annotated[str | None, Field(description="address of the API, if it is not the provider's default")] = None
    api_key: Annotated[str | None, Field(description="`${NAME}`: the environment variable that holds the key")] = None
    timeout: Annotated[Seconds | None, Field(gt=0, le=3600, description="seconds to wait for one answer")] = None
    api_version: Annotated[str | None, Field(pattern=_VERSION_PATTERN, description="version of the Azure API")] = None
    deployment: Annotated[str | None, Field(min_length=1, description="name of the model's deployment in Azure")] = None
    input_cost_per_token: Annotated[DollarsPerToken | None, Field(description="dollars per input token")] = None
    output_cost_per_token: Annotated[DollarsPerToken | None, Field(description="dollars per output token")] = None
    cache_read_input_token_cost: Annotated[
        DollarsPerToken | None, Field(description="dollars per cached input token")
    ] = None

    @model_validator(mode="after")
    def _require_name(self) -> Self:
        if not (self.model.strip() or self.deployment):
            raise ValueError("`model` is missing")
        return self

    @field_validator("api_key")
    @classmethod
    def _require_variable(cls, value: str | None) -> str | None:
        if value is not None and not _VARIABLE_REFERENCE.fullmatch(value):
            raise ValueError("do not write the key into the file: write ${NAME}, and set that environment variable")
        return value

    @property
    def key_from(self) -> str:
        """The environment variable that holds the API key; empty for the provider's default variable."""
        reference = _VARIABLE_REFERENCE.fullmatch(self.api_key or "")
        return reference[1] if reference else ""

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
    simulated_user_prompt: Annotated[
        str | None, Field(description="path of your own prompt template for the simulated user")
    ] = None
    max_concurrent_llm_calls: MaxCalls = None


class EvaluationConfig(Frozen):
    """The model that judges."""

    llm: LlmConfig
    criteria_judge_prompt: Annotated[
        str | None, Field(description="path of your own prompt template for judging criteria")
    ] = None
    metrics_judge_prompt: Annotated[
        str | None, Field(description="path of your own prompt template for rating metrics")
    ] = None
    max_concurrent_llm_calls: MaxCalls = None


class PersonConfig(Frozen):
    """How models play people, where the scenario files do not say."""

    facts: Annotated[
        PersonFacts | None,
        Field(description="`strict`: played people make up no numbers, dates and addresses; `free`: they may"),
    ] = None


class Conftest(Frozen):
    """The models of an evaluation folder."""

    simulation: SimulationConfig | None = None
    evaluation: EvaluationConfig | None = None
    person: Annotated[PersonConfig | None, Field(description="how models play people (ours)")] = None

    def prompts(self) -> dict[tuple[str, str], str]:
        """Return the paths of the prompt templates, by block and key."""
        blocks = {"simulation": self.simulation, "evaluation": self.evaluation}
        return {
            (name, key): path
            for name, block in blocks.items()
            for key, path in (block.model_dump() if block is not None else {}).items()
            if key.endswith("_prompt") and path is not None
        }
