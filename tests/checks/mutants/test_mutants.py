"""Mutants: which mistakes are derived from a reference solution, which are caught, and which have no effect."""

from typing import Any

import pytest

from clerkship.checks.mutants.operators import MAX_MUTANTS, OPERATORS, Mutant, derive_mutants
from clerkship.checks.mutants.recording import Recording, SolutionCall, list_effects
from clerkship.checks.mutants.values import RecordValues, find_facts, remove_own_elements
from clerkship.model.errors import InputError
from clerkship.model.variant import WrongSolution
from clerkship.service.mutating import MutateRequest, MutationReport, mutate
from clerkship.settings import Settings
from tests.checks.attacks.test_strategies import CLINIC, talk, work
from tests.workbench import CATALOG, Workbench

SOLUTION = """
def on_task(task_item, sandboxes):
    ehr, drop = sandboxes["ehr"], sandboxes["drop"]
    [patient] = ehr.search("Patient", family="Silva")
    order = {"resourceType": "ServiceRequest", "status": "active", "intent": "order", "priority": "routine"}
    order |= {"code": {"text": "A chest x-ray"}, "subject": {"reference": f"Patient/{patient['id']}"}}
    ehr.create(order)
    drop.write("note.txt", f"The order of 1965-03-15 is placed for {patient['name'][0]['family']}.")
    drop.rename("inbox/note.txt", "archive/note.txt")
    return {"patient": patient["id"], "orders": 1}
"""
PLACED = "fhir_resource_state", {"resource_type": "ServiceRequest", "search": {"patient": "ana"}, "count": 1}
NOTED = "file_present", {"path": "note.txt"}
MOVED = "file_present", {"path": "archive/note.txt"}
ANSWERED = "answer_matches", {"expected": {"patient": "ana", "orders": 1}}
TALK = """
def on_turn(message, sandboxes):
    return "It is booked for 10:30." if "yes" in message.text else "Shall I book it for you?"
"""

POLITE_TALK = """
def on_start(start):
    return "Hello, what can I do for you?"

def on_turn(message):
    return ["It is booked for 10:30.", "Thank you, goodbye!"] if "yes" in message.text else "Shall I book it for you?"
"""


@pytest.fixture
def clinic(bench: Workbench) -> Workbench:
    bench.write("clinic.yml", CLINIC)
    return bench


def run(bench: Workbench, **options: Any) -> MutationReport:
    """Mutate the tasks of a folder."""
    return mutate(MutateRequest(path=bench.folder, **options), Settings(), CATALOG)


def outcomes(report: MutationReport) -> dict[str, str]:
    """Return the outcome of each mutant, by name."""
    return {result.variant.name: result.outcome for result in report.results}


def write_order(bench: Workbench, *checks: tuple[str, Any]) -> None:
    """Write the task with these criteria."""
    work(bench, *({name: value} for name, value in checks), solution=SOLUTION)


def test_mistakes_in_calls_and_in_the_answer_are_caught(clinic: Workbench) -> None:
    write_order(clinic, PLACED, NOTED, MOVED, ANSWERED)
    report = run(clinic, only=("drop", "repeat: ehr*", "entity: ehr.search*", "stop: before ehr*", "value: answer*"))
    assert outcomes(report) == {
        "drop: ehr.create #1": "caught",
        "drop: drop.write #1": "caught",
        "drop: drop.rename #1": "caught",
        "drop: answer": "caught",
        "repeat: ehr.create #1": "caught",
        "entity: ehr.search #1 Silva -> Lund": "caught",
        "stop: before ehr.create #1": "caught",
        "value: answer patient = other-ana": "caught",
        "value: answer orders = 2": "caught",
    }


