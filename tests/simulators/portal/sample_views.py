"""Realistic views of every page of the payer portal, for the templates of both layouts."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import date, datetime
from typing import Any, NamedTuple

from clerkship.payer.policies.document import build_document
from clerkship.payer.policies.policy import Policy, VersionStatus
from clerkship.simulators.portal.pages.policies import PolicyListView, PolicyView
from clerkship.simulators.portal.policy_library import PolicyRow
from clerkship.simulators.portal.views import (
    AnnouncementRow,
    BenefitRow,
    ClaimListView,
    ClaimView,
    CodeRow,
    CodeView,
    DirectoryView,
    Fact,
    FieldChoice,
    FieldMistake,
    HomeView,
    HumanCheckView,
    InboxView,
    LetterView,
    MemberSearchView,
    MemberView,
    MessageView,
    NeedCheckView,
    PageFrame,
    PasswordView,
    ProfileView,
    SignInView,
    View,
)
from tests.payer.policy_samples import SPINE_POLICY
from tests.simulators.portal.sample_drafts import (
    DEPENDENT,
    LONG_NAME,
    MEMBER,
    PAYERS,
    PLANS,
    PROVIDERS,
    TERMINATED,
    build_one_page_drafts,
    build_wizard_drafts,
)
from tests.simulators.portal.sample_requests import DRAFTS, LETTERS, REQUESTS, build_request_pages

NOW = datetime(2026, 3, 18, 10, 42)
LONG_ORGANIZATION = "Millbrook Landing Center for Physical and Occupational Rehabilitation"
RIGHTS = ("eligibility", "authorizations", "claims")
MAINTENANCE = (
    "Planned maintenance on Saturday, March 21, from 9:00 PM to 11:30 PM. "
    "Requests cannot be submitted during this time."
)

_NPI_PROBLEM = FieldMistake("npi", "An NPI has ten digits. Check the number.")


class Sample(NamedTuple):
    """A page as a template gets it. The name is that of the page, with what is special about it after a dash."""

    name: str
    frame: PageFrame
    view: View


def build_samples(layout: str, version: int = 1) -> list[Sample]:
    """Return the sample pages of a layout; a single-payer site offers no choice of payers."""
    samples = _list_samples(layout, build_frame(layout, version))
    if layout == "wizard":
        return samples
    return [_with_one_payer(each) if hasattr(each.view, "payers") else each for each in samples]


def _with_one_payer(sample: Sample) -> Sample:
    problems = [each for each in sample.view.problems if each.field != "payer"]
    changes: dict[str, Any] = {"payers": PAYERS[1:2], "problems": problems}
    return sample._replace(view=replace(sample.view, **changes))


def _list_samples(layout: str, frame: PageFrame) -> list[Sample]:
    drafts = build_wizard_drafts() if layout == "wizard" else build_one_page_drafts()
    return [
        *(Sample(name, signed_out(frame), view) for name, view in _sign_in_pages()),
        Sample("sign_in-maintenance", replace(signed_out(frame), maintenance=MAINTENANCE), SignInView(title="Sign in")),
        Sample("message-signed-out", signed_out(frame), _build_message(*MESSAGES[-1])),
        *_home_pages(frame),
        *(Sample(name, replace(frame, current="eligibility"), view) for name, view in _member_pages()),
        *(Sample(name, replace(frame, current="authorizations"), view) for name, view in _need_pages()),
        *(Sample(name, replace(frame, current="authorizations"), view) for name, view in build_request_pages()),
        *(Sample(name, replace(frame, current="authorizations", **changes), view) for name, view, changes in drafts),
        *(Sample(name, replace(frame, current="claims"), view) for name, view in _claim_pages()),
        *(Sample(name, replace(frame, current=current), view) for name, current, view in _other_pages()),
    ]


def build_frame(layout: str, version: int = 1, **changes: Any) -> PageFrame:
    """Return the frame of a user who is signed in."""
    is_hub = layout == "wizard"
    frame = PageFrame(
        site_name="Lindenway" if is_hub else "Cedar Mutual for Providers",
        layout=layout,
        version=version,
        payer_name="" if is_hub else "Cedar Mutual Insurance",
        user_name="Maya Okafor",
        organization="Riverbend Family Health Center",
        rights=RIGHTS,
        unread=2,
        has_policies=True,
        now=NOW,
    )
    return replace(frame, **changes)


def signed_out(frame: PageFrame) -> PageFrame:
    """Return the frame of pages before signing in."""
    return replace(frame, user_name="", organization="", rights=(), unread=0)


def _sign_in_pages() -> Iterator[tuple[str, View]]:
    yield "sign_in", SignInView(title="Sign in")
    yield (
        "sign_in-problem",
        SignInView(
            title="Sign in",
            values={"username": "m.okafor"},
            problems=[FieldMistake("", "The user name or the password is wrong. Check both and try again.")],
        ),
    )
    yield (
        "sign_in-ended",
        SignInView(
            title="Sign in",
            notice="Your session ended because it was idle for 20 minutes. What was not saved is lost.",
            next="/drafts/D-58213/services",
        ),
    )
    yield "sign_in_code", CodeView(title="Enter your code", sent_to="the phone number that ends in 0140")
    yield (
        "sign_in_code-problem",
        CodeView(
            title="Enter your code",
            sent_to="the phone number that ends in 0140",
            values={"code": "48190"},
            problems=[FieldMistake("code", "The code is wrong. Enter the six digits of the newest message.")],
        ),
    )
    rules = ("at least 12 characters", "a letter and a digit", "not your user name", "not your last password")
    yield "password_expired", PasswordView(title="Choose a new password", rules=rules)
    yield (
        "password_expired-problem",
        PasswordView(
            title="Choose a new password",
            rules=rules,
            problems=[
                FieldMistake("new_password", "The password is too short: it needs at least 12 characters."),
                FieldMistake("repeat_password", "The two passwords differ. Type the same password twice."),
            ],
        ),
    )
    check = HumanCheckView(
        title="Verify that you are human",
        picture=(
            '<svg viewBox="0 0 240 80" width="240" height="80" role="img" aria-label="Distorted letters">'
            '<rect width="240" height="80" fill="#eceff4"/><path d="M4 60 C60 10 120 90 236 22" fill="none" '
            'stroke="#8a93a6" stroke-width="3"/>'
            '<text x="24" y="54" font-size="40" transform="rotate(-6 40 40)">K</text>'
            '<text x="78" y="50" font-size="38" transform="rotate(9 90 40)">7</text>'
            '<text x="128" y="56" font-size="42" '
            'transform="rotate(-11 140 40)">R</text><text x="184" y="50" font-size="36">w</text></svg>'
        ),
        contact="Provider services, (518) 555-0140, Monday to Friday, 8:00 AM to 6:00 PM",
    )
    yield "human_check", check
    problems = [
        FieldMistake("statement", "Confirm that you are a person."),
        FieldMistake("letters", "The letters do not match the picture."),
    ]
    yield "human_check-problem", replace(check, values={"letters": "K7RW"}, problems=problems)


def _home_pages(frame: PageFrame) -> Iterator[Sample]:
    home = HomeView(
        title="Home",
        announcements=[
            AnnouncementRow(
                datetime(2026, 3, 16, 8, 0),
                "From April 1, requests for advanced imaging of the spine need the dates of conservative treatment. "
                "Have the therapy notes ready before you begin.",
            ),
            AnnouncementRow(datetime(2026, 3, 2, 8, 0), "Letters are now kept in the inbox for 24 months."),
        ],
        counts=[
            ("pending", "In review", 4),
            ("need_more_info", "More information needed", 1),
            ("approved", "Approved", 17),
            ("modified", "Partly approved", 2),
            ("denied", "Denied", 1),
            ("cancelled", "Withdrawn", 0),
        ],
        recent=REQUESTS[:5],
        drafts=DRAFTS[:2],
    )
    at_home = replace(frame, current="home")
    yield Sample("home", at_home, home)
    yield Sample("home-maintenance", replace(at_home, maintenance=MAINTENANCE, notices=("You are signed in.",)), home)
    long_names = replace(at_home, user_name=LONG_NAME, organization=LONG_ORGANIZATION, unread=128)
    yield Sample("home-long-names", long_names, home)
    empty = replace(
        home, announcements=[], counts=[(key, label, 0) for key, label, _ in home.counts], recent=[], drafts=[]
    )
    yield Sample("home-empty", replace(at_home, unread=0), empty)
    yield Sample("home-eligibility-only", replace(at_home, rights=("eligibility",)), replace(empty, counts=[]))


def _member_pages() -> Iterator[tuple[str, View]]:
    search = MemberSearchView(title="Eligibility and benefits", payers=PAYERS, recent=[MEMBER, DEPENDENT, TERMINATED])
    typed = {
        "payer": "HL001",
        "member_id": "HL4471902",
        "birth_date": "07/14/1986",
        "family": "Alvarez",
        "given": "Rosalind",
    }
    yield "member_search", search
    yield "member_search-first", replace(search, recent=[])
    yield (
        "member_search-problem",
        replace(
            search,
            values={**typed, "payer": "", "birth_date": "1986-14-07"},
            problems=[
                FieldMistake("payer", "Choose a payer."),
                FieldMistake("birth_date", "Enter the birth date as MM/DD/YYYY, such as 03/18/1980."),
            ],
        ),
    )
    member = MemberView(
        title="Rosalind Alvarez",
        member=MEMBER,
        values={"service_date": "03/18/2026", "service_type": ""},
        service_types=[FieldChoice("", "All services"), FieldChoice("physical_therapy", "Physical therapy")],
        facts=[
            Fact("Deductible, individual", "$2,000.00; $640.00 remaining"),
            Fact("Deductible, family", "$4,000.00; $2,310.50 remaining"),
            Fact("Out-of-pocket maximum, individual", "$7,500.00; $5,128.00 remaining"),
            Fact("Out-of-pocket maximum, family", "$15,000.00; $12,040.00 remaining"),
        ],
        benefits=[
            BenefitRow("Office visit", "$35.00 copay", "50% after deductible", "Not required"),
            BenefitRow("Advanced imaging (MRI, CT, PET)", "30% after deductible", "50% after deductible", "Required"),
            BenefitRow("Physical therapy", "$45.00 copay", "50% after deductible", "Required"),
            BenefitRow("Durable medical equipment", "30% after deductible", "50% after deductible", ""),
            BenefitRow("Dental", "Not covered", "Not covered", ""),
        ],
        limits=[
            Fact("Physical therapy", "30 visits a year; 18 left"),
            Fact("Chiropractic", "12 visits a year; 12 left"),
        ],
        other_coverages=[Fact("Secondary", "Cedar Mutual Insurance, member ID CM8820031, since 01/01/2025")],
    )
    yield "member", member
    yield (
        "member-terminated",
        replace(
            member,
            title="Theodore Brandt",
            member=TERMINATED,
            facts=[],
            benefits=[],
            limits=[],
            other_coverages=[],
            rejection="This coverage ended on 12/31/2025. Benefits are shown only for days on which it was active.",
        ),
    )
    yield "member-dependent", replace(member, title=LONG_NAME, member=DEPENDENT, other_coverages=[], limits=[])


def _need_pages() -> Iterator[tuple[str, View]]:
    check = NeedCheckView(
        title="Is an authorization needed?",
        plans=PLANS,
        members=[
            FieldChoice("M-1041", "Rosalind Alvarez, HL4471902"),
            FieldChoice("M-1042", f"{LONG_NAME}, VMA-0038812-02"),
        ],
    )
    asked = {"plan": "harborlight-silver-ppo", "code": "72148"}
    yield "need_check", check
    yield (
        "need_check-problem",
        replace(
            check,
            problems=[FieldMistake("plan", "Choose a plan or a member."), FieldMistake("code", "Enter a code.")],
        ),
    )
    yield (
        "need_check-required",
        replace(
            check,
            values=asked,
            result="required",
            result_text="Harborlight Silver PPO needs an authorization for this service before it is given.",
            code=CodeRow("72148", "MRI of the lumbar spine without contrast"),
        ),
    )
    yield (
        "need_check-not-required",
        replace(
            check,
            values={**asked, "code": "99213"},
            result="not_required",
            result_text="Harborlight Silver PPO does not need an authorization for this service.",
            code=CodeRow("99213", "Office visit, established patient, low complexity"),
        ),
    )
    yield (
        "need_check-not-covered",
        replace(
            check,
            values={**asked, "code": "D1110"},
            result="not_covered",
            result_text="Harborlight Silver PPO does not cover this service.",
            code=CodeRow("D1110", "Adult dental cleaning"),
        ),
    )
    yield (
        "need_check-matches",
        replace(
            check,
            values={**asked, "code": "mri spine"},
            result="unknown_code",
            result_text="No code is called “mri spine”. These codes have the words in their descriptions.",
            matches=[
                CodeRow("72141", "MRI of the cervical spine without contrast"),
                CodeRow("72146", "MRI of the thoracic spine without contrast"),
                CodeRow("72148", "MRI of the lumbar spine without contrast"),
                CodeRow("72159", "MR angiography of the spinal canal", "ended 12/31/2025"),
            ],
        ),
    )


def _claim_pages() -> Iterator[tuple[str, View]]:
    claims = ClaimListView(title="Claim status", payers=PAYERS, searched=False, rejection="", rows=[])
    asked = {"payer": "HL001", "member_id": "HL4471902", "birth_date": "07/14/1986", "from": "01/01/2026"}
    yield "claim_list", claims
    yield (
        "claim_list-results",
        replace(
            claims,
            searched=True,
            values=asked,
            rows=[
                ("C26-100482", "Rosalind Alvarez", "HL4471902", date(2026, 2, 11), "Paid", "$186.00", "$92.40"),
                ("C26-100319", "Rosalind Alvarez", "HL4471902", date(2026, 1, 28), "Denied", "$1,240.00", "$0.00"),
                ("C26-100077", LONG_NAME, "VMA-0038812-02", date(2026, 1, 9), "In process", "$92.50", ""),
            ],
        ),
    )
    yield (
        "claim_list-problem",
        replace(
            claims,
            searched=True,
            values={**asked, "from": "June"},
            problems=[FieldMistake("from", "Enter the date as MM/DD/YYYY, such as 03/18/2026.")],
        ),
    )
    yield "claim_list-no-results", replace(claims, searched=True, values=asked)
    yield (
        "claim_list-rejected",
        replace(
            claims,
            searched=True,
            values=asked,
            rejection="Harborlight Health Plan has no member with this number and birth date.",
        ),
    )
    claim = ClaimView(
        title="Claim C26-100319",
        number="C26-100319",
        status="Denied",
        facts=[
            Fact("Member", "Rosalind Alvarez, HL4471902"),
            Fact("Payer", "Harborlight Health Plan"),
            Fact("Day of service", "01/28/2026"),
            Fact("Received", "01/30/2026"),
            Fact("Charge", "$1,240.00"),
            Fact("Paid", "$0.00"),
        ],
        lines=[
            ("72148", "MRI of the lumbar spine without contrast", "01/28/2026", "$1,180.00", "$0.00", "Denied"),
            ("99213", "Office visit, established patient", "01/28/2026", "$60.00", "$0.00", "Denied"),
        ],
        adjustments=[Fact("CO-197", "No authorization was on file"), Fact("N706", "Missing documentation")],
        text="The claim was denied because no authorization was on file for the day of service.",
    )
    yield "claim", claim
    yield "claim-pending", replace(claim, status="In process", adjustments=[], text="", lines=[])


def _other_pages() -> Iterator[tuple[str, str, View]]:
    yield "inbox", "inbox", InboxView(title="Inbox", rows=LETTERS)
    yield "inbox-empty", "inbox", InboxView(title="Inbox", rows=[])
    yield "inbox-long", "inbox", InboxView(title="Inbox", rows=LETTERS * 8)
    paragraphs = [
        "We have your request R7K2-90418 for Rosalind Alvarez and need more information to decide on it.",
        "On which day did physical therapy begin? Send the notes of physical therapy with their dates.",
        "Please answer by 03/31/2026. Without an answer we decide with what we have.",
    ]
    yield "letter", "inbox", LetterView(title=LETTERS[0].subject, row=LETTERS[0], paragraphs=paragraphs)
    yield "letter-general", "inbox", LetterView(title=LETTERS[3].subject, row=LETTERS[3], paragraphs=paragraphs[1:])
    directory = DirectoryView(title="Provider directory", plans=PLANS, searched=False, rows=[])
    yield "directory", "directory", directory
    found = replace(directory, searched=True, values={"name": "riverbend"}, rows=PROVIDERS)
    yield "directory-results", "directory", found
    yield "directory-problem", "directory", replace(found, rows=[], values={"npi": "12"}, problems=[_NPI_PROBLEM])
    yield "directory-no-results", "directory", replace(found, rows=[], values={"name": "zzyzx"})
    yield from _policy_pages()
    yield (
        "profile",
        "profile",
        ProfileView(
            title="Profile",
            facts=[
                Fact("Name", "Maya Okafor"),
                Fact("User name", "m.okafor"),
                Fact("Phone", "+1 555 010 0140"),
                Fact("E-mail", "m.okafor@riverbend.example"),
                Fact("Organization", "Riverbend Family Health Center"),
                Fact("NPI", "9999900019"),
            ],
            rights=[
                Fact("Eligibility and benefits", "Yes"),
                Fact("Authorizations", "Yes"),
                Fact("Claims", "No"),
            ],
        ),
    )
    for kind, *words in MESSAGES:
        yield f"message-{kind.replace('_', '-')}", "", _build_message(kind, *words)


def _build_message(kind: str, title: str, text: str, what_to_do: str, reference: str) -> MessageView:
    links = [FieldChoice("/requests", "See your requests"), FieldChoice("/", "Go to the first page")]
    return MessageView(title=title, kind=kind, text=text, what_to_do=what_to_do, links=links, reference=reference)


def _policy_pages() -> Iterator[tuple[str, str, View]]:
    policy = Policy.model_validate(SPINE_POLICY)
    statuses: tuple[VersionStatus, ...] = ("superseded", "in_force")
    old, new = (
        PolicyRow(policy.id, each.number, policy.title, "Medical policy", 3, each.effective, each.until, status, label)
        for each, status, label in zip(policy.versions, statuses, ("Superseded", "In force"), strict=True)
    )
    listed = PolicyListView(title="Policies", searched=False, rows=[new, old])
    yield "policy_list", "policies", listed
    yield "policy_list-no-results", "policies", replace(listed, searched=True, rows=[], values={"text": "zzyzx"})
    document = build_document(policy, policy.versions[1])
    yield "policy", "policies", PolicyView(title=policy.title, row=new, document=document)
    yield "policy-superseded", "policies", PolicyView(title=policy.title, row=old, document=document)


MESSAGES = [
    ("not_found", "Page not found", "There is no page at this address.", "Check the address, or begin again.", ""),
    (
        "forbidden",
        "You may not use this page",
        "Your account has no right to see authorizations.",
        "Ask the administrator of your organization.",
        "",
    ),
    (
        "error",
        "Something went wrong",
        "The page could not be shown because of an error on our side.",
        "Look into the list of your requests before you submit again: the request may have been filed.",
        "ERR-5F20-118",
    ),
    (
        "conflict",
        "The draft was changed elsewhere",
        "Devon Achterberg-Whitfield saved this draft at 10:41 AM, after you opened it. Your changes were not saved.",
        "Open the draft again and enter your changes.",
        "",
    ),
]
