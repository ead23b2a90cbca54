"""Realistic views of the pages of requests and drafts."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import date, datetime

from clerkship.simulators.portal.views import (
    AppealView,
    ChangeView,
    CodeRow,
    DraftListView,
    DraftRow,
    Fact,
    FieldChoice,
    FieldMistake,
    LetterRow,
    OutcomeView,
    Paging,
    QuestionField,
    ReplyView,
    RequestListView,
    RequestRow,
    RequestView,
    ServiceRow,
    View,
    WithdrawView,
)
from tests.simulators.portal.sample_drafts import (
    ACCEPTED,
    DEPENDENT,
    DOCUMENT_TYPES,
    DOCUMENTS,
    LONG_NAME,
    MEMBER,
    PLACES,
    SERVICES,
)

REQUESTS = [
    RequestRow(
        "R7K2-90418", "", "Rosalind Alvarez", "HL4471902", "Harborlight Health Plan", "72148 MRI lumbar spine",
        "need_more_info", "More information needed", datetime(2026, 3, 16, 14, 5), None, None, "Maya Okafor",
    ),
    RequestRow(
        "R3M8-11574", "", LONG_NAME, "VMA-0038812-02", "Valley Medical Assistance Program",
        "97110 Therapeutic exercise, 97140 Manual therapy, 97530 Therapeutic activities", "pending", "In review",
        datetime(2026, 3, 16, 9, 31), None, None, "Devon Achterberg-Whitfield",
    ),
    RequestRow(
        "R9T1-60277", "A26-440917", "Theodore Brandt", "CM2209518", "Cedar Mutual Insurance",
        "E0601 CPAP device", "approved", "Approved", datetime(2026, 3, 12, 11, 20), datetime(2026, 3, 13, 8, 2),
        date(2026, 9, 12), "Maya Okafor",
    ),
    RequestRow(
        "R5C4-73310", "A26-118264", "Imani Osei", "HL4470116", "Harborlight Health Plan", "97110 Therapeutic exercise",
        "modified", "Partly approved", datetime(2026, 3, 9, 15, 44), datetime(2026, 3, 11, 16, 30), date(2026, 6, 9),
        "Maya Okafor",
    ),
    RequestRow(
        "R1X6-28845", "", "Theodore Brandt", "CM2209518", "Cedar Mutual Insurance", "27447 Total knee arthroplasty",
        "denied", "Denied", datetime(2026, 2, 24, 10, 12), datetime(2026, 3, 2, 13, 47), None, "Maya Okafor",
    ),
    RequestRow(
        "R8B3-50092", "", "Rosalind Alvarez", "HL4471902", "Harborlight Health Plan", "70553 MRI brain",
        "cancelled", "Withdrawn", datetime(2026, 2, 18, 8, 55), datetime(2026, 2, 19, 9, 0), None, "Maya Okafor",
    ),
]  # fmt: skip
DRAFTS = [
    DraftRow(
        "D-58213", "Rosalind Alvarez", "72148 MRI lumbar spine", "Maya Okafor", datetime(2026, 3, 18, 9, 58),
        "Maya Okafor",
    ),
    DraftRow(
        "D-31407", LONG_NAME, "97110 Therapeutic exercise, 97140 Manual therapy", "Devon Achterberg-Whitfield",
        datetime(2026, 3, 17, 16, 21), "Devon Achterberg-Whitfield",
    ),
    DraftRow("D-77120", "", "", "Maya Okafor", datetime(2026, 3, 12, 12, 3), "Maya Okafor"),
]  # fmt: skip
LETTERS = [
    LetterRow(
        "L-20931", "More information is needed for your request", "Harborlight Health Plan", "Rosalind Alvarez",
        "R7K2-90418", datetime(2026, 3, 17, 7, 30), is_read=False,
    ),
    LetterRow(
        "L-20877", "Decision on your request: approved", "Cedar Mutual Insurance", "Theodore Brandt", "R9T1-60277",
        datetime(2026, 3, 13, 8, 2), is_read=False,
    ),
    LetterRow(
        "L-20714", "Decision on your request: denied", "Cedar Mutual Insurance", "Theodore Brandt", "R1X6-28845",
        datetime(2026, 3, 2, 13, 47), is_read=True,
    ),
    LetterRow(
        "L-20102", "Changes to the list of services that need an authorization from April 1, 2026",
        "Valley Medical Assistance Program", "", "", datetime(2026, 2, 20, 6, 0), is_read=True,
    ),
]  # fmt: skip


def build_request_pages() -> Iterator[tuple[str, View]]:
    """Yield the pages of requests and drafts."""
    listed = RequestListView(
        title="Authorization requests",
        rows=REQUESTS,
        paging=Paging(2, 5, 42, 11, 20, "status=&sort=requested"),
        statuses=[
            FieldChoice("", "Any status"),
            FieldChoice("pending", "In review"),
            FieldChoice("need_more_info", "More information needed"),
            FieldChoice("approved", "Approved"),
            FieldChoice("modified", "Partly approved"),
            FieldChoice("denied", "Denied"),
            FieldChoice("cancelled", "Withdrawn"),
        ],
        sorts=[
            FieldChoice("-requested", "Newest first"),
            FieldChoice("requested", "Oldest first"),
            FieldChoice("member", "Member name"),
            FieldChoice("status", "Status"),
        ],
        is_filtered=False,
        values={"sort": "-requested", "status": ""},
    )
    yield "request_list", listed
    yield "request_list-long", replace(listed, rows=(REQUESTS * 4)[:20], paging=Paging(7, 14, 271, 121, 140, ""))
    filtered = {"member_id": "HL4471902", "status": "denied", "requested_from": "03/01/2026", "sort": "-requested"}
    yield (
        "request_list-no-results",
        replace(listed, rows=[], paging=Paging(1, 1, 0, 0, 0, ""), is_filtered=True, values=filtered),
    )
    yield "request_list-empty", replace(listed, rows=[], paging=Paging(1, 1, 0, 0, 0, ""))
    yield (
        "request_list-problem",
        replace(
            listed,
            values={"requested_from": "yesterday"},
            is_filtered=True,
            problems=[FieldMistake("requested_from", "Enter the date as MM/DD/YYYY, such as 03/18/2026.")],
        ),
    )
    yield from _single_requests()
    yield from _request_actions()
    yield "draft_list", DraftListView(title="Drafts", rows=DRAFTS)
    yield "draft_list-empty", DraftListView(title="Drafts", rows=[])
    yield (
        "not_needed",
        OutcomeView(
            title="No authorization is needed",
            text="Harborlight Silver PPO does not need an authorization for these services. Nothing was filed.",
            services=[ServiceRow("99213", "Office visit, established patient", "", "1 visit", "", None, None)],
            draft="D-58213",
        ),
    )


def _single_requests() -> Iterator[tuple[str, View]]:
    request = RequestView(
        title="Request R7K2-90418",
        row=REQUESTS[0],
        member=MEMBER,
        facts=[
            Fact("Type of request", "Services"),
            Fact("Urgency", "Standard"),
            Fact("Place of service", "22 - On-campus outpatient hospital"),
            Fact("Requesting provider", "Anneke Verhoeven, NPI 9999900027"),
            Fact("Servicing provider", "Quarry Hill Imaging Associates, NPI 9999900134"),
            Fact("Contact", "Maya Okafor, (518) 555-0100"),
            Fact("Decision expected by", "03/23/2026"),
        ],
        diagnoses=[CodeRow("M54.16", "Radiculopathy, lumbar region"), CodeRow("M51.26", "Disc displacement, lumbar")],
        services=SERVICES[:1],
        answers=[
            Fact("How many weeks of conservative treatment were completed?", "7"),
            Fact("Is there a new neurological deficit?", "No"),
        ],
        documents=DOCUMENTS,
        reason="",
        text="Send the notes of physical therapy with their dates.",
        open_questions=["On which day did physical therapy begin?", "Send the notes of physical therapy."],
        appeals=[],
        letters=LETTERS[:1],
        actions=("reply", "change", "withdraw"),
    )
    yield "request", request
    pending = replace(REQUESTS[0], status="pending", status_label="In review")
    yield (
        "request-new",
        replace(
            request, row=pending, text="", open_questions=[], letters=[], actions=("change", "withdraw"), is_new=True
        ),
    )
    approved = replace(SERVICES[0], status="Approved", approved="1 unit")
    yield (
        "request-approved",
        replace(
            request,
            title="Request R9T1-60277",
            row=REQUESTS[2],
            services=[approved],
            text="",
            open_questions=[],
            letters=LETTERS[1:2],
            actions=("change", "withdraw"),
        ),
    )
    cut = replace(
        SERVICES[1],
        status="Partly approved",
        approved="6 visits",
        reason="The plan covers 6 visits before a new evaluation.",
    )
    yield (
        "request-modified",
        replace(
            request,
            title="Request R5C4-73310",
            row=REQUESTS[3],
            member=DEPENDENT,
            services=[cut, replace(SERVICES[2], status="Denied", reason="Not shown to be medically necessary.")],
            text="",
            open_questions=[],
            documents=[],
            letters=[],
            actions=("appeal",),
        ),
    )
    yield (
        "request-denied",
        replace(
            request,
            title="Request R1X6-28845",
            row=REQUESTS[4],
            services=[replace(SERVICES[0], status="Denied")],
            reason="Conservative treatment of at least 12 weeks is not documented.",
            text="You may appeal until 08/29/2026.",
            open_questions=[],
            answers=[],
            documents=[],
            appeals=[Fact("Appeal AP-77301, received 03/05/2026", "In review; decision expected by 04/04/2026")],
            letters=LETTERS[2:3],
            actions=("appeal",),
        ),
    )


def _request_actions() -> Iterator[tuple[str, View]]:
    reply = ReplyView(
        title="Reply to request R7K2-90418",
        row=REQUESTS[0],
        text="Send the notes of physical therapy with their dates.",
        questions=[
            QuestionField("therapy_start", "On which day did physical therapy begin?", "date", (), ""),
            QuestionField("therapy_kind", "Which therapy was it?", "choice", ("Land-based", "Aquatic"), "Aquatic"),
            QuestionField("notes", "Send the notes of physical therapy.", "attachment", (), "", "Visits since January"),
        ],
        documents=DOCUMENTS[:1],
        document_types=DOCUMENT_TYPES,
        accepted=ACCEPTED,
    )
    yield "reply", reply
    yield (
        "reply-problem",
        replace(
            reply,
            values={"answer_therapy_start": "in January", "note": 'Notes follow <today> & "tomorrow".'},
            documents=[],
            problems=[
                FieldMistake("answer_therapy_start", "Enter the date as MM/DD/YYYY, such as 03/18/2026."),
                FieldMistake("file", "notes.docx is not accepted. Send PDF, TIFF, PNG or JPEG files."),
            ],
        ),
    )
    change = ChangeView(
        title="Change request R3M8-11574",
        row=REQUESTS[1],
        services=SERVICES[1:],
        places=PLACES,
        values={
            "place": "11", "urgency": "standard", "units_1": "12", "start_1": "03/23/2026", "end_1": "05/01/2026",
            "units_2": "6", "start_2": "", "end_2": "",
        },
    )  # fmt: skip
    yield "change", change
    yield (
        "change-problem",
        replace(
            change,
            values={**change.values, "units_1": "many"},
            problems=[FieldMistake("units_1", "Enter a number of units from 1 to 9999.")],
        ),
    )
    yield "withdraw", WithdrawView(title="Withdraw request R7K2-90418", row=REQUESTS[0])
    yield (
        "withdraw-problem",
        WithdrawView(
            title="Withdraw request R7K2-90418",
            row=REQUESTS[0],
            problems=[FieldMistake("confirm", "Confirm that the request is to be withdrawn.")],
        ),
    )
    appeal = AppealView(
        title="Appeal request R1X6-28845",
        row=REQUESTS[4],
        denial="Conservative treatment of at least 12 weeks is not documented.",
        deadline=date(2026, 8, 29),
        document_types=DOCUMENT_TYPES,
        accepted=ACCEPTED,
    )
    yield "appeal", appeal
    problem = FieldMistake("reason", "Say why the decision is wrong: an appeal needs a reason.")
    yield "appeal-problem", replace(appeal, deadline=None, problems=[problem])
