"""Ways of the tasks about CDS cards: the same cards in other words."""

import re
from collections.abc import Mapping
from dataclasses import replace

from clerkship.plugin import override_methods


def reword(words):
    """Return a solution whose cards have other words: patterns, each with the new text."""

    def solve(task_item, sandboxes, reference):
        def serve(original, services, *arguments):
            if isinstance(services, Mapping):
                return original({hook: answer_in(each, words) for hook, each in services.items()}, *arguments)
            return original([replace(each, answer=answer_in(each.answer, words)) for each in services], *arguments)

        return reference(task_item, override_methods(sandboxes, {"hooks.serve": serve}))

    return solve


def answer_in(answer, words):
    """Return a function that answers in other words."""

    def check(request):
        return [change_card(card, words) for card in answer(request)]

    check.__doc__ = answer.__doc__
    return check


def change_card(card, words):
    """Return a card with other words in its summary, its suggestions and their actions."""
    suggestions = [
        {
            **each,
            "label": change_text(each["label"], words),
            "actions": [
                {**action, "description": change_text(action["description"], words)} for action in each["actions"]
            ],
        }
        for each in card.get("suggestions", ())
    ]
    more = {"suggestions": suggestions} if suggestions else {}
    return {**card, "summary": change_text(card["summary"], words), **more}


def change_text(text, words):
    for pattern, new in words.items():
        text = re.sub(pattern, new, text)
    return text


kidneys_terse = reword(
    {
        r"Metformin with an eGFR of (\d+): do not give it": r"eGFR \1, no metformin",
        r"Metformin with an eGFR of (\d+): reduce the dose": r"eGFR \1, lower metformin dose",
        r"There is no eGFR.*": "No eGFR on file",
    }
)
kidneys_polite = reword(
    {
        r"Metformin with an eGFR of (\d+): do not give it": (
            r"Kindly note: the latest eGFR is \1. Please do not give metformin. Thank you!"
        ),
        r"Metformin with an eGFR of (\d+): reduce the dose": (
            r"Kindly note: the latest eGFR is \1. Please consider a lower dose of metformin. Thank you!"
        ),
        r"There is no eGFR.*": "Kindly note: we have no eGFR yet. Would you please check it before metformin?",
    }
)
kidneys_regional = reword(
    {
        r"Metformin with an eGFR of (\d+): do not give it": (
            r"Renal function: eGFR \1 mL/min/1.73 m2, metformin contraindicated"
        ),
        r"Metformin with an eGFR of (\d+): reduce the dose": (
            r"Renal function: eGFR \1 mL/min/1.73 m2, metformin with caution"
        ),
        r"There is no eGFR.*": "Renal function unknown, no eGFR result available",
    }
)
a1c_terse = reword(
    {
        r"Hemoglobin A1c is overdue: last result 2025-11-(\d\d)": r"A1c due, last 11/\1/2025",
        r"Order the test": "Order",
        r"Order a Hemoglobin A1c": "Order A1c",
    }
)
a1c_polite = reword(
    {
        r"Hemoglobin A1c is overdue: last result 2025-11-(\d\d)": (
            r"A kind reminder: the last Hemoglobin A1c is of November \1, 2025. Would you like to order a new one?"
        ),
        r"Order the test": "Yes, please order the test",
    }
)
a1c_regional = reword(
    {
        r"Hemoglobin A1c is overdue: last result 2025-11-(\d\d)": r"HbA1c overdue, most recent result \1 November 2025",
        r"Order the test": "Request HbA1c",
        r"Order a Hemoglobin A1c": "Request a glycated haemoglobin (HbA1c)",
    }
)
losartan_terse = reword(
    {r"Losartan replaces.*": "Losartan ordered, lisinopril active", r"Stop lisinopril": "D/C lisinopril"}
)
losartan_polite = reword(
    {
        r"Losartan replaces.*": "Kindly note: lisinopril is still active, and losartan replaces it. Stop it?",
        r"Stop lisinopril": "Yes, please stop lisinopril",
    }
)
losartan_regional = reword(
    {
        r"Losartan replaces.*": "ARB (losartan) in place of an ACE inhibitor: lisinopril not yet discontinued",
        r"Stop lisinopril": "Discontinue lisinopril",
    }
)
bleeding_terse = reword({r"(\w+) with (\w+): risk of serious bleeding": r"\1 + \2: bleeding"})
bleeding_polite = reword(
    {
        r"(\w+) with (\w+): risk of serious bleeding": (
            r"Kindly note: the patient takes \2. Together with \1, serious bleeding is more likely. Thank you!"
        )
    }
)
bleeding_regional = reword(
    {r"(\w+) with (\w+): risk of serious bleeding": r"NSAID (\1) on top of an anticoagulant (\2): haemorrhage risk"}
)