def test_gaps_of_the_criteria_are_survivors_and_criteria_that_close_them_catch_the_mutants(clinic: Workbench) -> None:
    gaps = "value: drop.write #1 data: 1965-03-15 -> 1965-03-16", "late: ehr.create #1 after 10d"
    write_order(clinic, PLACED, NOTED, MOVED, ANSWERED)
    report = run(clinic, only=gaps)
    assert outcomes(report) == dict.fromkeys(gaps, "survived")
    assert (report.rate(), report.exit_code()) == (0.0, 1)
    written = "file_present", {"path": "note.txt", "text": "The order of 1965-03-15 is placed for Silva."}
    write_order(clinic, PLACED, written, MOVED, ANSWERED)
    report = run(clinic, only=gaps[:1])
    assert [result.caught_by for result in report.results] == [("c1",)]
    assert (report.rate(), report.exit_code()) == (1.0, 0)


def test_mutants_that_change_nothing_are_not_counted(clinic: Workbench) -> None:
    write_order(clinic, PLACED, NOTED, MOVED, ANSWERED)
    report = run(clinic, only=("repeat: drop.*",))
    assert outcomes(report) == {
        "repeat: drop.write #1": "no effect",  # the same file again
        "repeat: drop.rename #1": "no effect",  # refused: the file has been moved
    }
    assert (report.rate(), report.exit_code()) == (None, 2)


def test_when_and_under_which_number_a_message_is_sent_is_not_mutated() -> None:
    message = "ISA*00*          *00*          *ZZ*CLINIC01*ZZ*HUB*260302*0900*^*00501*000000031*0*T*:~"
    message += "GS*HS*CLINIC01*HUB*20260302*0900*1*X*005010~BHT*0022*13*B1*20260302*0900~DTP*291*D8*20260302~"
    assert {"260302", "0900", "000000031"} < set(find_facts(message, message))
    kept = find_facts(remove_own_elements(message), message)
    assert {"CLINIC01", "20260302"} < set(kept)  # who sends, and the day of the service
    assert not {"260302", "0900", "000000031"} & set(kept)
    assert remove_own_elements("Call 260302 at 0900") == "Call 260302 at 0900"


def test_the_seed_draws_the_mutants(clinic: Workbench) -> None:
    dial = SolutionCall("phone.dial", 1, {"to": "+15550100"}, is_complete=True, has_effect=True, has_reaction=True)
    texts = {"text": "Please come at 10:30, Ana.", "urgent": True, "count": 2}
    say = SolutionCall("phone.say", 1, texts, is_complete=True, has_effect=True)
    recording = Recording({"at": "10:30"}, [dial, say], answer={"said": "yes"})

    def derive(seed: str) -> list[Mutant]:
        return derive_mutants(recording, RecordValues([], {}), "A note.", seed)

    assert {mutant.kind for mutant in derive("1")} == set(OPERATORS) - {"entity"}
    assert "value: phone.say #1 text: 10:30 -> 10:31" in {mutant.variant.name for mutant in derive("1")}
    assert derive("1") == derive("1")
    assert [mutant.variant.name for mutant in derive("1")] != [mutant.variant.name for mutant in derive("2")]


def test_at_most_18_mutants_of_a_task_are_run_and_the_others_can_be_named(clinic: Workbench) -> None:
    write_order(clinic, PLACED)
    report = run(clinic)
    assert (len(report.results), report.left_out > 0) == (MAX_MUTANTS, True)
    with pytest.raises(InputError, match="no mutant `dorp: answer`"):
        run(clinic, only=("dorp: answer",))


def test_a_survivor_can_be_written_under_wrong(clinic: Workbench) -> None:
    write_order(clinic, PLACED, ANSWERED)
    [result] = run(clinic, only=("drop: drop.write #1",)).results
    assert result.outcome == "survived"
    data = result.variant.model_dump(mode="json", exclude_unset=True)
    wrong = WrongSolution.model_validate({**data, "fails": "c0"})
    assert wrong.changes == result.variant.changes


