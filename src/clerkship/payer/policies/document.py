"""A version of a policy as a document: its content, and the PDF and HTML of it. The same data gives the same bytes."""

from collections.abc import Iterator
from datetime import date
from html import escape
from typing import NamedTuple

from clerkship.formats.pdf_letter.letter import Heading, LetterContent, LetterPart, LetterTable, build_letter
from clerkship.payer.plan import load_shipped_plans
from clerkship.payer.policies.policy import KIND_LABELS, RANKS, Policy, PolicySection, PolicyVersion

_STYLE = (
    "body{font:16px/1.5 Helvetica,Arial,sans-serif;max-width:46em;margin:2em auto;padding:0 1em;color:#222}"
    "h1{font-size:1.6em}h2{font-size:1.15em;margin-top:1.8em}table{border-collapse:collapse;width:100%}"
    "th,td{border-bottom:1px solid #bbb;padding:.35em .6em;text-align:left;vertical-align:top}"
    ".publisher{font-weight:bold}.dates{color:#555}"
)


class PolicyDocument(NamedTuple):
    """What a version of a policy says, for every form of it."""

    publisher: str
    title: str
    line: str
    """Id, version and days, which stand on each page."""
    facts: tuple[tuple[str, str], ...]
    sections: tuple[PolicySection, ...]


def write_days(version: PolicyVersion) -> str:
    """Return the days on which a version applies, in words."""
    if version.until is None:
        return f"Effective {_write_day(version.effective)}"
    return f"Effective {_write_day(version.effective)} to {_write_day(version.until)}"


def _write_day(day: date) -> str:
    return f"{day:%m/%d/%Y}"


def build_document(policy: Policy, version: PolicyVersion) -> PolicyDocument:
    """Return the content of a version: facts, sections, and the history up to it."""
    rank = f"{KIND_LABELS[policy.kind]} (rank {policy.rank} of {len(RANKS)})"
    facts = [
        ("Policy", policy.id),
        ("Version", version.number),
        ("Applies", write_days(version)),
        ("Kind", rank),
        ("Plans", _name_plans(policy)),
        ("Services", ", ".join(version.services or ("All",))),
    ]
    history = [each for each in policy.versions if each.effective <= version.effective]
    rows = tuple((each.number, _write_day(each.effective), each.changes or "First version.") for each in history)
    revisions = PolicySection(heading="Revision history", table=(("Version", "Effective", "Changes"), *rows))
    return PolicyDocument(
        publisher=policy.publisher,
        title=policy.title,
        line=f"{policy.id} · Version {version.number} · {write_days(version)}",
        facts=tuple(facts),
        sections=(*policy.list_sections(version), revisions),
    )


def _name_plans(policy: Policy) -> str:
    names = load_shipped_plans()
    return ", ".join((names[id].name if id in names else None) or id for id in policy.plans or ()) or "All"


def write_policy_pdf(document: PolicyDocument) -> bytes:
    """Return a document as PDF, with its id, version and days on each page."""
    body: list[LetterPart] = [LetterTable(document.facts)]
    for number, section in enumerate(document.sections, 1):
        body.append(Heading(f"{number}. {section.heading}"))
        body += section.paragraphs
        if section.criteria:
            body.append(LetterTable([[f"{place}.", text] for place, text in enumerate(section.criteria, 1)]))
        body += [LetterTable(section.table, has_header=True)] if section.table else []
    content = LetterContent(sender=document.publisher, page_line=document.line, subject=document.title, body=body)
    return build_letter(content)


def write_policy_html(document: PolicyDocument) -> bytes:
    """Return a document as a page of HTML that needs nothing else."""
    return "\n".join(_list_lines(document)).encode()


def _list_lines(document: PolicyDocument) -> Iterator[str]:
    yield '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">'
    yield f"<title>{escape(document.line)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>"
    yield f'<p class="publisher">{escape(document.publisher)}</p>\n<h1>{escape(document.title)}</h1>'
    yield f'<p class="dates">{escape(document.line)}</p>\n<table>'
    for label, value in document.facts:
        yield f'<tr><th scope="row">{escape(label)}</th><td>{escape(value)}</td></tr>'
    yield "</table>"
    for number, section in enumerate(document.sections, 1):
        yield f"<h2>{number}. {escape(section.heading)}</h2>"
        yield from (f"<p>{escape(each)}</p>" for each in section.paragraphs)
        yield from _list_criteria(section)
        yield from _list_rows(section)
    yield "</body>\n</html>\n"


def _list_criteria(section: PolicySection) -> Iterator[str]:
    if section.criteria:
        yield "<ol>"
        yield from (f"<li>{escape(each)}</li>" for each in section.criteria)
        yield "</ol>"


def _list_rows(section: PolicySection) -> Iterator[str]:
    if section.table:
        header, *rows = section.table
        cells = "".join(f'<th scope="col">{escape(each)}</th>' for each in header)
        yield f"<table>\n<tr>{cells}</tr>"
        for row in rows:
            cells = "".join(f"<td>{escape(each)}</td>" for each in row)
            yield f"<tr>{cells}</tr>"
        yield "</table>"
