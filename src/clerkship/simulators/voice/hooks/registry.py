"""All hooks, by name, and those about the work of the organization that answers: cases and callbacks."""

from collections.abc import Mapping

from clerkship.model.conversation_key import normalize_phone
from clerkship.simulators.voice.events import CallbackBooked, CaseOpened
from clerkship.simulators.voice.hooks import chart, payer
from clerkship.simulators.voice.hooks.contract import Hook, HookContext, HookResult

_CASE_DIGITS = 8


def open_case(context: HookContext, arguments: Mapping[str, str]) -> HookResult:
    """Open a case, and return its number."""
    digest = context.action.ids.new("case").rpartition("_")[2]
    number = f"{int(digest, 16) % 10**_CASE_DIGITS:0{_CASE_DIGITS}}"
    subject, member_id = arguments.get("subject", "").strip(), arguments.get("member_id", "").strip()
    context.action.emit(CaseOpened(call=context.call.id, reference=number, subject=subject, member_id=member_id))
    return HookResult("opened", {"case_number": number})


def find_case(context: HookContext, arguments: Mapping[str, str]) -> HookResult:
    """Find the newest case of a member."""
    number = context.cases.find_newest(arguments.get("member_id", "").strip())
    return HookResult("not_found") if number is None else HookResult("found", {"case_number": number})


def book_callback(context: HookContext, arguments: Mapping[str, str]) -> HookResult:
    """Promise to call back a number."""
    number = normalize_phone(arguments.get("phone", ""))
    if number is None:
        return HookResult("invalid")
    at = arguments.get("at", "").strip()
    context.action.emit(CallbackBooked(call=context.call.id, number=number, at=at))
    return HookResult("booked", {"callback_number": number})


_OFFICE_HOOKS = (
    Hook(
        "office.open_case",
        "Open a case about a subject.",
        ("subject",),
        ("opened",),
        ("case_number",),
        open_case,
        optional=("member_id",),
    ),
    Hook(
        "office.find_case",
        "Find the newest case that was opened about a member.",
        ("member_id",),
        ("found", "not_found"),
        ("case_number",),
        find_case,
    ),
    Hook(
        "office.book_callback",
        "Book a callback to a phone number.",
        ("phone",),
        ("booked", "invalid"),
        ("callback_number",),
        book_callback,
        optional=("at",),
    ),
)


HOOKS: Mapping[str, Hook] = {hook.name: hook for hook in (*payer.HOOKS, *chart.HOOKS, *_OFFICE_HOOKS)}


def list_domain_kinds() -> set[str]:
    """Return the kinds of domains that hooks need."""
    return {hook.needs for hook in HOOKS.values() if hook.needs}
