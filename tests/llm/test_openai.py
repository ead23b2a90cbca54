"""A model behind an OpenAI-compatible endpoint: formats, repairs, retries, embeddings, and redaction of the key."""

import asyncio
import json
import threading
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

from clerkship.llm.contract import BadAnswer, Question
from clerkship.llm.remote import MAX_REPAIRS
from clerkship.llm.retry import ModelOutage, RequestDeclined
from clerkship.llm.trial_model import TrialModel, UsageCounter
from clerkship.model.frozen import Flag
from clerkship.model.usage import Prices, Usage
from tests.actors.servers import Answered, Asked, Served
from tests.llm.endpoint import KEY, bodies, in_turn, model, refused, said


class Verdict(BaseModel):
    reasoning: str
    passed: Flag
    share: Annotated[float, Field(ge=0, le=1)] = 1.0


GOOD = '{"reasoning": "so it is", "passed": true, "share": 0.5}'
QUESTION = Question("Is it so?", Verdict, "Be strict.", "criterion")


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        f"```json\n{GOOD}\n```",
        f"Here it is:\n\n{GOOD}\n\nAnything else?",
        f'<think>it could be {{"passed": false, "reasoning": "no"}}</think>{GOOD}',
        f"a set is {{1, 2}}, but {GOOD}",
        '{"reasoning": "so it is", "passed": true, "share": 0.5, "confidence": "high"}',
    ],
)
def test_answer_is_found_inside_other_text(text: str) -> None:
    with Served(lambda asked: said(text)) as served:
        asked = model(served)
        answer = asked.ask(QUESTION)
        asked.close()
    assert answer.data == Verdict(reasoning="so it is", passed=True, share=0.5)
    assert answer.model == f"openai:some-model@{served.url}/v1"
    assert len(served.asked) == 1


def test_shape_is_requested_by_schema_and_in_the_prompt() -> None:
    with Served(lambda asked: said(GOOD)) as served:
        asked = model(served, parameters={"temperature": 0, "seed": 7})
        asked.ask(QUESTION)
        asked.close()
    [body] = bodies(served)
    form = body["response_format"]["json_schema"]
    assert (form["name"], form["strict"]) == ("Verdict", True)
    assert form["schema"]["required"] == ["reasoning", "passed", "share"]
    assert form["schema"]["additionalProperties"] is False
    assert form["schema"]["properties"]["share"] == {"type": "number"}
    assert (body["model"], body["temperature"], body["seed"]) == ("some-model", 0, 7)
    system, user = body["messages"]
    assert system["role"] == "system"
    assert system["content"].startswith("Be strict.")
    assert '"passed"' in system["content"]
    assert user == {"role": "user", "content": "Is it so?"}
    assert served.asked[0].path == "/v1/chat/completions"
    assert served.asked[0].headers["authorization"] == f"Bearer {KEY}"


def test_wrong_shape_is_asked_again_with_the_error() -> None:
    answers = [said("Yes, it is."), said('{"reasoning": "x", "passed": "yes", "share": 2}'), said(GOOD)]
    with Served(in_turn(answers)) as served:
        asked = model(served)
        assert asked.ask(QUESTION).data.passed
        asked.close()
    last = bodies(served)[-1]["messages"]
    assert [message["role"] for message in last] == ["system", "user", "assistant", "user", "assistant", "user"]
    assert "there is no JSON object in it" in last[3]["content"]
    assert "passed: Input should be a valid boolean" in last[5]["content"]
    assert "share: Input should be less than or equal to 1" in last[5]["content"]


@pytest.mark.parametrize(
    ("message", "told"),
    [
        (said("I would rather not."), "there is no JSON object in it; it said 'I would rather not.'"),
        (said(None, refusal="I can't judge."), 'refused to answer in 3 attempts: it said "I can\'t judge."'),
        (said(None), "gave an empty answer in 3 attempts; it said nothing"),
        (said(""), "gave an empty answer in 3 attempts; it said nothing"),
        (said('{"reasoning": "on and on', finish="length"), "was cut off at its limit of tokens in 3 attempts"),
        (said(None, finish="length"), "was cut off at its limit of tokens in 3 attempts; it said nothing"),
        (said('{"passed": true}'), "reasoning: Field required"),
        (said('{"reasoning": "cut off in the mid'), "there is no JSON object in it"),
        (said("{" * 100_000), "there is no JSON object in it"),
        (said('{"a":' * 50_000), "there is no JSON object in it"),
    ],
)
def test_wrong_shape_is_a_bad_answer_after_two_repairs(message: Answered, told: str) -> None:
    with Served(lambda asked: message) as served:
        asked = model(served)
        with pytest.raises(BadAnswer) as bad:
            asked.ask(QUESTION)
        asked.close()
    assert told in str(bad.value)
    assert "in 3 attempts" in str(bad.value)
    assert len(served.asked) == MAX_REPAIRS + 1


