"""Cassettes: byte format, keys, errors, and concurrent use."""

import json
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from clerkship.llm.contract import BadAnswer, EarlierMessage, ModelAnswer, Question
from clerkship.llm.prompts import section
from clerkship.model.errors import InputError
from clerkship.model.model_choice import ModelChoice
from clerkship.model.redaction import build_redactor
from clerkship.model.run_options import RecordingMode
from clerkship.model.usage import Usage
from clerkship.recording.cassette import (
    Cassette,
    cassette_path,
    pack_vector,
    remove_fence_codes,
    split_prompt,
    unpack_vector,
)
from clerkship.recording.recorded_model import RecordedModel
from clerkship.recording.session import CassetteRedactor, NotRecorded, RecordingReport, RecordingSession

T = TypeVar("T", bound=BaseModel)
TASK = "Late order"


class Word(BaseModel):
    word: str
    also: dict[str, int] = Field(default={}, alias="Also")


class Counting:
    """A model that answers with the number of the question."""

    name = "counting"

    def __init__(self) -> None:
        self.asked = 0
        self.may = threading.Event()
        self.may.set()

    def ask(self, question: Question[T]) -> ModelAnswer[T]:
        """Return the next number."""
        self.asked += 1
        self.may.wait(10)
        if "nonsense" in question.prompt:
            raise BadAnswer("that is no word", Usage(calls=1))
        data = question.shape.model_validate({"word": f"{self.asked} {question.prompt}", "Also": {"b": 1, "a": 2}})
        return ModelAnswer(data, self.name, Usage(calls=1, prompt_tokens=3))

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return one number for each text."""
        self.asked += 1
        return [[len(text) / 3, -0.1] for text in texts]

    def close(self) -> None: ...


class Desk:
    """Records and replays with one cassette."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.model = folder, Counting()

    @property
    def path(self) -> Path:
        """The path of the cassette."""
        return cassette_path(self.folder / "late.yml")

    def session(self, mode: RecordingMode) -> RecordingSession:
        """Open the cassette."""
        session = RecordingSession(
            mode, {TASK: self.path}, {"judge": ModelChoice(who="m", parameters={"t": 0}, embeddings="v")}
        )
        session.roles = {TASK: ["judge"]}
        return session

    def recorded(self, session: RecordingSession, trial: int = 1) -> RecordedModel:
        """Return the model behind the cassette."""
        return RecordedModel(session, self.model, "judge", (TASK, trial))

    def record(self, *questions: Question[Any]) -> None:
        """Ask and record."""
        session = self.session("record")
        for question in questions:
            self.recorded(session).ask(question)
        assert finished(session, whole=False).failed == ""

    def lines(self) -> list[dict[str, Any]]:
        """Return the lines of the cassette."""
        return [json.loads(line) for line in self.path.read_text(encoding="utf-8").splitlines()]


def finished(session: RecordingSession, *, whole: bool = True) -> RecordingReport:
    """End a recording."""
    report = session.finish(whole=whole)
    assert report is not None
    return report


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """Return an empty folder."""
    return Desk(tmp_path)


def test_recorded_answer_is_replayed_unchanged(desk: Desk) -> None:
    question = Question(
        "hello", Word, "orders", "greeting", (EarlierMessage("user", "a"), EarlierMessage("assistant", "b"))
    )
    desk.record(question)
    found = desk.recorded(desk.session("replay")).ask(question)
    assert (found.data.word, found.data.also) == ("1 hello", {"a": 2, "b": 1})
    assert (found.model, found.usage) == ("counting", Usage(calls=1, prompt_tokens=3))
    assert desk.model.asked == 1


@pytest.mark.parametrize(
    "other",
    [
        Question("hello!", Word),
        Question("hello", Word, "orders"),
        Question("hello", Word, talk=(EarlierMessage("user", "a"),)),
        Question("hello", Word, sample="vote 2"),
        Question("hello", Usage),
    ],
)
def test_any_difference_is_another_question(desk: Desk, other: Question[Any]) -> None:
    desk.record(Question("hello", Word))
    with pytest.raises(NotRecorded, match="not recorded: a question of judge"):
        desk.recorded(desk.session("replay")).ask(other)


def test_parameters_and_the_model_are_part_of_the_question(desk: Desk) -> None:
    desk.record(Question("hello", Word))
    session = desk.session("replay")
    session.identities = {"judge": ModelChoice(who="m", parameters={"t": 1})}
    with pytest.raises(NotRecorded, match="not recorded: a question of judge, 'hello', in 'Late order', trial 1"):
        desk.recorded(session).ask(Question("hello", Word))
    told = session.error_of((TASK, 1))
    assert "differs in the model's parameters (recorded {'t': 0}, asked {'t': 1})" in told


