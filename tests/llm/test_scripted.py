"""Models with predefined answers."""

from pathlib import Path

import pytest
from pydantic import BaseModel

from clerkship.assertions.generative import cosine_similarity
from clerkship.engine.model_build import build_model
from clerkship.llm.contract import BadAnswer, Model, Question
from clerkship.model.errors import InputError
from clerkship.model.frozen import Flag
from clerkship.model.model_choice import ModelChoice
from clerkship.settings import Settings


class Verdict(BaseModel):
    passed: Flag


def scripted(folder: Path, text: str) -> Model:
    """Return a model with this script."""
    path = folder / "answers.yml"
    path.write_text(text, encoding="utf-8")
    found = build_model(ModelChoice(who=f"scripted:{path}"), Settings())
    assert found is not None
    return found


def test_first_matching_answer_is_used(tmp_path: Path) -> None:
    model = scripted(
        tmp_path,
        "- {about: other, answer: {passed: false}}\n"
        "- {contains: refund, matches: 'turn [0-9]', answer: {passed: true}}\n"
        "- {contains: refund, answer: {passed: false}}\n",
    )
    assert model.ask(Question("refund in turn 3", Verdict, about="criterion")).data.passed is True
    assert model.ask(Question("refund", Verdict, about="criterion")).data.passed is False
    assert model.ask(Question("refund in turn 3", Verdict, about="other")).data.passed is False


def test_missing_or_invalid_answer_is_a_bad_answer(tmp_path: Path) -> None:
    model = scripted(tmp_path, "answers: [{contains: refund, answer: {passed: 'yes'}}]")
    with pytest.raises(BadAnswer, match="no answer to a question about criterion: 'where is it"):
        model.ask(Question("where is it" + "?" * 500, Verdict, about="criterion"))
    with pytest.raises(BadAnswer, match="not of the right shape: passed: Input should be a valid boolean"):
        model.ask(Question("refund", Verdict))


def test_texts_with_the_same_words_have_similar_vectors(tmp_path: Path) -> None:
    same, alike, other, none = scripted(tmp_path, "[]").embed(
        ["Where is my order?", "my order, where is it", "Close the account", ""]
    )
    assert cosine_similarity(same, alike) > 0.8
    assert cosine_similarity(same, other) == 0
    assert cosine_similarity(same, none) == 0
    assert cosine_similarity(same, same) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("- {contain: x, answer: 1}", "answers.yml:1:4: 0.contain: unknown key `contain`"),
        ("- {contains: x}", "answer"),
        ("- {matches: '(', answer: 1}", "not a regular expression"),
        ("a: [", "not YAML"),
        ("answers: []\nanswers: []", "answers.yml:2:1"),
        ("answers: [1, 2]", "answers"),
    ],
)
def test_script_errors_have_file_and_line(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(InputError) as wrong:
        scripted(tmp_path, text)
    assert told in str(wrong.value)


@pytest.mark.parametrize(
    ("who", "told"),
    [
        ("scripted:nowhere.yml", "nowhere.yml: it is not a file"),
        ("scripted:.", "it is a folder"),
        ("opnai:gpt", "unknown model `opnai:gpt`; did you mean"),
        ("gpt-5", "unknown model `gpt-5`; write `openai:gpt-5`"),
        ("claude-opus-4-1", "unknown model `claude-opus-4-1`; write `anthropic:claude-opus-4-1`"),
        ("anthropic/claude-opus-4-1", "write `anthropic:claude-opus-4-1`"),
        ("llama3.1:8b", "write `ollama:llama3.1:8b`"),
        ("gemini-2.5-pro", "write `gemini:gemini-2.5-pro`"),
        ("grok-4", "write `openai:grok-4@https://host/v1`"),
        ("groq:m", "unknown model `groq:m`; write `groq:m@https://host/v1`, or use openai, azure"),
        ("http://gpu/v1", "unknown model `http://gpu/v1`; write the model too: `openai:MODEL@http://gpu/v1`"),
        ("scripted", "unknown model `scripted`; write `scripted:FILE`, with the path of a file of answers"),
        ("scripted:", "unknown model `scripted:`; write `scripted:FILE`, with the path of a file of answers"),
        ("clever", "unknown model `clever`; write provider:model, such as `openai:gpt-5`; providers: openai"),
        ("openai:", "model `openai:`: no model"),
        ("openai:gpt-5", "model `openai:gpt-5`: api.openai.com requires a key; set OPENAI_API_KEY"),
        ("openai:m@https://u:p@host/v1", "the model's address contains a password"),
    ],
)
def test_invalid_judge_is_rejected_before_the_run(who: str, told: str) -> None:
    with pytest.raises(InputError) as wrong:
        build_model(ModelChoice(who=who), Settings())
    assert told in str(wrong.value)


def test_none_is_a_valid_judge() -> None:
    assert build_model(ModelChoice(who="none"), Settings()) is None
