"""Models with Gemini's API: formats, errors, usage, and redaction of the key."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from pydantic import BaseModel

from clerkship.engine.model_build import build_model, model_name
from clerkship.llm import retry
from clerkship.llm.contract import BadAnswer, EarlierMessage, Model, Question
from clerkship.llm.retry import ModelOutage, RequestDeclined
from clerkship.model.errors import InputError
from clerkship.model.frozen import Flag
from clerkship.model.model_choice import ModelChoice
from clerkship.model.usage import Prices
from clerkship.settings import Settings
from tests.actors.servers import Answered, Asked, Served
from tests.llm.endpoint import bodies, in_turn
from tests.llm.generated import blocked, failed, generated

KEY = "AIza-nobody-shall-read-this"


class Verdict(BaseModel):
    reasoning: str
    passed: Flag


GOOD = '{"reasoning": "so it is", "passed": true}'
QUESTION = Question("Is it so?", Verdict, "Be strict.", "criterion")


@pytest.fixture(autouse=True)
def _in_a_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "random_fraction", lambda: -0.499)


@contextmanager
def gemini(served: Served, **options: Any) -> Iterator[Model]:
    """Build a model at the test server as a run does."""
    settings = Settings(gemini_api_key=KEY, gemini_base_url=served.url)
    model = build_model(ModelChoice(who="gemini:small-1", **options), settings)
    assert model is not None
    yield model
    model.close()


def test_schema_and_system_prompt_are_sent_and_usage_counted() -> None:
    with (
        Served(lambda asked: generated({"text": "Hm.", "thought": True}, {"text": GOOD})) as served,
        gemini(served, parameters={"temperature": 0.5}, prices=Prices(input=3, output=15)) as asked,
    ):
        answer = asked.ask(QUESTION)
    assert answer.data == Verdict(reasoning="so it is", passed=True)
    assert answer.model == f"gemini:small-1@{served.url}"
    assert (answer.usage.calls, answer.usage.prompt_tokens, answer.usage.completion_tokens) == (1, 9, 5)
    assert answer.usage.cost == pytest.approx((9 * 3 + 5 * 15) / 1e6)
    [body] = bodies(served)
    config = body["generationConfig"]
    assert (config["temperature"], config["maxOutputTokens"]) == (0.5, 8192)
    assert config["responseMimeType"] == "application/json"
    assert config["responseJsonSchema"]["required"] == ["reasoning", "passed"]
    assert body["systemInstruction"]["parts"][0]["text"].startswith("Be strict.")
    assert body["contents"] == [{"role": "user", "parts": [{"text": "Is it so?"}]}]
    assert served.asked[0].path == "/v1beta/models/small-1:generateContent"
    assert served.asked[0].headers["x-goog-api-key"] == KEY


def test_model_without_schema_support_gets_the_next_form_from_then_on() -> None:
    def answer(asked: Asked) -> Answered:
        config = bodies(served)[-1]["generationConfig"]
        return (
            failed(400, "responseJsonSchema: unknown") if "responseJsonSchema" in config else generated({"text": GOOD})
        )

    with Served(answer) as served, gemini(served) as asked:
        assert asked.ask(QUESTION).data.passed
        assert asked.ask(QUESTION).data.passed
    forms = [sorted(body["generationConfig"]) for body in bodies(served)]
    assert forms[1:] == [["maxOutputTokens", "responseMimeType"]] * 2
    assert "responseJsonSchema" in forms[0]


def test_conversation_started_by_the_model_gets_a_user_message_first() -> None:
    talk = (EarlierMessage("assistant", "Hello"), EarlierMessage("user", "Hi"))
    with Served(lambda asked: generated({"text": GOOD})) as served, gemini(served) as asked:
        asked.ask(Question("And?", Verdict, "Play.", talk=talk))
    assert [content["role"] for content in bodies(served)[0]["contents"]] == ["user", "model", "user", "user"]


@pytest.mark.parametrize(
    ("answer", "told", "calls"),
    [
        (generated({"text": '{"reasoning": "on'}, finish="MAX_TOKENS"), "was cut off at its limit of tokens", 3),
        (generated({"text": "{}"}), "no answer of the right shape in 3 attempts: reasoning: Field required", 3),
        (generated(), "gave an empty answer in 3 attempts", 3),
        (generated(finish="SAFETY"), "content filter withheld the answer", 1),
        (blocked("PROHIBITED_CONTENT"), "content filter withheld the answer", 1),
    ],
)
def test_each_kind_of_missing_answer_has_its_own_error(answer: Answered, told: str, calls: int) -> None:
    with Served(lambda asked: answer) as served, gemini(served) as asked, pytest.raises(BadAnswer, match=told) as bad:
        asked.ask(QUESTION)
    assert bad.value.usage.calls == len(served.asked) == calls


def test_busy_endpoint_is_retried() -> None:
    answers = [failed(503, "overloaded"), failed(429, "slow"), None, generated({"text": GOOD})]
    with Served(in_turn(answers)) as served, gemini(served) as asked:
        assert asked.ask(QUESTION).data.passed
    assert len(served.asked) == 4


def test_rejected_key_fails_at_once_and_is_not_shown() -> None:
    with (
        Served(lambda asked: failed(403, f"API key {KEY} not valid")) as served,
        gemini(served) as asked,
        pytest.raises(RequestDeclined, match=r"status 403: API key \[key\] not valid; the key has no access"),
    ):
        asked.ask(QUESTION)
    assert len(served.asked) == 1


def test_response_without_an_answer_is_an_outage() -> None:
    with (
        Served(lambda asked: (200, {}, b'{"candidates": []}')) as served,
        gemini(served) as asked,
        pytest.raises(ModelOutage, match="has no message"),
    ):
        asked.ask(QUESTION)


def test_model_name_omits_the_default_address() -> None:
    settings = Settings()
    assert model_name(ModelChoice(who="gemini:small-1"), settings) == "gemini:small-1"
    with pytest.raises(InputError, match=r"generativelanguage\.googleapis\.com requires a key; set GEMINI_API_KEY"):
        build_model(ModelChoice(who="gemini:small-1"), settings)
