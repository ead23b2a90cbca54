"""Which recorded response a request gets, without a run."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from clerkship.events.lifecycle import AgentStarted
from clerkship.model.environment import Environment
from clerkship.model.run_options import RecordingMode
from clerkship.playground.playground import Playground
from clerkship.recording.recorded_calls import AskedCall, CallRecording
from clerkship.recording.session import RecordingSession
from clerkship.simulators.fhir.events import ResourceRead, ResourcesSearched

OWNER = ("a task", 1)
PATIENT = "0b1c2d3e-1111-4222-8333-444455556666"
OTHER = "ffffffff-1111-4222-8333-444455556666"


class Recordings:
    """Opens recordings of one trial, one after another, in the same cassette."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "a.jsonl"

    def open(self, mode: RecordingMode, task_item: str = "") -> "Opened":
        return Opened(RecordingSession(mode, {OWNER[0]: self._path}), task_item)


class Opened:
    """The model calls of a trial while they are recorded or replayed."""

    def __init__(self, session: RecordingSession, task_item: str) -> None:
        now = datetime(2026, 3, 2, 9, tzinfo=UTC)
        self.playground = Playground(Environment(name="desk", simulators={}, now=now), {}, "desk")
        if task_item:
            self.log(AgentStarted(entry="on_task", task_item={"instruction": task_item}), "run")
        self.session, self.calls = session, CallRecording(session, OWNER, self.playground)

    def log(self, payload: Any, source: str = "ehr") -> None:
        self.playground.emit(source, payload, "agent")

    def ask(self, text: str, *, is_repeated: bool = False) -> AskedCall:
        body = {"messages": [{"role": "user", "content": text}]}
        return self.calls.begin(self.calls.ask("openai", "/chat/completions", body), is_repeated=is_repeated)

    def save(self, asked: AskedCall, response: str, status: int = 200) -> None:
        self.calls.save(asked, status, "application/json", {}, response.encode())

    def find(self, text: str) -> str | None:
        found = self.calls.find(asked := self.ask(text))
        if found is None:
            self.calls.miss(asked)
        return None if found is None else found.response


@pytest.fixture
def recordings(tmp_path: Path) -> Recordings:
    return Recordings(tmp_path)


def test_equal_requests_at_the_same_time_are_numbered_in_order_of_arrival(recordings: Recordings) -> None:
    recorded = recordings.open("record")
    first, second = recorded.ask("vote"), recorded.ask("vote")
    recorded.save(second, "yes")
    recorded.save(first, "no")
    recorded.session.save()
    replayed = recordings.open("replay")
    assert [replayed.find("vote") for _ in range(3)] == ["no", "yes", None]


def test_call_that_failed_leaves_its_number_to_the_next(recordings: Recordings) -> None:
    recorded = recordings.open("record")
    first, second = recorded.ask("vote"), recorded.ask("vote")
    recorded.save(first, "busy", status=429)
    recorded.save(second, "yes")
    recorded.save(recorded.ask("vote", is_repeated=True), "no")
    recorded.save(recorded.ask("vote"), "perhaps")
    recorded.session.save()
    replayed = recordings.open("replay")
    assert [replayed.find("vote") for _ in range(4)] == ["no", "yes", "perhaps", None]


@pytest.mark.parametrize("is_late", [False, True])
def test_repeated_call_replaces_a_response_that_the_client_did_not_get(recordings: Recordings, is_late: bool) -> None:
    recorded = recordings.open("record")
    lost = recorded.ask("vote")
    if not is_late:
        recorded.save(lost, "lost")
    again = recorded.ask("vote", is_repeated=True)
    if is_late:
        recorded.save(lost, "lost")
        recorded.calls.release(lost)
    recorded.save(again, "got")
    recorded.save(recorded.ask("vote"), "next")
    recorded.session.save()
    replayed = recordings.open("replay")
    assert [replayed.find("vote") for _ in range(3)] == ["got", "next", None]


def test_ids_that_the_run_shows_are_a_part_of_the_request(recordings: Recordings) -> None:
    recorded = recordings.open("record", f"See {PATIENT}.")
    for id in (PATIENT, OTHER):
        recorded.log(ResourceRead(type="Patient", id=id, version="1"))
        recorded.save(recorded.ask(f"Is {id} well?"), f"{id} is.")
    recorded.session.save()
    replayed = recordings.open("replay", f"See {PATIENT}.")
    replayed.log(ResourcesSearched(type="Patient", query="", total=1, found=(f"Patient/{OTHER}",)))
    assert replayed.find(f"Is {OTHER} well?") == f"{OTHER} is."
    assert replayed.find(f"Is {PATIENT} well?") == f"{PATIENT} is."
    third = "12121212-1111-4222-8333-444455556666"
    replayed.log(ResourceRead(type="Patient", id=third, version="1"))
    assert replayed.find(f"Is {third} well?") is None


def test_ids_that_the_agent_makes_up_are_not(recordings: Recordings) -> None:
    recorded = recordings.open("record")
    recorded.save(recorded.ask(f"Call {PATIENT}: what next?"), "nothing")
    recorded.session.save()
    assert recordings.open("replay").find(f"Call {OTHER}: what next?") == "nothing"


def test_trial_names_the_first_request_that_is_missing(recordings: Recordings) -> None:
    recorded = recordings.open("record")
    recorded.save(recorded.ask("How many?"), "42")
    recorded.session.save()
    replayed = recordings.open("replay")
    for question in ("How many boxes?", "a", "b", "c", "d"):
        assert replayed.find(question) is None
    assert '+    "content": "How many boxes?"' in replayed.session.error_of(OWNER)


def test_providers_whose_addresses_are_in_a_prompt_are_there_in_a_replay(recordings: Recordings) -> None:
    recorded = recordings.open("record")
    recorded.save(recorded.ask("Use http://[address]/models/[trial]/gemini."), "yes")
    recorded.session.save()
    assert recordings.open("replay").session.providers() == {"openai", "gemini"}