@pytest.mark.parametrize(
    ("knows", "forms"),
    [
        ("json_schema", ["json_schema", "json_schema"]),
        ("json_object", ["json_schema", "json_object", "json_object"]),
        ("nothing", ["json_schema", "json_object", None, None]),
    ],
)
@pytest.mark.parametrize("status", [400, 422])
def test_endpoint_without_schema_support_gets_the_next_format_from_then_on(
    knows: str, forms: list[str | None], status: int
) -> None:
    def answer(asked: Asked) -> Answered:
        form = json.loads(asked.body).get("response_format", {}).get("type")
        return said(GOOD) if form in (knows, None) else refused(status, f"unknown response_format {form}")

    with Served(answer) as served:
        asked = model(served)
        assert asked.ask(QUESTION).data.passed
        assert asked.ask(QUESTION).data.passed
        asked.close()
    assert [body.get("response_format", {}).get("type") for body in bodies(served)] == forms


def test_request_declined_for_another_reason_is_an_error() -> None:
    with Served(lambda asked: refused(400, "the context is too long")) as served:
        asked = model(served)
        with pytest.raises(RequestDeclined, match="status 400: the context is too long"):
            asked.ask(QUESTION)
        asked.close()
    assert len(served.asked) == 3


def test_busy_endpoint_is_retried() -> None:
    answers = [refused(429, "slow down", **{"Retry-After": "0"}), refused(503, "overloaded"), None, said(GOOD)]
    with Served(in_turn(answers)) as served:
        asked = model(served)
        assert asked.ask(QUESTION).data.passed
        asked.close()
    assert len(served.asked) == 4


def test_outage_error_does_not_contain_the_key() -> None:
    with Served(lambda asked: refused(500, f"cannot serve {KEY}")) as served:
        asked = model(served)
        with pytest.raises(ModelOutage) as outage:
            asked.ask(QUESTION)
        asked.close()
    assert "status 500: cannot serve [key], in 4 attempts" in str(outage.value)


def test_timeout_is_an_outage() -> None:
    over = threading.Event()

    def answer(asked: Asked) -> Answered:
        over.wait(20)
        return said(GOOD)

    with Served(answer) as served:
        asked = model(served, answer_timeout=0.05)
        with pytest.raises(
            ModelOutage, match=r"no answer in time \(0.05 seconds; --model-timeout allows more\), in 4 attempts"
        ):
            asked.ask(QUESTION)
        over.set()
        asked.close()


def test_keys_named_like_schema_keywords_are_kept() -> None:
    class Part(BaseModel):
        """For who reads the code."""

        title: Annotated[str, Field(description="for the model")]
        default: int = 3

    class Whole(BaseModel):
        parts: list[Part]

    schema = Question("?", Whole).schema
    part = schema["$defs"]["Part"]
    title = {"type": "string", "description": "for the model"}
    assert part["properties"] == {"title": title, "default": {"type": "integer"}}
    assert "description" not in part
    assert (part["required"], part["additionalProperties"]) == (["title", "default"], False)
    assert schema["required"] == ["parts"]


def test_rejected_key_fails_at_once_and_is_not_shown() -> None:
    with Served(lambda asked: refused(401, f"bad key {KEY}")) as served:
        asked = model(served)
        with pytest.raises(RequestDeclined) as declined:
            asked.ask(QUESTION)
        asked.close()
    assert "bad key [key]" in str(declined.value)
    assert KEY not in str(declined.value)
    assert len(served.asked) == 1