def test_purpose_is_not_part_of_the_question(desk: Desk) -> None:
    desk.record(Question("hello", Word, about="one thing"))
    assert desk.recorded(desk.session("replay")).ask(Question("hello", Word, about="another")).data.word == "1 hello"


def test_recorded_vectors_are_replayed_exactly(desk: Desk) -> None:
    session = desk.session("record")
    first = desk.recorded(session).embed(["ab", "abcd"])
    assert desk.recorded(session, trial=2).embed(["ab", "abcd"]) == first
    assert desk.model.asked == 1
    session.finish(whole=True)
    replay = desk.session("replay")
    assert desk.recorded(replay, trial=3).embed(["ab", "abcd"]) == first == [[2 / 3, -0.1], [4 / 3, -0.1]]
    with pytest.raises(NotRecorded, match="vectors that judge asks for, of 'abc'"):
        desk.recorded(replay).embed(["abc"])


@given(st.lists(st.floats(allow_nan=False)))
def test_any_vector_survives_packing(vector: list[float]) -> None:
    assert unpack_vector(pack_vector(vector)) == vector


def test_bad_answer_is_recorded(desk: Desk) -> None:
    with pytest.raises(BadAnswer):
        desk.record(Question("nonsense", Word))
    session = desk.session("record")
    with pytest.raises(BadAnswer):
        desk.recorded(session).ask(Question("nonsense", Word))
    session.finish(whole=True)
    with pytest.raises(BadAnswer, match="that is no word") as caught:
        desk.recorded(desk.session("replay")).ask(Question("nonsense", Word))
    assert caught.value.usage == Usage(calls=1)


def test_concurrent_equal_questions_are_asked_once(desk: Desk) -> None:
    session, words = desk.session("record"), list[str]()
    desk.model.may.clear()
    threads = [
        threading.Thread(target=lambda: words.append(desk.recorded(session).ask(Question("hello", Word)).data.word))
        for _ in range(12)
    ]
    for thread in threads:
        thread.start()
    desk.model.may.set()
    for thread in threads:
        thread.join(10)
    assert words == ["1 hello"] * 12
    assert finished(session).written == 1


