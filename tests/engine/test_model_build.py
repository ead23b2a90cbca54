"""Models from conftest files, options and settings, and the requests that they send."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from clerkship.engine.model_build import apply_settings, build_model, model_name
from clerkship.engine.model_resolver import ModelNeeds, ModelRequest, resolve_models
from clerkship.engine.models import ModelSelection
from clerkship.llm.contract import Model, Question
from clerkship.llm.scripted import Script, ScriptedModel
from clerkship.model.conftest import Conftest, LlmConfig
from clerkship.model.errors import InputError
from clerkship.model.frozen import Flag
from clerkship.model.model_choice import ModelChoice
from clerkship.model.run import ModelOptions
from clerkship.model.usage import Prices
from clerkship.recording.recorded_model import RecordedModel
from clerkship.recording.session import RecordingSession
from clerkship.settings import Settings, load_settings
from tests.actors.servers import Asked, Served
from tests.llm.endpoint import bodies, said

ALL = Settings(
    openai_api_key="sk-openai",
    anthropic_api_key="sk-anthropic",
    azure_api_key="sk-azure",
    azure_api_base="https://ours.openai.azure.com",
)


class Verdict(BaseModel):
    """The schema of the answer."""

    passed: Flag


GOOD = said('{"passed": true}')


def resolve(llm: dict[str, Any], settings: Settings = ALL, **more: Any) -> ModelSelection:
    conftest = Conftest.model_validate({"evaluation": {"llm": llm, **more}})
    return resolve_models(ModelRequest(conftest=conftest), settings)


def request_of(llm: dict[str, Any], settings: Settings = ALL, *, vectors: bool = False) -> tuple[Asked, dict[str, Any]]:
    """Return the request that one question sends. `URL` in the block is replaced by the address of the test server."""

    def answer(requests: Asked) -> Any:
        return (200, {}, b'{"data": [{"index": 0, "embedding": [1]}]}') if requests.path.count("embeddings") else GOOD

    with Served(answer) as served:
        at = {"api_base": llm["api_base"].replace("URL", served.url)} if "api_base" in llm else {}
        results = resolve({**llm, **at}, settings)
        assert results.judge is not None
        results.judge.ask(Question("?", Verdict))
        if vectors:
            results.judge.embed(["a"])
        results.close()
    return served.asked[-1], bodies(served)[-1]


def test_unknown_options_are_sent_and_client_library_options_are_not() -> None:
    extra = {
        "temperature": 0,
        "reasoning_effort": "none",
        "cache": {"no-cache": True},
        "num_retries": 3,
        "stream": True,
    }
    prices = {"input_cost_per_token": 1e-6, "output_cost_per_token": 2e-6}
    requests, body = request_of({"provider": "openai", "model": "m", "api_base": "URL/v1", **extra, **prices})
    assert requests.path == "/v1/chat/completions"
    assert requests.headers["authorization"] == "Bearer sk-openai"
    assert body.keys() == {"model", "messages", "response_format", "max_tokens", "temperature", "reasoning_effort"}


def test_limits_come_from_options_then_the_conftest_then_settings() -> None:
    llm = {"provider": "openai", "model": "m", "api_base": "URL/v1"}
    settings = replace(ALL, max_tokens=300, model_timeout=7.0)
    assert request_of(llm, settings)[1]["max_tokens"] == 300
    assert request_of({**llm, "max_tokens": 200}, settings)[1]["max_tokens"] == 200
    options = ModelOptions(max_tokens=100, model_timeout=9.0)
    for own in ({}, {"max_tokens": 200, "timeout": 30}):
        conftest = Conftest.model_validate({"evaluation": {"llm": {"provider": "openai", "model": "m", **own}}})
        choice = resolve_models(ModelRequest(conftest=conftest, asking=options), settings).judge_choice
        assert choice is not None
        assert (choice.max_tokens, choice.timeout) == (100, 9.0)


def test_limits_do_not_change_which_recorded_answer_is_used(tmp_path: Path) -> None:
    conftest = Conftest.model_validate({"evaluation": {"llm": {"provider": "openai", "model": "m"}}})
    identities = []
    for options in (ModelOptions(), ModelOptions(max_tokens=100, model_timeout=9.0)):
        models = resolve_models(ModelRequest(conftest=conftest, asking=options), replace(ALL, max_tokens=300))
        identity = models.judge_identity()
        session = RecordingSession("refresh", {"t": tmp_path / "c.jsonl"}, models.session.identities)
        model = ScriptedModel("openai:m", Script.model_validate([{"answer": {"passed": True}}]))
        RecordedModel(session, model, "judge", ("t", 1)).ask(Question("?", Verdict))
        session.save()
        identities.append((identity, (tmp_path / "c.jsonl").read_bytes()))
    assert identities[0] == identities[1]


def test_azure_v1_api_has_the_deployment_in_the_body() -> None:
    requests, body = request_of({"provider": "azure", "model": "gpt", "deployment": "mine", "api_base": "URL"})
    assert (requests.path, body["model"]) == ("/openai/v1/chat/completions", "mine")
    assert requests.headers["api-key"] == "sk-azure"
    assert "authorization" not in requests.headers


@pytest.mark.parametrize("base", ["URL", "URL/", "URL/openai", "URL/openai/deployments/mine"])
def test_azure_older_api_has_the_deployment_in_the_path_and_a_version(base: str) -> None:
    llm = {"provider": "azure", "deployment": "my.model", "api_base": base, "api_version": "2024-10-21"}
    requests, _ = request_of(llm)
    assert requests.path == "/openai/deployments/my.model/chat/completions?api-version=2024-10-21"
    requests, _ = request_of(llm, vectors=True)
    assert requests.path == "/openai/deployments/text-embedding-3-large/embeddings?api-version=2024-10-21"
    assert requests.headers["api-key"] == "sk-azure"


def test_azure_address_and_version_come_from_environment_variables() -> None:
    with Served(lambda asked: GOOD) as served:
        theirs = {"AZURE_API_BASE": served.url, "AZURE_API_KEY": "k", "AZURE_API_VERSION": "2024-10-21"}
        choice = ModelChoice(who="azure:mine")
        requests = build_model(choice, load_settings(theirs))
        assert requests is not None
        requests.ask(Question("?", Verdict))
        requests.close()
        assert requests.name == f"azure:mine@{served.url}"
        stored = apply_settings(choice, load_settings(theirs))
        assert (stored.who, stored.api_version) == (requests.name, "2024-10-21")
    assert served.asked[0].path == "/openai/deployments/mine/chat/completions?api-version=2024-10-21"


@pytest.mark.parametrize(
    ("provider", "sort", "base", "path"),
    [
        ("ollama", "ollama", "URL", "/v1/chat/completions"),
        ("ollama", "ollama", "URL/v1", "/v1/chat/completions"),
        ("lm_studio", "lm_studio", "URL/v1", "/v1/chat/completions"),
        ("vllm", "vllm", "URL/", "/v1/chat/completions"),
        ("self-hosted", "vllm", "URL/v1", "/v1/chat/completions"),
        ("hosted_vllm", "vllm", "URL/gateway/v1", "/gateway/v1/chat/completions"),
        ("Groq", "groq", "URL/openai/v1", "/openai/v1/chat/completions"),
    ],
)
def test_openai_compatible_provider_does_not_get_the_key_of_another(
    monkeypatch: pytest.MonkeyPatch, provider: str, sort: str, base: str, path: str
) -> None:
    llm = {"provider": provider, "model": "some:model", "api_base": base}
    requests, _ = request_of(llm)
    assert requests.path == path
    assert "authorization" not in requests.headers
    monkeypatch.setenv(f"{sort.upper()}_API_KEY", "sk-theirs")
    requests, _ = request_of(llm)
    assert requests.headers["authorization"] == "Bearer sk-theirs"
    monkeypatch.setenv("ANOTHER_KEY", "sk-another")
    requests, _ = request_of({**llm, "api_key": "${ANOTHER_KEY}"})
    assert requests.headers["authorization"] == "Bearer sk-another"


@pytest.mark.parametrize(
    ("who", "name"),
    [
        ("openai:gpt-5.1", "openai:gpt-5.1@https://api.openai.com/v1"),
        ("openai:m@http://localhost:1/v1", "openai:m@http://localhost:1/v1"),
        ("azure:mine", "azure:mine@https://ours.openai.azure.com"),
        ("anthropic:claude", "anthropic:claude"),
        ("anthropic:claude@http://localhost:1", "anthropic:claude@http://localhost:1"),
        ("ollama:llama3.2:3b", "ollama:llama3.2:3b@http://localhost:11434/v1"),
        ("lm_studio:m", "lm_studio:m@http://localhost:1234/v1"),
        ("vllm:org/model", "vllm:org/model@http://localhost:8000/v1"),
        ("self-hosted:m", "vllm:m@http://localhost:8000/v1"),
        ("groq:m@https://api.groq.com/openai/v1", "groq:m@https://api.groq.com/openai/v1"),
        ("scripted:nowhere.yml", "scripted:nowhere.yml"),
        ("none", "none"),
    ],
)
def test_model_name_needs_no_key_and_resolves_to_the_same_model(who: str, name: str) -> None:
    without = Settings(azure_api_base=ALL.azure_api_base)
    assert model_name(ModelChoice(who=who), without) == name
    assert model_name(ModelChoice(who=name), Settings()) == name
    if not who.startswith(("scripted", "none")):
        built = build_model(ModelChoice(who=who), ALL)
        assert built is not None
        assert built.name == name
        built.close()


@pytest.mark.parametrize(
    ("who", "told"),
    [
        ("antropic:claude", "unknown model `antropic:claude`; did you mean `anthropic`"),
        ("groq:m", "unknown model `groq:m`"),
        ("C:/m@https://x/v1", "unknown model `C:/m@https://x/v1`"),
        ("azure:m", "model `azure:m`: no address; write azure:m@https://host"),
        ("azure:m@https://host?api-version=1", "the address has a query"),
        ("vllm:", "model `vllm:`: no model"),
        ("ollama:m@https://me:secret@host", "contains a password"),
    ],
)
def test_invalid_model_is_reported(who: str, told: str) -> None:
    for find in (build_model, model_name):
        with pytest.raises(InputError) as wrong:
            find(ModelChoice(who=who), Settings(azure_api_key="k"))
        assert told in str(wrong.value)


@pytest.mark.parametrize(
    ("llm", "told"),
    [
        ({"provider": "openai"}, "`model` is missing"),
        ({"provider": "azure", "model": "m", "api_version": "1&x=y"}, "api_version"),
        ({"provider": "openai", "model": "m", "input_cost_per_token": -1.0}, "input_cost_per_token"),
        ({"provider": "openai", "model": "m", "api_key": "sk-in-the-file"}, "do not write the key into the file"),
    ],
)
def test_invalid_llm_block_is_refused(llm: dict[str, Any], told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        LlmConfig.model_validate(llm)


def test_prices_are_stored_with_the_run(tmp_path: Path) -> None:
    llm = {"provider": "openai", "model": "m", "input_cost_per_token": 1e-6, "output_cost_per_token": 4e-6}
    stored = resolve(llm).judge_choice
    assert stored is not None
    assert stored.prices == Prices(input=1.0, output=4.0)
    assert "sk-openai" not in stored.model_dump_json()
    prices = tmp_path / "prices.yml"
    prices.write_text(
        "m: {input: 2, output: 3}\nopenai:m: {input: 5, output: 6, cached_input: 0.5}\nother: {input: 1, output: 1}\n"
    )
    settings = Settings(openai_api_key="k", prices=str(prices))
    assert apply_settings(ModelChoice(who="openai:m"), settings).prices == Prices(input=5, output=6, cached_input=0.5)
    assert apply_settings(ModelChoice(who="ollama:m"), settings).prices == Prices(input=2, output=3)
    assert apply_settings(ModelChoice(who="openai:x"), settings).prices is None


@pytest.mark.parametrize(
    ("text", "told"),
    [("m: {inputs: 2}", "m.inputs"), ("m: 3", "m"), ("- m", "prices.yml"), ("m: {input: -1, output: 1}", "m.input")],
)
def test_errors_in_the_prices_are_reported_with_their_position(tmp_path: Path, text: str, told: str) -> None:
    prices = tmp_path / "prices.yml"
    prices.write_text(text)
    with pytest.raises(InputError) as wrong:
        build_model(ModelChoice(who="openai:m"), Settings(openai_api_key="k", prices=str(prices)))
    assert told in str(wrong.value)
    with pytest.raises(InputError, match=r"nowhere\.yml"):
        build_model(ModelChoice(who="openai:m"), Settings(openai_api_key="k", prices="nowhere.yml"))


def test_judge_and_person_of_a_run_share_an_endpoint() -> None:
    llm = {"provider": "openai", "model": "m", "api_base": "http://127.0.0.1:1/v1"}
    conftest = Conftest.model_validate(
        {
            "evaluation": {"llm": llm, "max_concurrent_llm_calls": 20},
            "simulation": {"llm": {**llm, "model": "n"}, "max_concurrent_llm_calls": 3},
        }
    )
    results = resolve_models(ModelRequest(conftest=conftest), ALL, ModelNeeds(person=True))
    judge, person = _limits(results.judge), _limits(results.person)
    assert [limit.at_once for limit in judge] == [20, 23]
    assert judge[1] is person[1]
    results.close()


def _limits(model: Model | None) -> Any:
    return vars(model)["_client"].limits