def test_model_can_be_asked_from_a_running_loop_and_many_threads() -> None:
    together = threading.Barrier(3)

    def answer(asked: Asked) -> Answered:
        together.wait(20)
        return said(GOOD)

    with Served(answer) as served:
        asked = model(served, at_once=3)

        async def inside() -> bool:
            return asked.ask(QUESTION).data.passed  # as grading does it: in a worker's coroutine

        found: list[bool] = []
        threads = [threading.Thread(target=lambda: found.append(asyncio.run(inside()))) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        asked.close()
    assert found == [True] * 6


def test_concurrent_requests_are_limited() -> None:
    gate, pair, under_way, most = threading.Lock(), threading.Barrier(2), 0, 0

    def answer(asked: Asked) -> Answered:
        nonlocal under_way, most
        with gate:
            under_way += 1
            most = max(most, under_way)
        pair.wait(20)
        with gate:
            under_way -= 1
        return said(GOOD)

    with Served(answer) as served:
        asked = model(served, at_once=2)
        threads = [threading.Thread(target=asked.ask, args=(QUESTION,)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        asked.close()
    assert most == 2


def test_texts_become_vectors_in_their_order() -> None:
    def answer(asked: Asked) -> Answered:
        texts = json.loads(asked.body)["input"]
        items = [{"index": place, "embedding": [float(len(text)), 1]} for place, text in enumerate(texts)]
        return 200, {}, json.dumps({"data": items[::-1]}).encode()

    with Served(answer) as served:
        asked = model(served)
        assert asked.embed(["a", "bcd"]) == [[1.0, 1.0], [3.0, 1.0]]
        asked.close()
    assert served.asked[0].path == "/v1/embeddings"
    assert bodies(served)[0]["model"] == "some-vectors"


@pytest.mark.parametrize(
    "data", [b"{}", b'{"data": []}', b'{"data": [{"index": 0, "embedding": ["x"]}, {"index": 1, "embedding": [1]}]}']
)
def test_invalid_vectors_are_an_outage(data: bytes) -> None:
    with Served(lambda asked: (200, {}, data)) as served:
        asked = model(served)
        with pytest.raises(ModelOutage, match="does not have one vector per text"):
            asked.embed(["a", "b"])
        asked.close()


def test_closing_cancels_open_questions() -> None:
    asking, failed = threading.Event(), threading.Event()

    def answer(asked: Asked) -> Answered:
        asking.set()
        failed.wait(20)
        return said(GOOD)

    with Served(answer) as served:
        asked = model(served)

        def ask() -> None:
            with pytest.raises(ModelOutage, match="was cancelled"):
                asked.ask(QUESTION)
            failed.set()

        thread = threading.Thread(target=ask)
        thread.start()
        assert asking.wait(20)
        asked.close()
        thread.join(20)
        assert failed.is_set()
        with pytest.raises(ModelOutage, match="was cancelled"):
            asked.ask(QUESTION)


def test_unused_model_can_be_closed() -> None:
    with Served(lambda asked: said(GOOD)) as served:
        asked = model(served)
        asked.close()
        asked.close()
    assert served.asked == []


def test_complete_object_in_a_truncated_answer_is_used() -> None:
    with Served(lambda asked: said(f"{GOOD}\n\nAnd besides", finish="length")) as served:
        asked = model(served)
        assert asked.ask(QUESTION).data.passed
        asked.close()


def test_truncated_answer_is_asked_again_briefly() -> None:
    with Served(in_turn([said('{"reasoning": "on', finish="length"), said(GOOD)])) as served:
        asked = model(served)
        assert asked.ask(QUESTION).data.passed
        asked.close()
    assert "it was cut off before its end" in bodies(served)[1]["messages"][-1]["content"]


FILTERED = json.dumps({"error": {"message": "the prompt is against our policy", "code": "content_filter"}}).encode()


@pytest.mark.parametrize(
    ("answer", "told", "calls"),
    [
        (said("", finish="content_filter"), "the endpoint's content filter withheld the answer", 1),
        ((400, {}, FILTERED), "the endpoint's content filter rejected the question", 0),
    ],
)
def test_content_filter_is_not_retried(answer: Answered, told: str, calls: int) -> None:
    with Served(lambda asked: answer) as served:
        asked = model(served)
        with pytest.raises(BadAnswer, match=told) as bad:
            asked.ask(QUESTION)
        asked.close()
    assert (len(served.asked), bad.value.usage.calls) == (1, calls)


def test_too_long_question_is_not_repeated_in_other_formats() -> None:
    data = json.dumps({"error": {"message": "too long", "code": "context_length_exceeded"}}).encode()
    with Served(lambda asked: (400, {}, data)) as served:
        asked = model(served)
        with pytest.raises(RequestDeclined, match="status 400: too long"):
            asked.ask(QUESTION)
        asked.close()
    formats = [body["response_format"]["type"] for body in bodies(served)]
    assert formats == ["json_schema"] * 2  # with the default limit of tokens, and without


def used(prompt: int, completion: int, **more: Any) -> dict[str, Any]:
    """Return the usage part of an answer."""
    return {"prompt_tokens": prompt, "completion_tokens": completion, **more}


PRICES = Prices(input=2.0, output=10.0, cached_input=0.5)


@pytest.mark.parametrize(
    ("usage", "prices", "cost"),
    [
        (used(1000, 100), None, None),
        (used(1000, 100), PRICES, 0.003),
        (used(1000, 100, prompt_tokens_details={"cached_tokens": 600}), PRICES, 0.0021),
        (used(1000, 100, prompt_tokens_details={"cached_tokens": 600}), Prices(input=2.0, output=10.0), 0.003),
        (used(1000, 100, prompt_tokens_details=None), PRICES, 0.003),
        (used(1000, 100, cost=0.0123), PRICES, 0.0123),
        (used(1000, 100, cost=0), None, 0),
        (used(1000, 100, cost="much"), None, None),
        ({}, PRICES, None),
    ],
)
def test_cost_is_reported_or_computed_from_prices_or_unknown(
    usage: dict[str, Any], prices: Prices | None, cost: float | None
) -> None:
    with Served(lambda asked: said(GOOD, usage=usage)) as served:
        asked = model(served, prices=prices)
        found = asked.ask(QUESTION).usage
        asked.close()
    assert found.cost == (pytest.approx(cost) if cost is not None else None)
    assert (found.calls, found.prompt_tokens) == (1, usage.get("prompt_tokens", 0))


def test_usage_counts_repairs_and_bad_answers_but_not_failed_requests() -> None:
    answers = [said("what?"), refused(500, "broken"), said("who?"), said("why?")]
    with Served(in_turn(answers)) as served:
        asked = model(served, prices=PRICES)
        with pytest.raises(BadAnswer) as bad:
            asked.ask(QUESTION)
        asked.close()
    assert bad.value.usage.model_dump() == {
        "calls": 3,
        "prompt_tokens": 21,
        "completion_tokens": 9,
        "cost": pytest.approx((21 * 2 + 9 * 10) / 1e6),
        "retries": {"invalid answer": 2, "server error": 1},
    }


def test_usage_before_an_outage_is_counted() -> None:
    first = iter([said("what?")])
    tally = UsageCounter()
    with Served(lambda asked: next(first, None)) as served:
        asked = model(served, prices=PRICES)
        with pytest.raises(ModelOutage):
            TrialModel(asked, "judge", 1, tally).ask(QUESTION)
        asked.close()
    assert tally.used()["judge"].calls == 1


def test_usage_of_embeddings_is_counted() -> None:
    data = {"data": [{"index": 0, "embedding": [1.0]}], "usage": {"prompt_tokens": 5, "total_tokens": 5}}
    tally = UsageCounter()
    with Served(lambda asked: (200, {}, json.dumps(data).encode())) as served:
        asked = model(served, prices=PRICES)
        assert TrialModel(asked, "judge", 1, tally).embed(["a"]) == [[1.0]]
        asked.close()
    assert tally.used()["judge"] == Usage(calls=1, prompt_tokens=5, cost=0.00001)


def test_short_placeholder_key_is_not_redacted() -> None:
    with Served(lambda asked: said('{"reasoning": "it comes on Friday", "passed": true}')) as served:
        asked = model(served, key="comes")
        assert asked.ask(QUESTION).data.reasoning == "it comes on Friday"
        asked.close()


def test_rejected_schema_of_one_shape_does_not_affect_others() -> None:
    class Other(BaseModel):
        odd: str

    def answer(asked: Asked) -> Answered:
        form = json.loads(asked.body).get("response_format", {})
        if form.get("json_schema", {}).get("name") == "Other":
            return refused(400, "that schema is not permitted")
        return said('{"odd": "x", "reasoning": "so", "passed": true}')

    with Served(answer) as served:
        asked = model(served)
        asked.ask(Question("?", Other, "", "other"))
        asked.ask(QUESTION)
        asked.close()
    assert bodies(served)[-1]["response_format"]["type"] == "json_schema"
