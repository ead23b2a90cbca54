"""The page about the X12 clearinghouse."""

from collections.abc import Iterator
from typing import get_args

from clerkship.formats.x12.grammar import Grammar, LoopSpec, SegmentSpec
from clerkship.formats.x12.grammar_compiler import UNLIMITED
from clerkship.formats.x12.grammar_tables import list_grammars, list_unsupported, load_grammar
from clerkship.formats.x12.interchange import MAX_INTERCHANGES
from clerkship.payer.answer import RejectionReason
from clerkship.reactions.files_to_x12 import UNFINISHED
from clerkship.simulators.x12.config import X12Config
from clerkship.simulators.x12.content import MAX_SEGMENTS
from clerkship.simulators.x12.core_envelope import OPTIONAL_FIELDS, REQUIRED_FIELDS, RULE_VERSION
from clerkship.simulators.x12.intake import ANSWERED_SETS, REQUEST_GRAMMARS
from clerkship.simulators.x12.transactions.codes import CODES, RejectionCodes
from scripts.reference.render import render_page
from scripts.reference.tables import rows

MAX_SHOWN_CODES = 4
"""Codes that the structures show of one element."""
_DECISION = "../decisions/0020-x12-clearinghouse.md"


def x12_page() -> str:
    """Return the page of the clearinghouse."""
    grammars = [load_grammar(key) for key in list_grammars()]
    return render_page(
        "x12.md",
        DECISION=_DECISION,
        MAX_INTERCHANGES=MAX_INTERCHANGES,
        MAX_SEGMENTS=MAX_SEGMENTS,
        RULE_VERSION=RULE_VERSION,
        config=X12Config(),
        unfinished=", ".join(f"`{ending}`" for ending in UNFINISHED),
        required_fields=", ".join(f"`{name}`" for name in REQUIRED_FIELDS),
        optional_fields=", ".join(f"`{name}`" for name in OPTIONAL_FIELDS),
        taken=rows(_list_taken(grammars)),
        refused=rows((f"`{code}`", name) for code, name in list_unsupported()),
        rejections=rows(_list_rejections()),
        decisions=rows((f"`{status}`", f"`{code}`") for status, code in CODES.decisions.items()),
        decision_reasons=rows((f"`{reason}`", f"`{code}`") for reason, code in CODES.decision_reasons.items()),
        claim_codes=rows(_list_claim_codes()),
        service_types=rows((f"`{code}`", f"`{name}`") for code, name in CODES.service_types.items()),
        structures="\n".join(_describe_grammar(grammar) for grammar in grammars),
    )


def _list_taken(grammars: list[Grammar]) -> Iterator[tuple[str, str, str, str]]:
    for grammar in grammars:
        versions = ", ".join(f"`{version}`" for version in grammar.versions)
        if grammar.key in REQUEST_GRAMMARS:
            role = f"taken, answered with a {ANSWERED_SETS[grammar.code]}"
        elif grammar.code == "999":
            role = "written; noted if the agent sends one, and not answered"
        else:
            role = "written; refused if the agent sends one"
        yield f"`{grammar.code}`", grammar.name, versions, role


def _list_rejections() -> Iterator[tuple[str, str, str, str]]:
    for reason in get_args(RejectionReason):
        codes = CODES.rejections[reason]
        yield f"`{reason}`", _show_aaa(codes), _show_review_aaa(codes), f"`{codes.stc}`"


def _show_aaa(codes: RejectionCodes) -> str:
    dependent = f"; `{_to_segment(codes.dependent_aaa)}` for a dependent" if codes.dependent_aaa else ""
    return f"`{_to_segment(codes.aaa)}`{dependent}"


def _show_review_aaa(codes: RejectionCodes) -> str:
    return f"`{_to_segment(codes.review_aaa or codes.aaa)}`"


def _to_segment(elements: str) -> str:
    validity, reason, action = elements.split(":")
    return f"AAA*{validity}**{reason}*{action}"


def _list_claim_codes() -> Iterator[tuple[str, str, str]]:
    for status, codes in CODES.claim_statuses.items():
        yield f"`{status}`", "", f"`{codes.category}:{codes.status}`"
    for reason, codes in CODES.claim_reasons.items():
        yield "", f"`{reason}`", f"`{codes.category or '…'}:{codes.status}`"
    for name, codes in (("paid, and nothing is paid out", CODES.paid_nothing), ("not found", CODES.claim_not_found)):
        yield name, "", f"`{codes.category}:{codes.status}`"


def _describe_grammar(grammar: Grammar) -> str:
    lines = [line for line in _describe_loop(grammar.root, 0) if not line.startswith(("ST ", "SE "))]
    return f"### {grammar.code}: {grammar.name}\n\n```text\n" + "\n".join(lines) + "\n```\n"


def _describe_loop(loop: LoopSpec, depth: int) -> Iterator[str]:
    """Yield the segments and loops of a loop, then the levels below it."""
    indent = "  " * depth
    for item in loop.items:
        if item.loop is None:
            segment = item.segment
            label = f"{segment.label}{_describe_codes(segment)}"
            yield f"{indent}{_describe_usage(segment.id, label, item.max, required=segment.is_required)}"
            continue
        yield f"{indent}{_describe_usage(item.loop.id, item.loop.label, item.max, required=item.loop.is_required)}"
        yield from _describe_loop(item.loop, depth + 1)
    for level in loop.levels:
        label = f"{level.label}, HL {level.level}"
        yield f"{indent}{_describe_usage(level.id, label, level.max, required=level.is_required)}"
        yield from _describe_loop(level, depth + 1)


def _describe_codes(segment: SegmentSpec) -> str:
    """Return the codes of the first elements that have few of them: what a newcomer would have to guess."""
    parts = [
        f"{segment.id}{element.position:02} {' or '.join(sorted(element.codes))}"
        for element in segment.elements[:2]
        if element.codes and len(element.codes) <= MAX_SHOWN_CODES
    ]
    return f" ({', '.join(parts)})" if parts else ""


def _describe_usage(id: str, label: str, most: int, *, required: bool) -> str:
    repeat = "" if most == 1 else ", any number" if most >= UNLIMITED else f", up to {most}"
    return f"{id:<6} {'required' if required else 'optional'}{repeat}: {label}"
