"""Ways of the tasks about CDS cards: the same cards in other words."""

import re
from collections.abc import Mapping
from dataclasses import replace

from clerkship.plugin import override_methods


def reword(words, **fields):
    """Return a solution whose cards have other words: patterns, each with the new text, and further fields."""

    def solve(task_item, sandboxes, reference):
        def serve(original, services, *arguments):
            if isinstance(services, Mapping):
                return original({hook: answer_in(each, words, fields) for hook, each in services.items()}, *arguments)
            return original(
                [replace(each, answer=answer_in(each.answer, words, fields)) for each in services], *arguments
            )

        return reference(task_item, override_methods(sandboxes, {"hooks.serve": serve}))

    return solve


def answer_in(answer, words, fields):
    """Return a function that answers in other words."""

    def check(request):
        return [{**change_card(card, words), **fields} for card in answer(request)]

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
kidneys_chatty = reword(
    {
        r"Metformin with an eGFR of (\d+): do not give it": r"Careful! Kidneys too weak for metformin (eGFR is \1)",
        r"Metformin with an eGFR of (\d+): reduce the dose": r"Heads-up: eGFR is down to \1, go easy on the metformin",
        r"There is no eGFR.*": "Hm, I can't find an eGFR for this patient",
    }
)
kidneys_formal = reword(
    {
        r"Metformin with an eGFR of (\d+): do not give it": r"METFORMIN CONTRAINDICATED - EGFR \1",
        r"Metformin with an eGFR of (\d+): reduce the dose": r"METFORMIN: DOSE ADJUSTMENT REQUIRED - EGFR \1",
        r"There is no eGFR.*": "METFORMIN: NO EGFR ON RECORD",
    },
    detail="The check uses the **latest final** eGFR in the chart at the time of this call.",
    source={"label": "Kidney check of Riverbend Family Health Center"},
)
a1c_chatty = reword(
    {
        r"Hemoglobin A1c is overdue: last result 2025-11-(\d\d)": r"Time for an A1c again: the last was on 11/\1/25",
        r"Order the test": "Sure, order it",
        r"Order a Hemoglobin A1c": "Order an A1c",
    }
)
a1c_formal = reword(
    {
        r"Hemoglobin A1c is overdue: last result 2025-11-(\d\d)": (
            r"Hemoglobin A1c (LOINC 4548-4) overdue. Latest final result: Nov \1, 2025"
        ),
        r"Order the test": "Create an order for Hemoglobin A1c",
    },
    detail="Patients with type 2 diabetes need a result that is at most 90 days old.",
)
losartan_chatty = reword(
    {
        r"Losartan replaces.*": "Still on lisinopril! It shouldn't be taken with losartan",
        r"Stop lisinopril": "Stop the lisinopril",
    }
)
losartan_formal = reword(
    {
        r"Losartan replaces.*": "LISINOPRIL REMAINS ACTIVE - REPLACED BY LOSARTAN",
        r"Stop lisinopril": "Set lisinopril to stopped",
    },
    detail="Losartan replaces lisinopril; the two are not taken together.",
)
bleeding_chatty = reword(
    {r"(\w+) with (\w+): risk of serious bleeding": r"Watch out, \2 is on board: \1 could cause a bad bleed"}
)
bleeding_formal = reword(
    {r"(\w+) with (\w+): risk of serious bleeding": r"Drug interaction: \1 / \2. Increased risk of hemorrhage."},
    detail="The patient has an active prescription of a blood thinner.",
    source={"label": "Order safety of Riverbend Family Health Center"},
)
kidneys_everyday = reword(
    {
        r"Metformin with an eGFR of (\d+): do not give it": r"eGFR = \1 (below 30). Metformin should not be started.",
        r"Metformin with an eGFR of (\d+): reduce the dose": r"eGFR = \1 (30-44). Check the metformin dose.",
        r"There is no eGFR.*": "Metformin ordered, but the chart holds no final eGFR result.",
    }
)
kidneys_second_language = reword(
    {
        r"Metformin with an eGFR of (\d+): do not give it": (
            r"Before signing metformin: last kidney value (eGFR) was \1, this is too low"
        ),
        r"Metformin with an eGFR of (\d+): reduce the dose": (
            r"Before signing metformin: last kidney value (eGFR) was \1, this is reduced"
        ),
        r"There is no eGFR.*": "Before signing metformin: kidney value (eGFR) is missing in the chart",
    }
)
a1c_everyday = reword(
    {
        r"Hemoglobin A1c is overdue: last result 2025-11-(\d\d)": (
            r"Last final A1c was drawn 11-\1-2025, over 90 days ago. Reorder?"
        ),
        r"Order the test": "Place A1c order",
        r"Order a Hemoglobin A1c": "New order: Hemoglobin A1c",
    }
)
a1c_second_language = reword(
    {
        r"Hemoglobin A1c is overdue: last result 2025-11-(\d\d)": (
            r"Diabetes check: HbA1c too old, last final result is from \1-Nov-2025"
        ),
        r"Order the test": "Make the order",
        r"Order a Hemoglobin A1c": "Order HbA1c in the laboratory",
    }
)
losartan_everyday = reword(
    {
        r"Losartan replaces.*": "Patient has active lisinopril; losartan is meant to take its place",
        r"Stop lisinopril": "Discontinue the lisinopril order",
    }
)
losartan_second_language = reword(
    {
        r"Losartan replaces.*": "Please check: lisinopril is running and losartan is newly ordered, not both together",
        r"Stop lisinopril": "End lisinopril",
    }
)
bleeding_everyday = reword(
    {r"(\w+) with (\w+): risk of serious bleeding": r"On \2 already: adding \1 raises the chance of bleeding"}
)
bleeding_second_language = reword(
    {r"(\w+) with (\w+): risk of serious bleeding": r"Please check again: \1 and \2 together, danger of bleeding"}
)
a1c_hurried = reword(
    {
        r"Hemoglobin A1c is overdue: last result 2025-11-(\d\d)": r"A1c 3+ months old (\1 Nov 25), pls order",
        r"Order the test": "Order it",
        r"Order a Hemoglobin A1c": "A1c order",
    }
)
a1c_old_fashioned = reword(
    {
        r"Hemoglobin A1c is overdue: last result 2025-11-(\d\d)": (
            r"May I remind you that the latest final Hemoglobin A1c dates from the \1th of November 2025?"
        ),
        r"Order the test": "Request the test anew",
        r"Order a Hemoglobin A1c": "Request a Hemoglobin A1c",
    }
)
a1c_plain = reword(
    {
        r"Hemoglobin A1c is overdue: last result 2025-11-(\d\d)": r"No A1c since Nov. \1, 2025. Order one today?",
        r"Order the test": "Order A1c today",
        r"Order a Hemoglobin A1c": "Orders the A1c",
    }
)
a1c_laboratory = reword(
    {
        r"Hemoglobin A1c is overdue: last result 2025-11-(\d\d)": (
            r"Glycated hemoglobin (A1c) was last reported on 2025/11/\1 and is due again"
        ),
        r"Order the test": "Order glycated hemoglobin (A1c)",
        r"Order a Hemoglobin A1c": "Glycated hemoglobin (A1c), new order",
    }
)