def test_concurrent_threads_lose_no_entries(desk: Desk) -> None:
    session = desk.session("record")

    def ask(trial: int) -> None:
        for number in range(20):
            desk.recorded(session, trial).ask(Question(f"question {number} of {trial}", Word, sample=f"trial {trial}"))
            if number % 7 == 0:
                session.save()

    threads = [threading.Thread(target=ask, args=(trial,)) for trial in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert finished(session).written == 160
    assert len(Cassette.load(desk.path).entries) == 160


def test_concurrent_processes_lose_no_entries(desk: Desk) -> None:
    one, other = desk.session("record"), desk.session("record")
    desk.recorded(one).ask(Question("hello", Word))
    desk.recorded(other).ask(Question("good morning", Word))
    assert finished(one, whole=False).failed == finished(other, whole=False).failed == ""
    assert len(Cassette.load(desk.path).entries) == 2
    desk.recorded(third := desk.session("refresh")).ask(Question("good night", Word))
    desk.path.write_text("damaged meanwhile\n")
    assert "is not written over what is there" in finished(third, whole=False).failed
    assert desk.path.read_text() == "damaged meanwhile\n"


def test_long_conversation_takes_one_line_per_turn(desk: Desk) -> None:
    talk: tuple[EarlierMessage, ...] = ()
    session = desk.session("record")
    for turn in range(60):
        desk.recorded(session).ask(Question("go on", Word, "You are a person.", talk=talk))
        talk += (
            EarlierMessage("user", f"the agent's {turn}th long reply " * 10),
            EarlierMessage("assistant", f"the person's {turn}th line"),
        )
    session.finish(whole=True)
    kinds = [line["kind"] for line in desk.lines()]
    assert (kinds.count("said"), kinds.count("exchange")) == (118, 60)
    assert desk.path.stat().st_size < 90_000  # all of it over and over would be a million


def test_questions_about_one_conversation_share_its_text() -> None:
    told = [f"Read this.\n{section('TALK', 'long ' * 50)}\n\nDecide on this criterion: {n}" for n in ("a", "b")]
    parts = [split_prompt(remove_fence_codes(text)) for text in told]
    assert ["".join(found) for found in parts] == [remove_fence_codes(text) for text in told]
    assert len({piece for found in parts for piece in found}) == 4
    assert split_prompt("") == [""]


def test_fence_codes_do_not_depend_on_redacted_text() -> None:
    one, other = (f"A\n{section('TALK', f'my code is {code}')}\nB" for code in ("PLUM-4471", "QUINCE-9"))
    hidden = {
        remove_fence_codes(CassetteRedactor({"CODE": code}).hide(text))
        for code, text in (("PLUM-4471", one), ("QUINCE-9", other))
    }
    assert hidden == {"A\n<<< TALK\nmy code is ${CODE}\nTALK >>>\nB"}


@given(
    st.lists(st.sampled_from(["$", "{", "}", "NAME", "${NAME}", "$${NAME}", "${OTHER}", "PLUM-4471", "é\n", "\0"])),
    st.sampled_from(["PLUM-4471", "NAME", 'a quoted "value"']),
)
def test_named_values_are_restored(words: list[str], value: str) -> None:
    by_name, text = CassetteRedactor({"NAME": value}), "".join(words)
    assert by_name.show(by_name.hide(text)) == text


@given(st.text(), st.text(alphabet=st.characters(codec="ascii", categories=["L", "N"]), min_size=8), st.text())
def test_redacted_values_are_not_in_the_file(before: str, value: str, after: str) -> None:
    hidden = CassetteRedactor({"X": value}).hide(f"{before}{value}{after}")
    assert value not in hidden.replace("${X}", "\n")


def test_quoted_values_are_redacted() -> None:
    secret = 'pass"word\nof mine'
    text = f"{json.dumps(secret)} and {json.dumps(json.dumps(secret))}"
    assert (
        CassetteRedactor({}, build_redactor({"A": secret}, label="[secret]")).hide(text)
        == '"[secret]" and "\\"[secret]\\""'
    )
    assert CassetteRedactor({}, build_redactor({"A": "\udcff not text \udcff"})).hide("a lone \ud800") == "a lone ?"


def damaged(desk: Desk, *, at: int, by: str) -> str:
    """Return the error for a cassette with a replaced line."""
    desk.record(Question("hello", Word, talk=(EarlierMessage("user", "a"),)))
    lines = desk.path.read_text(encoding="utf-8").splitlines()
    lines[at] = by.replace("LINE", lines[at])
    desk.path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    with pytest.raises(InputError) as caught:
        Cassette.load(desk.path)
    return str(caught.value)


@pytest.mark.parametrize(
    ("at", "by", "said"),
    [
        (0, '{"kind":"cassette","version":2}', ":1:1: it is of version 2, and this reads 1"),
        (0, "scenario:", ":1:1: it is no line of a cassette: Invalid JSON"),
        (0, '{"kind":"text","key":"a","text":"b"}', ":1:1: a cassette begins with one line that says its version"),
        (1, '{"kind":"cassette","version":1}', ":2:1: a cassette begins with one line"),
        (1, "", ":2:1: it is no line of a cassette: Invalid JSON"),
        (1, '{"kind":"song"}', ":2:1: it is no line of a cassette: Input tag 'song'"),
        (1, '{"kind":"text","key":"0","text":"hello"}', ":2:1: its key does not fit what it says"),
        (-1, '{"kind":"exchange","key":"0"}', "it is no line of a cassette: of: Field required"),
        (-1, "<<<<<<< HEAD", "it is the mark of a merge that was not finished"),
        (-1, "LINE\nLINE", "never"),
    ],
)
def test_damaged_cassette_error_has_file_and_line(desk: Desk, at: int, by: str, said: str) -> None:
    if said == "never":  # the same twice is what a merge may leave, and no harm
        desk.record(Question("hello", Word))
        text = desk.path.read_text(encoding="utf-8")
        desk.path.write_text(text + text.splitlines()[-1] + "\n", encoding="utf-8")
        assert len(Cassette.load(desk.path).entries) == 1
        return
    told = damaged(desk, at=at, by=by)
    assert told.startswith(str(desk.path))
    assert said in told


def test_answer_may_be_edited_but_not_its_question(desk: Desk) -> None:
    desk.record(Question("hello", Word))
    text = desk.path.read_text(encoding="utf-8")
    desk.path.write_text(text.replace("1 hello", "a better word"), encoding="utf-8")
    assert desk.recorded(desk.session("replay")).ask(Question("hello", Word)).data.word == "a better word"
    desk.path.write_text(text.replace('"sample":"', '"sample":"x').replace('"model":"m"', '"model":"n"'))
    with pytest.raises(InputError, match="its key does not fit"):
        Cassette.load(desk.path)


def test_missing_text_is_an_error(desk: Desk) -> None:
    desk.record(Question("hello", Word))
    lines = desk.path.read_text(encoding="utf-8").splitlines()
    desk.path.write_text("\n".join(line for line in lines if '"hello"' not in line) + "\n")
    with pytest.raises(InputError, match=r"a text of .* is missing"):
        Cassette.load(desk.path)


def test_empty_cassette_has_no_file(desk: Desk) -> None:
    desk.record(Question("hello", Word))
    session = desk.session("record")
    session.trial_completed((TASK, 1))
    assert finished(session).dropped == 1
    assert not desk.path.exists()
