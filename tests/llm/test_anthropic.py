"""Models with Anthropic's API: formats, errors, and redaction of the key."""

import logging
from typing import Any

import pytest
from pydantic import BaseModel

from clerkship.engine.model_build import build_model, model_name
from clerkship.llm import retry
from clerkship.llm.contract import BadAnswer, EarlierMessage, NoModel, Question
from clerkship.llm.retry import ModelOutage, RequestDeclined
from clerkship.model.errors import InputError
from clerkship.model.frozen import Flag
from clerkship.model.model_choice import ModelChoice
from clerkship.model.usage import Prices, Usage
from clerkship.settings import Settings
from tests.actors.servers import Answered, Asked, Served
from tests.llm.endpoint import bodies, in_turn
from tests.llm.messages import KEY, called, claude, failed, text, wrote


class Verdict(BaseModel):
    reasoning: str
    passed: Flag


GOOD = '{"reasoning": "so it is", "passed": true}'
QUESTION = Question("Is it so?", Verdict, "Be strict.", "criterion")


@pytest.fixture(autouse=True)
def _in_a_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "random_fraction", lambda: -0.499)


def test_schema_and_system_prompt_are_sent_and_usage_counted() -> None:
    with Served(lambda asked: wrote(text(GOOD), cache_read_input_tokens=100)) as served:
        asked = claude(served, parameters={"temperature": 0.5, "top_k": 3}, prices=Prices(input=3, output=15))
        answer = asked.ask(QUESTION)
        asked.close()
    assert answer.data == Verdict(reasoning="so it is", passed=True)
    assert answer.model == f"anthropic:claude@{served.url}"
    assert (answer.usage.calls, answer.usage.prompt_tokens, answer.usage.completion_tokens) == (1, 111, 5)
    assert answer.usage.cost == pytest.approx((111 * 3 + 5 * 15) / 1e6)
    [body] = bodies(served)
    form = body["output_config"]["format"]
    assert (form["type"], form["schema"]["required"]) == ("json_schema", ["reasoning", "passed"])
    assert body["system"].startswith("Be strict.")
    assert body["messages"] == [{"role": "user", "content": "Is it so?"}]
    assert (body["model"], body["temperature"], body["top_k"], body["max_tokens"]) == ("claude", 0.5, 3, 8192)
    assert served.asked[0].path == "/v1/messages"
    assert served.asked[0].headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize(
    ("knows", "forms"),
    [
        ("output_config", ["output_config", "output_config"]),
        ("tools", ["output_config", "tools", "tools"]),
        ("", ["output_config", "tools", "", ""]),
    ],
)
def test_model_without_schema_support_gets_a_tool_from_then_on(knows: str, forms: list[str]) -> None:
    def form(body: dict[str, Any]) -> str:
        return next((name for name in ("output_config", "tools") if name in body), "")

    def answer(asked: Asked) -> Answered:
        found = form(body := bodies(served)[-1])
        if found != knows:
            return failed(400, f"{found}: not supported by this model")
        if found == "tools":
            assert body["tool_choice"]["name"] == body["tools"][0]["name"] == "answer"
            return wrote(called({"reasoning": "x", "passed": True}), stop="tool_use")
        return wrote(text(GOOD))

    with Served(answer) as served:
        asked = claude(served)
        assert asked.ask(QUESTION).data.passed
        assert asked.ask(QUESTION).data.passed
        asked.close()
    assert [form(body) for body in bodies(served)] == forms


def test_conversation_started_by_the_assistant_gets_a_user_message_first() -> None:
    with Served(lambda asked: wrote(text(GOOD))) as served:
        asked = claude(served)
        asked.ask(
            Question(
                "And?", Verdict, "Play.", talk=(EarlierMessage("assistant", "Hello"), EarlierMessage("user", "Hi"))
            )
        )
        asked.close()
    assert [turn["role"] for turn in bodies(served)[0]["messages"]] == ["user", "assistant", "user", "user"]


def test_wrong_shape_is_repaired_and_both_answers_are_counted() -> None:
    with Served(in_turn([wrote(text("Yes.")), wrote(text(GOOD))])) as served:
        asked = claude(served)
        answer = asked.ask(QUESTION)
        asked.close()
    assert answer.usage == Usage(
        calls=2, prompt_tokens=22, completion_tokens=10, cost=None, retries={"invalid answer": 1}
    )
    assert "there is no JSON object in it" in bodies(served)[1]["messages"][-1]["content"]


@pytest.mark.parametrize(
    ("message", "told"),
    [
        (
            wrote(text("I had rather not."), stop="refusal"),
            "refused to answer in 3 attempts: it said 'I had rather not.'",
        ),
        (wrote(text('{"reasoning": "on and'), stop="max_tokens"), "was cut off at its limit of tokens in 3 attempts"),
        (wrote(), "gave an empty answer in 3 attempts"),
        (wrote(text("{}")), "no answer of the right shape in 3 attempts: reasoning: Field required"),
    ],
)
def test_each_kind_of_missing_answer_has_its_own_error(message: Answered, told: str) -> None:
    with Served(lambda asked: message) as served:
        asked = claude(served)
        with pytest.raises(BadAnswer) as bad:
            asked.ask(QUESTION)
        asked.close()
    assert told in str(bad.value)
    assert bad.value.usage.calls == 3


def test_busy_endpoint_is_retried() -> None:
    answers = [failed(529, "overloaded"), failed(429, "slow", **{"retry-after": "0"}), None, wrote(text(GOOD))]
    with Served(in_turn(answers)) as served:
        asked = claude(served)
        assert asked.ask(QUESTION).data.passed
        asked.close()
    assert len(served.asked) == 4


def test_outage_reports_attempts_and_reason() -> None:
    with Served(lambda asked: failed(500, f"broken for {KEY}")) as served:
        asked = claude(served)
        with pytest.raises(ModelOutage, match=r"status 500: broken for \[key\], in 4 attempts"):
            asked.ask(QUESTION)
        asked.close()
    assert len(served.asked) == 4


def test_invalid_message_is_an_outage() -> None:
    with Served(lambda asked: (200, {"Content-Type": "application/json"}, b'{"hello": "world"}')) as served:
        asked = claude(served)
        with pytest.raises(ModelOutage, match="has no message"):
            asked.ask(QUESTION)
        asked.close()


def test_rejected_key_fails_at_once_and_is_not_shown_or_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with Served(lambda asked: failed(401, f"invalid x-api-key {KEY}")) as served:
        asked = claude(served)
        with pytest.raises(RequestDeclined) as declined:
            asked.ask(QUESTION)
        asked.close()
    assert "status 401: invalid x-api-key [key]; set CLERKSHIP_ANTHROPIC_API_KEY" in str(declined.value)
    assert len(served.asked) == 1
    assert KEY not in caplog.text + repr(declined.value)


def test_embeddings_without_an_openai_key_are_an_error() -> None:
    with Served(lambda asked: wrote()) as served:
        asked = claude(served)
        with pytest.raises(
            NoModel, match=r"computed at https://api\.openai\.com/v1, which needs a key; set OPENAI_API_KEY"
        ):
            asked.embed(["a"])
        asked.close()


def test_model_name_omits_the_default_address() -> None:
    settings = Settings(anthropic_base_url="https://api.anthropic.com")
    assert model_name(ModelChoice(who="anthropic:claude-x"), settings) == "anthropic:claude-x"
    with pytest.raises(InputError, match=r"api\.anthropic\.com requires a key; set ANTHROPIC_API_KEY"):
        build_model(ModelChoice(who="anthropic:claude-x"), settings)