def test_replies_of_a_conversation_are_mutated(clinic: Workbench) -> None:
    talk(clinic, {"bot_uttered": {"text_matches": "10:30"}}, solution=TALK, lines=("Hello", "yes"))
    report = run(clinic, all=True)
    found = outcomes(report)
    assert found["drop: reply.say #2"] == "caught"
    assert found["value: reply.say #2 text = This is about something else."] == "caught"
    assert found["drop: reply.say #1"] == "survived"
    assert any(name.startswith("text: reply.say #2 text +") for name in found)


def test_greetings_and_goodbyes_that_are_left_out_and_what_is_said_twice_are_not_counted(clinic: Workbench) -> None:
    talk(clinic, {"bot_uttered": {"text_matches": "10:30"}}, solution=POLITE_TALK, lines=("Hello", "yes"))
    assert outcomes(run(clinic, only=("drop", "repeat"))) == {
        "drop: reply.say #1": "no effect",
        "drop: reply.say #2": "survived",
        "drop: reply.say #3": "caught",
        "drop: reply.say #4": "no effect",
        "repeat: reply.say #1": "no effect",
        "repeat: reply.say #2": "no effect",
        "repeat: reply.say #3": "no effect",
        "repeat: reply.say #4": "no effect",
    }


QUESTION_TALK = """
def on_turn(message, sandboxes):
    if message.text == "Hello":
        return "Which day suits you?"
    return "You are booked for 10:30."
"""


def test_a_question_is_not_counted_if_its_answer_comes_all_the_same(clinic: Workbench) -> None:
    talk(clinic, {"bot_uttered": {"text_matches": "booked"}}, solution=QUESTION_TALK, lines=("Hello", "Friday"))
    found = outcomes(run(clinic, all=True))
    assert found["value: reply.say #1 text = This is about something else."] == "no effect"
    assert found["value: reply.say #2 text: 10:30 -> 10:31"] == "survived"


def test_tasks_without_a_solution_that_passes_are_not_mutated(clinic: Workbench) -> None:
    work(clinic, {"file_present": {"path": "never.txt"}}, solution=SOLUTION)
    report = run(clinic)
    assert report.not_mutated == {"Work": "its solution does not pass"}
    assert (report.results, report.exit_code()) == ((), 2)


def test_a_mutant_that_waits_for_ever_is_ended(clinic: Workbench) -> None:
    solution = """
def on_task(task_item, sandboxes):
    drop = sandboxes["drop"]
    drop.write("flag.txt", "1")
    while "flag.txt" not in drop.list():
        sandboxes.wait("1m")
"""
    work(clinic, {"file_present": {"path": "flag.txt"}}, solution=solution)
    [result] = run(clinic, only=("drop: drop.write #1",)).results
    assert (result.outcome, result.caught_by) == ("caught", ("c0", "the agent failed"))
    assert "again and again" in result.reason


def test_an_entry_that_a_line_accepted_in_the_end_counts_and_not_those_before() -> None:
    def build_entry(value: str) -> dict[str, Any]:
        return {"kind": "voice.value.collected", "payload": {"node": "npi", "name": "npi", "value": value}}

    recording = Recording(records=[build_entry("9999900019")])
    assert recording.has_same_entries([build_entry("9999900027"), build_entry("9999900019")])
    assert not recording.has_same_entries([build_entry("9999900027")])


def test_a_fax_that_differs_only_in_the_time_at_the_top_is_the_same() -> None:
    def build_page(hash: str, time: str, word: str) -> dict[str, Any]:
        words = [[time, 48, 13, 130, 17, 0], [word, 48, 400, 90, 17, 1]]
        payload = {"hash": hash, "resolution": "fine", "true_words": {"words": words}}
        at = "2026-03-02T09:09:00-05:00"
        return {"kind": "fax.page.stored", "source": "fax", "actor": "agent", "at": at, "payload": payload}

    first = list_effects([build_page("aa", "09:09", "Records")], CATALOG.events)
    assert first == list_effects([build_page("bb", "09:10", "Records")], CATALOG.events)
    assert first != list_effects([build_page("aa", "09:09", "Reports")], CATALOG.events)
