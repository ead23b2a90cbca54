"""The limit on the tokens of an answer: its name, its default, and endpoints that decline it."""

import json
from contextlib import closing
from typing import Any

import pytest
from pydantic import BaseModel

from clerkship.llm.contract import Question
from clerkship.llm.retry import RequestDeclined
from clerkship.llm.token_limit import DEFAULT_MAX_TOKENS, TokenLimit
from clerkship.providers.apis import APIS
from tests.actors.servers import Answered, Asked, Served
from tests.llm.endpoint import bodies, model, said


class Verdict(BaseModel):
    """The shape of the answers."""

    passed: bool


QUESTION = Question("Did it?", Verdict)
LIMITS = ("max_tokens", "max_completion_tokens")


def ask(served: Served, times: int = 1, **options: Any) -> None:
    """Ask a model at the server, and close it."""
    with closing(model(served, **options)) as asked:
        for _ in range(times):
            assert asked.ask(QUESTION).data.passed


def limits(served: Served) -> list[dict[str, Any]]:
    """Return the limits in each request."""
    return [{name: body[name] for name in LIMITS if name in body} for body in bodies(served)]


def declines(status: int, message: str, name: str, most: int = 0, code: str = "") -> Any:
    """Return a server function that declines a parameter if it is more than a number."""

    def answer(asked: Asked) -> Answered:
        if json.loads(asked.body).get(name, 0) > most:
            return status, {}, json.dumps({"error": {"message": message, "code": code}}).encode()
        return said('{"passed": true}')

    return answer


def test_default_limit_is_sent_with_each_request() -> None:
    with Served(lambda asked: said('{"passed": true}')) as served:
        ask(served)
        ask(served, max_tokens=700)
    assert limits(served) == [{"max_tokens": DEFAULT_MAX_TOKENS}, {"max_tokens": 700}]


def test_limit_in_the_parameters_is_used_unless_an_option_sets_one() -> None:
    parameters = {"max_completion_tokens": 50, "temperature": 0}
    with Served(lambda asked: said('{"passed": true}')) as served:
        ask(served, parameters=parameters)
        ask(served, parameters=parameters, max_tokens=700)
    assert limits(served) == [{"max_completion_tokens": 50}, {"max_tokens": 700}]
    assert [body["temperature"] for body in bodies(served)] == [0, 0]


def test_openai_itself_gets_the_newer_name() -> None:
    assert TokenLimit(9, APIS["openai"], "https://api.openai.com/v1").apply({}) == {"max_completion_tokens": 9}
    assert TokenLimit(9, APIS["openai"], "http://127.0.0.1:8000/v1").apply({}) == {"max_tokens": 9}


def test_other_name_is_used_after_the_endpoint_declines_the_first() -> None:
    message = (
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
    )
    with Served(declines(400, message, "max_tokens")) as served:
        ask(served, 2, max_tokens=700)
    assert limits(served) == [{"max_tokens": 700}, *[{"max_completion_tokens": 700}] * 2]
    assert all(body["response_format"]["type"] == "json_schema" for body in bodies(served))


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("'max_tokens' or 'max_completion_tokens' is too large: 8192. This model's maximum context length is 2048", ""),
        ("This model's maximum context length is 4096 tokens. However, you requested 8500 tokens", ""),
        ("max_tokens is too large: 8192. This model supports at most 4096 completion tokens", ""),
        ("prompt and completion do not fit", "context_length_exceeded"),
    ],
)
def test_default_limit_is_left_out_if_the_context_is_smaller(message: str, code: str) -> None:
    with Served(declines(400, message, "max_tokens", 2048, code)) as served:
        ask(served)
    assert limits(served) == [{"max_tokens": DEFAULT_MAX_TOKENS}, {}]


def test_limit_that_was_set_is_not_left_out() -> None:
    message = "max_tokens is too large: 5000. This model supports at most 4096 completion tokens"
    with (
        Served(declines(400, message, "max_tokens", 4096)) as served,
        pytest.raises(RequestDeclined, match="too large"),
    ):
        ask(served, max_tokens=5000)
    assert all(limit == {"max_tokens": 5000} for limit in limits(served))


def test_endpoint_that_knows_neither_name_is_asked_without_a_limit() -> None:
    def answer(asked: Asked) -> Answered:
        unknown = [name for name in LIMITS if name in json.loads(asked.body)]
        if unknown:
            return 422, {}, json.dumps({"error": {"message": f"extra field {unknown[0]}"}}).encode()
        return said('{"passed": true}')

    with Served(answer) as served:
        ask(served)
    assert limits(served) == [{"max_tokens": DEFAULT_MAX_TOKENS}, {"max_completion_tokens": DEFAULT_MAX_TOKENS}, {}]
